"""What a cell needs of a machine, before anything runs: fits or not, and what would do."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from carillon import job_sizes, runfolder
from carillon.calibration import Calibration
from carillon.config import Cell
from carillon.job_sizes import JobSize
from carillon.machine import Machine
from carillon.memory_run import with_grain
from carillon.virtual import (
    MOST_CORES,
    Bound,
    Costs,
    Expected,
    Point,
    bound,
    cores_needed,
    expected,
    simulate,
)

Step = Callable[[str], None]


@dataclass(frozen=True)
class MoreCores:
    """How many of the frames whose claims vary are late or refused on more cores."""

    cores: int
    failed: int


@dataclass(frozen=True)
class Plan:
    """Whether a machine carries a cell, and what the cell needs.

    fits: with its usual claims, in each frame whose claims vary, and in memory.
    """

    cell: str
    machine: Machine
    fits: bool
    cores_needed: int | None  # with usual claims; None: more than the engine can use
    point: Point  # on this machine
    slow: Point  # the same where every claim takes what one in a hundred took
    expected: Expected
    more_cores: MoreCores | None  # where only frames whose claims vary do not all fit
    bound: Bound
    bottleneck: str | None
    job_sizes: dict[str, int]
    why: list[JobSize]
    memory_bytes: int
    uplink_gbps: float
    downlink_gbps: float
    packets_per_second: float
    advice: list[str]
    points: list[Point]

    @property
    def has_memory(self) -> bool:
        """Whether the machine's memory suffices, where it is known."""
        return self.machine.memory_bytes is None or self.memory_bytes <= self.machine.memory_bytes

    def about(self) -> dict[str, Any]:
        """For machines to read."""
        return asdict(self)


def plan(
    cell: Cell,
    calibration: Calibration,
    machine: Machine,
    step: Step = lambda what: None,
) -> Plan:
    """Everything that can be known beforehand."""
    cores = machine.cores
    usual, harsh = Costs(calibration, machine), Costs(calibration, machine, "p99")
    seen = cores_needed(cell, usual, lambda p: step(f"{p.cores} cores"))
    needed = seen[-1].cores if seen[-1].fits else None
    grain, best = job_sizes.choose(cell, usual, cores, lambda: step("job sizes"))
    sized = with_grain(cell, grain)
    slow = simulate(sized, harsh, cores)
    varying = expected(sized, usual, cores, lambda n: step(f"{n} frames of varying claims"))
    more = _on_more(sized, usual, cores, step) if best.fits and varying.failed else None
    figures = runfolder.describe(cell)
    found = Plan(
        cell=cell.name,
        machine=machine,
        fits=best.fits and not varying.failed,
        cores_needed=min(needed or cores, cores) if best.fits else needed,
        point=best,
        slow=slow,
        expected=varying,
        more_cores=more,
        bound=bound(sized, usual, cores),
        bottleneck=best.bottleneck,
        job_sizes=grain,
        why=job_sizes.explain(sized, usual, cores, best),
        memory_bytes=figures["memory_bytes"],
        uplink_gbps=figures["uplink_iq_gbps"],
        downlink_gbps=figures["downlink_iq_gbps"],
        packets_per_second=figures["uplink_packets_per_second"]
        + figures["downlink_packets_per_second"],
        advice=_Advice(sized, usual, harsh, cores).of(best, slow, needed) + _enough(more),
        points=seen if any(p.cores == cores for p in seen) else [*seen, best],
    )
    return found if found.has_memory else replace(found, fits=False)


def _on_more(cell: Cell, costs: Costs, cores: int, step: Step) -> MoreCores | None:
    """The same frames on twice the cores, as far as the engine can use them."""
    more = min(2 * cores, MOST_CORES)
    if more == cores:
        return None
    varying = expected(cell, costs, more, lambda n: step(f"{n} frames on {more} cores"))
    return MoreCores(more, varying.failed)


def _enough(more: MoreCores | None) -> list[str]:
    return [f"{more.cores} cores like these"] if more is not None and not more.failed else []


@dataclass(frozen=True)
class _Advice:
    """What would make a cell fit, or fit with room; nothing that virtual time does not confirm."""

    cell: Cell
    usual: Costs
    harsh: Costs
    cores: int

    def of(self, best: Point, slow: Point, needed: int | None) -> list[str]:
        """For a cell that fits or does not, and may not where all claims are slow."""
        if best.fits and slow.fits:
            return []
        if best.fits:
            changes = [*self._more_cores(), *self._budget(slow, self.harsh)]
            does = " or ".join(changes) or "nothing that was tried, so a smaller cell"
            return [f"for claims as slow as one in a hundred was: {does}"]
        advice = []
        if needed is None:
            advice.append(f"more than {MOST_CORES} cores like these, so a smaller cell")
        elif needed > self.cores:
            advice.append(f"{needed} cores like these")
        return [*advice, *self._budget(best, self.usual)]

    def _more_cores(self) -> list[str]:
        for more in range(1, 9):
            if self.cores + more > MOST_CORES:
                break
            if simulate(self.cell, self.harsh, self.cores + more).fits:
                return [f"{more} core{'' if more == 1 else 's'} more"]
        return []

    def _budget(self, point: Point, costs: Costs) -> list[str]:
        budget = self.cell.deadlines.uplink_budget_ms - (point.slack_ms or 0.0)
        budget = math.ceil(budget * 100) / 100
        if not point.keeps_up or budget > 1000:
            return []
        deadlines = self.cell.deadlines.model_copy(update={"uplink_budget_ms": budget})
        changed = self.cell.model_copy(update={"deadlines": deadlines})
        if not simulate(changed, costs, self.cores).fits:
            return []  # the downlink's deadlines are others
        return [f"deadlines.uplink_budget_ms {budget:g}"]
