"""The picture of a day's clocks and energy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from carillon.percent import percent
from carillon.plots import style
from carillon.power.day import PROFILES, Day

_WIDTH, _HEIGHT = 9.2, 3.8  # inches
_POLICIES = ("governed", "race to idle", "concentrated")


def draw_day(rows: Sequence[dict[str, Any]], days: Sequence[Day], file: Path) -> None:
    """Clocks by the hour, and what is saved."""
    with style.applied():
        style.save(day_picture(rows, days), file)


def day_picture(rows: Sequence[dict[str, Any]], days: Sequence[Day]) -> Figure:
    """Left the governed clock, right energy saved against the performance governor."""
    figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
    clocks, saved = figure.subplots(1, 2)
    for own, shade in zip(
        (own for own in days if own.policy == "governed"), (1.0, 0.65, 0.35), strict=True
    ):
        clocks.step(
            range(25), [*own.hourly_clock, own.hourly_clock[-1]], where="post",
            color=style.ACCENT, alpha=shade, label=own.profile,
        )  # fmt: skip
    clocks.set_ylim(0, None)
    clocks.set_xlim(0, 24)
    clocks.set_xticks(range(0, 25, 4))
    clocks.set_xlabel("hour")
    clocks.set_ylabel("mean clock, MHz")
    share = percent(rows[0]["full_load_share"])
    clocks.set_title(f"the governed clock, full load {share} of a core\n(virtual time)")
    clocks.legend(frameon=False)
    _saved(saved, rows)
    return figure


def _saved(axes: Axes, rows: Sequence[dict[str, Any]]) -> None:
    share = rows[0]["full_load_share"]
    colours = (style.ACCENT, style.SECOND, style.QUIET)
    for place, (policy, colour) in enumerate(zip(_POLICIES, colours, strict=True)):
        own = [r for r in rows if r["full_load_share"] == share and r["policy"] == policy]
        at = np.arange(len(own)) + 0.27 * (place - 1)
        values = np.array([100 * row["saved"] for row in own])
        low = values - [100 * row["saved_least"] for row in own]
        high = np.array([100 * row["saved_most"] for row in own]) - values
        axes.bar(at, values, 0.24, color=colour, label=policy)
        axes.errorbar(at, values, yerr=[low, high], fmt="none", ecolor=style.INK, linewidth=0.8)
    axes.set_xticks(range(len(PROFILES)), list(PROFILES))
    axes.set_ylabel("energy saved, % (modelled)")
    axes.set_title("against the performance governor\n(bars: least to most)")
    axes.set_ylim(0, 1.3 * axes.get_ylim()[1])  # room for the legend
    axes.legend(frameon=False)
