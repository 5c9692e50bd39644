"""MegaStation's figures that are asked of simulated pools, and pools at random, by their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from carillon.studies import granularity, random_pools, scaling, shapes
from carillon.studies.figure import Figure

# For 10⁶ frames each: figure, panel, place on its axis.
NAMED: tuple[tuple[int, str, str | float], ...] = (
    (8, "uplink", "128x64"),
    (8, "uplink", "256x128"),
    (10, "uplink", 4.0),
    (6, "uplink", 10.0),
    (8, "downlink", "128x64"),
    (8, "downlink", "256x128"),
    (16, "downlink", "64x16"),
    (18, "downlink", "128x64, A100 + V100"),
)


def _named(figures: Mapping[str, Figure]) -> Figure:
    cases = [
        replace(
            case,
            x=f"{number}: {case.x:g}" if isinstance(case.x, float) else f"{number}: {case.x}",
            saturated=None,
        )
        for number, group, x in NAMED
        for case in figures[f"megastation-{number}"].cases
        if (case.group, case.x) == (group, x)
    ]
    title = "eight cases of the other figures (simulated), for a million frames each"
    measures = ("mean_ms", "tail_ms")
    return Figure("megastation-cases", title, "figure: case", cases, measures=measures)


def _every() -> dict[str, Figure]:
    numbered = sorted(
        (*granularity.FIGURES, *shapes.FIGURES, *scaling.FIGURES),
        key=lambda figure: int(figure.name.partition("-")[2]),
    )
    figures = {figure.name: figure for figure in numbered}
    named = _named(figures)
    return figures | {named.name: named} | {one.name: one for one in random_pools.FIGURES}


FIGURES = _every()
