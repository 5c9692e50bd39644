"""MegaStation's figures: bars by shape, lines along a number, shares of opcodes, rates in time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import MaxNLocator

from carillon.plots import style
from carillon.plots.pool import COLOURS
from carillon.pool.summary import written
from carillon.studies.figure import Figure, Point
from carillon.studies.random_pools import gaps as gaps_of
from carillon.studies.scaling import BIN_MS

_WIDTH = 0.16
_LABELS = {"mean_ms": "mean", "tail_ms": "tail", "frames_per_s": "throughput"}


def draw(folder: Path, figure: Figure, points: Sequence[Point]) -> None:
    """study.png and study.svg."""
    panels = {"stages": stages, "timeline": timeline, "gaps": gaps}.get(figure.picture, measures)
    with style.applied():
        drawn = panels(figure, points)
        handles, labels = style.legend_of(drawn.axes)
        drawn.legend(handles, labels, loc="outside lower center", ncols=5)
        style.save(drawn, folder / "study.png")
        style.save(drawn, folder / "study.svg")


def measures(figure: Figure, points: Sequence[Point]) -> Drawing:
    """A row for each measure, a column for each group."""
    groups = _groups(points)
    drawn = Drawing(figsize=(4.8 * max(len(groups), 1.4), 2.5 * len(figure.measures)))
    rows, columns = len(figure.measures), len(groups)
    grid = drawn.subplots(rows, columns, sharex="col", sharey="row", squeeze=False)
    panel = _lines if figure.picture == "lines" else _bars
    for row, name in zip(grid, figure.measures, strict=True):
        for axes, group in zip(row, groups, strict=True):
            panel(axes, [point for point in points if point.group == group], name)
            what = written(points[0].tail) if name == "tail_ms" else _LABELS[name]
            axes.set_title(f"{group}, {what}, simulated")
        row[0].set_ylabel("frames per second" if name == "frames_per_s" else "ms")
        known = [value for point in points if (value := _finite(getattr(point, name)))]
        times = name != "frames_per_s" and figure.picture == "lines"
        if times and known and max(known) > 10 * min(known):
            row[0].set_yscale("log")
        else:
            row[0].set_ylim(bottom=0)
    for axes in grid[-1]:
        axes.set_xlabel(figure.axis)
    return drawn


def gaps(figure: Figure, points: Sequence[Point]) -> Drawing:
    """How far adaptive is behind the best other policy, over the share of pools."""
    known = gaps_of(points)
    drawn = Drawing(figsize=(7.0, 3.6))
    axes = drawn.subplots()
    for name, values in (
        ("mean", [gap.mean for gap in known]),
        ("tail", [gap.tail for gap in known if not gap.late]),
    ):
        share = 100 * (np.arange(len(values)) + 1) / max(len(values), 1)
        axes.step(100 * np.sort(values), share, where="post", label=name)
    axes.axvline(0, color="0.6", lw=0.8)
    axes.set_xlim(-60, 30)
    axes.set_xlabel("adaptive behind the best other policy, % (left of 0: ahead)")
    axes.set_ylabel("% of pools, at most so far")
    axes.set_title(f"{len(known)} pools drawn at random, simulated")
    return drawn


def _groups(points: Sequence[Point]) -> list[str]:
    return list(dict.fromkeys(point.group for point in points))


def _bars(axes: Axes, points: Sequence[Point], name: str) -> None:
    """A cross where too many frames were late."""
    places = list(dict.fromkeys(point.x for point in points))
    for place, (policy, colour) in enumerate(COLOURS.items()):
        own = {point.x: getattr(point, name) for point in points if point.policy == policy}
        x = np.arange(len(places)) + (place - 2) * _WIDTH
        known = [_finite(own.get(each)) for each in places]
        axes.bar(x, known, 0.9 * _WIDTH, color=colour, label=policy)
        for at, value in zip(x, known, strict=True):
            if value == 0:
                axes.plot(at, 0, "x", color=colour, ms=5, mew=1.5, clip_on=False)
    labels = [str(each).replace("x", "×") for each in places]
    for where, broken in ((", ", "\n"), (": ", ":\n"), ("+ ", "+\n")):
        labels = [label.replace(where, broken) for label in labels]
    axes.set_xticks(np.arange(len(places)), labels)
    axes.grid(visible=False, axis="x")


def _finite(value: float | None) -> float:
    """0 where too many frames were late."""
    return 0.0 if value is None or math.isinf(value) else value


def _lines(axes: Axes, points: Sequence[Point], name: str) -> None:
    """A line ends where too many frames were late."""
    for policy, colour in COLOURS.items():
        own = [point for point in points if point.policy == policy]
        missing = 0.0 if name == "frames_per_s" else math.nan
        values = [_finite(getattr(point, name)) or missing for point in own]
        axes.plot([point.x for point in own], values, "o-", ms=3.5, color=colour, label=policy)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def stages(figure: Figure, points: Sequence[Point]) -> Drawing:
    """Of scoreboard: which share of a frame's kernels each opcode has."""
    groups = _groups(points)
    drawn = Drawing(figsize=(4.8 * len(groups), 3.6))
    for axes, group in zip(drawn.subplots(1, len(groups), squeeze=False)[0], groups, strict=True):
        own = [point for point in points if point.group == group and point.policy == "scoreboard"]
        bottom = np.zeros(len(own))
        for opcode in own[0].extra:
            share = np.array([float(str(point.extra[opcode])) for point in own])
            axes.bar(
                range(len(own)), share, 0.7, bottom, color=style.stage_colour(opcode), label=opcode
            )
            bottom += share
        axes.set_xticks(range(len(own)), [str(point.x).replace("x", "×") for point in own])
        axes.set(title=f"{group}, simulated", ylabel="% of the kernels' time", xlabel=figure.axis)
        axes.grid(visible=False, axis="x")
    return drawn


def timeline(figure: Figure, points: Sequence[Point]) -> Drawing:
    """Frames per second in each bin of time."""
    places = list(dict.fromkeys((point.x, point.group) for point in points))
    drawn = Drawing(figsize=(9.6, 2.0 * len(places)))
    every = drawn.subplots(len(places), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (x, group) in zip(every, places, strict=True):
        for point in points:
            rates = point.extra["rates"]
            if (point.x, point.group) == (x, group) and isinstance(rates, list):
                colour = COLOURS[point.policy]
                at = BIN_MS * np.arange(len(rates))
                axes.step(at, rates, where="post", color=colour, label=point.policy, lw=1.1)
        axes.set(title=f"{str(x).replace('x', '×')}, {group}, simulated", ylabel="frames/s")
        axes.set_ylim(bottom=0)
    every[-1].set_xlabel(figure.axis)
    return drawn
