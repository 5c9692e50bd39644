"""MegaStation's figure 8: a group of bars for each shape, a bar for each policy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from carillon.plots import style
from carillon.plots.pool import COLOURS
from carillon.pool.summary import written
from carillon.studies.megastation import DIRECTIONS, Point

_WIDTH = 0.16
_MEASURES = {"mean_ms": "mean", "tail_ms": "tail", "frames_per_s": "throughput"}


def draw(folder: Path, points: Sequence[Point]) -> None:
    """study.png and study.svg."""
    with style.applied():
        figure = picture(points)
        figure.savefig(folder / "study.png", dpi=160)
        figure.savefig(folder / "study.svg", metadata={"Date": None})


def picture(points: Sequence[Point]) -> Figure:
    """A row for each measure, a column for each direction."""
    figure = Figure(figsize=(9.6, 7.6))
    grid = figure.subplots(len(_MEASURES), len(DIRECTIONS), sharey="row", squeeze=False)
    for row, name in zip(grid, _MEASURES, strict=True):
        for axes, direction in zip(row, DIRECTIONS, strict=True):
            own = [point for point in points if point.direction == direction]
            _panel(axes, own, name)
            what = written(points[0].tail) if name == "tail_ms" else _MEASURES[name]
            axes.set_title(f"{direction}, {what}, simulated")
        row[0].set_ylabel("frames per second" if name == "frames_per_s" else "ms")
    handles, labels = style.legend_of(grid.flat)
    figure.legend(handles, labels, loc="outside lower center", ncols=5)
    return figure


def _panel(axes: Axes, points: Sequence[Point], name: str) -> None:
    shapes = list(dict.fromkeys(point.shape for point in points))
    for place, (policy, colour) in enumerate(COLOURS.items()):
        own = {point.shape: getattr(point, name) for point in points if point.policy == policy}
        x = np.arange(len(shapes)) + (place - 2) * _WIDTH
        known = [_finite(own.get(shape)) for shape in shapes]
        axes.bar(x, known, 0.9 * _WIDTH, color=colour, label=policy)
        for at, value in zip(x, known, strict=True):
            if value == 0:
                axes.plot(at, 0, "x", color=colour, ms=5, mew=1.5, clip_on=False)
    axes.set_xticks(np.arange(len(shapes)), [shape.replace("x", "×") for shape in shapes])
    axes.grid(visible=False, axis="x")


def _finite(value: float | None) -> float:
    """0, drawn as a cross, where too many frames were late."""
    return 0.0 if value is None or math.isinf(value) else value
