"""A cell's schedule in virtual time, from what its stages cost.

Nothing here runs the cell. Costs are measured (carillon.calibration); who works on what and when is
the engine's own scheduler on imaginary cores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from carillon import core, models, runfolder
from carillon.calibration import Calibration, Stage
from carillon.config import Cell, Run, plan_text
from carillon.machine import Machine
from carillon.memory_run import Frames
from carillon.models.allocation import STAGES, group_sizes
from carillon.statistics import Percentiles, Values

MOST_CORES = 128  # of the engine
_FRAMES = 24
_SETTLED = 8  # frames after which the pipeline is full
_MOST_DRAWN = 20_000  # frames, of which p99.99 leaves two
_PIECE = 500  # of them, in memory at a time
_AUTOMATIC_NS, _AUTOMATIC_MOST = 10_000.0, 256.0  # a claim's length where no size is asked for

Quantile = Literal["p50", "p99"]
Spread = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Table:
    """What core.simulate is told of a core; by opcode."""

    claim_ns: tuple[float, ...]
    chunk_ns: tuple[float, ...]
    commit_ns: float
    spread: tuple[Spread, ...]

    def slower(self, quantile: float) -> Table:
        """Every claim as slow as so many are not slower than."""
        factors = [_factor(spread, quantile) for spread in self.spread]
        claims, chunks = (
            tuple(ns * factor for ns, factor in zip(of, factors, strict=True))
            for of in (self.claim_ns, self.chunk_ns)
        )
        return replace(self, claim_ns=claims, chunk_ns=chunks)

    def for_models(self) -> models.Costs:
        """The same, as the equations take them."""
        marginal = zip(core.opcodes(), self.claim_ns, self.chunk_ns, strict=True)
        stages = {op: models.StageCost(chunk, claim) for op, claim, chunk in marginal}
        return models.Costs("calibration", stages, sync_ns=self.commit_ns)


@dataclass(frozen=True)
class Costs:
    """What was calibrated, on a machine's cores. p99: every claim takes what one in a hundred
    took."""

    calibration: Calibration
    machine: Machine
    quantile: Quantile = "p50"

    def on(self, cores: int) -> Table:
        """For so many of them: for which code blocks are packed, and which share the data."""
        stages = [self.calibration.stage(op, cores) for op in core.opcodes()]
        scheduling = self.calibration.scheduling
        claim_ns = scheduling.claim_ns * self.machine.scheduling
        claims, chunks, spreads = [], [], []
        for op, stage in zip(core.opcodes(), stages, strict=True):
            factor = self.machine.factor(op) * self._slower(stage)
            factor *= self.calibration.shared(op, cores)
            claims.append(0.0 if stage is None else stage.claim_ns * factor + claim_ns)
            chunks.append(0.0 if stage is None else stage.chunk_ns * factor)
            spreads.append(() if stage is None else stage.spread)
        commit_ns = scheduling.instruction_ns * self.machine.scheduling
        return Table(tuple(claims), tuple(chunks), commit_ns, tuple(spreads))

    def _slower(self, stage: Stage | None) -> float:
        if self.quantile == "p50" or stage is None:
            return 1.0
        ratios = [s.p99_ns / s.median_ns for s in stage.sizes if s.claims >= 100]
        return max(1.0, float(np.median(ratios))) if ratios else 1.0


@dataclass(frozen=True)
class Point:
    """A cell on so many cores, in virtual time; latencies in ms, None where it has none.

    slack_ms: the least that was left to a deadline. stages: what each opcode asks of the cores in a
    frame, in ms, and load: all of that against the frame; above 1 they cannot keep up.
    """

    cores: int
    uplink_ms: float | None
    uplink_extra_ms: float | None
    downlink_ms: float | None
    slack_ms: float | None
    load: float
    keeps_up: bool
    stages: dict[str, float]

    @property
    def fits(self) -> bool:
        """Every task of every frame in time."""
        return self.keeps_up and (self.slack_ms or 0.0) >= 0

    @property
    def latency_ms(self) -> float:
        """What job sizes are chosen by: of both ways together."""
        return (self.uplink_ms or 0.0) + (self.downlink_ms or 0.0)

    @property
    def bottleneck(self) -> str | None:
        """The opcode that asks most of the cores."""
        return max(self.stages, key=lambda op: self.stages[op], default=None)


def simulate(cell: Cell, costs: Costs, cores: int) -> Point:
    """The cell on imaginary cores, all packets on time.

    With core-groups, in the groups that are best by the model.
    """
    table = costs.on(cores)
    stages = demand(cell, table, cores)
    frame_ms = runfolder.describe(cell)["frame_ms"]
    load = sum(stages.values()) / (cores * frame_ms)
    grouped = in_groups(cell, table, cores)
    if grouped is None:  # too few cores for their stages
        return Point(cores, None, None, None, None, load, False, stages)
    run = run_virtually(grouped, table, cores, frames=_FRAMES)
    frames = Frames.of(run, at_once=False)
    uplink = _mean(frames.uplink)
    return Point(
        cores=cores,
        uplink_ms=uplink,
        uplink_extra_ms=None if uplink is None else uplink - frame_ms,
        downlink_ms=_mean(frames.downlink),
        slack_ms=_least(run["slack"]),
        load=load,
        keeps_up=frames.completed,
        stages=stages,
    )


def in_groups(cell: Cell, table: Table, cores: int) -> Cell | None:
    """The cell itself, or where its policy is core-groups, in the best ones; None: in none."""
    if cell.runtime.policy != "core-groups":
        return cell
    best = models.best_groups(models.Workload.of(cell), table.for_models(), cores)
    if best is None:
        return None
    groups = cell.runtime.groups.model_copy(update=group_sizes(best.groups))
    runtime = cell.runtime.model_copy(update={"groups": groups, "workers": 0})
    return cell.model_copy(update={"runtime": runtime})


def run_virtually(
    cell: Cell,
    table: Table,
    cores: int,
    *,
    frames: int,
    at_once: bool = False,
    drawn: int | None = None,
) -> dict[str, Any]:
    """core.simulate of a table. drawn: a seed, where claims take what is drawn from their spread;
    else all of them take what the half of them took."""
    return core.simulate(
        plan_text(cell, Run()),
        cores=cores,
        claim_ns=table.claim_ns,
        chunk_ns=table.chunk_ns,
        commit_ns=table.commit_ns,
        spread=() if drawn is None else table.spread,
        frames=frames,
        at_once=at_once,
        seed=drawn or 1,
    )


def demand(cell: Cell, table: Table, cores: int) -> dict[str, float]:
    """What each opcode asks of so many cores in a frame, in core-ms, whether they have it or not:
    claims, chunks and commits."""
    names = core.opcodes()
    sizes = {op: getattr(cell.runtime.grain, stage) for stage, ops in STAGES.items() for op in ops}
    asked: dict[str, float] = {}
    for op, chunks in core.work(plan_text(cell, Run()), cores)["instructions"]:
        claim, chunk = table.claim_ns[names.index(op)], table.chunk_ns[names.index(op)]
        size = sizes[op] or _AUTOMATIC_NS / max(claim + chunk, 1.0)
        size = min(max(1, int(min(size, _AUTOMATIC_MOST))), math.ceil(chunks / cores))
        ns = math.ceil(chunks / size) * claim + chunks * chunk + table.commit_ns
        asked[op] = asked.get(op, 0.0) + ns / 1e6
    return asked


def _least(values: Values) -> float | None:
    known = values[_SETTLED:]
    known = known[~np.isnan(known)]
    return float(np.min(known)) if len(known) else None


def _mean(values: Values) -> float | None:
    known = values[~np.isnan(values)]
    return float(np.mean(known)) if len(known) else None


@dataclass(frozen=True)
class Bound:
    """D_UL and D_DL of any frame at most, in ms; None: there is no bound.

    Proven (engine/frame/latency_bound.hpp) for cores that are the cell's own and never idle while
    something is ready, packets on time, and claims none of which takes longer than `quantile` of
    the calibrated ones. slack_ms: the least left to a deadline.
    """

    quantile: float
    uplink_ms: float | None
    downlink_ms: float | None
    slack_ms: float | None


def bound(cell: Cell, costs: Costs, cores: int, quantile: float = 0.999) -> Bound:
    """With fixed groups of cores there is none: some are idle while others have work."""
    if cell.runtime.policy != "earliest-frame":
        return Bound(quantile, None, None, None)
    table = costs.on(cores).slower(quantile)
    found = core.latency_bound(
        plan_text(cell, Run()),
        cores=cores,
        claim_ns=table.claim_ns,
        chunk_ns=table.chunk_ns,
        commit_ns=table.commit_ns,
    )
    received = [one for one in runfolder.describe(cell)["symbols"] if one["kind"] in "PU"]
    first_packet = min((one["end_ms"] for one in received), default=0.0)
    uplink = found["uplink"] - first_packet if found["uplink"] else None
    return Bound(
        quantile, uplink, found["downlink"] if "D" in cell.schedule else None, found["slack"]
    )


def _factor(spread: Spread, quantile: float) -> float:
    """How many times as long as usual a claim takes that so many are not longer than."""
    if not spread:
        return 1.0
    shares, factors = zip(*spread, strict=True)
    return max(1.0, float(np.interp(quantile, shares, factors)))


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


@dataclass(frozen=True)
class Expected:
    """Latencies of frames whose claims each take what is drawn from their calibrated times.

    frames: as many as the calibration timed, so that a percentile is None where it would rest on
    less than two frames beyond it. Frames that were refused or late are in `failed`.
    """

    uplink: Percentiles
    downlink: Percentiles
    frames: int
    failed: int


def expected(
    cell: Cell, costs: Costs, cores: int, step: Callable[[int], None] = lambda frames: None
) -> Expected:
    """The distribution of D_UL and D_DL, in ms."""
    table = costs.on(cores)
    grouped = in_groups(cell, table, cores)
    frames = min(costs.calibration.frames, _MOST_DRAWN)
    pieces: list[Frames] = []
    failed = 0
    for begun in range(0, frames if grouped is not None else 0, _PIECE):
        count = min(_PIECE, frames - begun)
        run = run_virtually(grouped or cell, table, cores, frames=count + _SETTLED, drawn=1 + begun)
        pieces.append(Frames.of(run, at_once=False))
        late = ~run["completed"] | (run["missed"] > 0) | (run["slack"] < 0)
        failed += int(np.count_nonzero(late[_SETTLED:]))
        step(begun + count)
    return Expected(
        Percentiles.of(_known([piece.uplink for piece in pieces])),
        Percentiles.of(_known([piece.downlink for piece in pieces])),
        frames,
        failed,
    )


def _known(pieces: list[Values]) -> Values:
    values: Values = np.concatenate([np.empty(0), *pieces])
    known: Values = values[~np.isnan(values)]
    return known
