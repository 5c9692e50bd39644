"""A published figure of policies on a pool, asked again in virtual time.

A figure is a list of cases, each a pool that every policy serves: once for latency and, where its
figure needs it, once saturated for throughput. All policies of a case meet the same frames.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal

from carillon import examples
from carillon.config import Cell, load_cell
from carillon.config.pool import POLICIES, Jitter, PoolStudy
from carillon.pool.degree import Degree
from carillon.pool.running import Outcome, Request
from carillon.pool.study import Described, Served, degrees
from carillon.pool.summary import SHARES, Summary, summarize
from carillon.statistics import Values
from carillon.studies.verdicts import Verdict, in_order, verdicts

SEED, WARM_UP = 1, 20
FRAME_MS = 1.0  # of all cells here
ENDLESS = 10  # so many times fewer frames at once
STILL = 200  # frames without jitter, at most
PILOT = 1000  # frames, at most, by which each policy's parts of zero-forcing are chosen

Extra = dict[str, object]


@dataclass(frozen=True)
class Case:
    """A place on the figure's axis, in one of its panels.

    saturated: the pool for throughput; None: that of the frames whose latency it is.
    parts: of zero-forcing (§5.5), of which every policy has the better for each measure.
    """

    group: str
    x: str | float
    pool: PoolStudy
    saturated: PoolStudy | None = None
    parts: tuple[int, ...] = (1, 4)


@dataclass(frozen=True)
class Point:
    """A policy in a case, with its better number of zero-forcing parts for each measure, chosen by
    the first frames.

    late: frames that missed the deadline, in tail_ms as late for ever (inf). tail: which percentile
    it is, p9999 where there are frames enough. mean_ms is of the frames that were in time; still_ms
    too, of some without jitter (and before any fault).
    extra: what only this figure has.
    """

    group: str
    x: str | float
    policy: str
    frames: int
    late: int
    mean_ms: float | None
    still_ms: float | None
    tail: str
    tail_ms: float | None
    latency_parts: int
    devices_per_frame: float | None
    frames_per_s: float
    throughput_parts: int
    extra: Extra = field(default_factory=dict)

    def row(self) -> dict[str, object]:
        """For JSON and CSV, where for ever is "never"."""
        plain = {name: value for name, value in vars(self).items() if name != "extra"}
        return {"source": "simulated"} | plain | {"tail_ms": never(self.tail_ms)} | self.extra


Found = tuple[float | None, str]  # what is simulated, and of how much of it; None: not known


@dataclass(frozen=True)
class Claim:
    """A published number, and how it is had from our points. unit: of both."""

    text: str
    published: float
    unit: str
    simulated: Callable[[Sequence[Point]], Found]


@dataclass(frozen=True)
class Figure:
    """measures: the rows of the picture. extra: of a run for latency, into its point.

    frames: of a point, by default. beside: what claims' published values are.
    """

    name: str
    title: str
    axis: str
    cases: Sequence[Case]
    claims: Sequence[Claim] = ()
    measures: tuple[str, ...] = ("mean_ms", "tail_ms", "frames_per_s")
    picture: Literal["bars", "lines", "stages", "timeline", "gaps"] = "bars"
    extra: Callable[[Case, Outcome], Extra] = lambda case, outcome: {}
    frames: int = 20_100
    beside: str = "published"


@dataclass(frozen=True)
class Measured:
    """What became of a case."""

    case: Case
    points: list[Point]
    verdicts: list[Verdict]


Kind = Literal["latency", "throughput", "still"]
CarryOut = Callable[[list[Request]], list[Outcome | None]]


@dataclass(frozen=True)
class _Run:
    policy: str
    parts: int
    measures: Kind = "latency"


def never(value: object) -> object:
    """For JSON and CSV, which have no infinity."""
    if isinstance(value, float) and math.isinf(value):
        return "never" if value > 0 else "-never"
    return value


def measure(figure: Figure, frames: int, carry_out: CarryOut) -> Iterator[Measured]:
    """Each case; ends where a run was stopped. frames: of a point, all its cells together."""
    for case in figure.cases:
        pilots = _carry_out(figure, case, _pilots(case), min(frames, PILOT), carry_out)
        if pilots is None:
            return
        runs = _runs(case, {run: summary for run, (_, _, summary) in pilots.items()})
        rest = _without_pilots(case, runs, frames)
        known = _carry_out(figure, case, rest, frames, carry_out)
        if known is None:
            return
        known |= {run: pilots[run] for run in runs if run not in known}
        summaries = {run: summary for run, (_, _, summary) in known.items()}
        latency = [run for run in runs if run.measures == "latency"]
        points = [
            _point(case, run, summaries, figure.extra(case, known[run][1])) for run in latency
        ]
        latencies = {
            run.policy: in_order(known[run][1], known[run][0].study.warm_up) for run in latency
        }
        yield Measured(case, points, _verdicts(case, latencies, SHARES[points[0].tail]))


_Known = dict[_Run, tuple[Described, Outcome, Summary]]


def _carry_out(
    figure: Figure, case: Case, runs: Sequence[_Run], frames: int, carry_out: CarryOut
) -> _Known | None:
    """None: it was stopped."""
    described = [_described(figure.name, case, run, frames) for run in runs]
    requests = [
        Request(whole, run.policy, SEED) for run, whole in zip(runs, described, strict=True)
    ]
    known: _Known = {}
    outcomes = carry_out(requests) if requests else []
    for run, whole, outcome in zip(runs, described, outcomes, strict=True):
        if outcome is None:
            return None
        known[run] = (whole, outcome, summarize(whole, [outcome])[0])
    return known


def _verdicts(case: Case, latencies: dict[str, Values], share: float) -> list[Verdict]:
    if set(latencies) != set(POLICIES):
        return []
    on_air = FRAME_MS if case.pool.at_once else 0.0  # their deadline is so much longer
    return verdicts(latencies, share, case.pool.deadline_ms + on_air)


def frames_in_all(figure: Figure, frames: int) -> int:
    """Of all runs of the figure."""
    return sum(
        Request(_described(figure.name, case, run, few), run.policy, SEED).frames
        for case in figure.cases
        for runs, few in (
            (_pilots(case), min(frames, PILOT)),
            (_without_pilots(case, _runs(case, {}), frames), frames),
        )
        for run in runs
    )


def _without_pilots(case: Case, runs: Sequence[_Run], frames: int) -> list[_Run]:
    """Of these runs, those that pilots, which have so many frames at most, have not done."""
    done = frames <= PILOT and bool(_pilots(case))
    return [run for run in runs if not done or run.measures == "still"]


def _kinds(case: Case) -> tuple[Kind, ...]:
    return ("latency", "throughput") if case.saturated else ("latency",)


def _pilots(case: Case) -> list[_Run]:
    """None where there is nothing to choose."""
    return [
        _Run(policy, parts, kind)
        for policy in case.pool.policies
        for parts in case.parts
        for kind in _kinds(case)
        if len(case.parts) > 1
    ]


def _runs(case: Case, pilots: dict[_Run, Summary]) -> list[_Run]:
    """Each policy with the better parts for latency, and for throughput."""
    runs = []
    for policy in case.pool.policies:
        for kind in _kinds(case):
            own = [run for run in pilots if (run.policy, run.measures) == (policy, kind)]
            parts = min(own, key=lambda run: _order(pilots[run], run)).parts if own else 0
            runs.append(_Run(policy, parts or case.parts[0], kind))
            if kind == "latency":
                runs.append(replace(runs[-1], measures="still"))
    return runs


def _described(name: str, case: Case, run: _Run, frames: int) -> Described:
    pool, all_cells, jitter = case.pool, frames, case.pool.jitter
    if run.measures == "throughput" and case.saturated:
        pool, all_cells = case.saturated, max(20, frames // ENDLESS)
    if run.measures == "still":
        all_cells, jitter = min(frames, STILL), Jitter(kernel=0, launch=0, late_us=0)
    warm_up = min(WARM_UP, all_cells // 10)
    own = {
        "jitter": jitter,
        "policies": [run.policy],
        "frames": -(-(all_cells - warm_up) // sum(units.count for units in pool.cells)) + warm_up,
        "warm_up": warm_up,
        "zero_force_parts": run.parts,
    }
    return describe(pool.model_copy(update=own), name)


def degrees_in(found: Sequence[Measured]) -> dict[str, Degree]:
    """scoreboard's α of every type of device in these cases."""
    known: dict[str, Degree] = {}
    for one in found:
        known |= degrees(describe(one.case.pool, ""))
    return known


def describe(pool: PoolStudy, name: str) -> Described:
    """With the cells that it serves, which are examples."""
    served = tuple(Served(_cell(units.cell), units.count) for units in pool.cells)
    return Described(pool, served, name)


@cache
def _cell(name: str) -> Cell:
    return load_cell(examples.resolve("cells/pool", name)).cell


def _order(summary: Summary, run: _Run) -> tuple[float, ...]:
    """By which runs that differ in their parts are compared: the shorter tail, then fewer late
    frames, which have no tail, then the shorter mean; or the throughput."""
    if run.measures == "throughput":
        return (-summary.frames_per_s,)
    late = 1 - summary.done / summary.frames
    return _or_never(summary.percentiles_ms[_tail(summary)]), late, _or_never(summary.mean_ms)


def _or_never(value: float | None) -> float:
    return math.inf if value is None else value


def _tail(summary: Summary) -> str:
    """The highest percentile that is known."""
    known = [name for name, value in summary.percentiles_ms.items() if value is not None]
    return known[-1] if known else "p50"


def _point(case: Case, run: _Run, summaries: dict[_Run, Summary], extra: Extra) -> Point:
    full = (
        other
        for other in summaries
        if other.measures == "throughput" and other.policy == run.policy
    )
    fastest = next(full, run)
    own = summaries[run]
    tail = _tail(own)
    return Point(
        group=case.group,
        x=case.x,
        policy=run.policy,
        frames=own.frames,
        late=own.frames - own.done,
        mean_ms=own.mean_ms,
        still_ms=summaries[replace(run, measures="still")].mean_ms,
        tail=tail,
        tail_ms=own.percentiles_ms[tail],
        latency_parts=run.parts,
        devices_per_frame=own.devices_per_frame,
        frames_per_s=summaries[fastest].frames_per_s,
        throughput_parts=fastest.parts,
        extra=extra,
    )
