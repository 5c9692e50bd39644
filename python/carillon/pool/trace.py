"""trace.json for Perfetto: a simulated pool's devices, with a track for each hardware queue."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from carillon import core
from carillon.pool.study import Described, simulate

Event = dict[str, Any]


def write(file: Path, described: Described) -> int:
    """Runs the frames that the study asks for, writes their tasks, returns how many."""
    study = described.study
    frames = min(study.trace.frames, study.frames)
    run = simulate(described, study.trace.policy, study.seeds[0], frames=frames, keep=True)
    graphs = [
        core.pool_graph(one.plan, profile=study.profile, zero_force_parts=study.zero_force_parts)
        for one in described.served
        for _ in range(one.count)
    ]
    reasons = core.reasons()
    tasks = [_task(execution, graphs, reasons) for execution in run["executions"]]
    tree = {
        "displayTimeUnit": "ms",
        "otherData": {
            "simulated": True,
            "about": "virtual time on simulated devices; kernel times are assumed",
            "profile": study.profile,
            "policy": study.trace.policy,
        },
        "traceEvents": [*_names(described, tasks), *sorted(tasks, key=lambda task: task["ts"])],
    }
    file.write_text(
        json.dumps(tree, separators=(",", ":"), ensure_ascii=False) + "\n", encoding="utf-8"
    )
    return len(tasks)


def _task(
    execution: tuple[Any, ...], graphs: Sequence[list[dict[str, Any]]], reasons: Sequence[str]
) -> Event:
    cell, frame, instruction, device, queue, start, end, placed, why = execution
    what = graphs[cell][instruction]
    return {
        "ph": "X",
        "cat": "transfer" if what["ctas"] == 0 else "kernel",
        "name": what["opcode"],
        "pid": device + 1,
        "tid": queue + 1,
        "ts": 1e3 * start,
        "dur": 1e3 * (end - start),
        "args": {
            "cell": cell,
            "frame": frame,
            "symbol": what["symbol"],
            "instruction": instruction,
            "ctas": what["ctas"],
            "sms": what["sms"],
            "placed": reasons[placed],
            "issued": reasons[why],
        },
    }


def _names(described: Described, tasks: Sequence[Event]) -> Iterator[Event]:
    policy = described.study.trace.policy
    for number, name in enumerate(described.names()):
        yield _meta("process_name", number + 1, 0, f"{name}, simulated, {policy}")
    for device, queue in sorted({(task["pid"], task["tid"]) for task in tasks}):
        yield _meta("thread_name", device, queue, f"queue {queue - 1}")


def _meta(kind: str, device: int, queue: int, name: str) -> Event:
    return {"ph": "M", "name": kind, "pid": device, "tid": queue, "args": {"name": name}}
