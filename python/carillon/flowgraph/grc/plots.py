"""A picture of a flowgraph of GNU Radio before and after."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from carillon.flowgraph.grc.control import Controlled
from carillon.flowgraph.grc.latency import Seen
from carillon.plots import style

_SHARES = np.concatenate([np.linspace(0, 0.9, 91), 1 - np.logspace(-1, -4, 100)])


def draw(found: Controlled, target: Path) -> None:
    """latency.png and latency.svg in a folder."""
    with style.applied():
        drawn = picture(found)
        for ending in (".png", ".svg"):
            style.save(drawn, target / f"latency{ending}")


def picture(found: Controlled) -> Figure:
    """Which share of samples is later than so much, and what each block uses."""
    figure = Figure(figsize=(8.4, 3.6))
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    sides = (("as it was", found.before, style.QUIET), ("in batches", found.after, style.ACCENT))
    for name, side, colour in sides:
        times = np.quantile(side.latencies_ns, _SHARES, method="higher") / 1e6
        left.plot(times, 1 - _SHARES, color=colour, label=name)
    left.axvline(
        found.plan.bound_ns / 1e6, color=style.SECOND, linestyle=(0, (4, 2)), label="bound"
    )
    left.set_yscale("log")
    left.set_xlim(left=0)
    left.set_xlabel("latency from a sample's due time, ms")
    left.set_ylabel("share of samples that are later")
    left.set_title(f"{found.flow.name}: latency", parse_math=False)
    _draw_cores(right, [(name, side, colour) for name, side, colour in sides])
    style.legend(figure, left, 3)
    return figure


def _draw_cores(axes: Axes, sides: list[tuple[str, Seen, str]]) -> None:
    names = list(sides[0][1].cores)
    places = np.arange(len(names))
    for offset, (_, side, colour) in zip((-0.2, 0.2), sides, strict=True):
        percent = [100 * side.cores[name] for name in names]
        axes.barh(places + offset, percent, height=0.38, color=colour)
    axes.set_yticks(places, names, parse_math=False)
    axes.invert_yaxis()
    axes.set_xlabel("per cent of a core")
    axes.set_title("CPU time by block")
    axes.grid(visible=False, axis="y")
