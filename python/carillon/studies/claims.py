"""How published numbers are had from a figure's points."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean

from carillon.studies.figure import Found, Point

Simulated = Callable[[Sequence[Point]], Found]


def find(points: Sequence[Point], group: str, x: str | float, policy: str) -> Point | None:
    """None where the study was stopped before."""
    own = (point for point in points if (point.group, point.x, point.policy) == (group, x, policy))
    return next(own, None)


def value(point: Point | None, name: str) -> float | None:
    """A measure, if it is known and more than nothing."""
    known: float | None = None if point is None else getattr(point, name)
    return known if known and math.isfinite(known) else None


def gain(name: str, group: str, ours: str, theirs: str) -> Simulated:
    """Less latency or more throughput, in % of theirs: the mean over all x at which both have at
    least half of their frames in time.
    """

    def percent(points: Sequence[Point]) -> Found:
        every = dict.fromkeys(point.x for point in points if point.group == group)
        pairs = [[_in_time(find(points, group, x, one)) for one in (ours, theirs)] for x in every]
        known = [(value(own, name), value(other, name)) for own, other in pairs]
        more = [_percent(name, own, other) for own, other in known if own and other]
        note = "" if len(more) == len(pairs) else f"of {len(more)} of {len(pairs)}"
        return (fmean(more) if more else None), note

    return percent


def _in_time(point: Point | None) -> Point | None:
    return point if point and 2 * point.late <= point.frames else None


def _percent(name: str, ours: float, theirs: float) -> float:
    return 100 * (ours / theirs - 1 if name == "frames_per_s" else 1 - ours / theirs)


def ahead(name: str, group: str, x: str | float, ours: str, theirs: str) -> Simulated:
    """As gain(), at one x."""

    def percent(points: Sequence[Point]) -> Found:
        own, other = (value(find(points, group, x, one), name) for one in (ours, theirs))
        return (_percent(name, own, other) if own and other else None), ""

    return percent


def overall(name: str, group: str, ours: str, theirs: str) -> Simulated:
    """Ours times theirs, of the sums over all x, however many frames were late."""

    def ratio(points: Sequence[Point]) -> Found:
        sums = [
            sum(getattr(point, name) for point in points if (point.group, point.policy) == own)
            for own in ((group, ours), (group, theirs))
        ]
        return (sums[0] / sums[1] if sums[1] else None), ""

    return ratio


def times(name: str, group: str, policy: str, to: str | float, base: str | float) -> Simulated:
    """How many times its value at one x it has at another."""

    def ratio(points: Sequence[Point]) -> Found:
        at, before = (value(find(points, group, x, policy), name) for x in (to, base))
        return (at / before if at and before else None), ""

    return ratio


def change(name: str, group: str, policy: str, to: str | float, base: str | float) -> Simulated:
    """By how many % it changes from one x to another."""
    at = times(name, group, policy, to, base)

    def percent(points: Sequence[Point]) -> Found:
        ratio, note = at(points)
        return (None if ratio is None else 100 * (ratio - 1)), note

    return percent
