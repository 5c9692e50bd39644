"""Flowgraphs that can promise a latency: graphs, costs, batches, bounds and plans."""

from carillon.flowgraph.graph import Cost, Edge, Graph, GraphError, Node, load
from carillon.flowgraph.plan import Front, Machine, Plan, front, plan

__all__ = [
    "Cost",
    "Edge",
    "Front",
    "Graph",
    "GraphError",
    "Machine",
    "Node",
    "Plan",
    "front",
    "load",
    "plan",
]
