"""Files and pipes that are samples only, against NumPy."""

import os
import threading
from pathlib import Path

import numpy as np
import pytest
from block_streams import (
    Values,
    as_samples,
    figures,
    read_all,
    read_on,
    recording,
    some_numbers,
    write_all,
    write_on,
)
from carillon import core
from hang import wait_until

DATATYPES = next(
    parameter["choices"]
    for block in core.block_types()
    if block["name"] == "raw-source"
    for parameter in block["parameters"]
    if parameter["name"] == "datatype"
)


def test_there_are_all_datatypes_of_sigmf() -> None:
    assert len(DATATYPES) == 28


@pytest.mark.parametrize("datatype", DATATYPES)
def test_raw_files_of_all_datatypes_are_as_numpy_reads_them(tmp_path: Path, datatype: str) -> None:
    numbers = some_numbers(datatype)
    numbers.tofile(tmp_path / "x")
    values: Values = {"path": str(tmp_path / "x"), "datatype": datatype}
    found = read_all(core.Block("raw-source", values))
    np.testing.assert_array_equal(found, as_samples(numbers, datatype))
    write_all(core.Block("raw-sink", {**values, "path": str(tmp_path / "y")}), found)
    again = read_all(core.Block("raw-source", {**values, "path": str(tmp_path / "y")}))
    np.testing.assert_array_equal(again, found)
    if datatype[1:4] not in ("i32", "u32", "f64"):  # which do not fit into floats
        assert (tmp_path / "y").read_bytes() == (tmp_path / "x").read_bytes()


def test_what_does_not_fit_is_clipped_and_counted(tmp_path: Path) -> None:
    given = [1.0, 1.5, -1.0, -1.5, np.nan, np.inf, 0.49 / 32768, 32767.4 / 32768, -32768.4 / 32768]
    sink = core.Block("raw-sink", {"path": str(tmp_path / "x"), "datatype": "ri16_le"})
    write_all(sink, np.array(given, np.float32))
    expected = [32767, 32767, -32768, -32768, 0, 32767, 0, 32767, -32768]
    assert np.fromfile(tmp_path / "x", "<i2").tolist() == expected
    assert figures(sink) == {"clipped": 5, "written": 9}


def test_a_stretch_of_a_file_is_read_again_and_again(tmp_path: Path) -> None:
    np.arange(100, dtype=np.float32).tofile(tmp_path / "x")
    values: Values = {"path": str(tmp_path / "x"), "datatype": "rf32_le", "offset_bytes": 40}
    part: Values = {**values, "length_samples": 7}
    np.testing.assert_array_equal(read_all(core.Block("raw-source", part)), np.arange(10, 17))
    again = core.Block("raw-source", {**part, "repeat": True})
    expected = np.tile(np.arange(10, 17), 3000)[:20000]
    np.testing.assert_array_equal(read_all(again, 20000), expected)
    again.finish()
    whole = core.Block("raw-source", values)
    np.testing.assert_array_equal(read_all(whole), np.arange(10, 100))


def test_an_empty_file_ends_also_when_it_repeats(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    for repeat in (False, True):
        source = core.Block("raw-source", {"path": str(tmp_path / "x"), "repeat": repeat})
        assert len(read_all(source)) == 0
        source.finish()


def test_what_is_no_whole_sample_is_counted(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(bytes(21))
    source = core.Block("raw-source", {"path": str(tmp_path / "x")})
    assert len(read_all(source)) == 2
    assert figures(source) == {"no whole sample": 5}


def test_a_small_buffer_loses_nothing(tmp_path: Path) -> None:
    samples = np.arange(50_000, dtype=np.float32)
    small: Values = {"path": str(tmp_path / "x"), "datatype": "rf32_le", "buffer_samples": 1}
    sink = core.Block("raw-sink", small)
    write_all(sink, samples)
    np.testing.assert_array_equal(read_all(core.Block("raw-source", small)), samples)


def test_tags_come_with_their_samples(tmp_path: Path) -> None:
    np.zeros(100, np.complex64).tofile(tmp_path / "x")
    lines = [
        "0 rate 48000",
        "0 frequency 868950000.5",
        "40 annotation 12 naïve packet",
        "99 time 5",
    ]
    source = core.Block("raw-source", {"path": str(tmp_path / "x"), "tags": "\n".join(lines)})
    source.start()
    wait_until(lambda: source.ready() == 100)
    source.make(30)
    assert source.tags == ["0 rate 48000", "0 frequency 868950000.5"]
    source.make(50)
    assert source.tags == ["10 annotation 12 naïve packet"]
    source.make(20)
    assert source.tags == ["19 time 5"]


def test_tags_are_written_with_their_positions(tmp_path: Path) -> None:
    paths: Values = {"path": str(tmp_path / "x"), "tags_path": str(tmp_path / "tags")}
    sink = core.Block("raw-sink", paths)
    sink.start()
    sink.run([np.zeros(10, np.complex64)], "3 rate 48000")
    sink.run([np.zeros(10, np.complex64)], "0 overflow 5\n9 annotation 2 a burst")
    sink.finish()
    expected = "3 rate 48000\n10 overflow 5\n19 annotation 2 a burst\n"
    assert (tmp_path / "tags").read_text() == expected


@pytest.mark.parametrize(
    ("tags", "why"),
    [
        ("0 rate", "line 1 has no number"),
        ("0 rate 1\n-1 rate 1", "line 2 begins with no sample's number"),
        ("x", "line 1 begins with no sample's number"),
        ("0 colour 1", "line 1 is no time, rate, frequency, overflow or annotation"),
        ("0 rate nan", "line 1 has no number"),
        ("0 rate 1 2", "line 1 says more than a number"),
        ("5 rate 1\n4 rate 1", "line 2 is before the one above it"),
        ("0 annotation 1 " + "x" * 64, "line 1 says more than 63 bytes"),
        ("0 annotation 1 a\tb", "line 1 has control characters in it"),
    ],
)
def test_wrong_tags_are_refused_by_their_line(tags: str, why: str) -> None:
    with pytest.raises(ValueError, match=rf"^tags: {why}$"):
        core.Block("raw-source", {"path": "x", "tags": tags})


def test_files_that_cannot_be_opened_are_named(tmp_path: Path) -> None:
    for kind in ("raw-source", "raw-sink"):
        with pytest.raises(ValueError, match=r"^path: must name a file$"):
            core.Block(kind, {"path": ""})
        there = core.Block(kind, {"path": str(tmp_path / "no" / "x")})
        with pytest.raises(RuntimeError, match=rf"^{tmp_path}/no/x: No such file or directory$"):
            there.start()
        folder = core.Block(kind, {"path": str(tmp_path)})
        with pytest.raises(RuntimeError, match=rf"^{tmp_path}: Is a directory$"):
            folder.start()
    (tmp_path / "x").write_bytes(bytes(8))
    beyond = core.Block("raw-source", {"path": str(tmp_path / "x"), "offset_bytes": 9})
    with pytest.raises(RuntimeError, match=r"has only 8 bytes, and samples are to begin after 9"):
        beyond.start()


def test_a_full_disk_is_told_with_what_was_written() -> None:
    sink = core.Block("raw-sink", {"path": "/dev/full"})
    sink.start()
    sink.run([np.zeros(100, np.complex64)])
    wait_until(lambda: sink.failure() != "")
    why = "/dev/full: No space left on device; make room, or write to another disk; 0 samples were"
    assert sink.failure().startswith(why)
    with pytest.raises(RuntimeError, match=why):
        sink.finish()


def test_pipes_pass_samples_both_ways(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    samples = np.random.default_rng(1).standard_normal(40_000).astype(np.float32)
    values: Values = {"path": str(tmp_path / "pipe"), "datatype": "rf32_be", "buffer_samples": 1000}
    sink, source = core.Block("raw-sink", values), core.Block("raw-source", values)
    sink.start()
    source.start()

    def write() -> None:
        write_on(sink, samples)
        sink.finish()

    writing = threading.Thread(target=write)
    writing.start()
    np.testing.assert_array_equal(read_on(source), samples)
    writing.join()
    source.finish()


def test_pipes_that_nobody_serves_hold_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    values: Values = {"path": str(tmp_path / "pipe")}
    source = core.Block("raw-source", values)
    source.start()
    assert (source.ready(), source.over()) == (0, False)
    source.finish()
    sink = core.Block("raw-sink", values)
    sink.start()
    sink.run([np.zeros(100, np.complex64)])
    with pytest.raises(RuntimeError, match=r"pipe takes no more: 0 samples were written, 100 were"):
        sink.finish()
    # One that somebody has opened and does not read is full some time.
    held = os.open(tmp_path / "pipe", os.O_RDWR)
    try:
        sink = core.Block("raw-sink", values)
        sink.start()
        sink.run([np.zeros(100_000, np.complex64)])
        with pytest.raises(RuntimeError, match=r"pipe takes no more: 8192 samples were written"):
            sink.finish()
        dropped = core.Block("raw-sink", values)
        dropped.start()
        dropped.run([np.zeros(100_000, np.complex64)])
        del dropped
    finally:
        os.close(held)


def test_a_pipe_that_is_closed_is_a_failure_and_no_signal(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    sink = core.Block("raw-sink", {"path": str(tmp_path / "pipe")})
    sink.start()
    sink.run([np.zeros(100_000, np.complex64)])
    with (tmp_path / "pipe").open("rb") as reader:
        assert reader.read(8) == bytes(8)
    wait_until(lambda: sink.failure() != "")
    assert "pipe: who read it has closed it; " in sink.failure()


def test_a_recording_of_an_rtl_sdr_is_read() -> None:
    file = recording("modes1.bin")
    source = core.Block("raw-source", {"path": str(file), "datatype": "cu8"})
    expected = as_samples(np.fromfile(file, np.uint8), "cu8")
    np.testing.assert_array_equal(read_all(source), expected)


def test_blocks_that_were_not_started_lose_and_count() -> None:
    source, sink = core.Block("raw-source", {"path": "x"}), core.Block("raw-sink", {"path": "x"})
    assert (source.ready(), source.over(), sink.ready()) == (0, False, 0)
    assert not source.make(5).any()
    sink.run([np.zeros(5, np.complex64)])
    assert figures(source)["executed too early"] == 5
    assert figures(sink)["lost"] == 5
    with pytest.raises(RuntimeError, match=r"were not"):
        sink.finish()
