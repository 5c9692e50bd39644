"""Costs of a run that refused frames, which cost next to nothing, are told as such."""

from pathlib import Path
from typing import Any

import pytest
from carillon import cells, report, results
from carillon.commands.demo import Trial
from carillon.plots import stages
from carillon.report import tables, tiles
from carillon.result import Result
from carillon.runfolder import RunFolder
from synthetic import quiet_run, run_folder


@pytest.mark.parametrize(
    ("trial", "verdict"),
    [
        ({}, "did not run"),
        ({"load": 0.12, "frames": 500, "late": 2}, "12 % of the cores, fits"),
        (
            {"load": 0.1, "frames": 500, "late": 40},
            "10 % of the cores, but 40 of 500 frames were late",
        ),
        (
            {"load": 0.1, "frames": 500, "late": 498, "refused": 480},
            "498 of 500 frames were late or refused",
        ),
        (
            {"load": 0.7, "frames": 500, "late": 400, "refused": 200},
            "at least 70 % of the cores, is too much: 50 % are to stay free",
        ),
    ],
)
def test_a_share_of_the_cores_is_never_told_as_if_refused_frames_had_been_computed(
    tmp_path: Path, trial: dict[str, Any], verdict: str
) -> None:
    folder = run_folder(tmp_path, quiet_run())
    assert Trial(cells.load("laptop-8x2"), folder, **trial).verdict == verdict


def test_core_time_is_told_to_be_of_frames_that_were_computed(tmp_path: Path) -> None:
    words = "of the frames that were computed"
    for nacked, told in ((0, False), (9, True)):
        run = quiet_run()
        run.rows["counters"][0] |= {
            "frames_completed": 50 - nacked,
            "frames_nacked": nacked,
            "lates_processing": nacked,
        }
        folder = run_folder(tmp_path, run)
        r = results.build(folder, folder.telemetry(), [])
        assert report.summary(r)[-1].endswith(f"core-ms per ms of air time, {words}") == told
        assert (words in tiles.tiles(folder, r)) == told
        assert (f"What each kernel cost over the run, {words}." in page_tables(folder, r)) == told
        picture = stages.breakdown(folder, folder.telemetry(), r)
        assert picture is not None
        assert (words in picture.axes[0].get_title()) == told


def page_tables(folder: RunFolder, r: Result) -> str:
    return "".join(tables.sections(folder, r))
