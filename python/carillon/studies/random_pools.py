"""Policies on pools drawn at random, with load of somebody else: is `adaptive` ever behind?

Every policy meets the same frames, and has the better of one part of zero-forcing and four. A pool
is drawn by its seed alone, so that a case can be looked at again.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from carillon.config.pool import Background, Devices, DeviceType, PoolStudy, RadioUnits, Trace
from carillon.studies.figure import Case, Claim, Figure, Found, Point
from carillon.studies.verdicts import NEAR_LATE, NEAR_MEAN, NEAR_TAIL, OWN

POOLS = 2000
FAR = 0.10  # behind by more than that, it should never be
_SMS: dict[DeviceType, int] = {"v100": 80, "a100": 108, "h100": 132, "h200": 132}
_CELLS = tuple(
    f"{shape}-{direction}"
    for shape in ("32x8", "64x16", "64x32", "128x32", "128x64", "256x64")
    for direction in ("uplink", "downlink")
)
_SM_FLOPS = 40e9  # a CTA's share of an SM's, roughly


def random_pool(seed: int) -> PoolStudy:
    """One to sixteen devices of one or two types; some have SMs taken, a third kernels of somebody
    else. One to four radio units, not more than devices."""
    draw = random.Random(seed)
    count = draw.choice((1, 2, 3, 4, 4, 5, 6, 8, 8, 12, 16))
    types = [draw.choice(list(_SMS)) for _ in range(draw.choice((1, 1, 2)))]
    devices = [_device(draw, draw.choice(types)) for _ in range(count)]
    background = [background_on(draw, place) for place in range(count) if draw.random() < 0.35]
    units: dict[str, int] = {}
    for _ in range(draw.randint(1, min(4, count))):
        cell = draw.choice(_CELLS)
        units[cell] = units.get(cell, 0) + 1
    return PoolStudy(
        devices=devices,
        cells=[RadioUnits(cell=cell, count=number) for cell, number in units.items()],
        background=background,
        trace=Trace(frames=0),
    )


def _device(draw: random.Random, kind: DeviceType) -> Devices:
    taken = int(_SMS[kind] * draw.uniform(0.1, 0.8)) if draw.random() < 0.15 else 0
    return Devices(type=kind, reserved_sms=taken)


def background_on(draw: random.Random, device: int) -> Background:
    """Kernels of 10 to 2000 CTAs that take 10 µs to 1 ms."""
    seconds = 1e-6 * 10 ** draw.uniform(1, 3)
    return Background(
        device=device,
        kernels=draw.choice((1, 3, 10, 30)),
        ctas=int(10 ** draw.uniform(1, 3.3)),
        warps=draw.choice((1, 2, 4, 8, 16)),
        registers=draw.choice((32, 64, 128)),
        shared_bytes=draw.choice((0, 8192, 16384)),
        mflop=seconds * _SM_FLOPS / 1e6,
        kbytes=draw.choice((0.0, 10.0, 50.0)),
    )


@dataclass(frozen=True)
class Gap:
    """By how much adaptive is behind the best other policy of a pool (negative: ahead), of that.

    tail: where no other has a tail, by what share of all frames more are late.
    """

    pool: str | float
    mean: float
    tail: float
    late: bool  # tail is of late frames

    @property
    def near(self) -> bool:
        """By the criterion of all studies."""
        return self.mean <= NEAR_MEAN and self.tail <= (NEAR_LATE if self.late else NEAR_TAIL)

    @property
    def far(self) -> bool:
        """By more than it should ever be."""
        return max(self.mean, self.tail) > FAR


def gaps(points: Sequence[Point], deadline_ms: float = 4.0) -> list[Gap]:
    """Of each pool of which all policies are known."""
    pools = dict.fromkeys(point.x for point in points)
    every = [{point.policy: point for point in points if point.x == pool} for pool in pools]
    return [_gap(own, deadline_ms) for own in every if OWN in own and len(own) > 1]


def _gap(own: dict[str, Point], deadline_ms: float) -> Gap:
    others = [point for policy, point in own.items() if policy != OWN]
    best_mean = min(_mean(point, deadline_ms) for point in others)
    best_tail = min(_tail(point) for point in others)
    late = math.isinf(best_tail)
    tail = (
        _late(own[OWN]) - min(_late(point) for point in others)
        if late
        else _tail(own[OWN]) / best_tail - 1
    )
    return Gap(own[OWN].x, _mean(own[OWN], deadline_ms) / best_mean - 1, tail, late)


def _mean(point: Point, deadline_ms: float) -> float:
    """A late frame counts as one that took until the deadline."""
    in_time = (point.mean_ms or 0.0) * (point.frames - point.late)
    return (in_time + deadline_ms * point.late) / point.frames


def _tail(point: Point) -> float:
    return math.inf if point.tail_ms is None else point.tail_ms


def _late(point: Point) -> float:
    return point.late / point.frames


def _as_good(points: Sequence[Point]) -> Found:
    known = gaps(points)
    return (100 * sum(gap.near for gap in known) / len(known) if known else None), ""


def _far(points: Sequence[Point]) -> Found:
    known = gaps(points)
    return (100 * sum(gap.far for gap in known) / len(known) if known else None), ""


def cases(first: int, count: int) -> list[Case]:
    """Pools by their seeds."""
    return [Case("pools", float(seed), random_pool(seed)) for seed in range(first, first + count)]


def figure(first: int = 0, count: int = POOLS) -> Figure:
    """So many pools."""
    return Figure(
        "random-pools",
        f"{count} pools drawn at random, with load of somebody else (simulated)",
        "seed of the pool",
        cases(first, count),
        [
            Claim("adaptive is as good as the best other policy", 99, "%", _as_good),
            Claim("adaptive is behind by more than 10 %", 0, "%", _far),
        ],
        picture="gaps",
        frames=420,
        beside="goal",
    )


FIGURES = (figure(),)
