"""MegaStation §5.4, §5.6: more radio units, more GPUs, and GPUs that are lost, in virtual time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

import numpy as np

from carillon.config.pool import Fault, Link, Links
from carillon.pool.running import Outcome
from carillon.studies.claims import Simulated, find, overall, times
from carillon.studies.figure import Case, Claim, Extra, Figure, Found, Point
from carillon.studies.granularity import DIRECTIONS
from carillon.studies.granularity import GRANULARITIES as RIVALS
from carillon.studies.shapes import pool_of

UNITS = tuple(range(1, 9))
BIN_MS = 10.0
LOST_MS, BACK_MS = (300.0, 900.0), (600.0, 1200.0)
_LOST = ((2, 3, 4), (0, 1, 2))  # no luck in which GPUs a policy prefers


def _units(direction: str, units: int) -> Case:
    """Links twice as wide as elsewhere: 64 GB/s feed 4.4 of these units' uplinks."""
    wide = Link(gbytes_per_s=128.0)
    links = Links(host=wide, chassis=wide)
    pool = pool_of({f"128x64-{direction}": units}, {"a100": 6}, links=links)
    return Case(direction, float(units), pool)


def _scaled(published: dict[str, tuple[float, float, float]]) -> list[Claim]:
    return [
        Claim(
            f"{direction}: throughput of scoreboard to {rival}'s, over all",
            ratio,
            "×",
            overall("frames_per_s", direction, "scoreboard", rival),
        )
        for direction, every in published.items()
        for rival, ratio in zip(RIVALS, every, strict=True)
    ]


def _toggled(shape: str, direction: str) -> Case:
    faults = [
        Fault(at_ms=at, device=device, event=event)  # type: ignore[arg-type]
        for event, every in (("lost", LOST_MS), ("back", BACK_MS))
        for at, devices in zip(every, _LOST, strict=True)
        for device in devices
    ]
    pool = pool_of({f"{shape}-{direction}": 3}, {"a100": 5}, faults=faults)
    return Case(direction, shape, pool)


def timeline(case: Case, outcome: Outcome) -> Extra:
    """rates: frames/s that ended in each bin. longest_ms: of frames that were done. again_ms: how
    long after devices were back the last frame began that was lost, at most; the next loss has no
    part in it.
    """
    ends = (outcome.began + outcome.latency)[outcome.done]
    edges = np.arange(0.0, outcome.began.max(), BIN_MS)
    counts, _ = np.histogram(ends, edges)
    lost = outcome.began[~outcome.done]
    until = [at - case.pool.deadline_ms for at in (*LOST_MS[1:], math.inf)]
    again = [
        float((lost[(lost >= back) & (lost < end)] - back).max(initial=0.0))
        for back, end in zip(BACK_MS, until, strict=True)
    ]
    longest = float(outcome.latency[outcome.done].max(initial=0.0))
    return {
        "again_ms": max(again),
        "longest_ms": longest,
        "rates": (counts / BIN_MS * 1e3).tolist(),
    }


def _again(shape: str, direction: str) -> Simulated:
    """scoreboard's frames/s after the last return, in % of those before the first loss."""

    def percent(points: Sequence[Point]) -> Found:
        point = find(points, direction, shape, "scoreboard")
        rates = point.extra["rates"] if point else None
        if not isinstance(rates, list):
            return None, ""
        before = rates[1 : int(LOST_MS[0] / BIN_MS)]  # the first bin has less than its frames
        after = rates[int(BACK_MS[-1] / BIN_MS) + 1 :]
        return (100 * fmean(after) / fmean(before) if after and any(before) else None), ""

    return percent


def _devices(direction: str, devices: int) -> Case:
    pool = pool_of({f"128x64-{direction}": 3}, {"a100": devices})
    full = pool.model_copy(update={"at_once": 2, "ring": 64, "deadline_ms": 100.0})
    return Case(direction, float(devices), pool, full)


def _speedups() -> list[Claim]:
    published = {
        "scoreboard": (1.9, 1.8),
        "frame-level": (1.3, 1.2),
        "symbol-level": (0.9, 1.0),
        "task-level": (0.6, 0.7),
    }
    return [
        Claim(
            f"{direction}, {policy}: throughput of five GPUs to one's",
            ratio,
            "×",
            times("frames_per_s", direction, policy, 5.0, 1.0),
        )
        for policy, every in published.items()
        for direction, ratio in zip(DIRECTIONS, every, strict=True)
    ]


FIGURES = (
    Figure(
        "megastation-10",
        "1 to 8 radio units of 128×64 on six A100s (simulated)",
        "radio units",
        [_units(direction, units) for direction in DIRECTIONS for units in UNITS],
        _scaled({"uplink": (1.5, 1.8, 3.2), "downlink": (1.4, 1.6, 2.6)}),
        picture="lines",
    ),
    Figure(
        "megastation-11",
        "from five A100s to two and back every 300 ms (simulated), three radio units",
        "ms",
        [_toggled(shape, direction) for shape in ("128x64", "128x32") for direction in DIRECTIONS],
        [
            Claim(
                f"scoreboard, {shape}, {direction}: throughput with all GPUs back",
                100,
                "%",
                _again(shape, direction),
            )
            for shape in ("128x64", "128x32")
            for direction in DIRECTIONS
        ],
        picture="timeline",
        extra=timeline,
        frames=4500,
    ),
    Figure(
        "megastation-14",
        "1 to 5 A100s for three radio units of 128×64 (simulated)",
        "A100s",
        [_devices(direction, count) for direction in DIRECTIONS for count in range(1, 6)],
        _speedups(),
        picture="lines",
    ),
)
