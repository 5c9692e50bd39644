"""Models of late subframes over clock and rate: the search among all subsets of coefficients.

Section 8.2: f0 = (g1/g2)^g3 and f1 = g1·exp(g2/g3), each g with coefficients of 1, f, f², R, R²
and f·R; f in MHz, R in Msps. Fits that are ill-conditioned, or have a coefficient that is not
significant (t test, 0.05), are of no use.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from carillon import core
from carillon.errors import InputError
from carillon.power.points import Points

Family = Literal["power", "exponential"]
FAMILIES: tuple[Family, ...] = ("power", "exponential")
LEAST = 3  # coefficients of a model with all three polynomials
MOST = 18
IMPROVES = 0.05  # a coefficient more has to lower the error by as much
_STEP_S = 0.2


@dataclass(frozen=True)
class Model:
    """The best of a family with so many coefficients."""

    family: Family
    count: int
    coefficients: dict[str, float]  # c1 to c18, those it has
    mse: float
    aic: float
    bic: float
    pole: bool  # between the points it is not real, or infinite

    @classmethod
    def of(
        cls, family: Family, coefficients: NDArray[np.float64], mse: float, pole: bool, points: int
    ) -> Model:
        """Of 18 coefficients, those that it lacks 0, and the error at so many points."""
        own = {f"c{n + 1}": float(c) for n, c in enumerate(coefficients) if c != 0}
        likelihood = points * np.log(max(mse, 1e-300))
        bic = likelihood + np.log(points) * len(own)
        return cls(family, len(own), own, mse, float(likelihood + 2 * len(own)), float(bic), pole)

    def late(self, clocks: NDArray[np.float64], rates: NDArray[np.float64]) -> NDArray[np.float64]:
        """The share of late subframes at points; not clipped, NaN where it is not real."""
        own = [self.coefficients.get(f"c{n + 1}", 0.0) for n in range(MOST)]
        return np.asarray(core.late_probability(self.family, own, clocks, rates))


@dataclass(frozen=True)
class Found:
    """What a search has found of a family."""

    family: Family
    models: list[Model]  # as published, by their counts; where none is of use there is none
    without_poles: list[Model]  # which can be used between the points, too
    rejected: dict[str, int]  # subsets by verdict
    subsets: int  # that were tried
    chosen: Model | None  # of the models, with the fewest coefficients that are worth it, if known
    usable: Model | None  # the same of those without poles

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)


def search(
    points: Points,
    family: Family,
    *,
    most: int = MOST,
    starts: int = 4,
    seed: int = 1,
    state: Path | None = None,
    threads: int | None = None,
    step: Callable[[int], bool] = lambda done: True,
) -> Found:
    """Fits all subsets of up to `most` coefficients. `step` is called several times a second with
    the number of subsets that are done; the search ends when it returns false. `state`: a file that
    keeps the search after each number of coefficients; a search of the same points, family, starts
    and seed continues from it.

    InputError of points that no model can be fitted to.
    """
    rows = points.rows
    try:
        own = core.LateSearch(family, rows, starts, seed)
    except ValueError as error:
        raise InputError(str(error)) from None
    mark = hashlib.sha256(rows.tobytes() + f"{family} {starts} {seed}".encode()).hexdigest()
    if state is not None and state.exists():
        _put_back(own, state, mark)
    workers = threads or len(os.sched_getaffinity(0))
    kept = own.whole
    while own.whole < most and own.work(_STEP_S, workers):
        if state is not None and own.whole > kept:
            kept = own.whole
            _keep(own, state, mark)
        if not step(own.done):
            break
    return _found(own, points, family, min(own.whole, most))


def subsets(most: int) -> int:
    """How many there are with up to so many coefficients."""
    terms = np.arange(1 << MOST, dtype=np.uint32)
    return int(np.count_nonzero(_tried(terms) & (_counts(terms) <= most)))


def _counts(terms: NDArray[np.uint32]) -> NDArray[np.int64]:
    counts: NDArray[np.int64] = np.zeros(len(terms), dtype=np.int64)
    for n in range(MOST):
        counts += (terms >> n) & 1
    return counts


def _tried(terms: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Those with a term in each polynomial."""
    first, second, third = ((terms >> place) & 63 != 0 for place in (0, 6, 12))
    all_three: NDArray[np.bool_] = first & second & third
    return all_three


def _keep(own: core.LateSearch, state: Path, mark: str) -> None:
    found = own.found()
    beside = state.with_suffix(".new.npz")
    np.savez_compressed(beside, mark=mark, whole=own.whole, **found)
    beside.replace(state)


def _put_back(own: core.LateSearch, state: Path, mark: str) -> None:
    try:
        with np.load(state) as kept:
            if str(kept["mark"]) == mark:
                own.put_back(kept["coefficients"], kept["mse"], kept["verdict"], int(kept["whole"]))
    except (OSError, ValueError, KeyError, EOFError):
        raise InputError(f"{state}: is no search's state; delete it to begin anew") from None


def _found(own: core.LateSearch, points: Points, family: Family, whole: int) -> Found:
    found = own.found()
    verdict, mse = found["verdict"], found["mse"]
    terms = np.arange(len(mse), dtype=np.uint32)
    counts = np.where(_tried(terms), _counts(terms), 0)
    tried = (counts >= LEAST) & (counts <= whole)

    def best(*verdicts: str) -> list[Model]:
        of_use = tried & np.isin(verdict, [_place(name) for name in verdicts])
        models = []
        for count in range(LEAST, whole + 1):
            own = np.flatnonzero(of_use & (counts == count))
            if len(own):
                place = own[np.argmin(mse[own])]
                pole = bool(verdict[place] == _place("pole"))
                models.append(
                    Model.of(
                        family,
                        found["coefficients"][place],
                        float(mse[place]),
                        pole,
                        len(points.late),
                    )
                )
        return models

    models, without_poles = best("good", "pole"), best("good")
    rejected = {
        name: int(np.count_nonzero(tried & (verdict == place)))
        for place, name in enumerate(core.late_verdicts())
        if name not in ("good", "pole")
    }
    return Found(
        family, models, without_poles, rejected, int(np.count_nonzero(tried)), chosen(models),
        chosen(without_poles),
    )  # fmt: skip


def _place(verdict: str) -> int:
    return core.late_verdicts().index(verdict)


def chosen(models: list[Model]) -> Model | None:
    """The first whose successor, with a coefficient more, lowers the error by less than 5 %; None
    if more of them have to be tried."""
    for own, successor in pairwise(models):
        if successor.mse > own.mse * (1 - IMPROVES):
            return own
    return models[-1] if models and models[-1].count == MOST else None
