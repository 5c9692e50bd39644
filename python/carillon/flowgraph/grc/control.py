"""Plans a flowgraph of GNU Radio: measured as it is and in batches, planned, measured again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from carillon.errors import InputError
from carillon.flowgraph.grc import batches, runs
from carillon.flowgraph.grc.batches import Scheduling
from carillon.flowgraph.grc.blocks import Flow, flow_of
from carillon.flowgraph.grc.costs import with_costs
from carillon.flowgraph.grc.latency import Seen, seen
from carillon.flowgraph.plan import Machine, Plan, plan

QUANTILE = 0.99  # of costs
STEPS = 3 + batches.SIZES


@dataclass(frozen=True)
class Asked:
    """What a flowgraph is to keep."""

    latency_ns: float
    machine: Machine
    seconds: float  # of each measurement
    scheduling: Scheduling
    rates_hz: Mapping[str, Fraction]


@dataclass(frozen=True)
class Controlled:
    """A flowgraph before and after."""

    flow: Flow
    plan: Plan
    settings: dict[str, Any]
    before: Seen
    after: Seen


def control(
    name: str,
    program: Path,
    asked: Asked,
    step: Callable[[], None],
    stopped: Callable[[], bool],
) -> Controlled:
    """`step` is called after each measurement (at most STEPS). Raises as runs.run, flow_of, plan
    and watched do."""

    def run(seconds: float, **more: Any) -> dict[str, Any]:
        found = runs.run(program, {"seconds": seconds, **more}, stopped)
        step()
        return found

    flow = flow_of(name, run(0.0, warm_up=0.0), asked.rates_hz)

    def watch(**more: Any) -> dict[str, Any]:
        def once(seconds: float, **own: Any) -> dict[str, Any]:
            return runs.run(program, {"seconds": seconds, **own, **more}, stopped)

        found = watched(flow, asked.seconds, once)
        step()
        return found

    before = watch()
    sizes = batches.to_measure(flow, asked.latency_ns, asked.machine.cores, asked.scheduling)
    measured = [run(asked.seconds, settings=each, **windows(flow, each)) for each in sizes]
    own = planned(flow, sizes, measured, asked)
    settings = batches.of_plan(flow, own, asked.scheduling)
    after = watch(settings=settings)
    return Controlled(
        flow, own, settings, seen(flow, before, own.bound_ns), seen(flow, after, own.bound_ns)
    )


def watched(
    flow: Flow, seconds: float, run: Callable[..., dict[str, Any]], most: int = 6
) -> dict[str, Any]:
    """A run of so many seconds in which something left the flowgraph, or of twice as many, and so
    on: on a machine that is busy otherwise nothing may get through for a while. InputError: nothing
    did."""
    for tried in range(most):
        found = run(seconds * 2**tried, probes=flow.probes())
        if len(seen(flow, found).latencies_ns):
            return found
    raise InputError(
        f"{flow.name}: nothing left it in {seconds * 2**tried:g} s; does this machine keep up?"
    )


def windows(flow: Flow, settings: Mapping[str, Any]) -> dict[str, Any]:
    """As long as the longest period of a batch, from the middle between two of what paces."""
    return {
        "window_ns": round(max(flow.periods_ns(settings).values())),
        "pace": next(iter(flow.rates_hz)),
    }


def planned(
    flow: Flow, sizes: list[dict[str, Any]], measured: list[dict[str, Any]], asked: Asked
) -> Plan:
    """From what batches of each size cost; those with which the flowgraph kept up."""
    kept = [
        (size, found)
        for size, found in zip(sizes, measured, strict=True)
        if flow.keeps_up(size, found)
    ]
    if not kept:
        raise InputError(
            f"{flow.name}: does not keep up with its source on this machine, in whatever batches"
        )
    flow.require_steady(*kept[0])
    graph = with_costs(flow, [size for size, _ in kept], [found for _, found in kept], QUANTILE)
    return plan(graph, asked.machine, asked.latency_ns)
