"""MegaStation §5.2, figure 8: five MIMO shapes on a pool of A100s, in virtual time.

The paper does not say how many A100s its figure 8 has, nor how they hang together. Here they are
four on one chassis, 25 GB/s to each and 64 GB/s to the host.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from carillon import examples
from carillon.config import load_cell
from carillon.config.pool import POLICIES, Devices, PoolStudy, RadioUnits, Trace
from carillon.pool.running import Outcome, Request
from carillon.pool.study import Described, Served
from carillon.pool.summary import Summary, summarize

NAME = "megastation-8"
TITLE = "five MIMO shapes on four A100s (simulated): latency and throughput"
SHAPES = ("64x32", "128x32", "128x64", "256x64", "256x128")
DIRECTIONS = ("uplink", "downlink")
RIVALS = ("frame-level", "symbol-level", "task-level")
FRAMES, ENDLESS = 100_000, 10  # frames by default; so many times fewer at once
AT_ONCE = 4  # frames of a saturated pool: one for each device
_PARTS = {"scoreboard": (1, 4), "adaptive": (1, 4)}  # §5.5 splits zero-forcing; the rivals do not
_NEAR = {"tail_ms": 0.01, "mean_ms": 0.05}  # of the best of the others, that adaptive may miss

# By measure, direction and rival: what MegaStation has less latency, or more throughput, in %.
PUBLISHED = {
    ("mean_ms", "uplink"): (50.6, 12.2, 53.7),
    ("tail_ms", "uplink"): (58.9, 46.9, 66.2),
    ("mean_ms", "downlink"): (45.2, 9.5, 47.9),
    ("tail_ms", "downlink"): (57.1, 41.6, 61.9),
    ("frames_per_s", "uplink"): (10.7, 25.3, 44.9),
    ("frames_per_s", "downlink"): (12.2, 22.7, 41.8),
}


@dataclass(frozen=True)
class Point:
    """A policy on one cell, with its better number of zero-forcing parts for each measure.

    late: frames that missed the deadline, in tail_ms as late for ever (inf). tail: which percentile
    it is, p9999 where there are frames enough. mean_ms is of the frames that were in time.
    """

    shape: str
    direction: str
    policy: str
    frames: int
    late: int
    mean_ms: float | None
    tail: str
    tail_ms: float | None
    latency_parts: int
    frames_per_s: float
    throughput_parts: int

    def row(self) -> dict[str, object]:
        """For JSON and CSV, where for ever is "never"."""
        never = self.tail_ms is not None and math.isinf(self.tail_ms)
        return {"source": "simulated"} | vars(self) | ({"tail_ms": "never"} if never else {})


@dataclass(frozen=True)
class Gain:
    """scoreboard against a rival, in % of the rival: less latency, or more throughput.

    The mean over the shapes in which both have a figure and half of their frames in time, and the
    number of these. published: as the paper has it, over all five.
    """

    measure: str
    direction: str
    rival: str
    percent: float | None
    shapes: int
    published: float


@dataclass(frozen=True)
class Verdict:
    """adaptive against the best of the other four in one case."""

    shape: str
    direction: str
    measure: str
    adaptive: float | None
    best: float | None
    best_policy: str
    near: bool


@dataclass(frozen=True)
class _Run:
    policy: str
    parts: int
    at_once: int


def measure(
    frames: int, carry_out: Callable[[list[Request]], list[Outcome | None]]
) -> Iterator[list[Point]]:
    """The points of each cell; ends where a run was stopped."""
    for shape in SHAPES:
        for direction in DIRECTIONS:
            described = {run: _described(shape, direction, run, frames) for run in _runs()}
            requests = [Request(whole, run.policy, 1) for run, whole in described.items()]
            summaries = {}
            for (run, whole), outcome in zip(described.items(), carry_out(requests), strict=True):
                if outcome is None:
                    return
                (summaries[run],) = summarize(whole, [outcome])
            yield [_point(shape, direction, policy, summaries) for policy in POLICIES]


def frames_in_all(frames: int) -> int:
    """Of all runs of the study."""
    return len(SHAPES) * len(DIRECTIONS) * sum(_frames(run, frames) for run in _runs())


def _runs() -> list[_Run]:
    return [
        _Run(policy, parts, at_once)
        for policy in POLICIES
        for parts in _PARTS.get(policy, (1,))
        for at_once in (0, AT_ONCE)
    ]


def _frames(run: _Run, frames: int) -> int:
    return max(20, frames // ENDLESS) if run.at_once else frames


def _described(shape: str, direction: str, run: _Run, frames: int) -> Described:
    cell = load_cell(examples.resolve("cells/pool", f"{shape}-{direction}")).cell
    own = _frames(run, frames)
    study = PoolStudy(
        devices=[Devices(type="a100", count=4)],
        cells=[RadioUnits(cell=f"{shape}-{direction}")],
        policies=[run.policy],  # type: ignore[list-item]
        frames=own,
        warm_up=min(20, own // 10),
        deadline_ms=4.0,
        at_once=run.at_once,
        zero_force_parts=run.parts,
        trace=Trace(frames=0),
    )
    return Described(study, (Served(cell, 1),), NAME)


def _point(shape: str, direction: str, policy: str, summaries: dict[_Run, Summary]) -> Point:
    own = {run: summary for run, summary in summaries.items() if run.policy == policy}
    paced = [run for run in own if not run.at_once]
    endless = [run for run in own if run.at_once]
    run = min(paced, key=lambda run: _order(own[run]))
    fastest = max(endless, key=lambda run: own[run].frames_per_s)
    best = own[run]
    tail = _tail(best)
    return Point(
        shape=shape,
        direction=direction,
        policy=policy,
        frames=best.frames,
        late=best.frames - best.done,
        mean_ms=best.mean_ms,
        tail=tail,
        tail_ms=best.percentiles_ms[tail],
        latency_parts=run.parts,
        frames_per_s=own[fastest].frames_per_s,
        throughput_parts=fastest.parts,
    )


def _tail(summary: Summary) -> str:
    """The highest percentile that is known."""
    known = [name for name, value in summary.percentiles_ms.items() if value is not None]
    return known[-1] if known else "p50"


def _order(summary: Summary) -> tuple[float, float]:
    tail = summary.percentiles_ms[_tail(summary)]
    return _or_never(tail), _or_never(summary.mean_ms)


def _or_never(value: float | None) -> float:
    return math.inf if value is None else value


def gains(points: Sequence[Point]) -> list[Gain]:
    """What scoreboard gains on each rival, beside what was published."""
    found = []
    for (name, direction), published in PUBLISHED.items():
        for rival, said in zip(RIVALS, published, strict=True):
            pairs = _pairs(points, name, direction, rival)
            more = [_percent(name, ours, theirs) for ours, theirs in pairs]
            mean = fmean(more) if more else None
            found.append(Gain(name, direction, rival, mean, len(more), said))
    return found


def _pairs(
    points: Sequence[Point], name: str, direction: str, rival: str
) -> list[tuple[float, float]]:
    """(scoreboard, rival) of each shape that counts."""
    known = {
        (point.shape, point.policy): getattr(point, name)
        for point in points
        if point.direction == direction and 2 * point.late <= point.frames
    }
    pairs = [(known.get((shape, "scoreboard")), known.get((shape, rival))) for shape in SHAPES]
    return [
        (ours, theirs)
        for ours, theirs in pairs
        if ours and theirs and math.isfinite(ours) and math.isfinite(theirs)
    ]


def _percent(name: str, ours: float, theirs: float) -> float:
    return 100 * (ours / theirs - 1 if name == "frames_per_s" else 1 - ours / theirs)


def verdicts(points: Sequence[Point]) -> list[Verdict]:
    """Whether adaptive is as good as the best of the others, in each case."""
    found = []
    for own in (point for point in points if point.policy == "adaptive"):
        case = (own.shape, own.direction)
        others = [
            point
            for point in points
            if (point.shape, point.direction) == case and point.policy != "adaptive"
        ]
        for name, near in _NEAR.items():
            best = min(others, key=lambda point: _or_never(getattr(point, name)))
            ours, theirs = getattr(own, name), getattr(best, name)
            good = _or_never(ours) <= _or_never(theirs) * (1 + near)
            found.append(Verdict(*case, name, ours, theirs, best.policy, good))
    return found
