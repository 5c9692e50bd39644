"""MegaStation §3: frames, symbols or tasks as the unit of work, on GPUs that others use as well.

Figures 4 to 6 at 128×32, and what figure 19 (and 12, by direction) has at 128×64. Latency is of
one frame at a time, its samples there when it begins; throughput is of a pool that is full of
frames. Deadlines are far off: how far performance falls is what is asked.
"""

from __future__ import annotations

from carillon.config.pool import Background, Devices, PoolStudy, RadioUnits, Trace
from carillon.studies.claims import ahead, change, gain, times
from carillon.studies.figure import Case, Claim, Figure

DIRECTIONS = ("uplink", "downlink")
GRANULARITIES = ("frame-level", "symbol-level", "task-level")
SMS = 108  # of an A100
PARTIAL = (1.0, 10.0, 20.0, 40.0, 50.0, 60.0, 80.0, 100.0)  # % of the SMs that are free
FRAGMENTED = (0.0, 16.0, 30.0, 44.0, 70.0, 100.0)  # % that one GPU has of the other's SMs
KERNELS = (0.0, 1.0, 10.0, 50.0, 100.0)
_FULL = 8  # frames at once that fill a GPU
_LATE_MS = 1000.0


def _case(group: str, x: float, cell: str, devices: list[Devices], **other: object) -> Case:
    alone = PoolStudy(
        devices=devices,
        cells=[RadioUnits(cell=cell)],
        at_once=1,
        deadline_ms=_LATE_MS,
        trace=Trace(frames=0),
        **other,  # type: ignore[arg-type]
    )
    full = alone.model_copy(update={"at_once": _FULL, "ring": 64})
    return Case(group, x, alone, full, (1,) if len(devices) == 1 else (1, 4))


def _a100(free_sms: int) -> Devices:
    return Devices(type="a100", reserved_sms=SMS - free_sms)


def _partial(direction: str, percent: float) -> Case:
    return _case(direction, percent, f"128x32-{direction}", [_a100(round(SMS * percent / 100))])


def _fragmented(group: str, percent: float, cell: str) -> Case:
    """As many SMs as an A100 has, from two."""
    larger = round(SMS / (1 + percent / 100))
    parts = [larger, SMS - larger] if larger < SMS else [SMS]
    return _case(group, percent, cell, [_a100(free) for free in parts])


def _delayed(direction: str, kernels: float) -> Case:
    """Kernels: GEMMs of 1280×1024×512 in single precision, a CTA for 64×64 of the product."""
    gemm = Background(
        device=0,
        kernels=max(1, int(kernels)),
        ctas=320,
        warps=4,
        registers=128,
        shared_bytes=16384,
        mflop=2 * 64 * 64 * 512 / 1e6,
        kbytes=31.0,
    )
    others = [gemm] if kernels else []
    return _case(direction, kernels, f"128x32-{direction}", [_a100(SMS)], background=others)


def _partial_claims() -> list[Claim]:
    found = []
    for direction, finer in zip(DIRECTIONS, (56.9, 60.4), strict=True):
        for policy in GRANULARITIES:
            half = change("mean_ms", direction, policy, 50.0, 100.0)
            found.append(
                Claim(f"{direction}, {policy}, half of the SMs: latency, at most", 7.3, "%", half)
            )
            one = times("mean_ms", direction, policy, 1.0, 100.0)
            found.append(Claim(f"{direction}, {policy}, one SM: latency, more than", 10, "×", one))
        for policy in GRANULARITIES[1:]:
            below = gain("mean_ms", direction, policy, "frame-level")
            found.append(
                Claim(f"{direction}, {policy}: latency below frame-level's", finer, "%", below)
            )
    return found


def _changes(rows: list[tuple[str, str, float, float, float]]) -> list[Claim]:
    """Of throughput: direction, policy, from and to which x, what is published."""
    return [
        Claim(
            f"{direction}, {policy}, from {base:g} to {to:g}: throughput",
            published,
            "%",
            change("frames_per_s", direction, policy, to, base),
        )
        for direction, policy, base, to, published in rows
    ]


def _crossing() -> list[Claim]:
    """Symbols beside frames where one GPU has nearly everything, and where both have as much."""
    published = {("uplink", 16.0): 17.8, ("downlink", 16.0): 33.3}
    published |= {("uplink", 100.0): -14.5, ("downlink", 100.0): -17.4}
    return [
        Claim(
            f"{direction}, at {degree:g}: throughput of symbol-level on frame-level's",
            percent,
            "%",
            ahead("frames_per_s", direction, degree, "symbol-level", "frame-level"),
        )
        for (direction, degree), percent in published.items()
    ]


FIGURES = (
    Figure(
        "megastation-4",
        "three granularities on part of a GPU (simulated), 128×32",
        "% of the SMs that are free",
        [_partial(direction, percent) for direction in DIRECTIONS for percent in PARTIAL],
        _partial_claims(),
        picture="lines",
    ),
    Figure(
        "megastation-5",
        "three granularities on SMs of two GPUs (simulated), 128×32",
        "fragment degree, %: SMs of one GPU to those of the other",
        [
            _fragmented(direction, percent, f"128x32-{direction}")
            for direction in DIRECTIONS
            for percent in FRAGMENTED
        ],
        _changes(
            [
                ("uplink", "frame-level", 0, 100, 34.1),
                ("downlink", "frame-level", 0, 100, 30.6),
                ("uplink", "symbol-level", 0, 44, 25.1),
                ("downlink", "symbol-level", 0, 16, 65.1),
                ("uplink", "task-level", 0, 100, -48.2),
                ("downlink", "task-level", 0, 100, -52.2),
            ]
        )
        + _crossing(),
        picture="lines",
    ),
    Figure(
        "megastation-6",
        "three granularities beside GEMMs of somebody else (simulated), 128×32",
        "GEMMs that are always queued",
        [_delayed(direction, kernels) for direction in DIRECTIONS for kernels in KERNELS],
        _changes(
            [
                ("uplink", "frame-level", 0, 100, -23.5),
                ("downlink", "frame-level", 0, 100, -30.9),
                ("uplink", "symbol-level", 0, 100, -47.2),
                ("downlink", "symbol-level", 0, 100, -60.8),
                ("uplink", "task-level", 0, 100, -60.0),
                ("downlink", "task-level", 0, 100, -74.7),
            ]
        ),
        picture="lines",
    ),
    Figure(
        "megastation-12",
        "fragment degree (simulated), 128×64 by direction",
        "fragment degree, %: SMs of one GPU to those of the other",
        [
            _fragmented(direction, percent, f"128x64-{direction}")
            for direction in DIRECTIONS
            for percent in FRAGMENTED
        ],
        picture="lines",
    ),
    Figure(
        "megastation-19",
        "fragment degree (simulated), 128×64, half uplink and half downlink",
        "fragment degree, %: SMs of one GPU to those of the other",
        [_fragmented("half and half", percent, "128x64-mixed") for percent in FRAGMENTED],
        picture="lines",
    ),
)
