"""Batches of blocks, as settings for carillon.gnuradio."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

from carillon.errors import InputError
from carillon.flowgraph.grc.blocks import Flow
from carillon.flowgraph.plan import Plan

Scheduling = Literal["other", "fifo", "deadline"]
SIZES = 5  # of batches that are measured
_LEAST_S = 250e-6  # between batches: below, threads do little but wake each other
_LEAST_PRIORITY, _MOST_PRIORITY = 10, 80
_ADMITTED = 0.75  # of all cores, of the 95 % that the kernel gives to deadlines of all programs
_OF_A_PERIOD = 0.9
_PERIODS_NS = (100_000, 4_000_000_000)  # that the kernel takes


def to_measure(
    flow: Flow, latency_ns: float, cores: int, scheduling: Scheduling
) -> list[dict[str, Any]]:
    """Settings from batches that fill the latency down to 1/16 of it.

    Where threads will have deadlines they have priorities here: a deadline needs a cost, and other
    programs disturb it no more than a priority.
    """
    rates = flow.graph().rates_hz
    times = [max(_LEAST_S, latency_ns / 1e9 / 2**each) for each in range(SIZES)]
    batches = {tuple(_lasting(Fraction(time), rates)): None for time in times}
    found = [_of(flow, cores, each) for each in batches]
    if scheduling != "other":
        periods = dict.fromkeys(flow.stages, 0.0)  # alike: each execution's samples come together
        for settings in found:
            _add(settings, "fifo", _priorities(flow, periods))
    return found


def _lasting(seconds: Fraction, rates_hz: Sequence[Fraction]) -> list[int]:
    """Executions of each stage in so long; so that all end together, where that is soon enough."""
    together = Fraction(
        math.lcm(*(rate.denominator for rate in rates_hz)),
        math.gcd(*(rate.numerator for rate in rates_hz)),
    )
    if seconds >= together:
        seconds = seconds // together * together
    return [max(1, round(seconds * rate)) for rate in rates_hz]


def of_plan(flow: Flow, own: Plan, scheduling: Scheduling) -> dict[str, Any]:
    """Settings that keep a plan."""
    settings = _of(flow, own.machine.cores, own.batches, own.buffers)
    if scheduling == "fifo":
        periods = {node.name: node.period_ns for node in own.nodes}
        _add(settings, scheduling, _priorities(flow, periods))
    elif scheduling == "deadline":
        _add(settings, scheduling, _deadlines(own))
    return settings | {
        "flowgraph": flow.name,
        "bound_ns": own.bound_ns,
    }


def _of(
    flow: Flow, cores: int, batches: Sequence[int], buffers: Sequence[int] | None = None
) -> dict[str, Any]:
    """Items of each block's batch, and of the buffer behind it.

    A buffer holds what the plan's edges do, and twice the larger of the writer's batch and what a
    reader has to see at once, since GNU Radio wakes nobody for less.
    """
    items = {
        name: batch * stage.items
        for batch, (name, stage) in zip(batches, flow.stages.items(), strict=True)
    }
    held = dict.fromkeys(flow.stages, 0)
    if buffers is not None:
        for edge, count in zip(flow.graph().edges, buffers, strict=True):
            held[edge.start] = max(held[edge.start], count)
    seen = dict.fromkeys(flow.stages, 0)
    for link in flow.links:
        reader = flow.stages[link.reader]
        at_once = items[link.reader] // reader.items * reader.takes + reader.block.history
        seen[link.writer] = max(seen[link.writer], at_once)
    return {
        "cores": cores,
        "scheduling": "other",
        "blocks": {
            name: {
                "batch": batch,
                "buffer": _rounded_up(held[name] + 2 * max(batch, seen[name]), batch),
                "outputs": flow.stages[name].outputs,
            }
            for name, batch in items.items()
        },
    }


def _rounded_up(items: int, multiple: int) -> int:
    return -(-items // multiple) * multiple


def _add(
    settings: dict[str, Any], scheduling: Scheduling, more: Mapping[str, Mapping[str, int]]
) -> None:
    settings["scheduling"] = scheduling
    for name, own in more.items():
        settings["blocks"][name] |= own


def _priorities(flow: Flow, periods_ns: Mapping[str, float]) -> dict[str, dict[str, int]]:
    """What paces comes first, then shorter periods; of equal ones what is nearer to the sink."""
    nearest = {name: place for place, name in enumerate(reversed(flow.stages))}
    ranked = sorted(
        flow.stages, key=lambda name: (name not in flow.rates_hz, periods_ns[name], nearest[name])
    )
    span = _MOST_PRIORITY - _LEAST_PRIORITY
    return {
        name: {"priority": _MOST_PRIORITY - rank * span // max(span, len(ranked))}
        for rank, name in enumerate(ranked)
    }


def _deadlines(own: Plan) -> dict[str, dict[str, int]]:
    """Periods of the plan, and as much time in each as the kernel admits, in proportion to costs.

    A budget that a standstill uses up costs a whole period.
    """
    room = _ADMITTED * (os.cpu_count() or 1)
    found = {}
    for node in own.nodes:
        period = math.floor(node.period_ns)
        if not _PERIODS_NS[0] <= period <= _PERIODS_NS[1]:
            raise InputError(
                f"{own.graph.name}: block {node.name} would run every {period / 1e3:.4g} µs, and "
                "the kernel's deadlines have periods from 100 µs to 4 s; use --scheduling fifo"
            )
        share = min(_OF_A_PERIOD, room * node.utilization / own.utilization)
        found[node.name] = {"period_ns": period, "runtime_ns": max(1024, int(share * period))}
    return found
