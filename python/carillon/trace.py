"""trace.json for Perfetto (ui.perfetto.dev) and chrome://tracing: tasks, packets, deadlines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from carillon.files import write_text
from carillon.runfolder import RunFolder
from carillon.telemetry import PACKET_EVENT, Records, Telemetry, cause_name, thread_name

Event = dict[str, Any]

_CORES, _AIR, _GAPS = 1, 2, 3  # "processes": tracks are grouped under them
_FRAMES, _PACKETS = 1, 2  # tracks of the air


def write(file: Path, folder: RunFolder, telemetry: Telemetry) -> int:
    """Writes the last frames' events; returns how many."""
    events = sorted(_events(folder, telemetry), key=lambda event: event.get("ts", -1.0))
    tree = {"displayTimeUnit": "ms", "traceEvents": events}
    write_text(file, json.dumps(tree, separators=(",", ":"), ensure_ascii=False))
    return len(events)


def _events(folder: RunFolder, telemetry: Telemetry) -> Iterator[Event]:
    tasks = telemetry.read("tasks")
    if len(tasks) == 0:
        return
    begin = int(tasks["start"].min())
    frames, gaps = telemetry.read("frames"), telemetry.read("gaps")
    frames = frames[frames["frame"] >= tasks["frame"].min()]
    frames = frames[frames["air_start"] + int(folder.derived["frame_ms"] * 1e6) >= begin]
    gaps = gaps[gaps["start"] + gaps["length"] >= begin]
    origin = min([begin, *frames["air_start"].tolist(), *gaps["start"].tolist()])
    yield from _names(telemetry)
    for task in tasks:
        packet = int(task["opcode"]) == PACKET_EVENT
        yield _packet(task, origin) if packet else _task(task, origin, telemetry.opcodes)
    frames = np.sort(frames, order="air_start")
    ends = frames["air_start"] + round(folder.derived["frame_ms"] * 1e6)
    # The clock follows the radio's: a frame may begin some ns before the last one's length is over.
    ends[:-1] = np.minimum(ends[:-1], frames["air_start"][1:])
    for frame, end in zip(frames, ends, strict=True):
        yield from _frame(frame, int(end), origin, folder)
    for gap in gaps:
        yield _gap(gap, origin)


def _names(telemetry: Telemetry) -> Iterator[Event]:
    yield _meta("process_name", _CORES, 0, "cores")
    yield _meta("process_name", _AIR, 0, "air")
    yield _meta("process_name", _GAPS, 0, "gaps: did not run")
    yield _meta("thread_name", _AIR, _FRAMES, "frames and deadlines")
    yield _meta("thread_name", _AIR, _PACKETS, "last packet of each symbol")
    for index, record in enumerate(telemetry.read("threads")):
        name = f"core {int(record['core'])}: {thread_name(telemetry.threads, index)}"
        for process in (_CORES, _GAPS):
            yield _meta("thread_name", process, _track(index), name)


def _meta(kind: str, pid: int, tid: int, name: str) -> Event:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}


def _track(thread: int) -> int:
    return thread + 1  # 0 is the idle thread to trace viewers


def _us(instant: Any, origin: int) -> float:
    return (int(instant) - origin) / 1e3


def _task(task: Records, origin: int, opcodes: list[str]) -> Event:
    opcode = int(task["opcode"])
    return {
        "ph": "X",
        "cat": "task",
        "name": opcodes[opcode] if opcode < len(opcodes) else f"opcode {opcode}",
        "pid": _CORES,
        "tid": _track(int(task["thread"])),
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


def _frame(frame: Records, end: int, origin: int, folder: RunFolder) -> Iterator[Event]:
    number, air = int(frame["frame"]), int(frame["air_start"])
    yield {
        "ph": "X",
        "cat": "frame",
        "name": f"frame {number}",
        "pid": _AIR,
        "tid": _FRAMES,
        "ts": _us(air, origin),
        "dur": (end - air) / 1e3,
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
        "name": cause_name(int(gap["cause"])).replace("_", " "),
        "pid": _GAPS,  # a gap and the task that it interrupts are not nested
        "tid": _track(int(gap["thread"])),
        "ts": _us(gap["start"], origin),
        "dur": int(gap["length"]) / 1e3,
    }
