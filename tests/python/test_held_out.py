"""Predicting clocks that were left out, by models and plain alternatives."""

from __future__ import annotations

import numpy as np
import pytest
from carillon import core
from carillon.power.held_out import held_out, logistic, monotone
from carillon.power.model import Model
from carillon.power.points import Points

CLOCKS = np.arange(1000.0, 2101.0, 100.0)


def of(ratio: object, rate: float = 7.68) -> Points:
    ttis = np.full(len(CLOCKS), 1_000_000)
    late = np.round(np.asarray(ratio, dtype=float) * ttis).astype(np.int64)
    return Points(CLOCKS, np.full(len(CLOCKS), rate), ttis, late)


def test_the_monotone_curve_passes_falling_points_and_falls_between_them() -> None:
    points = of(np.exp(-(CLOCKS - 1000) / 150))
    curve = monotone(points)
    assert curve(CLOCKS, points.rate_msps) == pytest.approx(points.share)
    between = np.linspace(1000, 2100, 500)
    assert (np.diff(curve(between, np.full(500, 7.68))) <= 1e-12).all()


def test_the_monotone_curve_takes_the_mean_where_points_rise() -> None:
    ratio = np.full(len(CLOCKS), 0.1)
    ratio[4], ratio[5] = 0.2, 0.4
    ratio[:4] = 0.5
    curve = monotone(of(ratio))
    assert curve(CLOCKS[4:6], np.full(2, 7.68)) == pytest.approx([0.3, 0.3])


def test_the_logistic_finds_what_it_was_drawn_from() -> None:
    def truth(clocks: np.ndarray, rates: np.ndarray) -> np.ndarray:
        z = 2 - 9 * np.log(clocks / 1500) + 0.05 * rates
        return np.asarray(1 / (1 + np.exp(-z)))

    clocks, rates = (a.ravel() for a in np.meshgrid(CLOCKS, [7.68, 30.72]))
    ttis = np.full(len(clocks), 10**9)
    points = Points(clocks, rates, ttis, np.round(truth(clocks, rates) * ttis).astype(np.int64))
    assert logistic(points)(clocks, rates) == pytest.approx(truth(clocks, rates), abs=1e-3)


def test_what_points_were_made_of_predicts_clocks_that_were_left_out() -> None:
    # 0.9·exp(-f / 150), exactly.
    coefficients = {"c1": 0.9, "c8": -1.0, "c13": 150.0}
    own = [coefficients.get(f"c{n}", 0.0) for n in range(1, 19)]
    points = of(core.late_probability("exponential", own, CLOCKS, np.full(len(CLOCKS), 7.68)))
    model = Model("exponential", 3, coefficients, 0, 0, 0, False)
    errors = held_out(points, [model])
    assert set(errors) == {"exponential, 3 coefficients", "monotone cubic", "logistic"}
    assert errors["exponential, 3 coefficients"] < 1e-9
    assert min(errors, key=lambda name: errors[name]) == "exponential, 3 coefficients"


def test_of_three_clocks_nothing_is_left_out() -> None:
    points = of(np.exp(-CLOCKS / 300))
    few = Points(points.clock_mhz[:3], points.rate_msps[:3], points.ttis[:3], points.late[:3])
    assert held_out(few, []) == {}
