"""The terms of a model, fitted to other points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from carillon import core
from carillon.errors import InputError
from carillon.power.model import MOST, Model
from carillon.power.points import EQUATION_6, Points

PUBLISHED = Model(
    "power", len(EQUATION_6), {f"c{n}": c for n, c in EQUATION_6.items()}, mse=7.2662e-4,
    aic=np.nan, bic=np.nan, pole=True,
)  # fmt: skip
_DRAWN, _SEEDS = 50, 8  # only the best of a draw go on


def best_refit(model: Model, points: Points) -> Model:
    """The best of refits from several draws; InputError if none is real at all points."""
    fits = (refit(model, points, _DRAWN, 1 + n) for n in range(_SEEDS))
    best = min(fits, key=lambda own: own.mse)
    if np.isinf(best.mse):
        raise InputError("no coefficients were found with which the model is real at all points")
    return best


def refit(model: Model, points: Points, drawn: int = 0, seed: int = 1) -> Model:
    """Its terms with other coefficients: least squares from its own, and from as many random
    starts as `drawn` says. Where no start is real at all points, its own with an infinite error."""
    own = [model.coefficients.get(f"c{n + 1}", 0.0) for n in range(MOST)]
    found = core.late_fit(model.family, points.rows, own, drawn, seed)
    if found["verdict"] == "no fit":
        return replace(model, mse=np.inf)
    return Model.of(
        model.family, found["coefficients"], float(found["mse"]), found["verdict"] == "pole",
        len(points.late),
    )  # fmt: skip
