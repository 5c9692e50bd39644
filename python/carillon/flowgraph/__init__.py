"""Flowgraphs that can promise a latency: graphs, costs, batches, bounds and plans."""

from carillon.flowgraph.blocks import Block
from carillon.flowgraph.graph import Cost, Edge, Graph, GraphError, Node, load
from carillon.flowgraph.plan import Machine, Plan, front, plan

__all__ = [
    "Block",
    "Cost",
    "Edge",
    "Graph",
    "GraphError",
    "Machine",
    "Node",
    "Plan",
    "front",
    "load",
    "plan",
]
