"""24 hours of cells' load in virtual time: energy and late TTIs under a governor and its rivals.

Loads are synthetic profiles, delays those that were measured, the clock and the power are models
(carillon.power.energy). A core serves so many cells that at full load it needs most of its highest
clock. Each minute has one load.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from carillon import core
from carillon.power.energy import PowerModel
from carillon.power.measured import CellDelays, Times, together

MINUTES = 24 * 60
LEVELS = 10  # of the load: the highest is full
AHEAD = 4  # TTIs, by which a load is known before
POLICIES = ("performance", "governed", "race to idle", "concentrated")
WAKE_NS = 100_000  # of a core that races to idle, as in PowerModel
GATHER = 3  # TTIs that it lets come before it wakes, at most, within a response of four
CORES = 4  # whose cells may be concentrated
_SAMPLES = 4096  # of each delay

# Hours of peaks, their widths and heights over a base, relative to full load.
PROFILES: dict[str, tuple[float, tuple[tuple[float, float, float], ...]]] = {
    "office": (0.08, ((10.5, 2.2, 0.8), (15.0, 2.2, 0.75))),
    "residential": (0.12, ((8.0, 1.5, 0.35), (20.5, 2.5, 0.85))),
    "mixed": (0.15, ((12.0, 4.0, 0.55), (20.0, 2.5, 0.5))),
}

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Rules:
    """What all policies have to meet."""

    clocks: tuple[float, ...]  # MHz
    outage: float = 1e-3
    margin: float = 2.0
    cells: int = 4  # of a core
    seed: int = 1
    ttis_a_minute: int = 60_000


@dataclass(frozen=True)
class Day:
    """What a policy made of a day. at_clock, busy: seconds; scaled to the whole day."""

    profile: str
    policy: str
    ttis: int
    late: int
    by_system: int
    by_fronthaul: int
    at_clock: tuple[float, ...]
    busy: tuple[float, ...]
    cores: float  # mean, awake
    wakes: int
    changes: int
    hourly_clock: tuple[float, ...]  # mean MHz

    @property
    def ratio(self) -> float:
        """Late of all."""
        return self.late / self.ttis


def levels(profile: str, seed: int) -> Rows:
    """The load of each minute, a place in 0 … LEVELS - 1: the profile with noise of a tenth."""
    base, peaks = PROFILES[profile]
    hours = np.arange(MINUTES) / 60
    load = np.full(MINUTES, base)
    for at, width, height in peaks:
        apart = np.minimum(np.abs(hours - at), 24 - np.abs(hours - at))
        load += height * np.exp(-0.5 * (apart / width) ** 2)
    noise = np.random.default_rng(seed).normal(0, 0.1, MINUTES)
    places = np.round(load * (1 + noise) * LEVELS) - 1
    return np.clip(places, 0, LEVELS - 1).astype(np.int64)


def processing(light: CellDelays, full: CellDelays) -> list[Times]:
    """T_BS at each load, in ns: linear in the load between two that were measured (section 6),
    quantile by quantile."""
    shares = (np.arange(_SAMPLES) + 0.5) / _SAMPLES
    low, high = (np.quantile(own.processing, shares) for own in (light, full))
    return [low + (high - low) * level / (LEVELS - 1) for level in range(LEVELS)]


@dataclass(frozen=True)
class Cells:
    """Cells whose delays were measured at two loads, on cores."""

    loads: list[Times]
    system: Times
    fronthaul: Times
    tti_ns: float
    response_ns: float

    @classmethod
    def of(cls, light: CellDelays, full: CellDelays) -> Cells:
        """Their tails are kept: delays are drawn from all that was measured."""
        system, fronthaul = together([light, full])
        response = max(full.response_ns, full.tti_ns)
        return cls(processing(light, full), system, fronthaul, full.tti_ns, response)

    def on_a_core(
        self, rules: Rules, cells: int, *, wake_ns: int = 0, gather: int = 1
    ) -> core.VirtualTtis:
        """So many of them."""
        return core.VirtualTtis(
            [load.tolist() for load in self.loads], self.system.tolist(), self.fronthaul.tolist(),
            list(rules.clocks), length=self.tti_ns, response=self.response_ns, cells=cells,
            wake=wake_ns, gather=gather, seed=rules.seed,
        )  # fmt: skip

    def predicted(self, rules: Rules, ttis: int) -> list[list[float]]:
        """The ratio of TTIs that are late at a clock, less that at the highest. [load][clock]"""
        return [self._excess(rules, load, ttis) for load in range(LEVELS)]

    def _excess(self, rules: Rules, load: int, ttis: int) -> list[float]:
        late = []
        for clock in range(len(rules.clocks)):
            (out,) = self.on_a_core(rules, rules.cells).run([(ttis, load)], fixed=clock)
            late.append(out["late"] / out["ttis"])
        return [max(each - late[-1], 0.0) for each in late]


def play(
    policy: str, cells: Cells, rules: Rules, profile: str, predicted: list[list[float]],
    most: Sequence[int],
) -> Day:  # fmt: skip
    """A day under one of POLICIES. most: most_cells()."""
    if policy == "governed":
        return governed(cells, rules, profile, predicted)
    if policy == "concentrated":
        return concentrated(cells, rules, profile, CORES, most)
    base = performance(cells, rules, profile)
    return base if policy == "performance" else racing(cells, rules, profile, base)


def racing(cells: Cells, rules: Rules, profile: str, base: Day) -> Day:
    """At the highest clock, and asleep in between. The core lets as many TTIs come before it wakes
    as the target allows beyond what is late anyway."""
    for gather in range(GATHER, 1, -1):
        own = performance(cells, rules, profile, gather=gather)
        if own.ratio - base.ratio <= rules.outage:
            return own
    return performance(cells, rules, profile, gather=1)


def performance(cells: Cells, rules: Rules, profile: str, *, gather: int = 0) -> Day:
    """Always at the highest clock. gather: the core sleeps until so many TTIs have come; 0: it does
    not."""
    ttis = cells.on_a_core(
        rules, rules.cells, wake_ns=WAKE_NS if gather else 0, gather=max(gather, 1)
    )
    outcomes = ttis.run(_stretches(rules, profile), fixed=len(rules.clocks) - 1)
    return _day(rules, profile, "race to idle" if gather else "performance", outcomes)


def governed(cells: Cells, rules: Rules, profile: str, predicted: list[list[float]]) -> Day:
    """At the lowest clock that the prediction allows, load by load."""
    governor = core.Governor(predicted, outage=rules.outage, margin=rules.margin)
    outcomes = cells.on_a_core(rules, rules.cells).run(
        _stretches(rules, profile), governor=governor, ahead=AHEAD
    )
    return _day(rules, profile, "governed", outcomes)


def concentrated(
    cells: Cells, rules: Rules, profile: str, cores: int, most_cells: Sequence[int]
) -> Day:
    """`cores` cores' cells on as few of them as serve the minute's load at the highest clock; the
    others sleep. most_cells: [load] that a core can serve."""
    highest = len(rules.clocks) - 1
    minutes = levels(profile, rules.seed)
    sums = dict.fromkeys(("ttis", "late", "by_system", "by_fronthaul", "wakes"), 0)
    busy = awake = 0.0
    for load in range(LEVELS):
        count = int((minutes == load).sum())
        if not count:
            continue
        needed = int(np.ceil(cores * rules.cells / most_cells[load]))
        on_each = int(np.ceil(cores * rules.cells / needed))
        (out,) = cells.on_a_core(rules, on_each).run(
            [(count * rules.ttis_a_minute, load)], fixed=highest
        )
        share = rules.cells / on_each  # of cores that are full
        for name in sums:
            sums[name] += round(out[name] * share)
        busy += sum(out["busy_at_ns"]) / 1e9 * share
        awake += count * needed / cores
    scale = 60_000 / rules.ttis_a_minute
    mean = awake / MINUTES
    time = [0.0] * highest + [mean * MINUTES * 60]
    return Day(
        profile, "concentrated", sums["ttis"], sums["late"], sums["by_system"],
        sums["by_fronthaul"], tuple(time), (*[0.0] * highest, busy * scale), mean, sums["wakes"], 0,
        (rules.clocks[-1],) * 24,
    )  # fmt: skip


def most_cells(cells: Cells, rules: Rules, ttis: int) -> list[int]:
    """Of each load, how many cells a core serves at the highest clock within the target, beside
    what is late with as many as the rules say."""
    found = []
    for load in range(LEVELS):
        floor, count = _late_at_highest(cells, rules, load, rules.cells, ttis), rules.cells
        while count < 40 * rules.cells:
            more = _late_at_highest(cells, rules, load, count + 1, ttis)
            if (more - floor) * rules.margin > rules.outage:
                break
            count += 1
        found.append(count)
    return found


def _late_at_highest(cells: Cells, rules: Rules, load: int, count: int, ttis: int) -> float:
    (out,) = cells.on_a_core(rules, count).run([(ttis, load)], fixed=len(rules.clocks) - 1)
    return float(out["late"] / out["ttis"])


def energy_s(day: Day, rules: Rules, model: PowerModel) -> float:
    """Of a day, by core: in seconds of one that computes at the highest clock."""
    if day.policy == "race to idle":
        return model.racing(sum(day.at_clock), sum(day.busy), day.wakes)
    awake = model.at_clocks(rules.clocks, day.at_clock, day.busy)
    return awake + (1 - day.cores) * MINUTES * 60 * model.sleeping


def _stretches(rules: Rules, profile: str) -> list[tuple[int, int]]:
    return [(rules.ttis_a_minute, int(load)) for load in levels(profile, rules.seed)]


def _day(rules: Rules, profile: str, policy: str, outcomes: list[dict[str, list[int]]]) -> Day:
    scale = 60_000 / rules.ttis_a_minute
    at = np.array([out["at_clock_ns"] for out in outcomes], dtype=float) / 1e9
    busy = np.array([out["busy_at_ns"] for out in outcomes], dtype=float) / 1e9
    clocks = np.array(rules.clocks)
    hourly = at.reshape(24, 60, -1).sum(axis=1)
    sums = [
        int(sum(int(out[name]) for out in outcomes))  # type: ignore[call-overload]
        for name in ("ttis", "late", "by_system", "by_fronthaul", "wakes", "changes")
    ]
    ttis, late, by_system, by_fronthaul, wakes, changes = sums
    return Day(
        profile, policy, ttis, late, by_system, by_fronthaul,
        tuple((at.sum(axis=0) * scale).tolist()), tuple((busy.sum(axis=0) * scale).tolist()), 1.0,
        round(wakes * scale), round(changes * scale),
        tuple((hourly @ clocks / hourly.sum(axis=1)).tolist()),
    )  # fmt: skip
