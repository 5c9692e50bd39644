"""Costs of a graph's nodes in a file: what `carillon flowgraph profile` measured."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from carillon.config.units import Base, key
from carillon.errors import InputError
from carillon.flowgraph.graph import Cost, Graph, GraphError, Node
from carillon.inputs import read_json

_Start = Annotated[int, Field(ge=2, le=1_000_000_000)]
_Each = Annotated[float, Field(ge=0, le=1e15)]


class Measured(Base):
    """I + N·Δ, with changes of Δ in pieces: (from that execution on, ns each)."""

    initial_ns: float = key(..., "Of each batch.", "ns", ge=0, le=1e15)
    each_ns: float = key(..., "Of each execution.", "ns", ge=0, le=1e15)
    pieces: list[tuple[_Start, _Each]] = key([], "Where it changes.")

    def cost(self) -> Cost:
        """As a graph has it."""
        return Cost(self.initial_ns, self.each_ns, tuple(self.pieces))


class NodeCosts(Base):
    """Of a node."""

    cost: Measured = key(..., "Of the quantile.")
    mean_cost: Measured = key(..., "On an average.")
    block: dict[str, Any] | None = key(None, "What was measured: its type and parameters.")


class Costs(Base):
    """A file of costs."""

    machine: str = key(..., "Where they were measured.")
    quantile: float = key(..., "Of `cost`.", ge=0.5, le=1)
    nodes: dict[str, NodeCosts] = key(..., "By nodes' names.")


def _no_costs(why: str) -> str:
    return f"is no file of costs: {why}; carillon flowgraph profile writes one"


def _told(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    if not place:
        return _no_costs("must be a JSON object")
    if first["type"] == "missing":
        return _no_costs(f"has no {place}")
    return f"{place}: {first['msg'].lower()}"


def read_costs(file: Path, graph: Graph) -> Graph:
    """The graph with the costs of a file; InputError if it is none, or has no node of the graph."""
    try:
        costs = Costs.model_validate_json(json.dumps(read_json(file)))
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {(error.strerror or '').lower()}") from None
    except ValidationError as error:
        raise InputError(f"{file}: {_told(error)}") from None
    except ValueError as error:
        raise InputError(f"{file}: {_no_costs(str(error))}") from None
    if not any(node.name in costs.nodes for node in graph.nodes):
        raise InputError(f"{file}: has costs of none of the nodes of {graph.name}")
    for node in graph.nodes:
        _check_block(file, node, costs.nodes.get(node.name))
    nodes = [
        replace(
            node,
            cost=costs.nodes[node.name].cost.cost(),
            mean_cost=costs.nodes[node.name].mean_cost.cost(),
        )
        if node.name in costs.nodes
        else node
        for node in graph.nodes
    ]
    own = replace(graph, nodes=nodes, quantile=costs.quantile, file="", lines={})
    try:
        own.check(with_costs=False)
    except GraphError as error:
        raise InputError(f"{file}: {error}") from None
    return replace(own, file=graph.file, lines=graph.lines)


def _check_block(file: Path, node: Node, costs: NodeCosts | None) -> None:
    """InputError of costs of another block than the node's."""
    if costs is None or costs.block is None or node.block is None:
        return
    own, measured = node.block.work, costs.block
    for name in {**own, **measured}:
        if own.get(name) != measured.get(name):
            raise InputError(
                f"{file}: {node.name} was measured with another block or other parameters "
                f"({name}); measure this graph with carillon flowgraph profile"
            )
