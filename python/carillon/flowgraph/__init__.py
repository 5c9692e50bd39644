"""Flowgraphs that can promise a latency: graphs, costs, batches, bounds and plans."""

from carillon.flowgraph.blocks import Block, FunctionBlock, Input, load_plugin
from carillon.flowgraph.graph import Cost, Edge, Graph, GraphError, Node, load
from carillon.flowgraph.plan import Machine, Plan, front, plan
from carillon.flowgraph.running import Change, Running, RunResult

__all__ = [
    "Block",
    "Change",
    "Cost",
    "Edge",
    "FunctionBlock",
    "Graph",
    "GraphError",
    "Input",
    "Machine",
    "Node",
    "Plan",
    "RunResult",
    "Running",
    "front",
    "load",
    "load_plugin",
    "plan",
]
