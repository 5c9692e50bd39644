"""What two policies differ by on the same frames, with 95 % intervals.

Both meet the same frames, so frame is paired with frame, and what they have in common drops out.
Frames follow each other: a late one makes the next late. So neighbours stay together, in batches
that are long beside that memory: the mean's interval is Student's of the batches' means, the
percentile's comes from drawing whole batches again (block bootstrap).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from carillon.statistics import Values

Counts = npt.NDArray[np.int64]

MEAN_BATCHES, TAIL_BATCHES, RESAMPLES = 30, 200, 1000
_STUDENT = 2.0452  # 97.5 % point of Student's t with 29 degrees of freedom


@dataclass(frozen=True)
class Difference:
    """Ours less theirs, and the ends of its 95 % interval."""

    value: float
    low: float
    high: float


def mean_difference(ours: Values, theirs: Values) -> Difference | None:
    """Of the means; frames in order of time. None: too few for batches."""
    size = len(ours) // MEAN_BATCHES
    if size < 2:
        return None
    each = ours - theirs
    means = each[: size * MEAN_BATCHES].reshape(MEAN_BATCHES, size).mean(axis=1)
    half = _STUDENT * float(means.std(ddof=1)) / math.sqrt(MEAN_BATCHES)
    value = float(each.mean())
    return Difference(value, value - half, value + half)


def percentile_difference(
    ours: Values, theirs: Values, share: float, seed: int = 1
) -> Difference | None:
    """Of the percentiles; frames in order of time, inf for what took for ever.

    A percentile that few samples lie above has too narrow an interval (tests/python/test_paired.py
    has how often it holds): the bootstrap cannot draw what it never saw. None: too few frames.
    """
    size = len(ours) // TAIL_BATCHES
    count = size * TAIL_BATCHES
    above = count - math.ceil(round(share * count, 6)) + 1  # the percentile's rank from the top
    if size < 2 or above < 2:
        return None
    drawn = np.random.default_rng(seed).multinomial(
        TAIL_BATCHES, np.full(TAIL_BATCHES, 1 / TAIL_BATCHES), RESAMPLES
    )
    every = [_percentiles(values[:count], size, above, drawn) for values in (ours, theirs)]
    low, high = np.percentile(_less(*every), (2.5, 97.5), method="nearest")
    ranked = [np.sort(values[:count])[-above:][:1] for values in (ours, theirs)]
    return Difference(float(_less(*ranked)[0]), float(low), float(high))


def _less(ours: Values, theirs: Values) -> Values:
    """Where both took for ever they are equal."""
    with np.errstate(invalid="ignore"):
        return np.where(ours == theirs, 0.0, ours - theirs)


def _percentiles(values: Values, size: int, above: int, drawn: Counts) -> Values:
    """The value of rank `above` from the top of each resample r, with drawn[r, b] times batch b."""
    order = np.argsort(values)[::-1]
    most = 4 * above
    while True:
        top = order[:most]
        reached = np.cumsum(drawn[:, top // size], axis=1) >= above
        if most >= len(values) or reached[:, -1].all():
            found: Values = values[top][reached.argmax(axis=1)]
            return found
        most *= 4
