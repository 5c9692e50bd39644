"""Predicted ratios of late TTIs at clocks, by counts or by a model, and the knee."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carillon.errors import InputError
from carillon.inputs import read_json
from carillon.power.model import FAMILIES, Model
from carillon.power.points import Points, read_points
from carillon.statistics import wilson

Ratios = NDArray[np.float64]


@dataclass(frozen=True)
class Prediction:
    """At a rate: the ratio at each clock, and its upper 95 % limit where it was counted."""

    source: str
    rate_msps: float
    clocks: tuple[float, ...]  # MHz, ascending
    late: tuple[float, ...]
    upper: tuple[float, ...]

    @property
    def envelope(self) -> tuple[float, ...]:
        """At no clock less than at a higher one: what is governed on."""
        highest_last = np.maximum.accumulate(np.array(self.late)[::-1])[::-1]
        return tuple(float(late) for late in highest_last)

    def knee(self, outage: float, margin: float) -> float | None:
        """The lowest clock whose envelope meets the target with the margin; None if none does."""
        meets = (clock for clock, late in zip(self.clocks, self.envelope, strict=True)
                 if late * margin <= outage)  # fmt: skip
        return next(meets, None)


def read_prediction(file: Path, rate: float | None, clocks: Sequence[float]) -> Prediction:
    """From counts (CSV) or models (JSON, of `carillon power model`), for the rate, or the highest
    that was counted; at these clocks, or all that were counted. InputError says what is wrong."""
    if file.suffix == ".json":
        return _by_model(file, rate, clocks)
    return _by_counts(file, read_points(file), rate, clocks)


def rates(file: Path) -> list[float]:
    """Those that were counted; InputError of a model, which has none of its own."""
    if file.suffix == ".json":
        raise InputError(f"{file}: is a model; name --rate, and --clocks, to predict for")
    return sorted(set(read_points(file).rate_msps.tolist()))


def _by_counts(
    file: Path, points: Points, rate: float | None, clocks: Sequence[float]
) -> Prediction:
    known = np.unique(points.rate_msps)
    if rate is None:
        rate = float(known.max())
    own = points.rate_msps == known[np.argmin(np.abs(known - rate))]
    if not np.isclose(points.rate_msps[own][0], rate, rtol=1e-3):
        listed = ", ".join(f"{each:g}" for each in known)
        raise InputError(f"{file}: has no counts at {rate:g} Msps, only at {listed}")
    order = np.argsort(points.clock_mhz[own])
    at, late, ttis = (column[own][order] for column in (points.clock_mhz, points.late, points.ttis))
    if len(np.unique(at)) < len(at):
        raise InputError(f"{file}: has two counts at the same clock and rate")
    if clocks:
        missing = sorted(set(clocks) - set(at.tolist()))
        if missing:
            raise InputError(f"{file}: has no counts at {missing[0]:g} MHz; a model has them")
        kept = np.isin(at, clocks)
        at, late, ttis = at[kept], late[kept], ttis[kept]
    upper = [wilson(int(n), int(of))[1] for n, of in zip(late, ttis, strict=True)]
    return Prediction(
        f"counts, {file}", rate, tuple(at.tolist()), tuple((late / ttis).tolist()), tuple(upper)
    )


def _by_model(file: Path, rate: float | None, clocks: Sequence[float]) -> Prediction:
    model, reach = read_model(file)
    if rate is None or not clocks:
        raise InputError(
            f"{file}: is a model; name the clocks to predict for by --clocks, and without a cell "
            "the rate by --rate"
        )
    for name, value in (("clock_mhz", clocks[0]), ("clock_mhz", clocks[-1]), ("rate_msps", rate)):
        low, high = reach[name]
        if not low * 0.999 <= value <= high * 1.001:
            raise InputError(
                f"{file}: was fitted to {name} from {low:g} to {high:g}, and says nothing of "
                f"{value:g}"
            )
    at = np.array(sorted(clocks), dtype=np.float64)
    late = np.clip(model.late(at, np.full(len(at), rate)), 0, 1)
    if not np.isfinite(late).all():
        bad = at[~np.isfinite(late)][0]
        raise InputError(f"{file}: the model is not real at {bad:g} MHz and {rate:g} Msps")
    ratios = tuple(float(each) for each in late)
    return Prediction(f"a model, {file}", rate, tuple(at.tolist()), ratios, ratios)


def read_model(file: Path) -> tuple[Model, dict[str, tuple[float, float]]]:
    """The model without a pole with the least error among those chosen, of models.json, and from
    where to where it was fitted."""
    try:
        tree: dict[str, Any] = read_json(file)
        found = [
            _model(own["usable"] or own["without_poles"][-1])
            for own in tree["families"]
            if own["usable"] or own["without_poles"]
        ]
        reach = {name: tuple(map(float, tree[name])) for name in ("clock_mhz", "rate_msps")}
        spans = {name: (low, high) for name, (low, high) in reach.items()}
    except OSError as error:
        raise InputError(f"{file}: {(error.strerror or str(error)).lower()}") from None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{file}: holds no models of `carillon power model`: {error!r}") from None
    if not found:
        raise InputError(f"{file}: has no model without a pole; count at more clocks and rates")
    return min(found, key=lambda model: model.mse), spans


def _model(tree: dict[str, Any]) -> Model:
    model = Model(**tree)
    if model.family not in FAMILIES or not all(
        isinstance(value, int | float) for value in (*model.coefficients.values(), model.mse)
    ):
        raise ValueError("a model has a family, and numbers as coefficients")
    return model
