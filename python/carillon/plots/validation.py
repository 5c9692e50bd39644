"""Latencies foretold against measured, and what other job sizes would cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from carillon.models.allocation import STAGES
from carillon.plots import style
from carillon.validation import Grains, Prediction

_SHAPES = {"D_UL": "o", "D_DL": "s"}
_COLOURS = {"air": style.ACCENT, "at once": style.SECOND}
_BAND = 0.1
_ENTRY = 1.2  # inches of the longest stage's name in a legend


def draw(folder: Path, found: Sequence[Prediction], swept: Sequence[Grains]) -> None:
    """latencies.png and job-sizes.png, as far as there is something to draw."""
    with style.applied():
        if found:
            style.save(_latencies(found), folder / "latencies.png")
        if swept:
            style.save(_job_sizes(swept), folder / "job-sizes.png")


def _latencies(found: Sequence[Prediction]) -> Figure:
    figure = Figure(figsize=(8.4, 4.4))
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.1))
    _against(left, [one for one in found if one.measure in _SHAPES])
    _errors(right, [one for one in found if one.measure in _SHAPES])
    style.legend(figure, left, 4)
    return figure


def _against(axes: Axes, found: Sequence[Prediction]) -> None:
    every = [ms for one in found for ms in (one.predicted_ms, one.measured_ms)]
    ends = [min(every) * 0.7, max(every) * 1.4]
    axes.fill_between(
        ends,
        [(1 - _BAND) * ms for ms in ends],
        [(1 + _BAND) * ms for ms in ends],
        color=style.LINE,
        label="± 10 %",
    )
    axes.plot(ends, ends, color=style.QUIET, linewidth=0.8)
    for pace, colour in _COLOURS.items():
        for measure, shape in _SHAPES.items():
            some = [one for one in found if (one.pace, one.measure) == (pace, measure)]
            if not some:
                continue
            axes.plot(
                [one.measured_ms for one in some],
                [one.predicted_ms for one in some],
                shape,
                color=colour,
                markersize=5,
                label=f"{measure}, " + ("packets at once" if pace == "at once" else "on air"),
            )
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    axes.set(xlabel="measured, ms", ylabel="foretold, ms", title="Latencies")


def _errors(axes: Axes, found: Sequence[Prediction]) -> None:
    names = list(dict.fromkeys(f"{one.cell}, {one.workers}" for one in found))
    for one in found:
        axes.plot(
            100 * one.error,
            names.index(f"{one.cell}, {one.workers}"),
            _SHAPES[one.measure],
            color=_COLOURS[one.pace],
            markersize=5,
        )
    axes.axvspan(-100 * _BAND, 100 * _BAND, color=style.LINE, alpha=0.6)
    axes.axvline(0, color=style.QUIET, linewidth=0.8)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set(xlabel="foretold beyond measured, %", title="Cell and workers")


def _job_sizes(swept: Sequence[Grains]) -> Figure:
    """A panel for each cell: each stage's size changed alone, with the packets all there."""
    some = [one for one in swept if one.pace == "at once"] or list(swept)
    columns = min(3, len(some))
    rows = -(-len(some) // columns)
    width = max(4.2, 2.9 * columns)
    figure = Figure(figsize=(width, 2.6 * rows + 0.6))
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, one in zip(grid.flat, some, strict=False):
        _panel(axes, one)
    for axes in list(grid.flat)[len(some) :]:
        axes.set_axis_off()
    stages = dict.fromkeys(stage for one in some for stage in one.sweep.alone)
    handles = [
        grid.flat[0].plot([], [], "o-", color=_stage_colour(stage), markersize=3, label=stage)[0]
        for stage in stages
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=int(width / _ENTRY))
    return figure


def _stage_colour(stage: str) -> str:
    return style.stage_colour(next(op for op in STAGES[stage] if op in style.STAGES))


def _panel(axes: Axes, one: Grains) -> None:
    best = one.sweep.best_ms
    for stage, alone in one.sweep.alone.items():
        sizes = sorted(alone)
        axes.plot(
            sizes,
            [100 * (alone[size] / best - 1) for size in sizes],
            "o-",
            color=_stage_colour(stage),
            markersize=3,
            linewidth=1,
        )
    axes.axhline(0, color=style.QUIET, linewidth=0.8)
    axes.axhline(100 * one.sweep.excess, color=style.ALARM, linewidth=1, linestyle=":")
    axes.set_xscale("log", base=2)
    axes.set_title(f"{one.cell}, {one.sweep.cores} cores", parse_math=False)
    axes.set(xlabel="chunks a claim", ylabel="% above the best")
