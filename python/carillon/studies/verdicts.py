"""Whether `adaptive` is as good as the best of the other policies on the same frames."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from carillon.paired import Difference, mean_difference, percentile_difference
from carillon.pool.running import Outcome
from carillon.pool.summary import settled
from carillon.statistics import Values, percentile

NEAR_TAIL, NEAR_MEAN = 0.01, 0.05  # of the best of the others, that adaptive may miss
NEAR_LATE = 0.01  # of all frames, more than the best of the others has late
OWN = "adaptive"


@dataclass(frozen=True)
class Verdict:
    """adaptive against the best of the others in a case, by a measure: a Point's, or late_share.

    A frame that was late counts as one that took until the deadline in the mean, for ever in the
    tail; where all have such a tail, there is late_share to compare. low, high: the 95 % interval
    of adaptive less that best, frame by frame; of too few frames there is none, and no verdict.
    """

    measure: str
    adaptive: float
    best: float
    best_policy: str
    low: float | None
    high: float | None
    near: bool | None


def in_order(outcome: Outcome, warm_up: int) -> Values:
    """Latencies after the warm-up by time, so that two runs have each frame at the same place."""
    kept = settled(outcome, warm_up)
    began, cell = outcome.began[kept], outcome.cell[kept]
    number = np.empty(len(began), np.int64)
    for one in np.unique(cell):
        own = np.flatnonzero(cell == one)
        number[own[np.argsort(began[own], kind="stable")]] = np.arange(len(own))
    values = np.where(outcome.done, outcome.latency, np.inf)[kept]
    ordered: Values = values[np.lexsort((cell, number))]
    return ordered


def verdicts(latencies: Mapping[str, Values], share: float, deadline_ms: float) -> list[Verdict]:
    """latencies: by policy, each frame at the same place. share: which percentile is the tail."""
    until = {policy: np.minimum(values, deadline_ms) for policy, values in latencies.items()}
    tails = {policy: percentile(values, share) for policy, values in latencies.items()}
    late = {policy: np.isinf(values).astype(float) for policy, values in latencies.items()}
    means = {policy: float(values.mean()) for policy, values in until.items()}

    def apart_in_tail(best: str) -> Difference | None:
        return percentile_difference(latencies[OWN], latencies[best], share)

    def apart_in_mean(best: str) -> Difference | None:
        return mean_difference(until[OWN], until[best])

    def apart_in_share(best: str) -> Difference | None:
        return mean_difference(late[OWN], late[best])

    known = {policy: math.inf if value is None else value for policy, value in tails.items()}
    found = [
        _verdict("tail_ms", known, 1 + NEAR_TAIL, 0, apart_in_tail),
        _verdict("mean_ms", means, 1 + NEAR_MEAN, 0, apart_in_mean),
    ]
    if not math.isfinite(min(known.values())):
        shares = {policy: float(values.mean()) for policy, values in late.items()}
        found.append(_verdict("late_share", shares, 1, NEAR_LATE, apart_in_share))
    return found


def _verdict(
    name: str,
    values: Mapping[str, float],
    times: float,
    more: float,
    apart: Callable[[str], Difference | None],
) -> Verdict:
    others = {policy: value for policy, value in values.items() if policy != OWN}
    best = min(others, key=lambda policy: others[policy])
    difference = apart(best)
    return Verdict(
        measure=name,
        adaptive=values[OWN],
        best=values[best],
        best_policy=best,
        low=None if difference is None else difference.low,
        high=None if difference is None else difference.high,
        near=None if difference is None else values[OWN] <= values[best] * times + more,
    )
