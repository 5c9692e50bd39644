"""Costs of blocks in place: CPU time of their threads in windows of one batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carillon.flowgraph.graph import Cost, Graph
from carillon.flowgraph.grc.blocks import Flow

Run = Mapping[str, Any]  # what carillon.gnuradio.measure found
Values = NDArray[np.float64]

_EARLY = 0.1  # of a period: a window that is a little short still has its batch


def with_costs(flow: Flow, settings: Sequence[Run], runs: Sequence[Run], quantile: float) -> Graph:
    """The flowgraph's graph with costs of a quantile, or of the highest that windows show."""
    fewest = min(len(run["windows_ns"]) for run in runs)
    shown = min(quantile, max(0.5, 1 - 1 / max(1, fewest)))
    periods = [flow.periods_ns(setting) for setting in settings]
    graph = flow.graph()
    nodes = []
    for node in graph.nodes:
        items = flow.stages[node.name].items
        points: dict[int, tuple[float, float]] = {}
        for setting, period, run in zip(settings, periods, runs, strict=True):
            batch = setting["blocks"][node.name]["batch"] // items
            windows = _of_a_batch(period[node.name], run, node.name)
            high = float(np.quantile(windows, shown, method="higher"))
            mean = min(high, float(np.mean(windows)))
            points[batch] = max(points.get(batch, (0.0, 0.0)), (high, mean))
        sizes = sorted(points)
        cost, mean_cost = (
            through(sizes, [points[size][which] for size in sizes]) for which in (0, 1)
        )
        nodes.append(replace(node, cost=cost, mean_cost=mean_cost))
    return replace(graph, nodes=nodes, quantile=shown)


def _of_a_batch(period_ns: float, run: Run, name: str) -> Values:
    """CPU time of a batch in each window; of several that one surely has, on an average."""
    lengths = np.asarray(run["windows_ns"], dtype=float)
    batches = np.maximum(1, np.floor(lengths / period_ns + _EARLY))
    found: Values = np.asarray(run["used"][name]["windows_ns"]) / batches
    return found


def through(sizes: Sequence[int], ns: Sequence[float]) -> Cost:
    """Lines from size to size, never falling, and on from the last one as between the last two.

    Below the smallest size the first line goes on, or if that led below nothing, a batch costs the
    same. Of a single size, larger batches cost in proportion.
    """
    rising = np.maximum.accumulate(ns)
    slopes = np.diff(rising) / np.diff(sizes) if len(sizes) > 1 else rising / sizes[0]
    each = float(slopes[0])
    initial = float(rising[0] - each * sizes[0])
    if len(sizes) == 1 or initial < 0:
        initial, each = float(rising[0]), 0.0
    pieces = [(size + 1, float(slope)) for size, slope in zip(sizes, slopes, strict=False)]
    return Cost(initial, each, tuple(pieces))
