"""The live view draws what the telemetry holds."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from carillon.braille import scatter
from carillon.config import aiming
from carillon.live import CellsView, LiveView, histogram
from rich.console import Console
from synthetic import quiet_run, run_folder


def test_the_view_shows_latency_counts_and_cores(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, quiet_run(frames=300))
    console = Console(width=120, height=40, record=True, file=(tmp_path / "out").open("w"))
    view = LiveView(folder, console)
    console.print(view.draw(folder.telemetry()))
    text = console.export_text()
    for words in ("synthetic", "8×2", "0.3 s on air, 300 frames", "p50 0.700", "processing"):
        assert words in text
    assert "worker 1 @1" in text
    assert re.search(r"uplink Mb/s +2 ", text)
    assert re.search(r"downlink failed +0 of 600", text)
    assert "0 % of 10 s, P_out 0.1 %" in text


def test_the_view_holds_late_frames_against_the_target(tmp_path: Path) -> None:
    run = quiet_run(frames=300)
    for number in (10, 290, 299):
        run.rows["frames"][number] |= {"completed": 0, "late_cause": 3}
    folder = run_folder(tmp_path, run)
    folder = replace(folder, run=aiming(folder.run, outage=0.015, averaging_s=0.1))
    console = Console(width=80, height=24, record=True, file=(tmp_path / "out").open("w"))
    console.print(LiveView(folder, console).draw(folder.telemetry()))
    text = console.export_text(styles=False)
    assert "2 % of 0.1 s, P_out 1.5 %" in text
    assert re.search(r"T_BS 0\.\d{3}, p99 0\.\d{3}   T_OS 0\.000, p99 0\.000   T_f ", text)


def test_the_view_of_several_cells_holds_each_against_the_target(tmp_path: Path) -> None:
    run = quiet_run(frames=300)
    for number in (290, 299):
        run.rows["frames"][number] |= {"completed": 0, "late_cause": 3}
    folder = run_folder(tmp_path / "late", run)
    folder = replace(folder, run=aiming(folder.run, outage=0.015, averaging_s=0.1))
    quiet = run_folder(tmp_path / "quiet", quiet_run(frames=300))
    folders = [folder, replace(quiet, run=folder.run)]
    console = Console(width=120, height=24, record=True, file=(tmp_path / "out").open("w"))
    console.print(CellsView(folders, console).draw(*(one.telemetry() for one in folders)))
    heading, late, none, target, *_ = console.export_text(styles=False).splitlines()
    assert heading.rstrip().endswith("late now")
    assert late.rstrip().endswith(" 2 %")
    assert none.rstrip().endswith(" 0 %")
    assert target.strip() == "late now: of the last 0.1 s; P_out 1.5 %"


@pytest.mark.parametrize(("width", "height"), [(80, 24), (110, 30), (140, 50), (60, 20)])
@pytest.mark.parametrize("threads", [3, 40])
def test_the_view_fits_the_terminal(tmp_path: Path, width: int, height: int, threads: int) -> None:
    run = quiet_run(frames=300)
    run.rows["threads"] *= threads // 3
    folder = run_folder(tmp_path, run)
    console = Console(width=width, height=height, record=True, file=(tmp_path / "out").open("w"))
    console.print(LiveView(folder, console).draw(folder.telemetry()))
    lines = console.export_text().rstrip().splitlines()
    assert len(lines) < height
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert "overhead" in text
    assert ("more" in text) == (threads > 3)


def test_a_histogram_shows_single_values_beside_many() -> None:
    values = np.array([0.1] * 1000 + [0.9])
    assert histogram(values, 1.0, columns=10, rows=1) == " █       ▁"
    assert histogram(values, 1.0, columns=10, rows=2) == " █        \n █       ▁"


def test_a_dot_lies_where_its_point_is() -> None:
    empty = chr(0x2800)
    corner = scatter([-0.99], [0.99], columns=2, rows=1, limit=1.0)
    assert corner == chr(0x2801) + empty
    assert scatter([0.99], [-0.99], columns=2, rows=1, limit=1.0) == empty + chr(0x2880)
    assert scatter([2.0], [0.0], columns=2, rows=1, limit=1.0) == 2 * empty
