"""Chapter 5 of the Millipede thesis, figures 5.1 to 5.5.

Published values are those that its text states; none is read off a figure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from carillon.models import Latency, thesis
from carillon.models.allocation import Goal, Policy
from carillon.studies.study import Presets, Request, Row, Study

FRAME_SYMBOLS, DATA_SYMBOLS = 70, 62
ANTENNAS = (8, 16, 32)
COSTS = ("thesis-ideal", "thesis", "ours", "ours-uncoded")
_CODED = COSTS[:3]  # where decoding changes nothing
_DIRECTIONS: tuple[Goal, ...] = ("uplink", "downlink")
POLICIES: tuple[Policy, ...] = ("earliest-frame", "core-groups")
ENOUGH_MS = 5.1  # what the thesis asks for: less than 100 µs more than the frame
BITS_PER_SYMBOL = thesis.USERS * thesis.SUBCARRIERS * 4  # 16QAM, uncoded


def _row(request: Request, source: str, measure: str, value: float | None) -> Row:
    if value is not None and math.isnan(value):
        value = None
    fft = request.fft_cores
    note = "" if fft is None else f"{fft} cores for doFFT"
    return Row(
        source,
        request.costs,
        request.policy,
        request.antennas,
        request.cores,
        measure,
        value,
        note,
    )


def _said(
    policy: str, antennas: int, cores: int | None, measure: str, value: float, note: str
) -> Row:
    return Row("published", "measured", policy, antennas, cores, measure, value, note)


# --- 5.1: uplink latency --------------------------------------------------------------------------


def _over_cores(
    directions: Sequence[Goal], antennas: Sequence[int], every_costs: Sequence[str] = COSTS
) -> Callable[[int], list[Request]]:
    def ask(most_cores: int) -> list[Request]:
        return [
            Request(costs, policy, number, cores, direction)
            for direction in directions
            for costs in every_costs
            for policy in POLICIES
            for number in antennas
            for cores in range(1, most_cores + 1)
        ]

    return ask


def _uplink(request: Request, found: Latency | None, source: str) -> list[Row]:
    return [_row(request, source, "uplink_ms", found.uplink if found else None)]


def _cores_needed(rows: Sequence[Row], presets: Presets) -> list[Row]:
    """The least cores of each curve that are done 100 µs after the frame."""
    curves: dict[tuple[str, str, str, int], list[Row]] = {}
    for row in rows:
        curves.setdefault((row.source, row.costs, row.policy, row.antennas), []).append(row)
    needed = []
    for (source, costs, policy, antennas), curve in curves.items():
        enough = [r.cores for r in curve if r.value is not None and r.value < ENOUGH_MS]
        known = min((cores for cores in enough if cores is not None), default=None)
        most = max((r.cores for r in curve if r.cores is not None), default=0)
        note = "" if known is not None else f"more than {most}"
        needed.append(Row(source, costs, policy, antennas, None, "cores_needed", known, note))
    return needed


_UPLINK = (
    _said("earliest-frame", 8, None, "cores_needed", 13, "§5.2.1"),
    _said("core-groups", 8, None, "cores_needed", 25, "§5.2.1"),
    _said("earliest-frame", 16, 20, "uplink_ms", 4.999, "chapter 1"),
    _said("core-groups", 16, 20, "uplink_ms", 8.199, "chapter 1"),
)


# --- 5.2: downlink latency and rate ---------------------------------------------------------------


def _downlink(request: Request, found: Latency | None, source: str) -> list[Row]:
    ideal = BITS_PER_SYMBOL * DATA_SYMBOLS / 5e-3 * 1e-6
    if found is None or math.isnan(found.downlink_first):  # in virtual time, given up
        latency = rate = None
    else:
        latency, rate = found.downlink, found.rate(ideal, FRAME_SYMBOLS, DATA_SYMBOLS)
    return [
        _row(request, source, "downlink_ms", latency),
        _row(request, source, "rate_mbps", rate),
        _row(request, source, "share_of_ideal_rate", rate / ideal if rate is not None else None),
    ]


_DOWNLINK = (
    _said("earliest-frame", 16, 20, "downlink_ms", 2.667, "chapter 1; the preset is fitted to it"),
    _said("earliest-frame", 16, 20, "rate_mbps", 245.76, "chapter 1, as 234.4 · 2²⁰ bit/s"),
    _said("earliest-frame", 8, 30, "share_of_ideal_rate", 0.742, "§5.2.2, antennas not stated"),
    _said("core-groups", 8, 30, "share_of_ideal_rate", 0.645, "§5.2.2, antennas not stated"),
)


# --- 5.3: pilots ----------------------------------------------------------------------------------

_PILOT_CORES = 30


def _pilot_requests(most_cores: int) -> list[Request]:
    cores = max(most_cores, 6)
    ways: list[tuple[Policy, int | None]] = [(policy, None) for policy in POLICIES]
    ways.append(("core-groups", 5))
    return [
        Request(costs, policy, antennas, cores, fft_cores=fft_cores)
        for costs in _CODED
        for antennas in ANTENNAS
        for policy, fft_cores in ways
    ]


def _pilots(request: Request, found: Latency | None, source: str) -> list[Row]:
    return [_row(request, source, "pilot_ms", found.pilot if found else None)]


def _receive_times() -> list[Row]:
    """Eq. 3.1's bound. That is what the thesis gives in words: both policies lie about 10 µs above
    it, core groups with 5 cores for doFFT or more."""
    bits = (64 + 4 * 2048) * 8  # of a packet (§5.1)
    last = 7 / FRAME_SYMBOLS * 5
    times = {n: last + n * bits / thesis.LINK_GBPS * 1e-6 for n in ANTENNAS}
    note = "§5.3.1: about 10 µs above the bound of eq. 3.1"
    return [
        _said(policy, antennas, _PILOT_CORES, "pilot_ms", time + 0.010, note)
        for policy in POLICIES
        for antennas, time in times.items()
    ]


# --- 5.4 and 5.5: speed-ups -----------------------------------------------------------------------


def _zero_forcing(request: Request, found: Latency | None, source: str) -> list[Row]:
    return [
        _row(
            request, source, f"{request.direction}_zeroforce_ms", found.zeroforce if found else None
        )
    ]


def _data(request: Request, found: Latency | None, source: str) -> list[Row]:
    return [_row(request, source, "uplink_data_ms", found.data if found else None)]


def _speed_ups(*ops: str) -> Callable[[Sequence[Row], Presets], list[Row]]:
    """T_i(1) over T_i(n), as eq. 3.4 defines them, for every row."""

    def closing(rows: Sequence[Row], presets: Presets) -> list[Row]:
        works = {(name, way): presets[name].work(8, way) for name in presets for way in _DIRECTIONS}
        found = []
        for row in rows:
            direction: Goal = "downlink" if row.measure.startswith("downlink") else "uplink"
            work, costs = works[row.costs, direction], presets[row.costs].costs[8, direction]
            alone = sum(costs.busy_ns(op, n, 1) for op, n in work.instructions() if op in ops)
            speed_up = alone * 1e-6 / row.value if row.value else None
            measure = row.measure.replace("_ms", "_speed_up")
            found.append(replace(row, measure=measure, value=speed_up))
        return found

    return closing


_ZERO_FORCING = (
    _said("earliest-frame", 8, 15, "uplink_zeroforce_ms", 2.047, "§5.3.2"),
    _said("earliest-frame", 8, 15, "uplink_zeroforce_speed_up", 14.42, "§5.3.2"),
    _said("core-groups", 8, 15, "uplink_zeroforce_ms", 4.262, "§5.3.2"),
    _said("core-groups", 8, 15, "uplink_zeroforce_speed_up", 6.96, "§5.3.2"),
)


STUDIES = {
    study.name: study
    for study in (
        Study(
            "millipede-5.1",
            "uplink latency D_UL over cores, 8, 16 and 32 antennas",
            _over_cores(("uplink",), ANTENNAS),
            _uplink,
            _UPLINK,
            _cores_needed,
        ),
        Study(
            "millipede-5.2",
            "downlink latency D_DL and achievable rate over cores",
            _over_cores(("downlink",), ANTENNAS, _CODED),
            _downlink,
            _DOWNLINK,
        ),
        Study(
            "millipede-5.3",
            "pilot time T_Pilot over antennas",
            _pilot_requests,
            _pilots,
            _receive_times(),
        ),
        Study(
            "millipede-5.4",
            "zero-forcing time T_ZF over cores, 8 antennas",
            _over_cores(("uplink", "downlink"), (8,), _CODED),
            _zero_forcing,
            _ZERO_FORCING,
            _speed_ups("ZeroForce"),
        ),
        Study(
            "millipede-5.5",
            "uplink data time T_ULData over cores, 8 antennas",
            _over_cores(("uplink",), (8,)),
            _data,
            (),
            _speed_ups("UplinkFft", "EqualizeDemodulate", "Decode", "Store"),
        ),
    )
}
