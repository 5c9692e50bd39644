"""WAV files as sources and sinks, against SciPy."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.io.wavfile
from block_streams import Values, as_samples, figures, read_all, recording, some_numbers, write_all
from carillon import core
from hang import wait_until

KINDS = {"pcm16": 2.0**-15, "pcm24": 2.0**-23, "pcm32": 2.0**-31, "float32": 0.0}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("items", ["real", "complex"])
def test_wav_files_are_as_scipy_reads_them(tmp_path: Path, kind: str, items: str) -> None:
    random = np.random.default_rng(2)
    samples = (0.3 * random.standard_normal(5001)).clip(-0.99, 0.99).astype(np.float32)
    if items == "complex":
        samples = (samples[:5000] + 1j * samples[1:]).astype(np.complex64)
    file = tmp_path / "x.wav"
    values: Values = {"path": str(file), "kind": kind, "samples": items, "rate_hz": 48000.0}
    write_all(core.Block("wav-sink", values), samples)
    rate, data = scipy.io.wavfile.read(file)
    assert rate == 48000
    assert data.shape == ((5000, 2) if items == "complex" else (5001,))
    scaled = data if kind == "float32" else data / (2.0**15 if kind == "pcm16" else 2.0**31)
    expected = samples.view(np.float32).reshape(data.shape)
    np.testing.assert_allclose(scaled, expected, rtol=0, atol=0.5 * KINDS[kind] + 2.0**-25)
    source = core.Block("wav-source", {"path": str(file), "rate_hz": 48000.0})
    assert source.output == (items, 1)
    np.testing.assert_allclose(read_all(source), samples, rtol=0, atol=KINDS[kind] + 2.0**-24)


@pytest.mark.parametrize("dtype", ["u1", "<i2", "<i4", "<f4", "<f8"])
def test_wav_files_of_scipy_are_read(tmp_path: Path, dtype: str) -> None:
    sigmf = {"u1": "ru8"}.get(dtype, f"r{dtype[1]}{8 * int(dtype[2:] or 1)}_le")
    numbers = some_numbers(sigmf, 999)
    scipy.io.wavfile.write(tmp_path / "x.wav", 8000, numbers)
    source = core.Block("wav-source", {"path": str(tmp_path / "x.wav"), "rate_hz": 8000.0})
    np.testing.assert_array_equal(read_all(source), as_samples(numbers, sigmf))


def test_a_wav_file_tells_its_rate(tmp_path: Path) -> None:
    scipy.io.wavfile.write(tmp_path / "x.wav", 8000, np.zeros(10, np.int16))
    source = core.Block("wav-source", {"path": str(tmp_path / "x.wav"), "rate_hz": 8000.0})
    source.start()
    wait_until(lambda: source.ready() == 10)
    source.make(10)
    assert source.tags == ["0 rate 8000"]
    with pytest.raises(RuntimeError, match=r"x.wav: has 8000 samples a second, and the graph says"):
        core.Block("wav-source", {"path": str(tmp_path / "x.wav"), "rate_hz": 48000.0}).start()


@pytest.mark.filterwarnings("ignore::scipy.io.wavfile.WavFileWarning")  # of chunks beside samples
@pytest.mark.parametrize("name", ["ao27.wav", "nxdn48_iq.wav", "is7spino.wav"])
def test_recorded_wav_files_are_as_scipy_reads_them(name: str) -> None:
    rate, data = scipy.io.wavfile.read(recording(name))
    source = core.Block("wav-source", {"path": str(recording(name)), "rate_hz": float(rate)})
    found = read_all(source).view(np.float32).reshape(data.shape)
    expected = data if data.dtype == np.float32 else (data / 2.0**15).astype(np.float32)
    np.testing.assert_array_equal(found, expected)


def wav_bytes(tmp_path: Path) -> bytes:
    scipy.io.wavfile.write(tmp_path / "good.wav", 8000, np.arange(100, dtype=np.int16))
    return (tmp_path / "good.wav").read_bytes()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda good: good[:11], "is no WAV file"),
        (lambda good: b"RIFX" + good[4:], "is no WAV file"),
        (lambda good: good[:30], "has a fmt chunk that is too short"),
        (lambda good: good[:40], "ends before its samples begin"),
        (lambda good: good[:22] + b"\3\0" + good[24:], "has 3 channels; one is real samples"),
        (lambda good: good[:34] + b"\x0c\0" + good[36:], "has samples of kind 1 and 12 bits"),
        (lambda good: good[:24] + bytes(4) + good[28:], "has 0 samples a second"),
        (lambda good: good[:12] + good[36:], "has samples before it says of what kind they are"),
        (lambda good: good[:12] + 1001 * b"JUNK\0\0\0\0" + good[12:], "has more than 1000 chunks"),
    ],
)
def test_wrong_wav_files_are_refused(tmp_path: Path, change, why: str) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "bad.wav"
    file.write_bytes(change(wav_bytes(tmp_path)))
    with pytest.raises(RuntimeError, match=rf"^{file}: {why}"):
        core.Block("wav-source", {"path": str(file), "rate_hz": 8000.0})


def test_wav_headers_that_lie_are_read_as_far_as_samples_go(tmp_path: Path) -> None:
    good = wav_bytes(tmp_path)
    file = tmp_path / "x.wav"
    values: Values = {"path": str(file), "rate_hz": 8000.0}
    file.write_bytes(good[:-50])
    cut = core.Block("wav-source", values)
    assert len(read_all(cut)) == 75
    assert figures(cut) == {"cut off": 50}
    for unfilled in (bytes(4), b"\xff" * 4):
        file.write_bytes(good[:4] + unfilled + good[8:40] + unfilled + good[44:])
        assert len(read_all(core.Block("wav-source", values))) == 100


def test_a_wav_file_is_whole_while_it_grows(tmp_path: Path) -> None:
    file = tmp_path / "x.wav"
    sink = core.Block("wav-sink", {"path": str(file), "samples": "real", "rate_hz": 8000.0})
    sink.start()
    assert len(scipy.io.wavfile.read(file)[1]) == 0
    for count in (1000, 2500):
        sink.run([np.zeros(1000 if count == 1000 else 1500, np.float32)])
        wait_until(lambda: figures(sink)["written"] == count)  # noqa: B023
        assert len(scipy.io.wavfile.read(file)[1]) == count
    sink.finish()


def test_a_wav_file_is_whole_after_a_failure(tmp_path: Path) -> None:
    """Files may have no more than so many bytes here, as if the disk were full."""
    text = """
import resource, sys
import numpy as np
from carillon import core
values = {"path": sys.argv[1], "samples": "complex", "rate_hz": 8000.0}
sink = core.Block("wav-sink", values)
sink.start()
resource.setrlimit(resource.RLIMIT_FSIZE, (10_001, 10_001))
sink.run([np.full(5000, 0.25 - 0.5j, np.complex64)])
try:
    sink.finish()
except RuntimeError as error:
    print(error)
"""
    file = tmp_path / "x.wav"
    done = subprocess.run(
        [sys.executable, "-c", text, str(file)], capture_output=True, text=True, check=True
    )
    samples = scipy.io.wavfile.read(file)[1]
    assert samples.shape == ((10_001 - 80) // 4, 2)
    assert (samples == (8192, -16384)).all()
    assert done.stdout == (
        f"{file}: File too large; files may be no larger here (ulimit -f); {len(samples)} samples "
        "were written\n"
    )


def test_a_wav_sink_refuses_what_has_no_header(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RuntimeError, match=r"is no file; write pipes and devices with raw-sink"):
        core.Block("wav-sink", {"path": "/dev/null", "rate_hz": 8000.0}).start()
    with pytest.raises(ValueError, match=r"^rate_hz: a WAV file has whole ones"):
        core.Block("wav-sink", {"path": "x", "rate_hz": 0.5})
    with pytest.raises(RuntimeError, match=r"pipe: is no file; read pipes with raw-source"):
        core.Block("wav-source", {"path": str(tmp_path / "pipe"), "rate_hz": 8000.0})
