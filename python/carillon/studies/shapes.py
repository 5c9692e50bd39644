"""MegaStation §5: figures of shapes and types of GPUs, in virtual time.

Frames come at the pace of the air and are given up after 4 ms; throughput is of frames always under
way. The paper does not say how many A100s its figure 8 has, nor how they hang together. Here they
are four on one chassis, 25 GB/s to each and 64 GB/s to the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from carillon.config.pool import Devices, DeviceType, PoolStudy, RadioUnits, Trace
from carillon.pool.running import Outcome
from carillon.studies.claims import Simulated, find, gain, value
from carillon.studies.figure import Case, Claim, Extra, Figure, Found, Point
from carillon.studies.granularity import DIRECTIONS
from carillon.studies.granularity import GRANULARITIES as RIVALS

SHAPES = ("64x32", "128x32", "128x64", "256x64", "256x128")
SMALL = ("32x8", "64x16")


def pool_of(
    cells: dict[str, int], devices: dict[DeviceType, int], at_once: int = 0, **other: object
) -> PoolStudy:
    """Cells by example, devices by type. at_once: 0, or frames of each cell always under way."""
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
    pool = pool_of({cell: 1}, devices)
    return Case(group, x, pool, pool.model_copy(update={"at_once": at_once, "ring": 64}))


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
            pool_of({f"{shape}-{direction}": 1}, {"a100": 4}, policies=["scoreboard"]),
            parts=(1,),
        )
        for shape in SHAPES
        for direction in DIRECTIONS
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
            f"{policy}: mean latency of A100 + V100 to 2 A100",
            percent,
            "%",
            _more("mean_ms", policy, "A100 + V100", "2 A100"),
        )
        for policy, percent in published.items()
    ]


FIGURES = (
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
