"""Runs a graph in the batches of a plan."""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from carillon import core
from carillon.errors import InputError, of_system
from carillon.flowgraph.blocks import block_types
from carillon.flowgraph.graph import Graph
from carillon.flowgraph.plan import MOST_CORES, Plan
from carillon.flowgraph.wiring import built, rate_of

Threads = Literal["workers", "blocks", "deadline"]
Rows = tuple[NDArray[np.float32], float, float, int, int]

PRIORITY = 50  # of SCHED_FIFO, above ordinary threads and below the kernel's own
_POLL_SECONDS = 0.02
_ROOM_FOR_CHANGES = 64  # of each node, that wait
_MOST_EXECUTIONS = 1 << 62


@dataclass(frozen=True)
class Change:
    """A parameter of a node's block that is to change before its sample `at` (what the node reads,
    or a source makes), or before the next one if that is over."""

    node: str
    parameter: str
    value: float
    at: int = 0


@dataclass(frozen=True)
class NodeRun:
    """What became of a node. Times in ns."""

    name: str
    type: str
    batch: int
    jobs: int
    executions: int
    busy_ns: int
    longest_job_ns: int
    planned_job_ns: float | None
    longest_response_ns: int
    response_bound_ns: float | None
    tardiness_ns: float  # the longest response beyond a period
    left: int  # samples that were too few for an execution at the end
    lost_tags: int
    changes: int  # of parameters, that were made
    late_changes: int  # of these, after their samples
    unmade_changes: int  # others that were asked for
    figures: dict[str, float]  # what its block counted or found


@dataclass(frozen=True)
class SinkRun:
    """When samples came out of a sink: from arrival to the end of the last job. Times in ns."""

    name: str
    jobs: int
    p50_ns: int
    p99_ns: int
    p999_ns: int
    longest_ns: int
    bins: list[tuple[int, int]] = field(repr=False)  # up to so many ns, and how many


@dataclass(frozen=True)
class Late:
    """Jobs of sinks that ended later than the bound allows, each in one class."""

    jobs: int
    by_standstill: int  # workers did not run meanwhile, although they were to
    by_overrun: int  # batches took longer than planned
    unexplained: int  # the bound was broken
    unlisted: int  # nobody knows, since too much happened to be kept


@dataclass(frozen=True)
class RunResult:
    """A run. Times in ns."""

    graph: str
    paced: bool
    threads: Threads
    cores: list[int]
    seconds: float
    bound_ns: float | None
    nodes: list[NodeRun]
    sinks: list[SinkRun]
    late: Late
    worker_load: list[float]  # of a core, not idle
    worker_cpu: list[float]  # of a core, by the kernel's account
    standstills: int  # that a worker woke or went on more than 60 µs later than it should have
    longest_standstill_ns: int
    standstills_ns: list[tuple[int, int]]  # when, for how long: the last, and those of late samples
    complaints: list[str]  # what the system did not grant
    failures: list[str]  # of devices
    stopped: bool

    @property
    def holds(self) -> bool:
        """That no sample was later than the bound but for what no plan can know; of threads for
        blocks nothing was promised."""
        late = self.late
        return late.jobs == late.by_standstill or self.threads != "workers"

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)


class Running:
    """A graph at work; a context manager that ends it.

    >>> with Running(graph, batches=[1] * len(graph.nodes)) as running:
    ...     running.wait(seconds=1)
    >>> result = running.result()
    """

    def __init__(
        self,
        graph: Graph,
        plan: Plan | None = None,
        *,
        batches: Sequence[int] | None = None,
        cores: Sequence[int] | None = None,
        seconds: float | None = None,
        paced: bool = True,
        realtime: bool = False,
        threads: Threads = "workers",
        changes: Sequence[Change] = (),
    ) -> None:
        """Opens nothing yet. `plan` or `batches`; `cores`: CPUs that get a worker each, of those
        this process may use; `threads`: a worker on each core, or a thread for each node, ordinary
        or under SCHED_DEADLINE, which needs a plan; `seconds`: of samples of each source that has
        no device; `changes`: of parameters, that are known beforehand.

        GraphError or ConfigError of blocks that do not fit, InputError of a change that cannot be
        made.
        """
        self.graph, self.plan, self.paced, self.threads = graph, plan, paced, threads
        self.batches = list(plan.batches if plan is not None else batches or [])
        if len(self.batches) != len(graph.nodes):
            count = len(graph.nodes)
            raise InputError(f"{graph.name}: has {count} nodes, and needs as many batches")
        if cores is None:
            cores = own_cores(1 if plan is None else plan.machine.cores)
        self.cores = list(cores)
        self._blocks = built(graph)
        self._asked: Counter[str] = Counter()  # changes of each node
        self._stopped = False
        self._failures: list[str] = []
        self._account: dict[str, Any] | None = None
        try:
            self._run = core.FlowgraphRun(
                graph.core,
                self.batches,
                self._blocks,
                paced,
                self._executions(seconds),
                [] if plan is None else [node.cost_ns for node in plan.nodes],
                0 if plan is None else math.ceil(plan.bound_ns),
                self.cores,
                PRIORITY if realtime else 0,
                threads,
                max([_ROOM_FOR_CHANGES, *Counter(change.node for change in changes).values()]),
            )
        except ValueError as error:
            raise InputError(f"{graph.name}: {error}") from None
        for change in changes:
            self.change(change)

    def _executions(self, seconds: float | None) -> list[int]:
        if seconds is None:
            return [0] * len(self.graph.nodes)
        return [
            0
            if node.rate_hz is None
            else min(max(1, round(seconds * float(node.rate_hz))), _MOST_EXECUTIONS)
            for node in self.graph.nodes
        ]

    def __enter__(self) -> Self:
        try:
            self._run.start()
        except RuntimeError as error:
            raise InputError(f"{self.graph.name}: {error}") from None
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._finish()

    def stop(self) -> None:
        """Sources give nothing more; what they gave is worked off."""
        self._stopped = self._stopped or not self._run.ended()
        self._run.stop()

    def ended(self) -> bool:
        """That all is worked off."""
        return self._run.ended()

    def change(self, change: Change) -> bool:
        """False: so many changes of the node wait for their samples that there is no room. Those of
        one sample are made in the order in which they were asked for. One thread at a time.

        InputError of a parameter that there is not, or that does not change.
        """
        self.check(change)
        place = _place(self.graph, change.node)
        inputs = self._blocks[place].inputs
        output = self._blocks[place].output
        each = inputs[0][2] if inputs else output[1] if output is not None else 1
        made = self._run.change(place, change.parameter, change.value, -(-change.at // each))
        self._asked[change.node] += made
        return made

    def check(self, change: Change) -> None:
        """InputError of a change that cannot be made."""
        check_change(self.graph, change)

    def state(self) -> dict[str, Any]:
        """Counts so far, as the engine has them."""
        return self._run.state()

    def wait(self, seconds: float | None = None, step: Callable[[], bool] | None = None) -> None:
        """Until all is worked off, or so long, or `step`, called several times a second, is false;
        then it is stopped."""
        until = None if seconds is None else time.monotonic() + seconds
        while not self._run.ended():
            if (step is not None and not step()) or (
                until is not None and time.monotonic() >= until
            ):
                self.stop()
                return
            time.sleep(_POLL_SECONDS)

    def _finish(self) -> None:
        if self._account is None:
            self._failures = self._run.finish() + list(self._complete())
            self._account = self._run.account()

    def _complete(self) -> Iterator[str]:
        """Has what Python writes of blocks written; what went wrong."""
        for node, shape, rate in zip(
            self.graph.nodes, self._blocks, self.graph.rates_hz, strict=True
        ):
            assert node.block is not None
            try:
                node.block.finish(rate_of(shape, float(rate)))
            except (InputError, OSError) as error:
                why = of_system(error) if isinstance(error, OSError) else str(error)
                yield f"{node.name}: {why}"

    def jobs(self) -> list[list[tuple[int, int, int, int, int]]]:
        """Of each worker's last jobs: node, executions, release, start and end in ns."""
        self._finish()
        return self._run.jobs()

    def rows(self) -> Iterator[tuple[str, float, Rows]]:
        """What sinks keep for pictures, when it has ended: the node, rows a second, and as
        core.Block.rows() has them (carillon.flowgraph.waterfall draws them)."""
        self._finish()
        for node, block, rate in zip(
            self.graph.nodes, self._blocks, self.graph.rates_hz, strict=True
        ):
            if (rows := block.rows()) is not None:
                yield node.name, float(rate), rows

    def result(self) -> RunResult:
        """What became of it, when it has ended."""
        self._finish()
        found = self._account
        assert found is not None
        seconds = found["elapsed_ns"] / 1e9
        return RunResult(
            graph=self.graph.name,
            paced=self.paced,
            threads=self.threads,
            cores=self.cores,
            seconds=seconds,
            bound_ns=None if self.plan is None else self.plan.bound_ns,
            nodes=[self._node(place, row) for place, row in enumerate(found["nodes"])],
            sinks=[
                SinkRun(
                    self.graph.nodes[row["node"]].name, row["jobs"], row["p50_ns"], row["p99_ns"],
                    row["p999_ns"], row["longest_ns"], row["bins"],
                )
                for row in found["latencies"]
            ],
            late=Late(
                found["late"], found["late_by_standstill"], found["late_by_overrun"],
                found["late_unexplained"], found["late_unlisted"],
            ),
            worker_load=[
                max(0.0, 1 - idle / found["elapsed_ns"]) if found["elapsed_ns"] else 0.0
                for idle in found["idle_ns"]
            ],
            worker_cpu=[
                used / found["elapsed_ns"] if found["elapsed_ns"] else 0.0
                for used in found["cpu_ns"]
            ],
            standstills=found["standstills"],
            longest_standstill_ns=found["longest_standstill_ns"],
            standstills_ns=found["standstills_ns"],
            complaints=found["complaints"],
            failures=self._failures,
            stopped=self._stopped,
        )  # fmt: skip

    def _node(self, place: int, row: dict[str, Any]) -> NodeRun:
        node = self.graph.nodes[place]
        planned = None if self.plan is None else self.plan.nodes[place]
        period = self.batches[place] / float(self.graph.rates_hz[place]) * 1e9
        assert self._account is not None
        return NodeRun(
            name=node.name,
            type="" if node.block is None else node.block.type,
            batch=self.batches[place],
            jobs=row["jobs"],
            executions=row["executions"],
            busy_ns=row["busy_ns"],
            longest_job_ns=row["longest_job_ns"],
            planned_job_ns=None if planned is None else planned.cost_ns,
            longest_response_ns=row["longest_response_ns"],
            response_bound_ns=None if planned is None else planned.response_ns,
            tardiness_ns=max(0.0, row["longest_response_ns"] - period) if self.paced else 0.0,
            left=sum(
                left
                for edge, left in zip(self.graph.edges, self._account["left"], strict=True)
                if edge.end == node.name
            ),
            lost_tags=row["lost_tags"],
            changes=row["changes"],
            late_changes=row["late_changes"],
            unmade_changes=self._asked[node.name] - row["changes"],
            figures={name: value for name, value, _ in row["figures"]},
        )


def check_change(graph: Graph, change: Change) -> None:
    """InputError of a change that cannot be made."""
    block = graph.nodes[_place(graph, change.node)].block
    if block is None:
        raise InputError(f"{change.node}: has no block, so that nothing of it changes")
    own_type = block_types().get(block.type)
    declared = {} if own_type is None else own_type.parameters
    may = [name for name, each in declared.items() if each.changes]
    if change.parameter not in may:
        raise InputError(
            f"{change.node}: {change.parameter} of {block.type} does not change while it runs; "
            + (f"what does: {', '.join(may)}" if may else "nothing of it does")
        )
    own = declared[change.parameter]
    if not own.least <= change.value <= own.most:
        raise InputError(
            f"{change.node}: {change.parameter} must be between {own.least:g} and {own.most:g}"
        )


def _place(graph: Graph, name: str) -> int:
    for place, node in enumerate(graph.nodes):
        if node.name == name:
            return place
    raise InputError(f"{graph.name}: there is no node {name}")


def own_cores(count: int) -> list[int]:
    """So many of the CPUs that this process may use; InputError if there are fewer."""
    own = sorted(os.sched_getaffinity(0))
    if not 1 <= count <= min(len(own), MOST_CORES):
        raise InputError(
            f"the plan has {count} cores, and this process may use {len(own)}; plan with --cores "
            f"{len(own)}"
        )
    return own[:count]
