"""What a cell needs of a machine: its schedule in virtual time, from what its stages cost.

Nothing here runs the cell. Costs are measured (carillon.calibration); who works on what and when is
the engine's own scheduler on imaginary cores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from carillon import core, models, runfolder
from carillon.calibration import Calibration
from carillon.config import Cell, Run, plan_text
from carillon.config.sections import Grain
from carillon.models.allocation import STAGES, group_sizes

MOST_CORES = 128  # of the engine
_FRAMES = 24
_SETTLED = 8  # frames after which the pipeline is full
_GRAINS = (1, 2, 4, 8, 16, 32, 64)
_GAIN = 0.002  # of the latency, for a job size to be worth a change


@dataclass(frozen=True)
class Costs:
    """claim_ns and chunk_ns by opcode of one core."""

    claim_ns: tuple[float, ...]
    chunk_ns: tuple[float, ...]

    def for_models(self) -> models.Costs:
        """The same, as the equations take them."""
        marginal = zip(core.opcodes(), self.claim_ns, self.chunk_ns, strict=True)
        stages = {op: models.StageCost(chunk, claim) for op, claim, chunk in marginal}
        return models.Costs("calibration", stages)

    @classmethod
    def of(
        cls, calibration: Calibration, *, quantile: Literal["p50", "p99"], speed: float
    ) -> Costs:
        """Of a core `speed` times as fast. p99: every claim takes what one in a hundred took."""
        claim, chunk = calibration.costs()
        slower = [
            1.0 if quantile == "p50" or op not in calibration.stages else _spread(calibration, op)
            for op in core.opcodes()
        ]
        return cls(
            tuple(ns * s / speed for ns, s in zip(claim, slower, strict=True)),
            tuple(ns * s / speed for ns, s in zip(chunk, slower, strict=True)),
        )


def _spread(calibration: Calibration, op: str) -> float:
    """How much longer one claim in a hundred took, of the sizes that tell."""
    ratios = [s.p99_ns / s.median_ns for s in calibration.stages[op].sizes if s.claims >= 100]
    return max(1.0, float(np.median(ratios))) if ratios else 1.0


@dataclass(frozen=True)
class Point:
    """A cell on so many cores, in virtual time; latencies in ms, None where it has none.

    slack_ms: the least that was left to a deadline. load: of the cores, kernels alone; without what
    was refused where the cores do not keep up.
    """

    cores: int
    uplink_ms: float | None
    uplink_extra_ms: float | None
    downlink_ms: float | None
    slack_ms: float | None
    load: float
    keeps_up: bool
    stages: dict[str, float]  # share of the time, by opcode

    @property
    def fits(self) -> bool:
        """Every task of every frame in time."""
        return self.keeps_up and (self.slack_ms or 0.0) >= 0

    @property
    def latency_ms(self) -> float:
        """What job sizes are chosen by: of both ways together."""
        return (self.uplink_ms or 0.0) + (self.downlink_ms or 0.0)


def simulate(cell: Cell, costs: Costs, cores: int) -> Point:
    """The cell on imaginary cores, all packets on time.

    With core-groups, in the groups that are best by the model.
    """
    if cell.runtime.policy == "core-groups":
        best = models.best_groups(models.Workload.of(cell), costs.for_models(), cores)
        if best is None:  # too few for their stages
            return Point(cores, None, None, None, None, 0.0, False, {})
        groups = cell.runtime.groups.model_copy(update=group_sizes(best.groups))
        runtime = cell.runtime.model_copy(update={"groups": groups, "workers": 0})
        cell = cell.model_copy(update={"runtime": runtime})
    run = core.simulate(
        plan_text(cell, Run()),
        cores=cores,
        claim_ns=costs.claim_ns,
        chunk_ns=costs.chunk_ns,
        frames=_FRAMES,
    )
    done = np.array(run["completed"][_SETTLED:]) & (np.array(run["missed"][_SETTLED:]) == 0)
    frame_ms = runfolder.describe(cell)["frame_ms"]
    uplink = _mean(run["uplink_done"] - run["first_packet"])
    return Point(
        cores=cores,
        uplink_ms=uplink,
        uplink_extra_ms=None if uplink is None else uplink - frame_ms,
        downlink_ms=_mean(run["downlink_first"]),
        slack_ms=_least(run["slack"]),
        load=sum(run["busy"]) / (cores * _FRAMES * frame_ms),
        keeps_up=bool(done.all()),
        stages=run["stages"],
    )


def _least(values: Any) -> float | None:
    known = values[_SETTLED:]
    known = known[~np.isnan(known)]
    return float(np.min(known)) if len(known) else None


def _mean(values: Any) -> float | None:
    known = values[_SETTLED:]
    known = known[~np.isnan(known)]
    return float(np.mean(known)) if len(known) else None


def cores_needed(cell: Cell, costs: Costs, step: Callable[[Point], None]) -> list[Point]:
    """The cell on one core, two, and so on, to the first number of them that fits; or to all."""
    points: list[Point] = []
    for cores in _numbers():
        points.append(simulate(cell, costs, cores))
        step(points[-1])
        if points[-1].fits:
            break
    return points


def _numbers() -> Iterable[int]:
    """All up to 32, then in steps: who needs that many does not count them one by one."""
    return [*range(1, 33), *range(36, 65, 4), *range(72, MOST_CORES + 1, 8)]


def with_grain(cell: Cell, grain: dict[str, int]) -> Cell:
    """The cell with these chunks per claim, 0 where they are to be measured."""
    runtime = cell.runtime.model_copy(update={"grain": Grain(**grain)})
    return cell.model_copy(update={"runtime": runtime})


def job_sizes(
    cell: Cell, costs: Costs, cores: int, step: Callable[[], None] = lambda: None
) -> tuple[dict[str, int], Point]:
    """Chunks per claim of each stage, for the least latency on so many cores, and what it is.

    From whole shares down, stage after stage, until no stage gains by another size: a claim costs
    I, so larger ones save work, and smaller ones share it out more evenly.
    """
    used = [s for s, ops in STAGES.items() if any(costs.chunk_ns[i] for i in _indices(ops))]
    grain = dict.fromkeys(used, _GRAINS[-1])
    best = simulate(with_grain(cell, grain), costs, cores)
    changed = True
    while changed:
        changed = False
        for stage in used:
            for size in _GRAINS:
                if size == grain[stage]:
                    continue
                tried = simulate(with_grain(cell, {**grain, stage: size}), costs, cores)
                step()
                if _better(tried, best):
                    grain, best, changed = {**grain, stage: size}, tried, True
    own = simulate(cell, costs, cores)
    return (cell.runtime.grain.model_dump(), own) if _better(own, best) else (grain, best)


def _indices(ops: Iterable[str]) -> list[int]:
    names = core.opcodes()
    return [names.index(op) for op in ops]


def _better(one: Point, other: Point) -> bool:
    if one.keeps_up != other.keeps_up:
        return one.keeps_up
    return one.latency_ms < other.latency_ms * (1 - _GAIN)


@dataclass(frozen=True)
class Plan:
    """Whether a machine carries a cell, and what the cell needs."""

    cell: str
    cores: int  # of the machine
    speed: float  # of its cores, against the one that was measured
    fits: bool
    cores_needed: int | None  # None: more than the engine can use
    point: Point  # on this machine
    slow: Point  # the same where every claim takes what one in a hundred took
    bottleneck: str | None
    job_sizes: dict[str, int]
    memory_bytes: int
    uplink_gbps: float
    downlink_gbps: float
    packets_per_second: float
    advice: list[str]
    points: list[Point]

    def about(self) -> dict[str, Any]:
        """For machines to read."""
        return asdict(self)


def plan(
    cell: Cell,
    calibration: Calibration,
    cores: int,
    speed: float,
    step: Callable[[str], None] = lambda what: None,
) -> Plan:
    """Everything that can be known beforehand."""
    usual = Costs.of(calibration, quantile="p50", speed=speed)
    seen = cores_needed(cell, usual, lambda p: step(f"{p.cores} cores"))
    needed = seen[-1].cores if seen[-1].fits else None
    grain, best = job_sizes(cell, usual, cores, lambda: step("job sizes"))
    sized = with_grain(cell, grain)
    slow = simulate(sized, Costs.of(calibration, quantile="p99", speed=speed), cores)
    figures = runfolder.describe(cell)
    return Plan(
        cell=cell.name,
        cores=cores,
        speed=speed,
        fits=best.fits,
        cores_needed=min(needed or cores, cores) if best.fits else needed,
        point=best,
        slow=slow,
        bottleneck=(
            max(best.stages, key=lambda op: best.stages[op], default=None)
            if best.keeps_up
            else None  # what was refused is in no stage
        ),
        job_sizes=grain,
        memory_bytes=figures["memory_bytes"],
        uplink_gbps=figures["uplink_iq_gbps"],
        downlink_gbps=figures["downlink_iq_gbps"],
        packets_per_second=figures["uplink_packets_per_second"]
        + figures["downlink_packets_per_second"],
        advice=_advice(cell, best, slow, needed, cores),
        points=seen if any(p.cores == cores for p in seen) else [*seen, best],
    )


def _advice(cell: Cell, best: Point, slow: Point, needed: int | None, cores: int) -> list[str]:
    """What would make it fit, or fit with room."""
    if best.fits and slow.fits:
        return []
    budget = cell.deadlines.uplink_budget_ms
    if best.fits:
        change = ["one core more"]
        if slow.keeps_up:
            change.append(f"deadlines.uplink_budget_ms {_up(budget - (slow.slack_ms or 0.0))}")
        return ["for claims as slow as one in a hundred was: " + " or ".join(change)]
    advice = []
    if needed is None:
        advice.append(f"more than {MOST_CORES} cores like these, so a smaller cell")
    elif needed > cores:
        advice.append(f"{needed} cores like these")
    if best.keeps_up:
        advice.append(f"deadlines.uplink_budget_ms {_up(budget - (best.slack_ms or 0.0))}")
    return advice


def _up(ms: float) -> str:
    return f"{math.ceil(ms * 100) / 100:g}"
