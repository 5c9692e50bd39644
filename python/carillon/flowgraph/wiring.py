"""Whether the blocks of a graph fit its edges, and each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from carillon import core
from carillon.config.fields import Path as Key
from carillon.flowgraph.blocks import Block

if TYPE_CHECKING:
    from carillon.flowgraph.graph import Edge, Graph, Node

Input = tuple[str, int, int, int]  # real or complex; threshold, consume, history
Output = tuple[str, int]  # real or complex; produce


class Shapes:
    """Inputs and outputs of the blocks of nodes, as nodes are added."""

    def __init__(self) -> None:
        self._nodes = 0
        self._shapes: dict[str, core.Block] = {}
        self._inputs: dict[str, int] = {}

    def follow(self, nodes: list[Node]) -> None:
        """Takes in the nodes that are new."""
        for node in nodes[self._nodes :]:
            if node.block is not None and (shape := shape_of(node.block)) is not None:
                self._shapes[node.name] = shape
        self._nodes = len(nodes)

    def output(self, name: str) -> Output | None:
        """Of a node's block; nothing if it has none."""
        shape = self._shapes.get(name)
        return None if shape is None else shape.output

    def next_input(self, name: str) -> Input | None:
        """The input of a node's block that its next edge is for."""
        shape = self._shapes.get(name)
        if shape is None:
            return None
        place = self._inputs.get(name, 0)
        self._inputs[name] = place + 1
        inputs = shape.inputs
        return inputs[place] if place < len(inputs) else None


def shape_of(block: Block) -> core.Block | None:
    """Nothing where it is wrong."""
    try:
        return block.shape
    except (ValueError, RuntimeError):
        return None


def block_problems(graph: Graph, *, with_edges: bool = True) -> Iterator[tuple[Key, str]]:
    """Blocks that cannot be, and edges that say otherwise than the blocks at their ends."""
    shapes: dict[str, core.Block] = {}
    for place, node in enumerate(graph.nodes):
        if node.block is None:
            continue
        try:
            shapes[node.name] = node.block.shape
        except (ValueError, RuntimeError) as error:
            yield ("nodes", place, "block"), f"node {node.name}: {node.block.type}: {error}"
    if not shapes or not with_edges:
        return
    incoming: dict[str, int] = {}
    for place, edge in enumerate(graph.edges):
        own = incoming[edge.end] = incoming.get(edge.end, 0) + 1
        for text in _edge_problems(edge, shapes, own - 1):
            yield ("edges", place), f"edge {edge}: {text}"


def _edge_problems(edge: Edge, shapes: dict[str, core.Block], place: int) -> Iterator[str]:
    start, end = shapes.get(edge.start), shapes.get(edge.end)
    output = None if start is None else start.output
    if start is not None and output is None:
        yield f"{edge.start} is a sink, which makes nothing"
    elif output is not None and output[1] != edge.produce:
        yield f"produces {edge.produce}, but the block of node {edge.start} makes {output[1]}"
    if end is None:
        return
    if place >= len(end.inputs):
        inputs = {0: "no input", 1: "one input"}.get(len(end.inputs), f"{len(end.inputs)} inputs")
        yield f"the block of node {edge.end} has {inputs}"
        return
    kind, threshold, consume, _ = end.inputs[place]
    if edge.consume != consume:
        yield f"consumes {edge.consume}, but the block of node {edge.end} takes {consume}"
    elif edge.threshold != threshold:
        yield f"waits for {edge.threshold}, but the block of node {edge.end} for {threshold}"
    if output is not None and output[0] != kind:
        yield f"{edge.start} makes {output[0]} samples, and {edge.end} reads {kind} ones"


def rate_of(shape: core.Block, executions_hz: float) -> float:
    """Samples a second that a block reads, or that a source makes."""
    inputs, output = shape.inputs, shape.output
    return executions_hz * (inputs[0][2] if inputs else output[1] if output else 1)


def check_filters(graph: Graph) -> None:
    """That filters of bands can be designed; raises as Graph.check() does."""
    found: list[tuple[Key, str]] = []
    for place, (node, rate) in enumerate(zip(graph.nodes, graph.rates_hz, strict=True)):
        if node.block is None or not isinstance(node.block.values.get("taps"), Mapping):
            continue
        try:
            node.block.made(rate_of(node.block.shape, float(rate)))
        except (ValueError, RuntimeError) as error:
            found.append((("nodes", place), f"node {node.name}: {node.block.type}: {error}"))
    graph.refuse(found)


def built(graph: Graph) -> list[core.Block]:
    """The blocks of a graph that is to run, with its rates; raises as Graph.check() does."""
    graph.check(with_costs=False)
    reads = {edge.start for edge in graph.edges}
    found: list[tuple[Key, str]] = []
    blocks = []
    for place, (node, rate) in enumerate(zip(graph.nodes, graph.rates_hz, strict=True)):
        try:
            blocks.append(_built(node, float(rate), graph, node.name in reads))
        except (ValueError, RuntimeError) as error:
            found.append((("nodes", place), f"node {node.name}: {error}"))
    graph.refuse(found)
    return blocks


def _built(node: Node, executions_hz: float, graph: Graph, is_read: bool) -> core.Block:
    if node.block is None:
        raise ValueError("has no block, so that it cannot run")
    shape = node.block.shape
    edges = sum(edge.end == node.name for edge in graph.edges)
    if edges < len(shape.inputs):
        text = f"{node.block.type} reads {len(shape.inputs)} inputs, "
        raise ValueError(text + f"and {edges or 'no'} edges bring any")
    if shape.output is not None and not is_read:
        text = f"nothing reads what {node.block.type} makes; "
        raise ValueError(text + "end with a sink, such as null-sink")
    try:
        return node.block.made(rate_of(shape, executions_hz))
    except (ValueError, RuntimeError) as error:
        raise ValueError(f"{node.block.type}: {error}") from None
