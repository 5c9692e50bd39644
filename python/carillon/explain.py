"""One sentence on every late frame, from its own trace: what, where, by how much, what would do."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from carillon.runfolder import RunFolder
from carillon.telemetry import PACKET_EVENT, Records, Telemetry, cause_name, thread_name

_NS_PER_MS = 1e6


@dataclass(frozen=True)
class Late:
    """A late frame and why."""

    frame: int
    cause: str
    text: str


@dataclass(frozen=True)
class Evidence:
    """What is known about one late frame. Times in ms from its start on air."""

    record: Records
    tasks: Records
    packets: Records
    gaps: Records
    symbols: list[dict[str, Any]]
    opcodes: list[str]
    threads: list[str]
    cores: list[int]
    workers: int
    uplink_budget_ms: float
    downlink_lead_ms: float

    def since_start(self, instant: Any) -> float:
        return (int(instant) - int(self.record["air_start"])) / _NS_PER_MS

    def place(self, thread: int) -> str:
        """ "worker 1 (core 3)" """
        name = thread_name(self.threads, thread)
        return f"{name} (core {self.cores[thread]})" if thread < len(self.cores) else name

    def task_name(self, task: Records) -> str:
        opcode = int(task["opcode"])
        name = self.opcodes[opcode] if opcode < len(self.opcodes) else f"opcode {opcode}"
        return f"{name} of symbol {int(task['step'])}"

    @property
    def deadline(self) -> float:
        """Of the frame's last uplink block; of its last downlink symbol where it has no uplink."""
        for kind in "UD":
            times = [float(s["deadline_ms"]) for s in self.symbols if s["kind"] == kind]
            if times:
                return max(times)
        return 0.0

    @property
    def end(self) -> float | None:
        """When the last that ran of the frame ended."""
        if len(self.tasks):
            return self.since_start(self.tasks["end"].max())
        done = int(self.record["uplink_done"])
        return done / _NS_PER_MS if done else None


def late_frames(folder: RunFolder, telemetry: Telemetry, limit: int) -> list[Late]:
    """The first `limit` late frames of a run, explained."""
    frames = telemetry.read("frames")
    late = frames[frames["late_cause"] != 0][:limit]
    if len(late) == 0:
        return []
    threads = telemetry.read("threads")
    tasks, gaps = telemetry.read("late_tasks"), telemetry.read("gaps")
    explained = []
    for record in late:
        own = tasks[tasks["frame"] == np.uint32(int(record["frame"]) & 0xFFFFFFFF)]
        events = own["opcode"] == PACKET_EVENT
        evidence = Evidence(
            record=record,
            tasks=own[~events],
            packets=own[events],
            gaps=gaps,
            symbols=folder.derived["symbols"],
            opcodes=telemetry.opcodes,
            threads=telemetry.threads,
            cores=[int(core) for core in threads["core"]],
            workers=int(np.count_nonzero(threads["roles"] & np.uint64(1))),
            uplink_budget_ms=folder.cell.deadlines.uplink_budget_ms,
            downlink_lead_ms=folder.cell.deadlines.downlink_lead_ms,
        )
        cause = cause_name(int(record["late_cause"]))
        explained.append(Late(int(record["frame"]), cause, sentence(cause, evidence)))
    return explained


def sentence(cause: str, evidence: Evidence) -> str:
    """Why this frame was late."""
    return _BY_CAUSE[cause](evidence)


def _stalled(subject: str) -> Callable[[Evidence], str]:
    def explain(e: Evidence) -> str:
        start, end = int(e.record["air_start"]), e.end
        last = start + int((e.deadline if end is None else max(end, e.deadline)) * _NS_PER_MS)
        overlapping = e.gaps[
            (e.gaps["start"] < last) & (e.gaps["start"] + e.gaps["length"] > start)
        ]
        if len(overlapping) == 0:
            return _inherited(e, subject)
        gap = overlapping[np.argmax(overlapping["length"])]
        length = int(gap["length"]) / _NS_PER_MS
        text = (
            f"{subject} did not run {e.place(int(gap['thread']))} for {length:.3g} ms from "
            f"{_moment(e.since_start(gap['start']))}"
        )
        if end is None:
            return text + ", and nothing of the frame could run in time."
        if int(e.record["downlink_late_symbols"]):
            return text + f", so that {_symbols(e)} left late."
        spare = e.deadline - (end - length)
        if spare > 0:
            return text + f"; without that it would have ended {spare:.3g} ms before its deadline."
        return text + f"; even without that it would have ended {-spare:.3g} ms after its deadline."

    return explain


def _moment(since_start: float) -> str:
    side = "into" if since_start >= 0 else "before"
    return f"{abs(since_start):.3g} ms {side} the frame"


def _symbols(e: Evidence) -> str:
    count = int(e.record["downlink_late_symbols"])
    return f"{count} downlink symbol{'s' if count > 1 else ''}"


def _inherited(e: Evidence, subject: str) -> str:
    before = e.gaps[e.gaps["start"] < e.record["air_start"]]
    if len(before) == 0:
        return f"{subject} stood still for other frames, behind which this one had to queue."
    gap = before[-1]
    length = int(gap["length"]) / _NS_PER_MS
    ago = -e.since_start(gap["start"])
    return (
        f"It queued behind frames that were held up when {subject.lower()} did not run "
        f"{e.place(int(gap['thread']))} for {length:.3g} ms, {ago:.3g} ms before this frame began; "
        f"the queue had not emptied yet."
    )


def _lost(e: Evidence) -> str:
    missing = int(e.record["missing_packets"])
    came = {int(step) for step in e.packets["step"]}
    silent = [i for i, s in enumerate(e.symbols) if s["kind"] in "PU" and i not in came]
    text = f"{missing} packet{'s' if missing != 1 else ''} never came"
    if silent and len(came):
        text += f" (of symbol {', '.join(map(str, silent[:4]))} none did)"
    failed, blocks = int(e.record["uplink_failed"]), int(e.record["uplink_blocks"])
    text += f"; their samples became zeros and {failed} of {blocks} blocks failed"
    return text + "; a link without loss would have held."


def _fronthaul(e: Evidence) -> str:
    delays = [
        (e.since_start(p["start"]) - float(e.symbols[int(p["step"])]["end_ms"]), int(p["step"]))
        for p in e.packets
        if int(p["step"]) < len(e.symbols)
    ]
    if not delays:
        return "Its packets came too late for the deadline; a faster fronthaul would have held."
    delay, symbol = max(delays)
    text = f"The last packet of symbol {symbol} came {delay:.3g} ms after the symbol's air end"
    if e.end is None:
        return text + ", too late for anything of the frame to be done in time."
    over = e.end - e.deadline
    if 0 < over < delay:
        return text + f"; within {delay - over:.3g} ms of it the frame would have held."
    return text + f"; the frame's last task ended {_relative(over)}."


def _processing(e: Evidence) -> str:
    if int(e.record["nack"]) and len(e.tasks) == 0:
        return (
            f"It was refused before a task began: frames before it still kept all {e.workers} "
            f"workers busy; more workers or a larger ring would have held."
        )
    if int(e.record["downlink_late_symbols"]):
        return _downlink(e)
    if len(e.tasks) == 0:
        return "It ended after its deadline, but its tasks are no longer in the trace."
    over, task = max(
        (e.since_start(task["end"]) - _task_deadline(e, task), index)
        for index, task in enumerate(e.tasks)
    )
    last = e.tasks[task]
    text = f"{e.task_name(last)} on {e.place(int(last['thread']))} ended {_relative(over)}"
    work = _work_after_last_packet(e)
    if int(e.record["nack"]):
        text += " and the frame was discarded"
    if work > 0:
        needed = math.ceil(work / e.uplink_budget_ms)
        text += f"; after its last packet the frame took {work:.3g} core-ms on {e.workers} workers"
        if over > 0:
            text += f", so uplink_budget_ms {e.uplink_budget_ms + over:.3g}"
            text += f" or {needed} workers" if needed > e.workers else ""
            text += " would have held"
    return text + "."


def _downlink(e: Evidence) -> str:
    ready = int(e.record["downlink_first"]) / _NS_PER_MS
    first = next((s for s in e.symbols if s["kind"] == "D"), None)
    text = f"{_symbols(e)} left late"
    if first is None:
        return text + "."
    over = ready - float(first["deadline_ms"])
    text += f": the first was ready at {ready:.3g} ms of the frame, {_relative(over)}"
    if 0 < over < e.downlink_lead_ms:
        text += f"; downlink_lead_ms {e.downlink_lead_ms - over:.3g} would have held"
    return text + "."


def _task_deadline(e: Evidence, task: Records) -> float:
    """A task's symbol's own deadline, where it has one."""
    step = int(task["step"])
    if step < len(e.symbols) and e.symbols[step]["kind"] == "U":
        return float(e.symbols[step]["deadline_ms"])
    return e.deadline


def _work_after_last_packet(e: Evidence) -> float:
    arrival = int(e.record["air_start"]) + int(e.record["last_packet"])
    start = np.maximum(e.tasks["start"], arrival)
    return float(np.maximum(e.tasks["end"] - start, 0).sum()) / _NS_PER_MS


def _relative(over_ms: float) -> str:
    side = "after" if over_ms >= 0 else "before"
    return f"{abs(over_ms):.3g} ms {side} its deadline"


_BY_CAUSE: dict[str, Callable[[Evidence], str]] = {
    "machine_stall": _stalled("The machine"),
    "operating_system": _stalled("The operating system"),
    "lost": _lost,
    "fronthaul": _fronthaul,
    "processing": _processing,
    "none": lambda e: "It was not late.",
}
