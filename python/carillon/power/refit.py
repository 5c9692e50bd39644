"""The terms of a model, fitted to other points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from carillon import core
from carillon.power.model import MOST, Model
from carillon.power.points import EQUATION_6, Points

_FAR = 1e3  # what a model says where it is not real, or infinite
PUBLISHED = Model(
    "power", len(EQUATION_6), {f"c{n}": c for n, c in EQUATION_6.items()}, mse=7.2662e-4,
    aic=np.nan, bic=np.nan, pole=True,
)  # fmt: skip


def refit(model: Model, points: Points, starts: int = 1, seed: int = 1) -> Model:
    """Its terms with other coefficients: least squares from its own, and from as many more starts
    as are asked for, each coefficient times a random factor of about one. AIC, BIC and the pole
    are not known anew."""
    names = list(model.coefficients)
    places = [int(name[1:]) - 1 for name in names]
    own = np.array([model.coefficients[name] for name in names])
    random = np.random.default_rng(seed)

    def residuals(scales: NDArray[np.float64]) -> NDArray[np.float64]:
        coefficients = np.zeros(MOST)
        coefficients[places] = own * scales
        late = core.late_probability(
            model.family, coefficients.tolist(), points.clock_mhz, points.rate_msps
        )
        return np.nan_to_num(np.asarray(late), nan=_FAR, posinf=_FAR, neginf=-_FAR) - points.share

    begins = [np.ones(len(own))]
    begins += [random.lognormal(0, 0.3, len(own)) for _ in range(starts - 1)]
    with np.errstate(over="ignore", invalid="ignore"):  # far from any sensible start
        fits = [least_squares(residuals, begin, method="lm", max_nfev=2000) for begin in begins]
    best = min(fits, key=lambda fit: fit.cost)
    return replace(
        model,
        coefficients=dict(zip(names, (own * best.x).tolist(), strict=True)),
        mse=float(np.mean(best.fun**2)),
    )
