"""What the chunks of each stage cost on one core: from a preset, a benchmark, or a calibration."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from carillon.errors import InputError
from carillon.inputs import read_json
from carillon.models.workload import Workload

_DIVISIBLE = 1e-6  # of a chunk: so small a job that nothing is lost to whole ones


class CostError(InputError):
    """A cost table that cannot be read, or that lacks a stage."""


def what_is_wrong(error: Exception) -> str:
    """Of a file with costs, in words."""
    if isinstance(error, KeyError):
        return f"{error} is missing"
    return f"it is not JSON: {error}" if isinstance(error, json.JSONDecodeError) else str(error)


def _require_times(**times: float) -> None:
    for name, time in times.items():
        if not 0 <= time < math.inf:
            raise ValueError(f"{name} is {time} but must be a time, 0 or more")


@dataclass(frozen=True)
class StageCost:
    """The marginal-cost model I + N·Δ of one opcode.

    chunk_ns: Δ, one chunk (for Decode and Encode one code block). claim_ns: I, one claim of N
    chunks, whatever they are. grain: N, the chunks of a claim; below 1 where a job is less than a
    chunk (a job of Millipede's zero-forcing is one subcarrier, 1/16 of a tile).
    """

    chunk_ns: float
    claim_ns: float = 0.0
    grain: float = 1.0

    def __post_init__(self) -> None:
        _require_times(chunk_ns=self.chunk_ns, claim_ns=self.claim_ns)
        if not 0 < self.grain < math.inf:
            raise ValueError(f"grain is {self.grain} but must be more than 0")

    @property
    def free(self) -> bool:
        """A stage that a system does not have."""
        return self.chunk_ns == self.claim_ns == 0.0


@dataclass(frozen=True)
class Costs:
    """The costs of all stages of a machine.

    sync_ns: from the last chunk of an instruction to the first of the next. contention_ns: what a
    claim costs more for each further core that claims from the same queue.
    """

    name: str
    stages: Mapping[str, StageCost]
    sync_ns: float = 0.0
    contention_ns: float = 0.0

    def __post_init__(self) -> None:
        _require_times(sync_ns=self.sync_ns, contention_ns=self.contention_ns)

    def stage(self, op: str) -> StageCost:
        """Raises CostError for an opcode without costs."""
        try:
            return self.stages[op]
        except KeyError:
            raise CostError(
                f"the costs of {self.name} have no {op}; they know {', '.join(self.stages)}"
            ) from None

    def ideal(self) -> Costs:
        """As eq. 3.4 has it: work can be divided at will, claims and synchronisation are free."""
        divisible = {op: StageCost(s.chunk_ns, 0.0, _DIVISIBLE) for op, s in self.stages.items()}
        return Costs(f"{self.name}, ideal", divisible)

    def without(self, *ops: str) -> Costs:
        """Costs of a machine that does these for nothing: what is left is everything else."""
        return replace(self, stages={**self.stages, **dict.fromkeys(ops, StageCost(0.0))})

    def busy_ns(self, op: str, chunks: int, cores: int) -> float:
        """What an instruction keeps each of `cores` busy on average: its share of a backlog."""
        stage = self.stage(op)
        if stage.free:
            return 0.0
        claims = math.ceil(chunks / stage.grain)
        return (claims * self._claim_ns(stage, cores) + chunks * stage.chunk_ns) / cores

    def span_ns(self, op: str, chunks: int, cores: int) -> float:
        """How long an instruction takes on `cores` that wait for it: whole claims, in rounds.

        A claim never takes so much that a core is left without (runtime/policies).
        """
        stage = self.stage(op)
        if stage.free or chunks == 0:
            return 0.0
        grain = min(stage.grain, math.ceil(chunks / cores))
        rounds = math.ceil(math.ceil(chunks / grain) / cores)
        most = min(rounds * grain, chunks)
        return rounds * self._claim_ns(stage, cores) + most * stage.chunk_ns + self.sync_ns

    def _claim_ns(self, stage: StageCost, cores: int) -> float:
        return stage.claim_ns + self.contention_ns * (cores - 1)


def read_costs(file: Path, workload: Workload) -> Costs:
    """The costs in a JSON file, such as `carillon bench cell --json` prints.

    A stage has us_per_frame, which is divided by the chunks of `workload`, that of the cell that
    was measured; or else chunk_ns, for Decode of a code block (a calibration's is of a pack).
    claim_ns and grain may stand beside it; claim_ns, sync_ns and contention_ns also at the top.
    Raises CostError.
    """
    try:
        text = read_json(file)
        return costs_of(text, workload, file.stem)
    except OSError as error:
        raise CostError(f"{file}: {(error.strerror or str(error)).lower()}") from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CostError(f"{file} holds no costs of stages: {what_is_wrong(error)}") from error


def costs_of(text: Mapping[str, Any], workload: Workload, name: str) -> Costs:
    """The costs in what `read_costs` reads; for those who know what they hold."""
    everywhere = float(text.get("claim_ns", 0.0))
    stages = {
        op: StageCost(
            _chunk_ns(stage, workload.chunks(op)),
            float(stage.get("claim_ns", everywhere)),
            float(stage.get("grain", 1.0)),
        )
        for op, stage in text["stages"].items()
    }
    return Costs(
        str(text.get("name", name)),
        stages,
        float(text.get("sync_ns", 0.0)),
        float(text.get("contention_ns", 0.0)),
    )


def _chunk_ns(stage: Mapping[str, Any], chunks: int) -> float:
    if "us_per_frame" in stage and chunks:
        return float(stage["us_per_frame"]) * 1e3 / chunks
    return float(stage["chunk_ns"])
