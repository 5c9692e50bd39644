"""How well a model predicts clocks that were left out, beside plain alternatives.

Each clock between the least and the greatest is left out in turn, and its late ratios are predicted
from the others. A model keeps its terms and is fitted anew. The alternatives: ratios that fall with
the clock (isotonic regression at each rate), joined by a monotone cubic; and a logistic regression
in the clock's logarithm and the rate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator
from scipy.optimize import isotonic_regression, minimize

from carillon.power.model import Model
from carillon.power.points import Points
from carillon.power.refit import refit

Reals = NDArray[np.float64]
Predict = Callable[[Reals, Reals], Reals]  # ratios at clocks and rates
_FAR = 1e3  # clipped to a ratio of 1


def held_out(points: Points, models: Sequence[Model]) -> dict[str, float]:
    """The mean squared error of each, by its name; empty with fewer than four clocks."""
    clocks = np.unique(points.clock_mhz)
    if len(clocks) < 4:
        return {}
    ways = {f"{own.family}, {own.count} coefficients": _refitting(own) for own in models}
    ways |= {"monotone cubic": monotone, "logistic": logistic}
    return {
        name: float(np.mean([_error(points, clock, way) for clock in clocks[1:-1]]))
        for name, way in ways.items()
    }


def _error(points: Points, clock: float, way: Callable[[Points], Predict]) -> float:
    out = points.clock_mhz == clock
    predicted = way(_only(points, ~out))(points.clock_mhz[out], points.rate_msps[out])
    return float(np.mean((np.clip(predicted, 0, 1) - points.share[out]) ** 2))


def _only(points: Points, which: NDArray[np.bool_]) -> Points:
    return Points(
        *(getattr(points, name)[which] for name in ("clock_mhz", "rate_msps", "ttis", "late"))
    )


def monotone(points: Points) -> Predict:
    """At the rates of the points only."""
    curves = {}
    for rate in np.unique(points.rate_msps):
        own = points.rate_msps == rate
        order = np.argsort(points.clock_mhz[own])
        ratios, ttis = points.share[own][order], points.ttis[own][order]
        falling = isotonic_regression(ratios, weights=ttis, increasing=False).x
        curves[float(rate)] = PchipInterpolator(points.clock_mhz[own][order], falling)

    def predict(clocks: Reals, rates: Reals) -> Reals:
        pairs = zip(clocks, rates, strict=True)
        return np.array([float(curves[float(rate)](clock)) for clock, rate in pairs])

    return predict


def logistic(points: Points) -> Predict:
    """The most likely, by counts."""

    def terms(clocks: Reals, rates: Reals) -> Reals:
        scaled = np.log(clocks / points.clock_mhz.mean())
        return np.column_stack([np.ones(len(clocks)), scaled, rates / points.rate_msps.mean()])

    own = terms(points.clock_mhz, points.rate_msps)

    def loss(weights: Reals) -> float:
        z = own @ weights
        return float(np.sum(points.ttis * np.logaddexp(0, z) - points.late * z) / points.ttis.sum())

    weights = minimize(loss, np.array([-1.0, -10.0, 0.0]), method="BFGS").x
    return lambda clocks, rates: 1 / (1 + np.exp(-terms(clocks, rates) @ weights))


def _refitting(model: Model) -> Callable[[Points], Predict]:
    def fitted(points: Points) -> Predict:
        own = refit(model, points)
        return lambda clocks, rates: np.nan_to_num(own.late(clocks, rates), nan=_FAR)

    return fitted
