"""Processing graphs: nodes that execute when enough samples are there (PGM: Goddard, TR98-027)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

from carillon import core
from carillon.config import ConfigError, Problem
from carillon.config.fields import Path as Key
from carillon.config.load import load_model
from carillon.errors import InputError
from carillon.flowgraph.blocks import Block
from carillon.flowgraph.model import CostSection, DemandSection, GraphFile
from carillon.flowgraph.settings import put
from carillon.flowgraph.wiring import Shapes, block_problems

MOST_BYTES = 1 << 21  # of a file; larger graphs are built with the Python API
_MOST_64 = (1 << 64) - 1
_MOST_BATCH = 1_000_000_000
_MOST_OF_CYCLE = 12  # nodes that are named
_ROUNDING = 1e-9
_NodeRow = tuple[str, float, list[tuple[int, float]], int, int]
_EdgeRow = tuple[int, int, int, int, int]


class GraphError(InputError):
    """A graph that has no plan; all that is wrong with it."""


@dataclass(frozen=True)
class Cost:
    """What a batch takes: initial_ns, and each_ns for each execution, with changes in pieces."""

    initial_ns: float
    each_ns: float
    pieces: tuple[tuple[int, float], ...] = ()  # from that execution of a batch on, so much each

    @property
    def is_numeric(self) -> bool:
        """That all of it has the type that it says."""
        values = (self.initial_ns, self.each_ns, *(each for _, each in self.pieces))
        starts = [start for start, _ in self.pieces]
        return all(isinstance(value, float | int) for value in values) and all(
            isinstance(start, int) and start <= _MOST_BATCH for start in starts
        )

    def of(self, batch: int) -> float:
        """ns of so many executions."""
        pieces = ((1, self.each_ns), *self.pieces)
        ends = [*(start for start, _ in pieces[1:]), batch + 1]
        return self.initial_ns + sum(
            max(0, min(end, batch + 1) - start) * each
            for (start, each), end in zip(pieces, ends, strict=True)
        )

    def first_above(self, other: Cost) -> int | None:
        """The smallest batch, up to _MOST_BATCH, that costs more than by another cost."""
        starts = sorted({1, *(start for cost in (self, other) for start, _ in cost.pieces)})
        for start, end in pairwise([*starts, _MOST_BATCH + 1]):
            above = self.of(start) - other.of(start)
            if above > _ROUNDING * other.of(start):
                return start
            further = self._each_at(start) - other._each_at(start)
            if further > 0 and (batch := start + int(max(-above, 0) / further) + 1) < end:
                return batch
        return None

    @property
    def least_each(self) -> float:
        """ns of an execution in the batches, however large, in which it is least."""
        largest = [self.each_ns, *(each for _, each in self.pieces)][-1]
        before = (self.of(start - 1) / (start - 1) for start, _ in self.pieces)
        return min(largest, *before) if self.pieces else largest

    def _each_at(self, execution: int) -> float:
        return [self.each_ns, *(each for start, each in self.pieces if start <= execution)][-1]


@dataclass(frozen=True)
class Node:
    """A block; rate_hz is a source's: executions a second, exactly."""

    name: str
    cost: Cost | None = None
    rate_hz: Fraction | None = None
    mean_cost: Cost | None = None
    block: Block | None = None


@dataclass(frozen=True)
class Edge:
    """Samples between nodes: produced, waited for and consumed by one execution."""

    start: str
    end: str
    produce: int = 1
    threshold: int = 1
    consume: int = 1

    def __str__(self) -> str:
        return f"{self.start} -> {self.end}"


@dataclass
class Graph:
    """A flowgraph. Built by `node` and `edge`, or read from YAML by `load`.

    Everything that asks for rates or bounds checks it first, and raises GraphError or, of a
    file, ConfigError with the lines at fault.
    """

    name: str = "flowgraph"
    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    quantile: float = 0.999
    demand: DemandSection = field(default_factory=DemandSection)
    file: str = ""  # that it was read from
    lines: dict[Key, int] = field(default_factory=dict)

    def node(
        self,
        name: str,
        cost: Cost | None = None,
        *,
        rate_hz: Fraction | float | str | None = None,
        mean_cost: Cost | None = None,
        block: Block | None = None,
    ) -> Graph:
        """Adds a node; a float's rate is taken as it is printed (0.1 is a tenth)."""
        rate = None if rate_hz is None else _rate(name, rate_hz)
        self.nodes.append(Node(name, cost, rate, mean_cost, block))
        return self

    def edge(
        self,
        start: str,
        end: str,
        produce: int | None = None,
        consume: int | None = None,
        threshold: int | None = None,
    ) -> Graph:
        """Adds an edge. What is not given is as the nodes' blocks have it; without blocks an
        execution makes and takes one sample, and waits for what it takes."""
        shapes: Shapes = self.__dict__.setdefault("_shapes", Shapes())
        shapes.follow(self.nodes)
        output, reads = shapes.output(start), shapes.next_input(end)
        if produce is None:
            produce = output[1] if output is not None else 1
        if threshold is None and consume is None and reads is not None:
            _, threshold, consume, _ = reads
        consume = 1 if consume is None else consume
        threshold = consume if threshold is None else threshold
        self.edges.append(Edge(start, end, produce, threshold, consume))
        return self

    def with_costs(self, costs: Mapping[str, Cost]) -> Graph:
        """The same graph with other costs, by nodes' names."""
        nodes = [replace(each, cost=costs.get(each.name, each.cost)) for each in self.nodes]
        return replace(self, nodes=nodes)

    def with_mean_costs(self) -> Graph | None:
        """The same graph with mean costs where they are known; nothing if none is."""
        if all(each.mean_cost is None for each in self.nodes):
            return None
        nodes = [replace(each, cost=each.mean_cost or each.cost) for each in self.nodes]
        return replace(self, nodes=nodes)

    @property
    def core(self) -> core.Flowgraph:
        """The checked graph in the engine; costs that are missing are zero in it."""
        known = self.__dict__.get("_core")
        if known is None or known[0] != self.nodes or known[1] != self.edges:
            self.check(with_costs=False)
            known = (list(self.nodes), list(self.edges), core.Flowgraph(*self._rows()))
            self.__dict__["_core"] = known
        engine: core.Flowgraph = known[2]
        return engine

    def check(self, *, with_costs: bool = True) -> None:
        """Raises GraphError, or of a file ConfigError, with everything that is wrong."""
        self.refuse(
            list(self._own_problems(with_costs=with_costs)) or list(self._engine_problems())
        )

    def refuse(self, found: list[tuple[Key, str]]) -> None:
        """Raises GraphError, or of a file ConfigError with lines, if there is a problem."""
        if not found:
            return
        if self.file:
            raise ConfigError([Problem(self.file, self.line(k), "", text) for k, text in found])
        raise GraphError("\n".join(text for _, text in found))

    def overloads(self, cores: int | None = None) -> list[Problem]:
        """Why no batches can do: nodes that need more than a core, or all of them more than there
        are. `cores`: instead of what the file demands."""
        found = self._overloads(cores if cores is not None else self.demand.cores)
        return [Problem(self.file or self.name, self.line(key), "", text) for key, text in found]

    def _overloads(self, cores: int) -> Iterator[tuple[Key, str]]:
        whole = 0.0
        for place, (node, rate) in enumerate(zip(self.nodes, self.rates_hz, strict=True)):
            own = 0.0 if node.cost is None else float(rate) * node.cost.least_each / 1e9
            whole += own
            if own > 1 + _ROUNDING:
                yield (
                    ("nodes", place),
                    f"node {node.name} needs {own:.2f} cores in batches of any size, "
                    "and a node runs on one at a time",
                )
        if whole > cores * (1 + _ROUNDING):
            yield (
                ("demand", "cores"),
                f"all nodes need {whole:.2f} cores in batches of any size, and there are {cores}",
            )

    def _own_problems(self, *, with_costs: bool) -> Iterator[tuple[Key, str]]:
        """Where names, costs and blocks are wrong."""
        yield from self._node_problems(with_costs=with_costs)
        names = {node.name for node in self.nodes if isinstance(node.name, str)}
        # Of two nodes with a name an edge may mean either, and one that it names may be misnamed.
        certain = len(names) == len(self.nodes)
        for place, edge in enumerate(self.edges):
            for end, name in (("from", edge.start), ("to", edge.end)):
                if certain and name not in names:
                    yield ("edges", place, end), f"edge {edge}: there is no node {name}"
            yield from (
                (("edges", place, key_name), text) for key_name, text in _wrong_counts(edge)
            )
        yield from block_problems(self, with_edges=certain)

    def _node_problems(self, *, with_costs: bool) -> Iterator[tuple[Key, str]]:
        known: set[str] = set()
        for place, node in enumerate(self.nodes):
            key: Key = ("nodes", place)
            if not isinstance(node.name, str) or not node.name or not node.name.isprintable():
                yield (
                    (*key, "name"),
                    f"node {node.name!r}: a name is of letters, digits and signs, in one line",
                )
                continue
            if node.name in known:
                yield (*key, "name"), f"node {node.name}: another one has that name"
            known.add(node.name)
            if with_costs and node.cost is None:
                yield (
                    key,
                    f"node {node.name}: has no cost; give it one, or measure blocks with "
                    "carillon flowgraph profile and name its costs by --costs",
                )
            yield from ((key, text) for text in _wrong_costs(node))
            if node.rate_hz is not None and not _is_rate(node.rate_hz):
                yield key, f"node {node.name}: its rate must be above 0 and a ratio of 64 bits"

    def _engine_problems(self) -> Iterator[tuple[Key, str]]:
        """Where rates are wrong, as the engine says."""
        for place, edge in enumerate(self.edges):
            if max(edge.produce, edge.threshold, edge.consume) > _MOST_64:
                yield ("edges", place), f"edge {edge}: a number has more than 64 bits"
                return
        for node, edge_place, message in core.flowgraph_problems(*self._rows()):
            key: Key = ()
            if edge_place is not None:
                key = ("edges", edge_place)
            elif node is not None:
                key = ("nodes", node)
                if "lies on a cycle" in message:
                    message += f": {self._cycle(self.nodes[node].name)}"
            yield key, message

    def _cycle(self, name: str) -> str:
        """A shortest one through a node that lies on one, as far as it can be read."""
        after: dict[str, list[str]] = {}
        for edge in self.edges:
            after.setdefault(edge.start, []).append(edge.end)
        before: dict[str, str] = {}
        reached = [name]
        for start in reached:
            for end in after.get(start, []):
                if end not in before:
                    before[end] = start
                    reached.append(end)
        path = [name, before[name]]
        while path[-1] != name:
            path.append(before[path[-1]])
        path.reverse()
        shown = path if len(path) <= _MOST_OF_CYCLE else [*path[:5], "…", *path[-5:]]
        return " -> ".join(shown)

    def _rows(self) -> tuple[list[_NodeRow], list[_EdgeRow]]:
        places = {node.name: place for place, node in enumerate(self.nodes)}
        nodes: list[_NodeRow] = []
        for node in self.nodes:
            cost = node.cost or Cost(0, 0)
            rate = node.rate_hz or Fraction(0)
            pieces = [(1, cost.each_ns), *cost.pieces]
            nodes.append((node.name, cost.initial_ns, pieces, rate.numerator, rate.denominator))
        edges = [
            (places[edge.start], places[edge.end], edge.produce, edge.threshold, edge.consume)
            for edge in self.edges
        ]
        return nodes, edges

    def line(self, key: Key) -> int:
        """Of a key in the file, or of the nearest section that holds it."""
        while key and key not in self.lines:
            key = key[:-1]
        return self.lines.get(key, 1)

    @property
    def rates_hz(self) -> list[Fraction]:
        """Executions a second of each node."""
        return [Fraction(*rate) for rate in self.core.rates()]


def _rate(name: str, value: Fraction | float | str) -> Fraction:
    wrong = f"node {name}: its rate is {value}, but must be above 0 and a ratio of 64 bits"
    try:
        text = str(value)
        # A power of ten with many digits is refused before it is worked out.
        if not isinstance(value, Fraction) and "/" not in text and not 0 < float(text) < 2e19:
            raise GraphError(wrong)
        rate = value if isinstance(value, Fraction) else Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise GraphError(f"node {name}: its rate is {value}, which is no number") from None
    if not _is_rate(rate):
        raise GraphError(wrong)
    return rate


def _is_rate(rate: object) -> bool:
    if not isinstance(rate, Fraction):
        return False
    return rate > 0 and max(rate.numerator, rate.denominator) <= _MOST_64


def _wrong_counts(edge: Edge) -> Iterator[tuple[str, str]]:
    for name in ("produce", "threshold", "consume"):
        value = getattr(edge, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            yield (
                name,
                f"edge {edge}: {name} is {value!r}, but must be a whole number, 0 or more",
            )


def _wrong_costs(node: Node) -> Iterator[str]:
    for cost in (node.cost, node.mean_cost):
        if cost is None:
            continue
        if not isinstance(cost, Cost) or not cost.is_numeric:
            yield f"node {node.name}: a cost is a Cost of numbers, and begins pieces at whole ones"
            continue
        values = (cost.initial_ns, cost.each_ns, *(each for _, each in cost.pieces))
        if any(not 0 <= value <= 1e15 for value in values):
            yield f"node {node.name}: a cost must be between 0 and 1e15 ns"
        starts = [1, *(start for start, _ in cost.pieces)]
        if any(a >= b for a, b in pairwise(starts)):
            yield f"node {node.name}: the pieces of its cost must begin at ascending executions"


def load(file: Path, settings: Iterable[str] = ()) -> Graph:
    """Reads a graph's YAML file; `settings`: NODE.PARAMETER=VALUE in place of what it says.

    ConfigError with lines, InputError of a setting. Costs may be missing.
    """
    given, lines = load_model(GraphFile, file, MOST_BYTES)
    for setting in settings:
        put(given, setting)
    graph = Graph(
        given.name or file.stem,
        quantile=given.quantile,
        demand=given.demand,
        file=str(file),
        lines=lines,
    )
    for node in given.nodes:
        graph.node(
            node.name,
            _cost(node.cost),
            rate_hz=node.rate_hz,
            mean_cost=_cost(node.mean_cost),
            block=None if node.block is None else _block(node.block),
        )
    for edge in given.edges:
        graph.edge(edge.from_, edge.to, edge.produce, edge.consume, edge.threshold)
    graph.check(with_costs=False)
    if wrong := list(_dear_means(graph)):
        raise ConfigError(wrong)
    return graph


def _dear_means(graph: Graph) -> Iterator[Problem]:
    """Means above the quantile, which no measurement has."""
    for place, node in enumerate(graph.nodes):
        if node.cost is None or node.mean_cost is None:
            continue
        batch = node.mean_cost.first_above(node.cost)
        if batch is not None:
            line = graph.line(("nodes", place, "mean_cost"))
            mean, quantile = (cost.of(batch) for cost in (node.mean_cost, node.cost))
            text = f"node {node.name}: a batch of {batch} takes {mean:.6g} ns by its mean_cost but "
            text += f"{quantile:.6g} ns by its cost; lower mean_cost, or raise cost"
            yield Problem(graph.file, line, "", text)


def _block(given: dict[str, Any]) -> Block:
    values = dict(given)
    return Block(str(values.pop("type", "without a type")), **values)


def _cost(section: CostSection | None) -> Cost | None:
    if section is None:
        return None
    pieces = tuple((piece.from_execution, piece.each_ns) for piece in section.pieces)
    return Cost(section.initial_us * 1000, section.each_ns, pieces)


def synthetic(
    seed: int,
    nodes: tuple[int, int],
    period_ns: tuple[int, int] = (10_000, 50_000),
    joins: float = 0.25,
    decimates: float = 0.25,
) -> Graph:
    """A graph drawn at random (engine/dataflow/synthetic.hpp)."""
    rows, edges = core.synthetic_flowgraph(seed, *nodes, *period_ns, joins, decimates)
    graph = Graph(f"synthetic-{seed}")
    for name, initial, pieces, numerator, denominator in rows:
        rate = Fraction(numerator, denominator) if numerator else None
        cost = Cost(initial, pieces[0][1], tuple(pieces[1:]))
        graph.node(name, cost, rate_hz=rate)
    names: Sequence[str] = [node.name for node in graph.nodes]
    for start, end, produce, threshold, consume in edges:
        graph.edge(names[start], names[end], produce, consume, threshold)
    return graph
