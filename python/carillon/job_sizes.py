"""How many chunks a claim takes, stage by stage: chosen in virtual time, explained, and held
against every other choice.

A claim costs I whatever is in it, so large ones save work; small ones share it out more evenly, and
let what comes next begin earlier.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from carillon import core
from carillon.config import Cell, Run, plan_text
from carillon.memory_run import with_grain
from carillon.models.allocation import STAGES
from carillon.virtual import Costs, Point, simulate

SIZES = (1, 2, 4, 8, 16, 32, 64)
MOST_COMBINATIONS = 20_000  # that a sweep tries; beyond it, uplink and downlink take turns
_GAIN = 0.001  # of the latency, for a size to be worth a change
_DOWNLINK = ("encode", "precode", "ifft")


def sizes(cell: Cell, cores: int) -> dict[str, list[int]]:
    """Sizes to try, by stage, ascending: the last is a core's share of its largest instruction,
    of which no claim takes more."""
    most: dict[str, int] = {}
    stage_of = {op: stage for stage, ops in STAGES.items() for op in ops}
    for op, chunks in core.work(plan_text(cell, Run()), cores)["instructions"]:
        stage = stage_of[op]
        most[stage] = max(most.get(stage, 1), math.ceil(chunks / cores))
    return {
        stage: [*(size for size in SIZES if size < most[stage]), most[stage]]
        for stage in STAGES
        if stage in most
    }


def choose(
    cell: Cell, costs: Costs, cores: int, step: Callable[[], None] = lambda: None
) -> tuple[dict[str, int], Point]:
    """Chunks per claim of each stage, for the least latency on so many cores, and what it is.

    From whole shares down, stage after stage, until no stage gains by another size; by the load
    where the cores do not keep up. The cell's own sizes where these are better still.
    """
    known = sizes(cell, cores)
    grain = {stage: those[-1] for stage, those in known.items()}
    best = simulate(with_grain(cell, grain), costs, cores)
    changed = True
    while changed:
        changed = False
        for stage, those in known.items():
            for size in those:
                if size == grain[stage]:
                    continue
                tried = simulate(with_grain(cell, {**grain, stage: size}), costs, cores)
                step()
                if _better(tried, best):
                    grain, best, changed = {**grain, stage: size}, tried, True
    own = simulate(cell, costs, cores)
    if _better(own, best):
        asked = cell.runtime.grain.model_dump()
        return {stage: min(asked[stage], those[-1]) for stage, those in known.items()}, own
    return grain, best


def _better(one: Point, other: Point) -> bool:
    if one.keeps_up != other.keeps_up:
        return one.keeps_up
    if not one.keeps_up:  # latencies are of the few frames that got through
        return one.load < other.load * (1 - _GAIN)
    return one.latency_ms < other.latency_ms * (1 - _GAIN)


@dataclass(frozen=True)
class JobSize:
    """Why a stage's claims are of a size.

    chunks: of its largest instruction; claim_us, chunk_us: I and Δ of its costliest opcode;
    claims_per_core: how many of that instruction a core gets; smaller_us, larger_us: how much later
    a frame is with the next smaller or larger of the sizes, None where there is none.
    """

    stage: str
    size: int
    chunks: int
    claim_us: float
    chunk_us: float
    claims_per_core: float
    smaller_us: float | None
    larger_us: float | None


def explain(cell: Cell, costs: Costs, cores: int, point: Point) -> list[JobSize]:
    """Of a cell with its job sizes, and what it is like with them."""
    table = costs.on(cores)
    names = core.opcodes()
    known = sizes(cell, cores)
    work: list[tuple[str, int]] = core.work(plan_text(cell, Run()), cores)["instructions"]
    why = []
    for stage, those in known.items():
        size = getattr(cell.runtime.grain, stage)
        if size == 0:  # left to the run
            continue
        op, chunks = max(
            (one for one in work if one[0] in STAGES[stage]),
            key=lambda one: table.chunk_ns[names.index(one[0])] * one[1],
        )
        size = min(size, those[-1])

        def other(next_size: int | None, stage: str = stage) -> float | None:
            if next_size is None:
                return None
            sized = with_grain(cell, {**cell.runtime.grain.model_dump(), stage: next_size})
            return 1e3 * (simulate(sized, costs, cores).latency_ms - point.latency_ms)

        why.append(
            JobSize(
                stage,
                size,
                chunks,
                table.claim_ns[names.index(op)] / 1e3,
                table.chunk_ns[names.index(op)] / 1e3,
                math.ceil(chunks / min(size, math.ceil(chunks / cores))) / cores,
                other(max((one for one in those if one < size), default=None)),
                other(min((one for one in those if one > size), default=None)),
            )
        )
    return why


@dataclass(frozen=True)
class Sweep:
    """A choice beside the best of all.

    chosen, best: sizes by stage, and the latency with them; tried: how many combinations, and
    exhaustive: all that there are, else those of the uplink and of the downlink each by themselves;
    alone: by stage and size, the latency with that stage's size changed alone.
    """

    cores: int
    chosen: dict[str, int]
    chosen_ms: float
    best: dict[str, int]
    best_ms: float
    tried: int
    exhaustive: bool
    alone: dict[str, dict[int, float]]

    @property
    def excess(self) -> float:
        """By how much the choice is worse than the best, as a share of that."""
        return self.chosen_ms / self.best_ms - 1


Latency = Callable[[Mapping[str, int]], float]


def sweep(
    cell: Cell,
    chosen: Mapping[str, int],
    cores: int,
    latency: Latency,
    step: Callable[[int, int], None] = lambda done, of: None,
) -> Sweep:
    """Every combination of job sizes, with the latency that `latency` finds for each."""
    known = sizes(cell, cores)
    start = {stage: min(chosen[stage], those[-1]) for stage, those in known.items()}
    found: dict[tuple[int, ...], float] = {}

    def ms(grain: Mapping[str, int]) -> float:
        place = tuple(grain[stage] for stage in known)
        if place not in found:
            found[place] = latency(grain)
            step(len(found), count)
        return found[place]

    halves = _halves(known)
    count = sum(math.prod(len(known[stage]) for stage in half) for half in halves)
    alone = {
        stage: {size: ms({**start, stage: size}) for size in those}
        for stage, those in known.items()
    }
    best = dict(start)
    for half in halves:
        best = min(_combinations(best, {stage: known[stage] for stage in half}), key=ms)
    return Sweep(cores, start, ms(start), best, ms(best), len(found), len(halves) == 1, alone)


def _halves(known: Mapping[str, Sequence[int]]) -> list[list[str]]:
    if math.prod(len(those) for those in known.values()) <= MOST_COMBINATIONS:
        return [list(known)]
    return [
        [stage for stage in known if stage not in _DOWNLINK],
        [stage for stage in known if stage in _DOWNLINK],
    ]


def _combinations(
    fixed: Mapping[str, int], varied: Mapping[str, Sequence[int]]
) -> Iterator[dict[str, int]]:
    for those in itertools.product(*varied.values()):
        yield {**fixed, **dict(zip(varied, those, strict=True))}
