"""Flowgraphs that can promise a latency: graphs, costs, batches, bounds and plans."""

from carillon.flowgraph.graph import Cost, Edge, Graph, GraphError, Node, load
from carillon.flowgraph.plan import Machine, Plan, front, plan

__all__ = [
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
