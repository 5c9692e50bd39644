"""Reading telemetry.bin."""

from pathlib import Path

import pytest
from carillon.telemetry import Telemetry, TelemetryError, cause_name
from synthetic import DTYPES, Sections, frame_row, quiet_run


def test_records_are_read_as_they_were_written(tmp_path: Path) -> None:
    quiet_run(frames=7).write(tmp_path / "t.bin")
    telemetry = Telemetry(tmp_path / "t.bin")
    assert telemetry.counters()["frames_seen"] == 7
    assert telemetry.phase() == "done"
    assert list(telemetry.read("frames")["frame"]) == list(range(7))
    assert list(telemetry.read("frames", newest=2)["frame"]) == [5, 6]


def test_a_full_section_keeps_its_newest_records_in_order(tmp_path: Path) -> None:
    rows = [frame_row(n) for n in range(10)]
    Sections({"frames": rows}, {"frames": 4}).write(tmp_path / "t.bin")
    telemetry = Telemetry(tmp_path / "t.bin")
    assert telemetry.written("frames") == 10
    assert list(telemetry.read("frames")["frame"]) == [6, 7, 8, 9]
    assert list(telemetry.read("frames", newest=3)["frame"]) == [7, 8, 9]


def test_a_damaged_count_is_read_as_any_other(tmp_path: Path) -> None:
    file = tmp_path / "t.bin"
    quiet_run(frames=3).write(file)
    place = 32768 + 8 * list(DTYPES).index("frames")
    data = bytearray(file.read_bytes())
    data[place : place + 8] = b"\xff" * 8
    file.write_bytes(data)
    assert len(Telemetry(file).read("frames")) == 3
    assert len(Telemetry(file).read("frames", newest=2)) == 2


def test_what_is_read_stays_when_the_file_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "t.bin"
    quiet_run(frames=3).write(file)
    records = Telemetry(file).read("frames")
    records["frame"][0] = 99
    assert Telemetry(file).read("frames")["frame"][0] == 0


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda data: b"", "cannot be read"),
        (lambda data: b"NOTHING!" + data[8:], "is not a Carillon telemetry file"),
        (lambda data: data[:8] + b"\x09" + data[9:], "has telemetry version 9"),
        (lambda data: data[:16] + b"}" + data[17:], "has a damaged header"),
        (lambda data: data[:16] + b"{}" + b" " * 65518 + data[65536:], "has a damaged header"),
        (lambda data: data[:16] + b"[" * 65520 + data[65536:], "damaged header: is nested too"),
        (lambda data: data.replace(b'"offset": 65536', b'"offset": -8   '), "lies before the file"),
        (lambda data: data[:70000], "is cut short: 70000 of"),
    ],
)
def test_a_file_that_is_not_telemetry_is_told(tmp_path: Path, spoil, message: str) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "t.bin"
    quiet_run().write(file)
    file.write_bytes(spoil(file.read_bytes()))
    with pytest.raises(TelemetryError, match=message):
        Telemetry(file)


def test_causes_have_the_names_of_the_result() -> None:
    names = [cause_name(n) for n in range(7)]
    assert names[1:6] == ["lost", "fronthaul", "processing", "operating_system", "machine_stall"]
    assert names[0] == names[6] == "none"
