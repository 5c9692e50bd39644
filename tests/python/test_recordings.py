"""The example graphs receive real recordings: what they make, decoders of the tests' own read, and
find the frames that are known to be there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import cast

import numpy as np
import pytest
import recorded_frames as frames
import scipy.io.wavfile
from block_streams import recording
from carillon import examples
from carillon.flowgraph import Graph, Running, load
from carillon.flowgraph.filters import design
from hang import wait_until
from recorded_frames import Reals
from scipy import signal


def run(graph: Graph, seconds: float | None = None) -> None:
    with Running(graph, batches=[1000] * len(graph.nodes), paced=False, seconds=seconds) as running:
        wait_until(running.ended)
    result = running.result()
    assert not result.failures and not result.stopped


def received(
    name: str,
    file: str,
    sink: str,
    tmp_path: Path,
    settings: Iterable[str] = (),
) -> Path:
    """Runs an example with a recording; the file that its sink wrote."""
    made = tmp_path / "made"
    given = [f"recording.path={recording(file)}", f"{sink}.path={made}", *settings]
    run(load(examples.resolve("flowgraphs", name), given))
    return made


def reals(file: Path) -> Reals:
    return np.fromfile(file, "<f4").astype(np.float64)


@pytest.mark.filterwarnings("ignore::scipy.io.wavfile.WavFileWarning")  # of chunks beside samples
def audio(file: Path) -> Reals:
    return cast(Reals, scipy.io.wavfile.read(file)[1].astype(np.float64))


def expected(name: str) -> list[str]:
    return recording(f"expected/{name}").read_text().splitlines()


def test_a_voice_channel_has_every_frame(tmp_path: Path) -> None:
    heard = audio(received("nxdn48", "nxdn48_iq.wav", "audio", tmp_path))
    found = frames.nxdn_frames(-heard)  # the recording's spectrum is inverted
    assert len(found) == 131
    assert [f"{link:02x} {slow:07x}" for _, link, slow in found] == expected("nxdn48_iq.sacch.txt")


def test_a_satellite_s_packet_is_whole(tmp_path: Path) -> None:
    heard = reals(received("is7spino", "is7spino.wav", "levels", tmp_path))
    (packet,) = frames.spino_packets(heard, 100_000)
    assert [packet.hex()] == expected("is7spino.frame.txt")


def test_meters_send_their_telegrams(tmp_path: Path) -> None:
    name = "rtlsdr_868.950M_1M6_samples2"
    heard = reals(received("wmbus", f"{name}.cu8", "chips", tmp_path))
    found = frames.mbus_telegrams(heard)
    assert [(telegram.hex(), blocks) for telegram, blocks in found] == list(
        zip(expected(f"{name}.wmbus.txt"), (3, 7), strict=True)
    )


def test_an_aircraft_s_frames_are_those_that_are_known(tmp_path: Path) -> None:
    pulses = reals(received("modes", "modes1.bin", "pulses", tmp_path))
    found = frames.mode_s_frames(pulses)
    assert len(found) == 198
    assert ["{} {} {}".format(*frame) for frame in found] == expected("modes1.frames.txt")


def afsk(rate: float) -> Callable[[Reals], list[int]]:
    return lambda heard: frames.sliced(frames.afsk_levels(heard, 48_000), 48_000 / rate, 20, 10**9)


def g3ruh(heard: Reals) -> list[int]:
    return frames.descrambled(frames.sliced(heard - np.median(heard), 5, 20, 10**9))


@pytest.mark.filterwarnings("ignore::scipy.io.wavfile.WavFileWarning")
@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("ao27", afsk(1230)),  # its clock is that fast
        ("swiatowid-ax25", afsk(1200)),
        ("tigrisat", g3ruh),
    ],
)
def test_packets_pass_a_link_of_narrowband_fm(
    name: str, bits: Callable[[Reals], list[int]], tmp_path: Path
) -> None:
    sent = audio(recording(f"{name}.wav")) / 2**15
    settings = [f"station.deviation_hz={3000 / np.abs(sent).max()}"]
    heard = audio(received("nbfm-link", f"{name}.wav", "audio", tmp_path, settings))
    assert set(expected(f"{name}.ax25.txt")) <= {
        frame.hex() for frame in frames.ax25_frames(bits(heard))
    }


def sinad_db(x: Reals, tone_hz: float, rate_hz: float) -> float:
    """Of a tone, fitted with a mean by least squares: its power over that of all else."""
    turns = 2 * np.pi * tone_hz / rate_hz * np.arange(len(x))
    parts = np.stack([np.cos(turns), np.sin(turns), np.ones(len(x))], 1)
    fitted = parts @ np.linalg.lstsq(parts, x)[0]
    return float(10 * np.log10(np.var(fitted) / np.var(x - fitted)))


def in_double_precision(x: Reals) -> Reals:
    """What nbfm.yaml computes of 240 000 samples a second, by SciPy."""
    x = x * np.exp(-2j * np.pi * 12_500 / 240_000 * np.arange(len(x)))
    channel = design({"count": 115, "pass_hz": 5000, "stop_hz": 9000}, 240_000)
    y = signal.lfilter(channel, 1, x)[::5]
    y = np.angle(y[1:] * np.conj(y[:-1])) * 48_000 / (2 * np.pi * 5000)
    corner = 2 * 48_000 * np.tan(1 / (75e-6 * 2 * 48_000))
    y = signal.lfilter(*signal.bilinear([corner], [1, corner], 48_000), y)
    low = design({"count": 231, "pass_hz": 2700, "stop_hz": 3200}, 48_000)
    return cast(Reals, 1.5 * signal.lfilter(low, 1, y))


def test_audio_is_as_clean_as_in_double_precision(tmp_path: Path) -> None:
    settings = ["antenna.tone_hz=1000", "speaker.type=wav-sink", "speaker.kind=float32"]
    file = examples.resolve("flowgraphs", "nbfm")
    graph = load(file, [*settings, f"speaker.path={tmp_path / 'audio'}"])
    run(graph, seconds=2)
    antenna = graph.nodes[0].block
    assert antenna is not None
    scipy = in_double_precision(antenna.made(240_000).make(480_000).astype(complex))
    # The second second: filters and squelch have settled.
    own, other = (
        sinad_db(each[48_000:95_000], 1000, 48_000) for each in (audio(tmp_path / "audio"), scipy)
    )
    assert other > 30
    assert own == pytest.approx(other, abs=0.05)
