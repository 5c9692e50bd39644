"""trace.json for Perfetto (ui.perfetto.dev) and chrome://tracing: tasks, packets, deadlines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from carillon.runfolder import RunFolder
from carillon.telemetry import PACKET_EVENT, Records, Telemetry, thread_name

Event = dict[str, Any]

_CORES, _AIR = 1, 2  # "processes": tracks are grouped under them
_FRAMES, _PACKETS = 1, 2  # tracks of the air


def write(file: Path, folder: RunFolder, telemetry: Telemetry) -> int:
    """Writes the last frames' events; returns how many."""
    events = list(_events(folder, telemetry))
    tree = {"displayTimeUnit": "ms", "traceEvents": events}
    file.write_text(json.dumps(tree, separators=(",", ":")), encoding="utf-8")
    return len(events)


def _events(folder: RunFolder, telemetry: Telemetry) -> Iterator[Event]:
    tasks = telemetry.read("tasks")
    if len(tasks) == 0:
        return
    origin = int(tasks["start"].min())
    first = int(tasks["frame"].min())
    frames = telemetry.read("frames")
    frames = frames[frames["air_start"] + int(folder.derived["frame_ms"] * 1e6) >= origin]
    yield from _names(telemetry)
    for task in tasks:
        packet = int(task["opcode"]) == PACKET_EVENT
        yield _packet(task, origin) if packet else _task(task, origin, telemetry.opcodes)
    for frame in frames[frames["frame"] >= first]:
        yield from _frame(frame, origin, folder)
    for gap in telemetry.read("gaps"):
        if int(gap["start"]) >= origin:
            yield _gap(gap, origin)


def _names(telemetry: Telemetry) -> Iterator[Event]:
    yield _meta("process_name", _CORES, 0, "cores")
    yield _meta("process_name", _AIR, 0, "air")
    yield _meta("thread_name", _AIR, _FRAMES, "frames and deadlines")
    yield _meta("thread_name", _AIR, _PACKETS, "last packet of each symbol")
    for index, record in enumerate(telemetry.read("threads")):
        name = f"core {int(record['core'])}: {thread_name(telemetry.threads, index)}"
        yield _meta("thread_name", _CORES, index, name)


def _meta(kind: str, pid: int, tid: int, name: str) -> Event:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}


def _us(instant: Any, origin: int) -> float:
    return (int(instant) - origin) / 1e3


def _task(task: Records, origin: int, opcodes: list[str]) -> Event:
    opcode = int(task["opcode"])
    return {
        "ph": "X",
        "cat": "task",
        "name": opcodes[opcode] if opcode < len(opcodes) else f"opcode {opcode}",
        "pid": _CORES,
        "tid": int(task["thread"]),
        "ts": _us(task["start"], origin),
        "dur": (int(task["end"]) - int(task["start"])) / 1e3,
        "args": {name: int(task[name]) for name in ("frame", "step", "first", "count")},
    }


def _packet(task: Records, origin: int) -> Event:
    return {
        "ph": "i",
        "s": "t",
        "cat": "packet",
        "name": f"symbol {int(task['step'])}",
        "pid": _AIR,
        "tid": _PACKETS,
        "ts": _us(task["start"], origin),
        "args": {"frame": int(task["frame"]), "packets": int(task["count"])},
    }


def _frame(frame: Records, origin: int, folder: RunFolder) -> Iterator[Event]:
    number, air = int(frame["frame"]), int(frame["air_start"])
    length = folder.derived["frame_ms"]
    yield {
        "ph": "X",
        "cat": "frame",
        "name": f"frame {number}",
        "pid": _AIR,
        "tid": _FRAMES,
        "ts": _us(air, origin),
        "dur": length * 1e3,
        "args": {"completed": bool(frame["completed"]), "nack": bool(frame["nack"])},
    }
    deadlines = {
        kind: [s["deadline_ms"] for s in folder.derived["symbols"] if s["kind"] == kind]
        for kind in "UD"
    }
    for name, at in (
        ("uplink deadline", max(deadlines["U"], default=None)),
        ("downlink deadline", min(deadlines["D"], default=None)),
    ):
        if at is not None:
            yield {
                "ph": "i",
                "s": "p",
                "cat": "deadline",
                "name": f"{name} of frame {number}",
                "pid": _AIR,
                "tid": _FRAMES,
                "ts": _us(air + int(at * 1e6), origin),
            }


def _gap(gap: Records, origin: int) -> Event:
    return {
        "ph": "X",
        "cat": "gap",
        "name": "did not run",
        "pid": _CORES,
        "tid": int(gap["thread"]),
        "ts": _us(gap["start"], origin),
        "dur": int(gap["length"]) / 1e3,
    }
