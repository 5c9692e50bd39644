"""What was measured on GPUs: bars, a panel for each unit, coloured by where they are from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from carillon.plots import style
from carillon.studies.gpu import Row

_COLOURS = {
    "measured": style.ACCENT,
    "published": style.SECOND,
    "goal": style.ALARM,
    "synthetic": style.QUIET,
}
_BAR, _AROUND = 0.22, 0.9  # inches
_WIDE = 50  # the largest value over the smallest, from which on an axis is logarithmic
_LEAST_BARS = 3  # that there is room for


def draw(folder: Path, rows: Sequence[Row], title: str) -> None:
    """study.png and study.svg."""
    with style.applied():
        drawn = panels(rows)
        drawn.suptitle(title, fontsize=9)
        style.save(drawn, folder / "study.png")
        style.save(drawn, folder / "study.svg")


def draw_latency(folder: Path, latencies_us: Sequence[float], device: str) -> None:
    """gpu.png and gpu.svg: which share of the frames took longer."""
    values = np.sort(np.asarray(latencies_us))
    with style.applied():
        drawn, axes = style.figure(height=3.8)
        axes.step(values, 1 - np.arange(len(values)) / len(values), color=style.ACCENT)
        axes.set_yscale("log")
        axes.set_xlabel(f"latency of a frame from its last sample, µs, measured on {device}")
        axes.set_ylabel("share of frames that took longer")
        style.save(drawn, folder / "gpu.png")
        style.save(drawn, folder / "gpu.svg")


def panels(rows: Sequence[Row]) -> Figure:
    """A panel for each unit."""
    units = list(dict.fromkeys(row.unit for row in rows))
    groups = [[row for row in rows if row.unit == unit] for unit in units]
    heights = [_AROUND + _BAR * max(len(group), _LEAST_BARS) for group in groups]
    drawn = Figure(figsize=(8.4, sum(heights) + 0.4))
    grid = drawn.subplots(len(groups), 1, squeeze=False, height_ratios=heights)
    for axes, group in zip(grid[:, 0], groups, strict=True):
        _bars(axes, group)
    known = [source for source in _COLOURS if any(row.source == source for row in rows)]
    handles = [Patch(color=_COLOURS[source], label=source) for source in known]
    drawn.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return drawn


def _bars(axes: Axes, rows: Sequence[Row]) -> None:
    places = range(len(rows))
    axes.barh(places, [row.value for row in rows], color=[_COLOURS[row.source] for row in rows])
    axes.set_yticks(places, [_label(row) for row in rows], fontsize=7)
    axes.set_ylim(max(len(rows), _LEAST_BARS) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    values = sorted(row.value for row in rows)
    if values[0] > 0 and values[-1] > _WIDE * values[0]:  # else the short bars tell nothing
        axes.set_xscale("log")
    axes.set_xlabel(rows[0].unit)


def _label(row: Row) -> str:
    return f"{row.what}, {row.measure}" + (f" ({row.device})" if row.device else "")
