"""Batches for a graph, and the latency that they can promise.

Sources: job-level batching (marginal costs, uniform and rate-exploiting batches); Liu and Anderson,
RTSS 2010 (graphs as sporadic tasks); Devi and Anderson 2008, Erickson and others 2010 and 2012
(bounds of responses under global EDF). The optimum is ours: engine/dataflow/optimum.hpp.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from carillon.errors import InputError, TooSlowError
from carillon.flowgraph.graph import Graph, GraphError
from carillon.inputs import read_json

Method = Literal["optimum", "rate-exploiting", "uniform"]
METHODS: tuple[Method, ...] = ("optimum", "rate-exploiting", "uniform")

MOST_CORES = 4096
_MOST_BATCH = 10**12  # executions, which the engine takes
_EXACT = 12  # nodes up to which the optimum is proven
_STEPS = 500_000_000  # options that a search looks at
_STEPS_TO_TELL = 10_000_000  # for a message that says what could be asked for instead
_LEAST_SHARE = 0.05  # of a latency, for which batches are tried
_MOST_BOUND = 1e15  # ns that are looked at when no latency is asked for
_TABLE = 1_200_000  # entries of all edges' tables of batch sizes


@dataclass(frozen=True)
class Machine:
    """Cores that take jobs by global earliest deadline first; GraphError if there are none."""

    cores: int = 1
    preemptive: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.cores, int) or not 1 <= self.cores <= MOST_CORES:
            raise GraphError(f"cores must be a whole number from 1 to {MOST_CORES}")

    @property
    def formula(self) -> str:
        """That bounds responses: the optimum is searched by the first, and a light load's is of use
        for whole jobs only."""
        return "least" if self.preemptive else "any"

    def __str__(self) -> str:
        return f"{self.cores} core{'s' if self.cores > 1 else ''}"


@dataclass(frozen=True)
class NodePlan:
    """What a node does in a plan. Times in ns."""

    name: str
    batch: int
    period_ns: float
    cost_ns: float
    utilization: float
    response_ns: float  # bound of it


@dataclass(frozen=True)
class Plan:
    """Batches, and what is proven of them. Times in ns."""

    graph: Graph
    machine: Machine
    method: Method
    batches: list[int]
    nodes: list[NodePlan]
    utilization: float
    bound_ns: float  # filling + responding + spreading, along the critical path
    filling_ns: float  # samples wait for others
    responding_ns: float  # jobs wait and run
    spreading_ns: float  # several samples that come of one leave one by one
    critical: list[str]
    buffers: list[int]  # samples of each edge, at most
    first_output: int  # F: samples of a source before every sink has something to give
    least_utilization: float | None = None  # proven of all batches among the candidates
    proven: bool = False  # that no batches among the candidates need less, up to the gap
    mean_bound_ns: float | None = None  # with mean costs: no proof

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        own = {
            name: getattr(self, name)
            for name in self.__dataclass_fields__
            if name not in ("graph", "machine", "nodes", "buffers")
        }
        edges = zip(self.graph.edges, self.buffers, strict=True)
        return {
            "graph": self.graph.name,
            "cost_quantile": self.graph.quantile,
            "cores": self.machine.cores,
            "preemptive": self.machine.preemptive,
            **own,
            "nodes": [vars(node) for node in self.nodes],
            "buffers": [{"edge": str(edge), "samples": count} for edge, count in edges],
        }


def evaluate(graph: Graph, batches: Sequence[int], machine: Machine, method: Method) -> Plan:
    """The bound of given batches; raises TooSlowError if there is none, GraphError if a node has no
    batch or a batch no node."""
    if len(batches) != len(graph.nodes):
        raise GraphError(f"{graph.name} has {len(graph.nodes)} nodes, and {len(batches)} batches")
    if not all(isinstance(each, int) and 1 <= each <= _MOST_BATCH for each in batches):
        raise GraphError("a batch must be a whole number of executions, from 1 to 1e12")
    try:
        found = graph.core.latency(
            list(batches), machine.cores, machine.preemptive, machine.formula
        )
    except ValueError as error:
        raise TooSlowError(f"{graph.name}: {error}") from None
    rows = zip(
        graph.nodes, batches, found["periods_ns"], found["costs_ns"], found["responses_ns"],
        strict=True,
    )  # fmt: skip
    nodes = [
        NodePlan(node.name, batch, period, cost, cost / period, response)
        for node, batch, period, cost, response in rows
    ]
    mean = graph.with_mean_costs()
    mean_bound = None
    if mean is not None and not mean.core.unbounded(list(batches), machine.cores):
        mean_found = mean.core.latency(list(batches), machine.cores, machine.preemptive, "any")
        mean_bound = mean_found["bound_ns"]
    return Plan(
        graph,
        machine,
        method,
        list(batches),
        nodes,
        utilization=found["utilization"],
        bound_ns=found["bound_ns"],
        filling_ns=found["filling_ns"],
        responding_ns=found["responding_ns"],
        spreading_ns=found["spreading_ns"],
        critical=[graph.nodes[place].name for place in found["critical"]],
        buffers=found["buffers"],
        first_output=graph.core.first_output(list(batches)),
        mean_bound_ns=mean_bound,
    )


def read_plan(file: Path, graph: Graph) -> Plan:
    """The batches of a file that `carillon flowgraph plan` wrote, with the bound of jobs that run
    to their ends, whatever was planned; InputError if it is of another graph, or none."""
    try:
        found = read_json(file)
        names = [node["name"] for node in found["nodes"]]
        machine = Machine(found["cores"], preemptive=False)
        batches, method = list(found["batches"]), found["method"]
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {(error.strerror or '').lower()}") from None
    except (KeyError, TypeError, ValueError, GraphError):
        raise InputError(f"{file}: is no plan; carillon flowgraph plan writes plan.json") from None
    if names != [node.name for node in graph.nodes]:
        raise InputError(f"{file}: is a plan of another graph than {graph.name}: plan again")
    return evaluate(graph, batches, machine, method if method in METHODS else "optimum")


def plan(
    graph: Graph, machine: Machine, latency_ns: float | None = None, method: Method = "optimum"
) -> Plan:
    """Batches of least utilization within a latency, or of the least bound if none is asked for.

    Raises TooSlowError when no batches keep it, with the least bound that there is.
    """
    if method not in METHODS:
        raise GraphError(f"there is no method {method}; there are {', '.join(METHODS)}")
    graph.check()
    if overloads := graph.overloads(machine.cores):
        raise TooSlowError("\n".join(map(str, overloads)))
    if latency_ns is not None and not 0 < latency_ns <= _MOST_BOUND:
        raise GraphError("a latency must be above 0 and at most 11 days")
    if method != "optimum":
        return _scaled(graph, machine, latency_ns, method)
    if not machine.preemptive:
        return _of_whole_jobs(graph, machine, latency_ns)
    if latency_ns is None:
        return _of_the_least_bound(graph, machine)
    found = _search(graph, machine, graph.core.least_utilization, latency_ns)
    if not found["batches"]:
        least = _of_the_least_bound(graph, machine, _STEPS_TO_TELL).bound_ns
        raise TooSlowError(
            f"{graph.name}: no batches keep {time_text(latency_ns)} on {machine}; the least bound "
            f"found is {time_text(least)}"
        )
    return _chosen(graph, machine, found)


def _of_whole_jobs(graph: Graph, machine: Machine, latency_ns: float | None) -> Plan:
    """Without preemption: the batches that would be best with it, for as much less latency as it
    takes to keep this one. Nothing is proven of what others need."""
    assumed = replace(machine, preemptive=True)

    def at(within_ns: float) -> Plan | None:  # what is searched for, and keeps it
        found = _search(graph, assumed, graph.core.least_utilization, within_ns)
        if not found["batches"]:
            return None
        own = evaluate(graph, found["batches"], machine, "optimum")
        return own if latency_ns is None or own.bound_ns <= latency_ns else None

    if latency_ns is None:
        return min(_published(graph, machine, None), key=lambda own: own.bound_ns)
    kept = at(latency_ns)
    low, high = 1.0, 1.0
    while kept is None and low > _LEAST_SHARE:
        low, high = low * 0.7, low
        kept = at(latency_ns * low)
    if kept is None:
        if found := _published(graph, machine, latency_ns):
            return min(found, key=lambda own: own.utilization)
        least = min(own.bound_ns for own in _published(graph, machine, None))
        raise TooSlowError(
            f"{graph.name}: no batches are known that keep {time_text(latency_ns)} on {machine} "
            f"without preemption; the least bound found is {time_text(least)}"
        )
    for _ in range(5 if high > low else 0):
        middle = (low + high) / 2
        more = at(latency_ns * middle)
        low, high = (low, middle) if more is None else (middle, high)
        kept = kept if more is None or more.utilization > kept.utilization else more
    return kept


def _published(graph: Graph, machine: Machine, latency_ns: float | None) -> list[Plan]:
    """Of the published methods, those that keep it; TooSlowError if none is, and none of them has a
    bound."""
    found: list[Plan] = []
    errors: list[TooSlowError] = []
    for method in METHODS[1:]:
        try:
            found.append(_scaled(graph, machine, latency_ns, method))
        except TooSlowError as error:
            errors.append(error)
    if not found and latency_ns is None:
        raise errors[0]
    return found


def _of_the_least_bound(graph: Graph, machine: Machine, steps: int = _STEPS) -> Plan:
    """Where the search finds none in its time, the batches that it began with."""
    batches, bound = _batches_to_begin_with(graph, machine)
    if bound == 0:  # nothing costs anything
        return evaluate(graph, batches, machine, "optimum")
    found = _search(graph, machine, graph.core.least_bound, bound, steps)
    if not found["batches"]:
        return evaluate(graph, batches, machine, "optimum")
    return _chosen(graph, machine, found)


def _search(
    graph: Graph,
    machine: Machine,
    how: Callable[..., dict[str, Any]],
    bound_ns: float,
    steps: int = _STEPS,
) -> dict[str, Any]:
    count = len(graph.nodes)
    exact = count <= _EXACT
    most = 256 if exact else max(4, min(64, math.isqrt(_TABLE // count)))
    gap, ranges = (1e-6, 4000) if exact else (0.02, 150 if count <= 1000 else 20)
    return how(bound_ns, machine.cores, machine.preemptive, most, gap, ranges, steps)


def _chosen(graph: Graph, machine: Machine, found: dict[str, Any]) -> Plan:
    own = evaluate(graph, found["batches"], machine, "optimum")
    return replace(own, least_utilization=found["least"], proven=found["proven"])


def _batches_to_begin_with(graph: Graph, machine: Machine) -> tuple[list[int], float]:
    """Some batches and their bound; TooSlowError if the cores never suffice."""
    batch = 1
    while batch < 1 << 40:
        batches = graph.core.rate_exploiting(batch)
        if not graph.core.unbounded(batches, machine.cores):
            found: float = graph.core.latency(
                batches, machine.cores, machine.preemptive, machine.formula
            )["bound_ns"]
            if found > _MOST_BOUND:
                raise TooSlowError(
                    f"{graph.name}: the least bound found is {time_text(found)}, more than the "
                    f"{time_text(_MOST_BOUND)} that can be asked for; a threshold, a period or a "
                    "cost is too large"
                )
            return batches, found
        batch *= 2
    why = re.sub(r" in batches of \d+", "", graph.core.unbounded(batches, machine.cores))
    raise TooSlowError(f"{graph.name}: {why}; larger batches do not help")


def _first(holds: Callable[[int], bool], after: int = 0) -> int:
    """A number above `after` for which it holds and below which it does not: the first, of what
    begins to hold once."""
    step = 1
    while not holds(after + step):
        step *= 2
    low, high = after + step // 2, after + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _scaled(graph: Graph, machine: Machine, latency_ns: float | None, method: Method) -> Plan:
    """Of a published method: the largest batch within the latency, or the one of the least bound.

    A bound falls with the batch while cores have hardly room, and then grows with it; where batches
    align, there are small steps in between.
    """

    def bound(batch: int) -> float:
        batches = published(graph, method, batch)
        if max(batches) > _MOST_BATCH or graph.core.unbounded(batches, machine.cores):
            return math.inf
        found = graph.core.latency(batches, machine.cores, machine.preemptive, machine.formula)
        return float(found["bound_ns"])

    def falls(batch: int) -> bool:
        if batch > _MOST_BATCH:
            raise TooSlowError(f"{graph.name}: no {method} batches leave {machine} enough room")
        return math.isinf(bound(batch)) or bound(batch + 1) < bound(batch)

    _batches_to_begin_with(graph, machine)
    shortest = _first(lambda batch: not falls(batch))
    if latency_ns is None:
        return evaluate(graph, published(graph, method, shortest), machine, method)
    if bound(shortest) > latency_ns:
        raise TooSlowError(
            f"{graph.name}: no {method} batches keep {time_text(latency_ns)} on {machine}; the "
            f"least bound of theirs that was found is {time_text(bound(shortest))}"
        )
    beyond = _first(lambda batch: bound(batch) > latency_ns, after=shortest)
    return evaluate(graph, published(graph, method, beyond - 1), machine, method)


def published(graph: Graph, method: Method, batch: int) -> list[int]:
    """Batches of a published method, times so many executions."""
    if method == "uniform":
        return [batch] * len(graph.nodes)
    return graph.core.rate_exploiting(batch)


@dataclass(frozen=True)
class Relief:
    """What more cores or more time would give, compared with a plan."""

    what: str
    utilization: float


def reliefs(own: Plan, latency_ns: float) -> list[Relief]:
    """The utilization with one more core, and with 1 ms more, where these can be asked for."""
    found = []
    if own.machine.cores < MOST_CORES:
        more_cores = replace(own.machine, cores=own.machine.cores + 1)
        utilization = plan(own.graph, more_cores, latency_ns).utilization
        found.append(Relief("one more core", utilization))
    if latency_ns + 1e6 <= _MOST_BOUND:
        utilization = plan(own.graph, own.machine, latency_ns + 1e6).utilization
        found.append(Relief("1 ms more", utilization))
    return found


def front(
    graph: Graph,
    machine: Machine,
    points: int = 24,
    widest: float = 30.0,
    step: Callable[[], bool] = lambda: True,
) -> list[Plan]:
    """Plans of which none is better in bound and utilization both, from the least bound on.

    Up to `widest` times as much, at `points` bounds (two or more) that are even on a logarithmic
    scale. `step` is called after each point; the front ends there when it says no.
    """
    if points < 2:
        raise GraphError("a front has two points or more")
    first = plan(graph, machine)
    plans = [first]
    if first.bound_ns == 0:
        return plans
    for place in range(points):
        latency = first.bound_ns * widest ** (place / (points - 1)) * (1 + 1e-9)
        own = plan(graph, machine, latency)
        # What keeps a shorter bound keeps a longer one as well.
        if own.utilization < plans[-1].utilization * (1 - 1e-9):
            plans.append(own)
        if not step():
            break
    return plans


def with_plan(plans: Sequence[Plan], own: Plan) -> list[Plan]:
    """A front, and another plan among them if none is better in both; without what it betters.

    Between the bounds of a front's points less utilization may do than the point before needs.
    """
    if any(_at_least_as_good(each, own) for each in plans):
        return list(plans)
    kept = [each for each in plans if not _at_least_as_good(own, each)]
    return sorted([*kept, own], key=lambda each: each.bound_ns)


def _at_least_as_good(one: Plan, other: Plan) -> bool:
    return one.bound_ns <= other.bound_ns and one.utilization <= other.utilization


def time_text(ns: float) -> str:
    """With a unit that suits it."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.4g} {unit}"
    return f"{ns:.4g} ns"
