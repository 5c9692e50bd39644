"""A flowgraph runs for some seconds: what its blocks use, and when samples come and go."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from carillon.gnuradio import batches, threads
from carillon.gnuradio.flow import Flow, FlowError
from carillon.gnuradio.probe import Probe

_WARM_UP_S = 0.5
_BATCH_S = 10.0
_LEAST_WINDOWS = 2
_LOOK_S = 50e-6
_Probes = dict[str, Probe]


@dataclass(frozen=True)
class Request:
    """What to measure."""

    seconds: float
    warm_up: float = _WARM_UP_S
    window_ns: int | None = None  # CPU time is noted so often,
    pace: str = ""  # in the middle between two batches of this block
    probes: Mapping[str, tuple[str, int]] = field(default_factory=dict)  # label: block, output
    settings: Mapping[str, Any] | None = None  # GNU Radio's own if none


def measure(flow: Flow, request: Request, *, leave_running: bool = False) -> dict[str, Any]:
    """Starts a flowgraph that stands still, measures it, and stops it unless told to leave it."""
    about = flow.describe()
    if request.settings is not None:
        batches.apply(request.settings, flow)
    probes = _connected(flow, request.probes)
    flow.start()
    try:
        links = flow.links([probe.symbol_name() for probe in probes.values()])
        found = threads.find(flow.blocks)
        if request.settings is not None:
            batches.schedule(request.settings, flow, found)
        time.sleep(request.warm_up)
        used = _used(flow, found, request)
    finally:
        if not leave_running:
            flow.stop()
            _disconnected(flow, request.probes, probes)
    return {"blocks": about, "links": list(map(vars, links)), "probes": _noted(probes), **used}


def _connected(flow: Flow, asked: Mapping[str, tuple[str, int]]) -> _Probes:
    probes = {}
    for label, (name, port) in asked.items():
        block = flow.blocks[name]
        probes[label] = Probe(block.output_signature().sizeof_stream_item(port))
        flow.top.connect((block, port), probes[label])
    return probes


def _disconnected(flow: Flow, asked: Mapping[str, tuple[str, int]], probes: _Probes) -> None:
    for label, (name, port) in asked.items():
        flow.top.disconnect((flow.blocks[name], port), probes[label])


def _noted(probes: _Probes) -> dict[str, Any]:
    return {
        label: {"times_ns": list(probe.times_ns), "counts": list(probe.counts)}
        for label, probe in probes.items()
    }


@dataclass(frozen=True)
class _Sight:
    """Counters at a moment."""

    at_ns: int
    cpu_ns: dict[str, int]
    wake_ups: dict[str, int]
    items: dict[str, int]

    @staticmethod
    def of(flow: Flow, found: Mapping[str, int]) -> _Sight:
        return _Sight(
            time.monotonic_ns(),
            {name: threads.cpu_ns(thread) for name, thread in found.items()},
            {name: threads.wake_ups(thread) for name, thread in found.items()},
            {name: _items(block) for name, block in flow.blocks.items()},
        )


def _used(flow: Flow, found: Mapping[str, int], request: Request) -> dict[str, Any]:
    before = _Sight.of(flow, found)
    windows = _windows(flow, found, request)
    after = _Sight.of(flow, found)
    return {
        "from_ns": before.at_ns,
        "to_ns": after.at_ns,
        "windows_ns": windows.get("", []),
        "used": {
            name: {
                "cpu_ns": after.cpu_ns[name] - before.cpu_ns[name],
                "wake_ups": after.wake_ups[name] - before.wake_ups[name],
                "items": after.items[name] - before.items[name],
                "windows_ns": windows.get(name, []),
                "policy": os.sched_getscheduler(found[name]),
                **_counted(block),
            }
            for name, block in flow.blocks.items()
        },
    }


def _windows(flow: Flow, found: Mapping[str, int], request: Request) -> dict[str, list[int]]:
    """CPU time of each thread in windows, one behind the other, and under "" how long each was:
    who looks may be late."""
    if request.window_ns is None:
        time.sleep(request.seconds)
        return {}
    sights: list[list[int]] = []
    with threads.watching():
        due = _next_batch(flow.blocks[request.pace]) + request.window_ns // 2
        end = due + max(int(request.seconds * 1e9), _LEAST_WINDOWS * request.window_ns)
        while due <= end:
            time.sleep(max(0, due - time.monotonic_ns()) / 1e9)
            now = time.monotonic_ns()
            sights.append([now, *map(threads.cpu_ns, found.values())])
            due += max(1, -((due - now) // request.window_ns)) * request.window_ns
    differences = [
        [after - before for before, after in zip(*each, strict=True)] for each in pairwise(sights)
    ]
    return dict(zip(("", *found), map(list, zip(*differences, strict=True)), strict=True))


def _next_batch(block: Any) -> int:
    """When a block has written a batch."""
    before, end = _items(block), time.monotonic() + _BATCH_S
    while _items(block) == before:
        if time.monotonic() > end:
            raise FlowError(f"block {block.symbol_name()} writes nothing")
        time.sleep(_LOOK_S)
    return time.monotonic_ns()


def _items(block: Any) -> int:
    """Written; of a sink, read."""
    detail = block.detail()
    count: int = detail.nitems_written(0) if detail.noutputs() else detail.nitems_read(0)
    return count


def _counted(block: Any) -> dict[str, float]:
    """GNU Radio's own counters, if they are on: calls since the start, and items of one."""
    average, total = block.pc_work_time_avg(), block.pc_work_time_total()
    return {
        "calls": total / average if average else 0.0,
        "call_items": block.pc_noutput_items_avg(),
        "call_ns": average,
    }
