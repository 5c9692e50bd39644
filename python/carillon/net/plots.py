"""Pictures of round trips."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from carillon.plots import style

_WIDTH, _HEIGHT = 4.8, 3.4  # inches of a panel
_COLOURS = (style.ACCENT, style.SECOND, style.ALARM, *style.STAGES.values())


def draw(result: dict[str, Any], file: Path) -> None:
    """Mean and deviation of each way beside the paper's, and over coalescing where it was swept."""
    mtus = list(dict.fromkeys(row["mtu"] for row in result["rows"]))
    swept = result["coalesced"]
    with style.applied():
        figure = Figure(figsize=(_WIDTH * len(mtus), _HEIGHT * (1 + bool(swept))))
        panels = figure.subplots(1 + bool(swept), len(mtus), squeeze=False)
        for column, mtu in enumerate(mtus):
            _ways(panels[0, column], result, mtu)
            if swept:
                _coalesced(panels[1, column], [each for each in swept if each["mtu"] == mtu])
        style.save(figure, file)


def _ways(axes: Axes, result: dict[str, Any], mtu: int) -> None:
    lines: list[tuple[str, float, float, str]] = []
    for row in result["rows"]:
        trips = row["highest"]
        if row["mtu"] == mtu and trips and trips["mean_us"] is not None:
            label = f"{row['way']}, {trips['asked_per_s'] / 1e3:.4g} k/s"
            lines.append((label, trips["mean_us"], trips["std_us"], style.ACCENT))
    for each in result["published"]:
        if each["mtu"] == mtu:
            label = f"paper: {each['configuration']}"
            lines.append((label, each["mean_us"], each["std_us"], style.QUIET))
    for place, (_, mean, deviation, colour) in enumerate(lines):
        axes.errorbar(mean, -place, xerr=deviation, fmt="o", color=colour, capsize=3)
    axes.set_yticks([-place for place in range(len(lines))], [line[0] for line in lines])
    axes.set_xscale("log")
    axes.set_xlabel("round trip, µs: mean ± standard deviation")
    axes.set_title(f"MTU {mtu}, over {result['link']}")


def _coalesced(axes: Axes, swept: list[dict[str, Any]]) -> None:
    ways = list(dict.fromkeys(each["way"] for each in swept))
    for way, colour in zip(ways, _COLOURS, strict=False):
        own = [each for each in swept if each["way"] == way and each["trips"]["sustained"]]
        axes.errorbar(
            [each["usecs"] for each in own], [each["trips"]["mean_us"] for each in own],
            [each["trips"]["std_us"] for each in own], fmt="o-", color=colour, label=way,
            capsize=2, markersize=3,
        )  # fmt: skip
    emulated = any(each["emulated"] for each in swept)
    axes.set_xlabel("rx-usecs" + ", emulated by bursts" * emulated)
    axes.set_ylabel("round trip, µs")
    axes.set_title("coalescing, where it was sustained")
    axes.set_yscale("log")
    if axes.get_legend_handles_labels()[0]:
        axes.legend()
