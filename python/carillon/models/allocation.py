"""Cores for the work of a frame: what each policy makes of n of them, and how many a cell needs."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from operator import add
from typing import Literal

from carillon.models.costs import Costs
from carillon.models.latency import Group, Latency, latency
from carillon.models.workload import Workload

Policy = Literal["earliest-frame", "core-groups"]
Goal = Literal["uplink", "downlink"]

# Table 3.1 of the thesis, whose doFFT does pilots and data alike. The names are those of the keys
# runtime.groups and runtime.grain in a cell.
STAGES = {
    "fft": ("PilotFft", "UplinkFft"),
    "zero_force": ("ZeroForce",),
    "demodulate": ("EqualizeDemodulate",),
    "decode": ("Decode", "Store"),
    "encode": ("Encode", "Modulate"),
    "precode": ("Precode",),
    "ifft": ("Ifft",),
}
CORE_GROUPS = tuple(STAGES.values())

_INDIFFERENT_MS = 1e-3


def predict(
    policy: Policy,
    work: Workload,
    costs: Costs,
    cores: int,
    goal: Goal = "uplink",
    link_gbps: float = math.inf,
) -> Latency | None:
    """The latency of a policy on so many cores; None if they cannot keep up.

    `earliest-frame` gives all cores to each instruction; `core-groups` a group of its own to each
    stage, the groups that make D_UL or D_DL (the goal) least.
    """
    if policy == "earliest-frame":
        every = tuple(op for ops in CORE_GROUPS for op in ops)
        return latency(work, costs, [Group(every, cores)], link_gbps)
    return best_groups(work, costs, cores, goal, link_gbps)


def group_sizes(groups: Sequence[Group]) -> dict[str, int]:
    """runtime.groups of a cell: the cores of each stage, 0 where it shares those of one before."""
    taken: set[Group] = set()
    sizes = {}
    for stage, ops in STAGES.items():
        group = next(group for group in groups if ops[0] in group.ops)
        sizes[stage] = 0 if group in taken else group.cores
        taken.add(group)
    return sizes


def best_groups(
    work: Workload,
    costs: Costs,
    cores: int,
    goal: Goal = "uplink",
    link_gbps: float = math.inf,
) -> Latency | None:
    """The best of all ways to share `cores` among a cell's stages; None if none keeps up.

    Exact to a microsecond, by branch and bound: a way that is begun cannot become better than if
    every stage that is still open had all that is left, without contention.
    """
    search = _Search(work, costs, goal, link_gbps)
    spare = cores - sum(search.least)
    if spare < 0:
        return None
    search.extend((), spare)
    return search.best


def every_sharing(
    work: Workload,
    costs: Costs,
    cores: int,
    goal: Goal = "uplink",
    link_gbps: float = math.inf,
) -> list[Latency]:
    """All ways to share `cores` that keep up, the best first."""
    search = _Search(work, costs, goal, link_gbps)
    spare = cores - sum(search.least)
    found = (
        search.latency(tuple(map(add, search.least, more)), costs)
        for more in _sums(spare, len(search.least))
    )
    return sorted((known for known in found if known is not None), key=search.value)


def _sums(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to write a total as so many numbers from 0, in order."""
    if total < 0:
        return
    for bars in combinations(range(total + parts - 1), parts - 1):
        edges = (-1, *bars, total + parts - 1)
        yield tuple(right - left - 1 for left, right in pairwise(edges))


def cores_needed(
    policy: Policy,
    work: Workload,
    costs: Costs,
    enough: Callable[[Latency], bool],
    *,
    goal: Goal = "uplink",
    link_gbps: float = math.inf,
    most: int = 128,
) -> int | None:
    """The least number of cores with which a latency is good enough; None if `most` are too few.

    By halving, as more cores do not hurt until contention eats what they bring.
    """

    def suffice(cores: int) -> bool:
        found = predict(policy, work, costs, cores, goal, link_gbps)
        return found is not None and enough(found)

    least = bisect_left(range(1, most + 1), True, key=suffice) + 1
    return least if least <= most else None


class _Search:
    """Ways to share cores among the groups of a cell, each with at least what it cannot do
    without."""

    def __init__(self, work: Workload, costs: Costs, goal: Goal, link_gbps: float) -> None:
        self.work, self.costs, self.goal, self.link_gbps = work, costs, goal, link_gbps
        self.free_costs = replace(costs, contention_ns=0.0)
        loads = {op: 0.0 for ops in CORE_GROUPS for op in ops}
        for op, chunks in work.instructions():
            loads[op] += self.free_costs.busy_ns(op, chunks, 1)
        self.idle = tuple(op for op, load in loads.items() if load == 0)
        self.ops = [ops for ops in CORE_GROUPS if any(loads[op] > 0 for op in ops)]
        frame_ns = work.frame_ms * 1e6
        self.least = [
            max(1, math.ceil(sum(loads[op] for op in ops) / frame_ns - 1e-9)) for ops in self.ops
        ]
        self.best: Latency | None = None

    def extend(self, sizes: tuple[int, ...], spare: int) -> None:
        """Tries every way that begins with `sizes` and has so many cores left beyond the least."""
        if len(sizes) == len(self.ops) - 1:
            self._take((*sizes, self.least[-1] + spare))
            return
        begun = [(*sizes, self.least[len(sizes)] + more) for more in range(spare + 1)]
        bounds = [self._bound(ways, spare - more) for more, ways in enumerate(begun)]
        for more in sorted(range(spare + 1), key=bounds.__getitem__):
            if bounds[more] < self.value(self.best) - _INDIFFERENT_MS:
                self.extend(begun[more], spare - more)

    def _bound(self, begun: tuple[int, ...], spare: int) -> float:
        rest = tuple(least + spare for least in self.least[len(begun) :])
        return self.value(self.latency((*begun, *rest), self.free_costs))

    def _take(self, sizes: tuple[int, ...]) -> None:
        found = self.latency(sizes, self.costs)
        if found is not None and self.value(found) < self.value(self.best):
            self.best = found

    def latency(self, sizes: tuple[int, ...], costs: Costs) -> Latency | None:
        """Of groups of these sizes."""
        groups = [Group(ops, size) for ops, size in zip(self.ops, sizes, strict=True)]
        groups[0] = replace(groups[0], ops=groups[0].ops + self.idle)  # nothing to do anywhere
        return latency(self.work, costs, groups, self.link_gbps)

    def value(self, found: Latency | None) -> float:
        """What is to be least."""
        if found is None:
            return math.inf
        return found.uplink if self.goal == "uplink" else found.downlink
