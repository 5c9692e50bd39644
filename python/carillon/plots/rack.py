"""Radio units on a rack: the share of frames that were not done, and what a unit takes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from carillon.plots import style
from carillon.plots.pool import COLOURS
from carillon.studies import rack
from carillon.studies.rack import Point

_LEAST = 1e-5  # where none is drawn


def draw(folder: Path, points: Sequence[Point]) -> None:
    """study.png and study.svg."""
    with style.applied():
        racks = list(dict.fromkeys(point.rack for point in points))
        figure = Figure(figsize=(9.6, 2.8 * len(racks)))
        grid = figure.subplots(len(racks), 2, squeeze=False, width_ratios=(3, 2))
        for (missed, watts), name in zip(grid, racks, strict=True):
            own = [point for point in points if point.rack == name]
            _missed(missed, own, name)
            _watts(watts, own, name)
        handles, labels = style.legend_of(grid[:, 0])
        figure.legend(handles, labels, loc="outside lower center", ncols=5)
        style.save(figure, folder / "study.png")
        style.save(figure, folder / "study.svg")


def _missed(axes: Axes, points: Sequence[Point], name: str) -> None:
    for policy, colour in COLOURS.items():
        own = [point for point in points if point.policy == policy]
        shares = [max(point.missed, _LEAST) for point in own]
        axes.plot([point.units for point in own], shares, "o-", ms=4, color=colour, label=policy)
    axes.axhline(rack.MOST_MISSED, color=style.ALARM, lw=1, ls="--")
    axes.set_yscale("log")
    axes.set_ylim(0.7 * _LEAST, 1.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel="radio units on the rack", ylabel="share of frames not done")
    axes.set_title(f"{name}, simulated")


def _watts(axes: Axes, points: Sequence[Point], name: str) -> None:
    best = [rack.most(points, name, policy) for policy in COLOURS]
    values = [one.watts if one else 0.0 for one in best]
    places = np.arange(len(COLOURS))
    axes.bar(places, values, 0.6, color=list(COLOURS.values()))
    for place, one in zip(places, best, strict=True):
        units = one.units if one else 0
        axes.annotate(
            f"{units} unit{'' if units == 1 else 's'}",
            (place, one.watts if one else 0.0),
            xytext=(0, 2),
            textcoords="offset points",
            ha="center",
            fontsize=7.5,
        )
    axes.set_xticks(places, list(COLOURS), rotation=25, ha="right")
    axes.set_ylabel("W per unit, assumed")
    axes.set_title("With the most units")
    axes.grid(visible=False, axis="x")
