"""MegaStation §5: its figures on pools of A100s and V100s, in virtual time.

Frames come at the pace of the air and are given up after 4 ms; throughput is of frames always under
way. The paper does not say how many A100s its figure 8 has, nor how they hang together. Here they
are four on one chassis, 25 GB/s to each and 64 GB/s to the host.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np

from carillon.config.pool import (
    Devices,
    DeviceType,
    Fault,
    Link,
    Links,
    PoolStudy,
    RadioUnits,
    Trace,
)
from carillon.pool.running import Outcome
from carillon.studies import granularity
from carillon.studies.claims import Simulated, find, gain, overall, times, value
from carillon.studies.figure import Case, Claim, Extra, Figure, Found, Point

DIRECTIONS = granularity.DIRECTIONS
RIVALS = granularity.GRANULARITIES
SHAPES = ("64x32", "128x32", "128x64", "256x64", "256x128")
SMALL = ("32x8", "64x16")
UNITS = (1, 2, 3, 4, 6, 8)
BIN_MS = 10.0
LOST_MS, BACK_MS = (300.0, 900.0), (600.0, 1200.0)


def _pool(
    cells: dict[str, int], devices: dict[DeviceType, int], at_once: int = 0, **other: object
) -> PoolStudy:
    return PoolStudy(
        devices=[Devices(type=name, count=count) for name, count in devices.items()],
        cells=[RadioUnits(cell=cell, count=count) for cell, count in cells.items()],
        at_once=at_once,
        trace=Trace(frames=0),
        **other,  # type: ignore[arg-type]
    )


def _case(
    group: str, x: str | float, cell: str, devices: dict[DeviceType, int], at_once: int
) -> Case:
    pool = _pool({cell: 1}, devices)
    return Case(group, x, pool, pool.model_copy(update={"at_once": at_once}))


def _shapes(shapes: Sequence[str]) -> list[Case]:
    """On four A100s; a frame for each under way."""
    return [
        _case(direction, shape, f"{shape}-{direction}", {"a100": 4}, 4)
        for shape in shapes
        for direction in DIRECTIONS
    ]


def _gains() -> list[Claim]:
    published = {
        ("mean_ms", "uplink"): (50.6, 12.2, 53.7),
        ("tail_ms", "uplink"): (58.9, 46.9, 66.2),
        ("mean_ms", "downlink"): (45.2, 9.5, 47.9),
        ("tail_ms", "downlink"): (57.1, 41.6, 61.9),
        ("frames_per_s", "uplink"): (10.7, 25.3, 44.9),
        ("frames_per_s", "downlink"): (12.2, 22.7, 41.8),
    }
    names = {"mean_ms": "mean", "tail_ms": "tail", "frames_per_s": "throughput"}
    return [
        Claim(
            f"scoreboard gains in {names[name]}, {direction}, on {rival}",
            percent,
            "%",
            gain(name, direction, "scoreboard", rival),
        )
        for (name, direction), every in published.items()
        for rival, percent in zip(RIVALS, every, strict=True)
    ]


_TRANSFERS = ("Load", "Store")


def _stages(case: Case, outcome: Outcome) -> Extra:
    """Share of each opcode in the kernels' time of a frame, in %."""
    kernels = {name: ms for name, ms in outcome.stages.items() if name not in _TRANSFERS}
    return {name: 100 * ms / sum(kernels.values()) for name, ms in kernels.items()}


def _share(opcode: str) -> Simulated:
    def mean(points: Sequence[Point]) -> Found:
        known = [
            float(str(point.extra[opcode]))
            for point in points
            if point.policy == "scoreboard" and opcode in point.extra
        ]
        return (fmean(known) if known else None), ""

    return mean


def _breakdown() -> list[Case]:
    return [
        Case(
            direction,
            shape,
            _pool({f"{shape}-{direction}": 1}, {"a100": 4}, policies=["scoreboard"]),
            parts=(1,),
        )
        for shape in SHAPES
        for direction in DIRECTIONS
    ]


def _units(direction: str, units: int) -> Case:
    """Links twice as wide as elsewhere: 64 GB/s feed 4.3 of these units' uplinks."""
    wide = Link(gbytes_per_s=128.0)
    links = Links(host=wide, chassis=wide)
    pool = _pool({f"128x64-{direction}": units}, {"a100": 6}, links=links)
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
        for at in every
        for device in (2, 3, 4)
    ]
    pool = _pool({f"{shape}-{direction}": 3}, {"a100": 5}, faults=faults)
    return Case(direction, shape, pool)


def _timeline(case: Case, outcome: Outcome) -> Extra:
    """rates: frames/s that ended in each bin. again_ms: how long after devices were back the last
    frame began that was lost, at most; the next loss has no part in it.
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
    return {"again_ms": max(again), "rates": (counts / BIN_MS * 1e3).tolist()}


def _devices(direction: str, devices: int) -> Case:
    pool = _pool({f"128x64-{direction}": 3}, {"a100": devices})
    full = pool.model_copy(update={"at_once": 2, "deadline_ms": 100.0})
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


_TYPES: dict[str, dict[DeviceType, int]] = {
    "2 A100": {"a100": 2},
    "2 V100": {"v100": 2},
    "A100 + V100": {"a100": 1, "v100": 1},
}
_TWO = ("64x32", "128x32", "128x64")  # shapes that two V100s can do


def _kinds(*kinds: str) -> list[Case]:
    return [
        _case(direction, f"{shape}, {kind}", f"{shape}-{direction}", _TYPES[kind], 2)
        for shape in _TWO
        for direction in DIRECTIONS
        for kind in kinds
    ]


def _more(name: str, policy: str, kind: str, base: str) -> Simulated:
    """By how many % a kind of pool is above another, mean over shapes and directions."""

    def percent(points: Sequence[Point]) -> Found:
        pairs = [
            [
                value(find(points, direction, f"{shape}, {each}", policy), name)
                for each in (kind, base)
            ]
            for shape in _TWO
            for direction in DIRECTIONS
        ]
        more = [100 * (own / other - 1) for own, other in pairs if own and other]
        note = "" if len(more) == len(pairs) else f"of {len(more)} of {len(pairs)}"
        return (fmean(more) if more else None), note

    return percent


def _mixed_claims() -> list[Claim]:
    published = {"scoreboard": 16.1, "frame-level": 23.1, "symbol-level": 30.7, "task-level": 32.8}
    return [
        Claim(
            f"{policy}: {what} of A100 + V100 to 2 A100",
            sign * percent,
            "%",
            _more(name, policy, "A100 + V100", "2 A100"),
        )
        for name, what, sign in (("mean_ms", "mean", 1), ("frames_per_s", "throughput", -1))
        for policy, percent in published.items()
    ]


_OWN = (
    Figure(
        "megastation-8",
        "five MIMO shapes on four A100s (simulated): latency and throughput",
        "antennas × users",
        _shapes(SHAPES),
        _gains(),
    ),
    Figure(
        "megastation-9",
        "which opcodes take the time (simulated), five MIMO shapes",
        "antennas × users",
        _breakdown(),
        [
            Claim("ZeroForce of the kernels' time, mean of all", 36.3, "%", _share("ZeroForce")),
            Claim("EqualizeDemodulate, mean of uplinks", 44.2, "%", _share("EqualizeDemodulate")),
            Claim("Precode, mean of downlinks", 42.7, "%", _share("Precode")),
        ],
        picture="stages",
        extra=_stages,
        frames=2100,
    ),
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
        picture="timeline",
        extra=_timeline,
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
    Figure(
        "megastation-16",
        "two small MIMO shapes on four A100s (simulated)",
        "antennas × users",
        _shapes(SMALL),
        [
            Claim(
                f"symbol-level below scoreboard, {what}, {direction}",
                percent,
                "%",
                gain(name, direction, "symbol-level", "scoreboard"),
            )
            for name, what, percent in (("mean_ms", "mean", 20.1), ("tail_ms", "tail", 15.6))
            for direction in DIRECTIONS
        ],
    ),
    Figure(
        "megastation-17",
        "two V100s against two A100s (simulated)",
        "antennas × users",
        _kinds("2 V100", "2 A100"),
        [
            Claim(
                "scoreboard: mean of 2 A100 to 2 V100",
                -27.2,
                "%",
                _more("mean_ms", "scoreboard", "2 A100", "2 V100"),
            ),
            Claim(
                "scoreboard: tail of 2 A100 to 2 V100",
                -27.2,
                "%",
                _more("tail_ms", "scoreboard", "2 A100", "2 V100"),
            ),
        ],
    ),
    Figure(
        "megastation-18",
        "an A100 and a V100 against two A100s (simulated)",
        "antennas × users",
        _kinds("2 A100", "A100 + V100"),
        _mixed_claims(),
    ),
)


# For 10⁶ frames each: figure, panel, place on its axis.
NAMED: tuple[tuple[int, str, str | float], ...] = (
    (8, "uplink", "64x32"),
    (8, "uplink", "128x64"),
    (8, "uplink", "256x128"),
    (10, "uplink", 4.0),
    (14, "uplink", 3.0),
    (6, "uplink", 10.0),
    (8, "downlink", "128x32"),
    (8, "downlink", "128x64"),
    (8, "downlink", "256x128"),
    (10, "downlink", 6.0),
    (16, "downlink", "64x16"),
    (18, "downlink", "128x64, A100 + V100"),
)


def _named(figures: Mapping[str, Figure]) -> Figure:
    cases = [
        replace(case, x=f"{number}: {case.x}", saturated=None)
        for number, group, x in NAMED
        for case in figures[f"megastation-{number}"].cases
        if (case.group, case.x) == (group, x)
    ]
    title = "twelve cases of the other figures (simulated), for a million frames each"
    measures = ("mean_ms", "tail_ms")
    return Figure("megastation-cases", title, "figure: case", cases, measures=measures)


def _every() -> dict[str, Figure]:
    numbered = sorted(
        (*granularity.FIGURES, *_OWN), key=lambda figure: int(figure.name.partition("-")[2])
    )
    figures = {figure.name: figure for figure in numbered}
    named = _named(figures)
    return figures | {named.name: named}


FIGURES = _every()
