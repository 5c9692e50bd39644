"""trace.json for Perfetto: a simulated pool's devices, with a track for each hardware queue."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from carillon import core, files
from carillon.pool.study import Described, simulate

Event = dict[str, Any]

_TRACKS = 1000  # of a device, before those of tasks that overlap


def write(file: Path, described: Described) -> int:
    """Runs the frames that the study asks for, writes their tasks, returns how many."""
    study = described.study
    frames = min(study.trace.frames, study.frames)
    run = simulate(
        described,
        study.traced(),
        study.seeds[0],
        progress=lambda ended: True,  # Python hears Ctrl-C whenever it is asked
        frames=frames,
        keep=True,
    )
    graphs = [
        described.graph(one, zero_force_parts=study.zero_force_parts)
        for one in described.served
        for _ in range(one.count)
    ]
    reasons = core.reasons()
    tasks = [_task(execution, graphs, reasons) for execution in run["executions"]]
    tasks.sort(key=lambda task: task["ts"])
    _set_apart(tasks)
    tree = {
        "displayTimeUnit": "ms",
        "otherData": {
            "simulated": True,
            "about": described.about,
            "profile": study.profile,
            "policy": study.traced(),
        },
        "traceEvents": [*_names(described, tasks), *map(_join, run["joins"]), *tasks],
    }
    text = json.dumps(tree, separators=(",", ":"), ensure_ascii=False) + "\n"
    with files.whole(file) as partial:
        partial.write_text(text, encoding="utf-8")
    return len(tasks)


def _set_apart(tasks: Sequence[Event]) -> None:
    """Gives tasks of one queue that overlap tracks of their own: its transfers, and kernels of
    streams of their own. In order of their beginnings."""
    ends: dict[tuple[int, int], list[float]] = {}
    for task in tasks:
        tracks = ends.setdefault((task["pid"], task["tid"]), [])
        free = (n for n, end in enumerate(tracks) if end <= task["ts"])
        track = next(free, len(tracks))
        tracks[track : track + 1] = [task["ts"] + task["dur"]]
        task["tid"] += track * _TRACKS


def _task(
    execution: tuple[Any, ...], graphs: Sequence[list[dict[str, Any]]], reasons: Sequence[str]
) -> Event:
    cell, frame, instruction, device, queue, start, end, placed, why, expected = execution
    what = graphs[cell][instruction]
    forecast = {} if expected is None else {"expected_end": 1e3 * expected}
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
            **forecast,
        },
    }


def _join(join: tuple[float, int, int, int]) -> Event:
    at, _, device, unit = join
    name = f"joins from reserve, for unit {unit}"
    return {"ph": "i", "s": "p", "name": name, "pid": device + 1, "tid": 0, "ts": 1e3 * at}


def _names(described: Described, tasks: Sequence[Event]) -> Iterator[Event]:
    policy = described.study.traced()
    for number, name in enumerate(described.names()):
        yield _meta("process_name", number + 1, 0, f"{name}, simulated, {policy}")
    for device, queue in sorted({(task["pid"], task["tid"]) for task in tasks}):
        again, first = divmod(queue, _TRACKS)
        name = f"queue {first - 1}" + (f" ({again + 1})" if again else "")
        yield _meta("thread_name", device, queue, name)


def _meta(kind: str, device: int, queue: int, name: str) -> Event:
    return {"ph": "M", "name": kind, "pid": device, "tid": queue, "args": {"name": name}}
