"""Percentiles that say how much they rest on, and intervals of rates that were counted."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

# A percentile needs this many samples above it; so p99.99 needs 20 000 in all.
SAMPLES_ABOVE = 2


def percentile(values: Values, share: float) -> float | None:
    """The smallest sample that at least `share` of all samples do not exceed.

    None where fewer than SAMPLES_ABOVE samples can lie above it: then it would be a guess.
    """
    if round(len(values) * (1 - share), 6) < SAMPLES_ABOVE:
        return None
    rank = math.ceil(round(share * len(values), 6))
    return float(np.partition(values, rank - 1)[rank - 1])


@dataclass(frozen=True)
class Percentiles:
    """A distribution in a few numbers."""

    p50: float | None
    p90: float | None
    p99: float | None
    p999: float | None
    p9999: float | None
    max: float | None
    mean: float | None
    samples: int

    @staticmethod
    def of(values: Values) -> Percentiles:
        """Of samples that all count the same."""
        some = len(values) > 0
        return Percentiles(
            p50=percentile(values, 0.5),
            p90=percentile(values, 0.9),
            p99=percentile(values, 0.99),
            p999=percentile(values, 0.999),
            p9999=percentile(values, 0.9999),
            max=float(np.max(values)) if some else None,
            mean=float(np.mean(values)) if some else None,
            samples=len(values),
        )


def wilson(errors: int, trials: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """The Wilson score interval of a rate, 95 % by default; (0, 1) without trials."""
    if trials == 0:
        return 0.0, 1.0
    rate = errors / trials
    scale = 1 + z * z / trials
    centre = (rate + z * z / (2 * trials)) / scale
    half = z / scale * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    low = 0.0 if errors == 0 else max(0.0, centre - half)
    return low, 1.0 if errors == trials else min(1.0, centre + half)


def ratio(part: float, whole: float) -> float | None:
    """part / whole, or None where there is nothing to divide by."""
    return part / whole if whole else None


def decibels(power: float | None) -> float | None:
    """10 lg power, or None where there is none."""
    return 10 * math.log10(power) if power else None
