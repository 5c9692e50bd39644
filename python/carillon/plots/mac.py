"""What users got of a scheduler: throughput and failed blocks over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from carillon.plots import style

_COLOURS = list(style.STAGES.values())[:9]


def draw(results: dict[str, Any], folder: Path) -> None:
    """mac.png and mac.svg, of what mac.json holds."""
    directions = list(dict.fromkeys(flow["direction"] for flow in results["flows"]))
    with style.applied():
        figure = Figure(figsize=(4.8 * len(directions), 5.2))
        grid = figure.subplots(2, len(directions), squeeze=False, sharex=True)
        for column, direction in enumerate(directions):
            own = [flow for flow in results["flows"] if flow["direction"] == direction]
            _throughput(grid[0, column], own, direction)
            _failed(grid[1, column], own, results["target_bler"])
        handles, labels = style.legend_of(grid.flat)
        figure.legend(handles, labels, loc="outside lower center", ncols=min(8, len(labels)))
        for suffix in ("png", "svg"):
            style.save(figure, folder / f"mac.{suffix}")


def _throughput(axes: Axes, flows: Sequence[dict[str, Any]], direction: str) -> None:
    _lines(axes, flows, "mbps")
    axes.set_ylim(bottom=0)
    axes.set(title=direction.capitalize(), ylabel="Mbit/s")


def _failed(axes: Axes, flows: Sequence[dict[str, Any]], target: float) -> None:
    _lines(axes, flows, "bler")
    axes.axhline(target, color=style.ALARM, linewidth=1, linestyle="--", label="target")
    axes.set_ylim(bottom=0)
    axes.set(xlabel="s on air", ylabel="share of blocks that failed")


def _lines(axes: Axes, flows: Sequence[dict[str, Any]], name: str) -> None:
    for flow in flows:
        known = [span for span in flow["over_time"] if span[name] is not None]
        axes.plot(
            [span["seconds"] for span in known],
            [span[name] for span in known],
            color=_COLOURS[flow["user"] % len(_COLOURS)],
            linewidth=1.1,
            label=f"user {flow['user']}",
        )
