"""Pictures of models of late subframes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from carillon.plots import style
from carillon.power.mcs import Measured
from carillon.power.model import Found, Model
from carillon.power.points import Points

_CLOCKS = 400
_WIDTH, _HEIGHT = 4.4, 3.6  # inches of a panel


def draw_models(points: Points, found: list[Found], file: Path, source: str) -> None:
    """Errors over the number of coefficients, and usable models beside the points; `source`: where
    these come from."""
    with style.applied():
        figure = models_picture(points, found)
        figure.suptitle(f"points: {source}", parse_math=False)
        style.save(figure, file)


def models_picture(points: Points, found: list[Found]) -> Figure:
    """One panel of errors, and one of each family's usable model."""
    chosen = [own.usable or own.without_poles[-1] for own in found if own.without_poles]
    figure = Figure(figsize=(_WIDTH * (1 + len(chosen)), _HEIGHT), layout="constrained")
    panels = figure.subplots(1, 1 + len(chosen), squeeze=False)[0]
    _errors(panels[0], found)
    for axes, model in zip(panels[1:], chosen, strict=True):
        _curves(axes, points, model)
    return figure


def _errors(axes: Axes, found: list[Found]) -> None:
    for own, colour in zip(found, (style.ACCENT, style.SECOND), strict=False):
        counts = [model.count for model in own.models]
        axes.plot(counts, [model.mse for model in own.models], "o-", color=colour, label=own.family)
        usable = own.without_poles
        axes.plot(
            [model.count for model in usable], [model.mse for model in usable], "o", color=colour,
            markerfacecolor="none", markersize=9, label=f"{own.family}, without a pole",
        )  # fmt: skip
    axes.set_yscale("log")
    axes.set_xlabel("coefficients")
    axes.set_ylabel("mean squared error")
    axes.set_title("the best of each number")
    axes.legend(frameon=False)


def draw_fit(title: str, seen: Points, model: Model, file: Path, *, residuals: bool) -> None:
    """A panel of each rate: the ratios that were counted and the model's, or their difference."""
    with style.applied():
        rates = np.unique(seen.rate_msps)
        figure = Figure(figsize=(2 * _WIDTH, 2 * 0.8 * _HEIGHT), layout="constrained")
        panels = figure.subplots((len(rates) + 1) // 2, 2, sharex=True, sharey=True, squeeze=False)
        for axes, rate in zip(panels.flat, rates, strict=False):
            own = seen.rate_msps == rate
            _fit(axes, seen.clock_mhz[own], seen.share[own], rate, model, residuals=residuals)
            axes.set_title(f"{rate:g} Msps")
        for axes in panels[-1]:
            axes.set_xlabel("clock, MHz")
        for axes in panels[:, 0]:
            axes.set_ylabel("counted less the model's" if residuals else "ratio of late TTIs")
        if not residuals:
            panels[0, 0].legend()
        figure.suptitle(f"{title} (virtual time, from measured delays)")
        style.save(figure, file)


def _fit(
    axes: Axes, clocks: NDArray[np.float64], ratios: NDArray[np.float64], rate: float, model: Model,
    *, residuals: bool,
) -> None:  # fmt: skip
    if residuals:
        off = ratios - _clipped(model, clocks, rate)
        axes.axhline(0, color=style.QUIET, linewidth=0.8)
        axes.vlines(clocks, 0, off, color=style.ACCENT)
        axes.plot(clocks, off, "o", color=style.ACCENT, markersize=3)
        return
    between = np.linspace(clocks.min(), clocks.max(), _CLOCKS)
    axes.plot(between, _clipped(model, between, rate), color=style.SECOND, label="model")
    axes.plot(clocks, ratios, "o", color=style.ACCENT, markersize=4, label="counted")


def _clipped(model: Model, clocks: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
    return np.clip(model.late(clocks, np.full(len(clocks), rate)), 0, 1)


def draw_mcs(
    cell: str, found: Sequence[Measured], chosen: Measured | None, cores: float | None, file: Path
) -> None:
    """What is right over the core time that it takes."""
    with style.applied():
        figure = Figure(figsize=(1.3 * _WIDTH, _HEIGHT), layout="constrained")
        axes = figure.subplots()
        for own in found:
            colour = style.SECOND if own is chosen else style.ACCENT
            axes.plot(own.core_ms_per_ms, own.goodput_mbps, "o", color=colour)
            axes.annotate(
                own.mcs, (own.core_ms_per_ms, own.goodput_mbps), (4, 4),
                textcoords="offset points", fontsize=7, color=style.QUIET,
            )  # fmt: skip
        if cores is not None:
            axes.axvline(cores, color=style.ALARM, linewidth=0.8, label="available")
            axes.legend()
        most = max(own.core_ms_per_ms for own in found)
        axes.set_xlim(0, 1.25 * max(most, cores or 0))  # with room for names
        axes.set_ylim(0, None)
        axes.set_xlabel("core-ms per ms of air time")
        axes.set_ylabel("goodput, Mbit/s")
        axes.set_title(f"{cell}, by modulation and rate")
        style.save(figure, file)


def _curves(axes: Axes, points: Points, model: Model) -> None:
    clocks = np.linspace(points.clock_mhz.min(), points.clock_mhz.max(), _CLOCKS)
    rates = np.unique(points.rate_msps)
    for rate, shade in zip(rates, np.linspace(0.35, 1, len(rates)), strict=True):
        own = points.rate_msps == rate
        axes.plot(
            points.clock_mhz[own], points.share[own], "o", color=style.ACCENT, alpha=shade,
            markersize=3, label=f"{rate:g} Msps",
        )  # fmt: skip
        axes.plot(
            clocks, _clipped(model, clocks, rate), color=style.ACCENT, alpha=shade, linewidth=1
        )
    axes.set_xlabel("clock, MHz")
    axes.set_ylabel("share of late subframes")
    axes.set_title(f"{model.family}, {model.count} coefficients, clipped to 0 … 1")
    axes.legend(frameon=False)
