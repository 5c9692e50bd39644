"""Frequencies over time: what a sink keeps of them, and its picture."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from carillon import cli, core
from carillon.flowgraph import Block, FunctionBlock, Graph, Running
from carillon.flowgraph.waterfall import Waterfall, draw_waterfalls, waterfalls
from numpy.typing import NDArray
from pieces import fed, figure
from typer.testing import CliRunner

RATE, SIZE, AVERAGES, CENTER = 256_000, 256, 4, 100e6
LOW, SWEEP = -100_000, 200_000  # Hz at first, Hz a second


def sweep() -> FunctionBlock:
    """An exponential whose frequency rises."""
    made = 0

    def give(count: int) -> NDArray[np.complex64]:
        nonlocal made
        t = np.arange(made, made + count) / RATE
        made += count
        phase = 2 * np.pi * (LOW * t + SWEEP / 2 * t**2)
        return np.asarray(np.exp(1j * phase), np.complex64)

    return FunctionBlock(give, output=("complex", 1))


def watched(most_rows: int) -> Running:
    graph = Graph("sweep").node("tone", rate_hz=RATE, block=sweep())
    graph.node("spectra", block=Block("fft-power", size=SIZE, averages=AVERAGES))
    sink = Block(
        "waterfall-sink", size=SIZE, span_hz=RATE, center_hz=CENTER, most_rows=most_rows
    )  # fmt: skip
    graph.node("fall", block=sink)
    for start, end in pairwise(("tone", "spectra", "fall")):
        graph.edge(start, end)
    with Running(graph, batches=[4096, 3, 5], paced=False, seconds=1) as running:
        running.wait()
    assert not running.result().failures
    return running


def test_the_strongest_is_where_the_tone_is(tmp_path: Path) -> None:
    running = watched(64)
    (found,) = waterfalls(running)
    assert found.seconds == pytest.approx(1, abs=SIZE * AVERAGES / RATE)
    assert found.row_s == pytest.approx(4 * SIZE * AVERAGES / RATE)  # 250 rows in 64
    assert found.powers.shape == (63, SIZE)
    middle = (np.arange(62) + 0.5) * found.row_s
    peaks = found.frequencies_hz[found.powers.argmax(axis=1)][:62]
    moved = SWEEP * found.row_s / 2
    assert np.max(np.abs(peaks - (CENTER + LOW + SWEEP * middle))) <= moved + found.step_hz
    ((_, file),) = draw_waterfalls(running, tmp_path)
    assert file == tmp_path / "waterfall-fall.png"
    assert file.read_bytes().startswith(b"\x89PNG")


def test_rows_without_room_become_means_of_two() -> None:
    rows = np.random.default_rng(1).random((23, 6), np.float32)
    block = core.Block("waterfall-sink", {"size": 6, "span_hz": 6.0, "most_rows": 4})
    block.start()
    assert fed(block, rows.ravel()) is None
    kept = block.rows()
    assert kept is not None
    powers, first_hz, step_hz, came, merged = kept
    assert (first_hz, step_hz, came, merged) == (-3, 1, 23, 8)
    means = [rows[:8].mean(axis=0), rows[8:16].mean(axis=0), rows[16:].mean(axis=0)]
    assert powers == pytest.approx(np.array(means), rel=1e-6)


def test_what_is_not_finite_spoils_nothing_else() -> None:
    block = core.Block("waterfall-sink", {"size": 2, "span_hz": 1.0})
    block.start()
    block.run([np.array([1, np.nan, np.inf, 2], np.float32)])
    kept = block.rows()
    assert kept is not None and kept[0].tolist() == [[1, 0], [0, 2]]
    assert figure(block, "replaced") == 2


def test_what_a_waterfall_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="most_rows: must be even"):
        core.Block("waterfall-sink", {"span_hz": 1.0, "most_rows": 3})
    with pytest.raises(ValueError, match="most_rows: of at most 67108864 values in all"):
        core.Block("waterfall-sink", {"span_hz": 1.0, "size": 65536, "most_rows": 2048})


def test_a_picture_of_nothing_but_zeros_can_be_drawn() -> None:
    from carillon.flowgraph.waterfall import waterfall_picture

    waterfall_picture(Waterfall("none", np.zeros((2, 3000), np.float32), 0, 1, 1, 2))


def test_the_pages_graph_has_its_picture_in_the_report(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "flowgraph-runs.md"
    (graph,) = re.findall(r"^```yaml\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)
    file = tmp_path / "spectrum.yaml"
    file.write_text(graph)
    options = ["--batch", "64", "--fast", "--seconds", "0.5", "--folder", str(tmp_path / "run")]
    ran = CliRunner().invoke(cli.app, ["flowgraph", "run", str(file), *options])
    assert ran.exit_code == 0, ran.output
    assert (tmp_path / "run" / "waterfall-waterfall.png").is_file()
    report = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert report.count('<img src="data:image/png;base64,') == 1
