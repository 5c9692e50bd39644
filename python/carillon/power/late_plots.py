"""Pictures of late TTIs over clocks, and of clocks over a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from carillon.plots import style
from carillon.power.learn import Row
from carillon.power.prediction import Prediction
from carillon.statistics import wilson
from carillon.telemetry import Records

_WIDTH, _HEIGHT = 5.6, 3.6  # inches


def draw_late(rows: Sequence[Row], source: str, file: Path) -> None:
    """The late ratio of each cell over the clock."""
    with style.applied():
        style.save(late_picture(rows, source), file)


def late_picture(rows: Sequence[Row], source: str) -> Figure:
    """Medians of windows with a deviation on either side, as in figures 4 to 7, or 95 % intervals
    where there is one window."""
    figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
    axes = figure.subplots()
    cells = list(dict.fromkeys(row.cell for row in rows))
    for cell, shade in zip(cells, np.linspace(1, 0.35, len(cells)), strict=True):
        _late(axes, [row for row in rows if row.cell == cell], cell, float(shade))
    axes.set_yscale("symlog", linthresh=1e-5)
    axes.set_ylim(0, 1.3)
    axes.set_xlabel("clock, MHz")
    axes.set_ylabel("ratio of late TTIs")
    axes.set_title(source)
    axes.legend(frameon=False)
    return figure


def draw_load(rows: Sequence[Row], shares: Sequence[float], source: str, file: Path) -> None:
    """The late ratio of each cell over the share of a core's time that all of its like need."""
    with style.applied():
        figure = Figure(figsize=(1.3 * _WIDTH, _HEIGHT), layout="constrained")
        axes = figure.subplots()
        cells = list(dict.fromkeys(row.cell for row in rows))
        for cell, shade in zip(cells, np.linspace(1, 0.35, len(cells)), strict=True):
            own = [place for place, row in enumerate(rows) if row.cell == cell]
            axes.plot(
                [shares[place] for place in own], [rows[place].ratio for place in own], "o-",
                color=style.ACCENT, alpha=float(shade), markersize=3, label=cell,
            )  # fmt: skip
        axes.set_yscale("symlog", linthresh=1e-5)
        axes.set_ylim(0, 1.3)
        axes.set_xlabel("load: share of a core at that clock")
        axes.set_ylabel("ratio of late TTIs")
        axes.set_title(source)
        figure.legend(loc="outside right center")
        style.save(figure, file)


def _late(axes: Axes, rows: Sequence[Row], cell: str, shade: float) -> None:
    clocks = [row.clock_mhz for row in rows]
    if any(row.deviation for row in rows):
        middle = np.array([row.median for row in rows])
        low = np.maximum(middle - [row.deviation for row in rows], 0)
        high = middle + [row.deviation for row in rows]
    else:
        middle = np.array([row.ratio for row in rows])
        low, high = np.array([wilson(row.late, row.ttis) for row in rows]).T
    axes.plot(clocks, middle, "o-", markersize=3, color=style.ACCENT, alpha=shade, label=cell)
    axes.vlines(clocks, low, high, color=style.ACCENT, alpha=shade, linewidth=1)


def draw_clock(frames: Records, prediction: Prediction, file: Path, *, emulated: bool) -> None:
    """The clock of each frame, and which were late."""
    with style.applied():
        style.save(clock_picture(frames, prediction, emulated=emulated), file)


def clock_picture(frames: Records, prediction: Prediction, *, emulated: bool = True) -> Figure:
    """Over seconds; late frames by whether threads stood still."""
    figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
    axes = figure.subplots()
    seconds = (frames["air_start"] - frames["air_start"].min()) / 1e9
    axes.step(seconds, frames["clock_mhz"], color=style.ACCENT, linewidth=0.8, where="post")
    late = frames["completed"] == 0
    stood = late & np.isin(frames["late_cause"], (4, 5))
    for which, colour, label in (
        (stood, style.SECOND, "late, threads stood still"),
        (late & ~stood, style.ALARM, "late for want of time"),
    ):
        if which.any():
            axes.plot(seconds[which], frames["clock_mhz"][which], "|", color=colour, label=label)
    axes.set_ylim(prediction.clocks[0] * 0.9, prediction.clocks[-1] * 1.1)
    axes.set_xlabel("time, s")
    axes.set_ylabel("emulated clock, MHz" if emulated else "clock, MHz")
    if late.any():
        axes.legend(frameon=False)
    return figure


def draw_study(title: str, axis: str, xs: Sequence[float], rows: Sequence[Row], file: Path) -> None:
    """Medians of windows with a deviation on either side, over the clock or the coalescing."""
    with style.applied():
        figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
        axes = figure.subplots()
        middle = np.array([row.median for row in rows])
        spread = np.array([row.deviation for row in rows])
        axes.plot(xs, middle, "o-", markersize=3, color=style.ALARM)
        axes.vlines(xs, np.maximum(middle - spread, 0), middle + spread, color=style.ACCENT)
        if axis == "clock_mhz":
            axes.set_yscale("symlog", linthresh=1e-5)
        axes.set_ylim(0, None)
        axes.set_xlabel("clock, MHz" if axis == "clock_mhz" else "coalescing, µs")
        axes.set_ylabel("ratio of late TTIs")
        axes.set_title(f"{title}\n(virtual time, from measured delays)")
        style.save(figure, file)
