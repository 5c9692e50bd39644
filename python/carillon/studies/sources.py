"""Where a study's points come from: the model, or the runtime in virtual time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from carillon import core
from carillon.config import Cell, Run, plan_text
from carillon.models import (
    CORE_GROUPS,
    Costs,
    Group,
    Latency,
    StageCost,
    Workload,
    every_sharing,
    latency,
    predict,
)
from carillon.models.allocation import Policy, group_sizes
from carillon.studies.presets import Preset

if TYPE_CHECKING:
    from carillon.studies.study import Request

_FFT = CORE_GROUPS[0]
_MARGIN = 1.25
_INDIFFERENT_MS = 1e-3
_INSTANT_NS = 1.0  # instead of none: a core takes only one chunk an instant
_UPLINK, _DOWNLINK = attrgetter("uplink"), attrgetter("downlink")
_PATIENCE = {"uplink_budget_ms": 50.0}  # no frame is late: the thesis drops none that it can do


class Source(Protocol):
    """Answers requests; may be asked in several processes."""

    @property
    def name(self) -> str:
        """What its points are labelled."""

    @property
    def knows(self) -> frozenset[str]:
        """The names of the costs that it can ask with."""

    def point(self, request: Request) -> Latency | None:
        """A point's latency, or None where the cores cannot keep up."""


@dataclass(frozen=True)
class Model:
    """Points by carillon.models."""

    presets: Mapping[str, Preset]
    name: str = "model"

    @property
    def knows(self) -> frozenset[str]:
        """All."""
        return frozenset(self.presets)

    def point(self, request: Request) -> Latency | None:
        """Predicts."""
        preset = self.presets[request.costs]
        key = request.antennas, request.direction
        work = _workload(preset.cells[key])
        return _predict(request, work, preset.costs[key], preset.link_gbps)


def _predict(request: Request, work: Workload, costs: Costs, link_gbps: float) -> Latency | None:
    if request.fft_cores is None:
        policy, goal = request.policy, request.direction
        return predict(policy, work, costs, request.cores, goal, link_gbps)
    # Only what comes after the pilots depends on how the others share the rest.
    others = tuple(op for ops in CORE_GROUPS[1:] for op in ops)
    rest = Group(others, request.cores - request.fft_cores)
    return latency(work, costs, [Group(_FFT, request.fft_cores), rest], link_gbps)


@dataclass(frozen=True)
class VirtualTime:
    """Points by the engine's own policies and task graph on imaginary cores: the means of the later
    half of so many frames, when the pipeline is full, without the last, which none follows.

    Nothing is measured: chunks last as long as the costs say. Not for costs of decoding, which the
    engine does in packs that depend on the cores.
    """

    presets: Mapping[str, Preset]
    frames: int
    name: str = "virtual"

    @property
    def knows(self) -> frozenset[str]:
        """Those without decoding whose work is done in the engine's chunks."""
        return frozenset(self.presets) & {"thesis", "ours-uncoded"}

    def point(self, request: Request) -> Latency | None:
        """Simulates; None too where a frame was refused or dropped.

        Core groups are the best of all: they are tried in the model's order until what it, never
        later than the engine, says of the next is worse than what was found.
        """
        preset = self.presets[request.costs]
        work = _workload(preset.cells[request.antennas, request.direction])
        costs = _in_chunks(preset.costs[request.antennas, request.direction], request.cores)
        if request.policy == "earliest-frame" or request.fft_cores is not None:
            expected = _predict(request, work, costs, preset.link_gbps)
            return None if expected is None else self._simulate(request, expected, work, costs)
        latency_of = _UPLINK if request.direction == "uplink" else _DOWNLINK
        best: Latency | None = None
        cores, goal = request.cores, request.direction
        for expected in every_sharing(work, costs, cores, goal, preset.link_gbps):
            if best is not None and latency_of(expected) >= latency_of(best) - _INDIFFERENT_MS:
                break
            found = self._simulate(request, expected, work, costs)
            if found is not None and (best is None or latency_of(found) < latency_of(best)):
                best = found
        return best

    def _simulate(
        self, request: Request, expected: Latency, work: Workload, costs: Costs
    ) -> Latency | None:
        preset = self.presets[request.costs]
        cell = preset.cells[request.antennas, request.direction]
        if request.direction == "downlink":
            cell = _later(cell, work, expected.downlink_first)
        run = core.simulate(
            plan_text(_scheduled(cell, request.policy, expected.groups), Run()),
            cores=request.cores,
            claim_ns=_by_opcode({op: stage.claim_ns for op, stage in costs.stages.items()}),
            chunk_ns=_by_opcode(
                {op: max(stage.chunk_ns, _INSTANT_NS) for op, stage in costs.stages.items()}
            ),
            frames=self.frames,
            packet_ns=work.symbol_bits / cell.antennas / preset.link_gbps,
        )
        if not all(run["completed"]):
            return None
        return Latency(
            frame_ms=work.frame_ms,
            first_packet=_mean(run["first_packet"]),
            pilots_done=_mean(run["pilots_done"]),
            combiner_done=_mean(run["combiner_done"]),
            uplink_done=_mean(run["uplink_done"]),
            downlink_first=_mean(run["downlink_first"]),
            groups=expected.groups,
        )


def _scheduled(cell: Cell, policy: Policy, groups: Sequence[Group]) -> Cell:
    runtime: dict[str, Any] = {"policy": policy}
    if policy == "core-groups":
        runtime["groups"] = cell.runtime.groups.model_copy(update=group_sizes(groups))
    return cell.model_copy(
        update={
            "runtime": cell.runtime.model_copy(update=runtime),
            "deadlines": cell.deadlines.model_copy(update=_PATIENCE),
            "ring": 16,
        }
    )


def _later(cell: Cell, work: Workload, ready_ms: float) -> Cell:
    """The cell without the downlink symbols whose time passes before one can be ready: the engine
    gives such a symbol up, and with it its time. Two symbols stay, the least that there may be."""
    kinds = [
        "G" if symbol.kind == "D" and symbol.end_ms < _MARGIN * ready_ms else symbol.kind
        for symbol in work.symbols[:-2]
    ]
    return cell.model_copy(update={"schedule": "".join(kinds) + "DD"})


def _mean(values: npt.NDArray[np.float64]) -> float:
    later = values[len(values) // 2 : -1]
    known = later[~np.isnan(later)]
    return float(known.mean()) if len(known) else math.nan


def _in_chunks(costs: Costs, cores: int) -> Costs:
    """Costs as the engine takes them: no job below a chunk, and contention within a claim."""

    def whole(stage: StageCost) -> StageCost:
        if stage.free:
            return stage
        claim = stage.claim_ns + costs.contention_ns * (cores - 1)
        further = max(1 / stage.grain - 1, 0.0) * claim
        return StageCost(stage.chunk_ns + further, claim, max(stage.grain, 1.0))

    return Costs(costs.name, {op: whole(stage) for op, stage in costs.stages.items()})


def _by_opcode(values: Mapping[str, float]) -> list[float]:
    return [values.get(op, 0.0) for op in core.opcodes()]


@lru_cache(maxsize=64)
def _workload_of(cell: str) -> Workload:
    return Workload.of(Cell.model_validate_json(cell))


def _workload(cell: Cell) -> Workload:
    return _workload_of(cell.model_dump_json())
