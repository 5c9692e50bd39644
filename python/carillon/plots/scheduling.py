"""MegaStation's figure 15: the distribution of what a policy's decisions take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from carillon.plots import style
from carillon.plots.pool import COLOURS
from carillon.studies.scheduling import DIRECTIONS, PUBLISHED_US, SHARES, Timing


def draw(folder: Path, timings: Sequence[Timing]) -> None:
    """study.png and study.svg."""
    with style.applied():
        figure = Figure(figsize=(9.6, 3.4))
        panels = figure.subplots(1, len(DIRECTIONS), sharey=True)
        for axes, direction in zip(panels, DIRECTIONS, strict=True):
            for one in timings:
                if one.direction == direction:
                    colour = COLOURS[one.policy]
                    axes.plot(one.quantiles_us, SHARES, color=colour, label=one.policy)
            published = PUBLISHED_US["instruction unit"]
            axes.plot(published, 0.9, "k+", ms=9, label="published, instruction unit")
            axes.set_xscale("log")
            axes.set(title=f"{direction}, measured", xlabel="µs for an instruction")
        panels[0].set_ylabel("share of instructions")
        handles, labels = style.legend_of(panels)
        figure.legend(handles, labels, loc="outside lower center", ncols=6)
        style.save(figure, folder / "study.png")
        style.save(figure, folder / "study.svg")
