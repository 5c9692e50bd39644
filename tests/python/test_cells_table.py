"""What is said of several cells that ran together, in cells.json and as a table."""

from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from carillon import results
from carillon.commands import cells_table
from carillon.config import Run
from carillon.live import CellsView
from carillon.runfolder import RunFolder
from carillon.telemetry import CAUSES
from rich.console import Console
from synthetic import quiet_run, run_folder

RADIO = {
    "frames_seen": 0,
    "frames_completed": 0,
    "frames_sent": 90,
    "frames_skipped": 10,
    "downlink_blocks": 170,
    "downlink_failed": 4,
    "downlink_unverified": 6,
}


def a_cell(path: Path, run: Run, **counters: int) -> RunFolder:
    records = quiet_run(frames=100)
    records.rows["counters"][0] |= counters
    return replace(run_folder(path, records), run=run)


def row_of(folder: RunFolder) -> dict[str, Any]:
    return cells_table.row(folder, results.build(folder, folder.telemetry(), []))


def words(*printed: Any) -> list[list[str]]:
    """Lines of a console, as words."""
    console = Console(width=200, record=True, file=StringIO())
    console.print(*printed)
    return [line.split() for line in console.export_text().splitlines()]


def test_a_radio_unit_tells_what_it_sent_and_what_its_users_got(tmp_path: Path) -> None:
    row = row_of(a_cell(tmp_path, Run(role="radio"), **RADIO))
    rate = row.pop("downlink_mbps")
    assert rate == pytest.approx(200 * 1000 / 90 / 1e3)  # its users' blocks, of 1000 bits
    assert row == {
        "name": "synthetic",
        "cell_id": 0,
        "sent": 90,
        "skipped": 10,
        "downlink_blocks": 176,
        "downlink_failed": 4,
        "downlink_unverified": 6,
        "folder": tmp_path.name,
    }
    headings, figures = words(cells_table.table([row | {"downlink_mbps": rate}]))
    assert headings == "cell id sent skipped downlink blocks failed unverified Mb/s".split()
    assert figures == ["synthetic", "0", "90", "10", "176", "4", "6", f"{rate:.3f}"]


def test_radio_units_are_watched_by_what_they_send(tmp_path: Path) -> None:
    folders = [a_cell(tmp_path / str(n), Run(role="radio"), **RADIO) for n in range(2)]
    view = CellsView(folders, Console())
    headings, first, second, *_ = words(view.draw(*(one.telemetry() for one in folders)))
    assert headings == "cell id s on air sent skipped blocks checked failed unverified".split()
    assert first == second == ["synthetic", "0", "0.1", "90", "10", "170", "4", "6"]


LATE = {
    "frames_seen": 100,
    "frames_completed": 83,
    "frames_nacked": 9,
    "frames_skipped": 20,
    "lates_processing": 10,
    "lates_operating_system": 3,
    "lates_machine_stall": 4,
}


def test_every_frame_is_in_time_or_late_by_one_cause(tmp_path: Path) -> None:
    row = row_of(a_cell(tmp_path, Run(), **LATE))
    assert (row["frames"], row["completed"], row["late"]) == (100, 83, 17)
    assert row["late"] == sum(row[cause] for cause in CAUSES)
    assert (row["nacked"], row["skipped"]) == (9, 20)
    headings, figures = words(cells_table.table([row]))
    assert headings[:9] == "cell id frames in time processing system machine refused".split()
    assert figures[2:8] == ["100", "83", "10", "3", "4", "9"]
    sum_note, cost_note = cells_table.notes([row])
    assert sum_note.startswith("frames: in time + processing + system + machine; refused ones")
    assert cost_note == "core-ms/ms: of the frames that were computed"


def test_cells_are_watched_by_columns_that_add_up(tmp_path: Path) -> None:
    folders = [a_cell(tmp_path / str(n), Run(), **LATE) for n in range(2)]
    view = CellsView(folders, Console())
    headings, first, *_ = words(view.draw(*(one.telemetry() for one in folders)))
    assert headings[5:] == "frames in time late of these refused skipped p99 ms late now".split()
    assert first[3:] == ["100", "83", "17", "9", "20", "0", "%"]
