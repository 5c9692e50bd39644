"""One sentence on every late frame, from its own trace: what, where, by how much, what would do."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from carillon.runfolder import RunFolder
from carillon.telemetry import (
    DISCARDED,
    PACKET_EVENT,
    REFUSED,
    Records,
    Telemetry,
    cause_name,
    thread_name,
)

_NS_PER_MS = 1e6
_REMEMBERED = 64  # rounds of the ring
_PROMPT = 0.1  # ms; what waits no longer is not worth a word


@dataclass(frozen=True)
class Late:
    """A late frame and why."""

    frame: int
    cause: str
    late_ms: float | None  # of its uplink beyond the deadline, where it ended late
    text: str


class Task(NamedTuple):
    """A task as it ran; times in ms from its frame's start on air."""

    start: float
    end: float
    opcode: int
    step: int
    chunks: int
    thread: int


class Gap(NamedTuple):
    """A time in which a thread did not run; absolute, in ns."""

    start: int
    length: int
    thread: int


@dataclass(frozen=True)
class Setting:
    """What all frames of a run share."""

    symbols: Sequence[Mapping[str, Any]]
    opcodes: Sequence[str]
    places: Sequence[str]  # by thread: "worker 1 (core 3)"
    workers: int
    antennas: int
    ring: int
    frame_ms: float
    uplink_budget_ms: float
    downlink_lead_ms: float
    own_channel: bool  # the downlink waits for its own frame's combiner
    combiner_ms: float | None  # usual in a frame in time
    precoding_ms: float | None  # usual from there to the first downlink symbol
    gaps: Mapping[int, Gap] = field(default_factory=dict)  # by number in the run
    ends: Mapping[int, int] = field(default_factory=dict)  # frame → end, ns; refused ones left out

    def of_kind(self, kinds: str) -> list[int]:
        return [i for i, symbol in enumerate(self.symbols) if symbol["kind"] in kinds]

    @cached_property
    def uplink_deadline(self) -> float | None:
        """Of the frame's last uplink block."""
        return max((self.symbols[s]["deadline_ms"] for s in self.of_kind("U")), default=None)


@dataclass(frozen=True)
class Evidence:
    """What is known about one late frame."""

    record: Mapping[str, int]
    setting: Setting
    tasks: Sequence[Task]
    packets: Mapping[int, float]  # symbol → its last packet, ms from the frame's start

    def ms(self, name: str) -> float | None:
        """A milestone; None where the frame has none."""
        return self.record[name] / _NS_PER_MS if self.record[name] else None

    @property
    def refused(self) -> bool:
        return self.record["nack"] == REFUSED

    @property
    def silent(self) -> bool:
        return not self.record["first_packet"]

    @property
    def packets_expected(self) -> int:
        return len(self.setting.of_kind("PU")) * self.setting.antennas

    @property
    def waited_ms(self) -> float:
        """For its first task, after its first packet."""
        started, first = self.ms("started"), self.ms("first_packet")
        return 0.0 if started is None or first is None else started - first

    def name(self, task: Task) -> str:
        """ "Decode of symbol 13 on worker 1 (core 1)" """
        opcodes, places = self.setting.opcodes, self.setting.places
        known = task.opcode < len(opcodes)
        opcode = opcodes[task.opcode] if known else f"opcode {task.opcode}"
        thread = task.thread
        place = places[thread] if thread < len(places) else f"thread {thread}"
        return f"{opcode} of symbol {task.step} on {place}"

    def over(self, task: Task) -> float:
        """By how much an uplink task missed its symbol's deadline; pilots have the last one's."""
        symbol = self.setting.symbols[task.step]
        own = symbol["deadline_ms"] if symbol["kind"] == "U" else self.setting.uplink_deadline
        return task.end - own if own is not None else -math.inf

    @cached_property
    def latest(self) -> Task | None:
        """The uplink task that missed its deadline by most, if any did."""
        missed = [t for t in self.tasks if self.setting.symbols[t.step]["kind"] in "PU"]
        latest = max(missed, key=self.over, default=None)
        return latest if latest is not None and self.over(latest) > 0 else None

    @cached_property
    def late_ms(self) -> float | None:
        """How late the uplink ended; None where it was in time or never ended."""
        if self.record["nack"]:
            return None
        done, deadline = self.ms("uplink_done"), self.setting.uplink_deadline
        late = 0.0 if done is None or deadline is None else done - deadline
        if self.latest is not None:
            late = max(late, self.over(self.latest))
        return late if late > 0 else None

    @property
    def uplink(self) -> str:
        """What came too late in the uplink."""
        if self.late_ms is None:
            return ""
        what = "its uplink" if self.latest is None else self.name(self.latest)
        return f"{what} ended {_ms(self.late_ms)} after its deadline"

    @property
    def downlink(self) -> str:
        """What came too late in the downlink."""
        count, of = self.record["downlink_late_symbols"], len(self.setting.of_kind("D"))
        if self.record["substituted"]:
            return (
                "its downlink left in time but reached the radio unit too late, so that "
                "something else went on air"
            )
        if count == 0:
            return ""
        return f"{count} of its {of} downlink symbols {'were' if count > 1 else 'was'} not ready"

    @property
    def effects(self) -> list[str]:
        """All that came too late."""
        ended = self.record["ended"] / _NS_PER_MS
        discarded = f"it was discarded {_moment(ended)}" if self.record["nack"] else ""
        return [part for part in (self.uplink, self.downlink, discarded) if part]

    @property
    def outcome(self) -> str:
        """What made it late."""
        if self.refused:
            return "it was refused before a task began"
        missing, of = self.record["missing_packets"], self.packets_expected
        lost = [f"{missing} of its {of} packets were missing"] if missing else []
        if missing >= of or (self.silent and not self.record["nack"]):
            lost = ["none of its packets came"]
        return " and ".join(lost + self.effects) or "it ended after its deadline"


class Lateness(Protocol):
    """By how much a frame was late."""

    @property
    def late_ms(self) -> float | None: ...


Some = TypeVar("Some", bound=Lateness)


def pick(late: Sequence[Some], first: int, worst: int) -> list[Some]:
    """The first late frames and, of the others, those that ended latest; in their order."""
    others = range(min(first, len(late)), len(late))
    latest = sorted(others, key=lambda i: -(late[i].late_ms or 0.0))[:worst]
    return [*late[:first], *(late[i] for i in sorted(latest))]


def late_frames(folder: RunFolder, telemetry: Telemetry) -> list[Late]:
    """Every late frame of a run that was recorded, explained; by frame number."""
    frames = telemetry.read("frames")
    late = np.sort(frames[frames["late_cause"] != 0], order="frame")
    if len(late) == 0:
        return []
    setting = _setting(folder, telemetry, frames)
    events = _Events(telemetry)
    names = late.dtype.names or ()
    found = []
    for values in late.tolist():
        record = dict(zip(names, values, strict=True))
        evidence = Evidence(record, setting, *events.of(record["frame"], record["air_start"]))
        cause = cause_name(record["late_cause"])
        found.append(Late(record["frame"], cause, evidence.late_ms, sentence(cause, evidence)))
    return found


def sentence(cause: str, evidence: Evidence) -> str:
    """Why this frame was late."""
    text = _BY_CAUSE[cause](evidence)
    return text[0].upper() + text[1:] + "."


def _setting(folder: RunFolder, telemetry: Telemetry, frames: Records) -> Setting:
    threads, cell = telemetry.read("threads"), folder.cell
    gaps, written = telemetry.read("gaps"), telemetry.written("gaps")
    good = frames[(frames["completed"] == 1) & (frames["combiner_done"] != 0)]
    made = good[good["downlink_first"] > good["combiner_done"]]
    taken = frames[frames["nack"] != REFUSED]
    return Setting(
        symbols=folder.derived["symbols"],
        opcodes=telemetry.opcodes,
        places=[
            f"{thread_name(telemetry.threads, i)} (core {int(core)})"
            for i, core in enumerate(threads["core"])
        ],
        workers=int(np.count_nonzero(threads["roles"] & np.uint64(1))),
        antennas=cell.antennas,
        ring=cell.ring,
        frame_ms=float(folder.derived["frame_ms"]),
        uplink_budget_ms=cell.deadlines.uplink_budget_ms,
        downlink_lead_ms=cell.deadlines.downlink_lead_ms,
        own_channel=cell.deadlines.precoder_age == 0,
        combiner_ms=_median(good["combiner_done"]),
        precoding_ms=_median(made["downlink_first"] - made["combiner_done"]),
        gaps={
            written - len(gaps) + i + 1: Gap(int(g["start"]), int(g["length"]), int(g["thread"]))
            for i, g in enumerate(gaps)
        },
        ends=dict(
            zip(
                taken["frame"].tolist(), (taken["air_start"] + taken["ended"]).tolist(), strict=True
            )
        ),
    )


def _median(instants: Records) -> float | None:
    return float(np.median(instants)) / _NS_PER_MS if len(instants) else None


class _Events:
    """The kept tasks and packets, found by frame."""

    def __init__(self, telemetry: Telemetry) -> None:
        records = telemetry.read("late_tasks")
        if telemetry.written("late_tasks") > len(records):  # the oldest frame may be cut
            records = records[records["frame"] != records["frame"][0]]
        self._records = records[np.argsort(records["frame"], kind="stable")]

    def of(self, frame: int, air_start: int) -> tuple[list[Task], dict[int, float]]:
        keys, key = self._records["frame"], np.uint32(frame & 0xFFFFFFFF)
        first, end = np.searchsorted(keys, key), np.searchsorted(keys, key, side="right")
        tasks, packets = [], {}
        for start, stop, _, opcode, step, _, chunks, thread in self._records[first:end].tolist():
            since = (start - air_start) / _NS_PER_MS
            if opcode == PACKET_EVENT:
                packets[step] = since
            else:
                until = (stop - air_start) / _NS_PER_MS
                tasks.append(Task(since, until, opcode, step, chunks, thread))
        return tasks, packets


def _ms(value: float) -> str:
    return f"{value:.3g} ms"


def _moment(since_start: float) -> str:
    return f"{_ms(abs(since_start))} {'into' if since_start >= 0 else 'before'} the frame"


def _at_least(value: float) -> str:
    """A setting that suffices: rounded up, to the µs."""
    return f"{math.ceil(round(value * 1e3, 3)) / 1e3:g}"


def _at_most(value: float) -> str:
    return f"{math.floor(round(value * 1e3, 3)) / 1e3:g}"


def _stalled(subject: str) -> Callable[[Evidence], str]:
    def explain(e: Evidence) -> str:
        gap = e.setting.gaps.get(e.record["gap"])
        if gap is None:
            return f"{subject} stood still, in a gap that is no longer listed: {e.outcome}"
        start = (gap.start - e.record["air_start"]) / _NS_PER_MS
        length = gap.length / _NS_PER_MS
        did = f"did not run {e.setting.places[gap.thread]} for {_ms(length)}"
        if start + length < -e.setting.frame_ms:
            return (
                f"it queued behind frames that were held up when {subject} {did}, "
                f"{_ms(-start)} before this frame began: {e.outcome}"
            )
        return f"{subject} {did} from {_moment(start)}: {e.outcome}{_without(e, start, length)}"

    return explain


def _without(e: Evidence, start: float, length: float) -> str:
    """What of a late uplink is left without the part of the gap that it was in."""
    end = e.ms("uplink_done") if e.latest is None else e.latest.end
    if e.late_ms is None or end is None:
        return ""
    spent = min(start + length, end) - max(start, 0.0)
    left = e.late_ms - max(spent, 0.0)
    return f"; without that it would have {'held' if left <= 0 else f'ended {_ms(left)} late'}"


def _lost(e: Evidence) -> str:
    expected, missing = e.packets_expected, e.record["missing_packets"]
    text = f"{'none' if e.silent else missing} of its {expected} packets "
    text += "had come" if e.silent else "had not come"
    text += f" {_ms(e.setting.uplink_budget_ms / 2)} after their symbol's air end"
    silent = [str(s) for s in e.setting.of_kind("PU") if e.packets and s not in e.packets]
    if silent and len(silent) * e.setting.antennas <= missing:
        more = f" and {len(silent) - 4} symbols more" if len(silent) > 4 else ""
        text += f" (none of symbol {', '.join(silent[:4])}{more})"
    text += ", when zeros replace them"
    if e.effects:
        text += f": {' and '.join(e.effects)}"
    return f"{text}; a link without loss would have held"


def _fronthaul(e: Evidence) -> str:
    if e.record["substituted"]:
        return f"{e.downlink}; a longer downlink_lead_ms would have held"
    if e.refused and e.record["ended"] < 0:
        early = _ms(-e.record["ended"] / _NS_PER_MS)
        return (
            f"it was refused {early} before it began by our clock, which packets of a backlog had "
            "set too late"
        )
    symbols = e.setting.symbols
    delays = [(at - symbols[s]["end_ms"], s) for s, at in e.packets.items() if s < len(symbols)]
    if not delays:
        return f"its packets came too late: {e.outcome}"
    delay, symbol = max(delays)
    text = f"the last packet of symbol {symbol} came {_ms(delay)} after its air end: {e.outcome}"
    if e.late_ms is not None and e.late_ms < delay:
        text += f"; {_ms(delay - e.late_ms)} after it would have held"
    return text


def _processing(e: Evidence) -> str:
    if e.refused:
        return _refused(e)
    if e.record["nack"] == DISCARDED:
        return _discarded(e)
    if e.late_ms is None:
        return _downlink(e)
    needs = [f"uplink_budget_ms {_at_least(e.setting.uplink_budget_ms + e.late_ms)}"]
    work = _work(e)
    if (workers := _workers_for(e, work)) > e.setting.workers:
        needs.append(f"{workers} workers")
    return f"{e.outcome}{_spent(e, work)}; {' or '.join(needs)} would have held"


def _refused(e: Evidence) -> str:
    """The ring's place is free again when its last holder has ended."""
    ring, number = e.setting.ring, e.record["frame"]
    before = range(number - ring, max(-1, number - _REMEMBERED * ring), -ring)
    held = next((n for n in before if n in e.setting.ends), None)
    if held is not None:
        until = (e.setting.ends[held] - e.record["air_start"]) / _NS_PER_MS
        if until > 0:
            return (
                f"it was refused before a task began: frame {held} held its place in the ring of "
                f"{ring} until {_moment(until)}; more workers or a larger ring would have held"
            )
    return (
        "it was refused before a task began: no worker was free to open it in time; "
        "more workers would help"
    )


def _discarded(e: Evidence) -> str:
    text = e.outcome
    if e.waited_ms > _PROMPT:
        text += f"; its first task began {_ms(e.waited_ms)} after its first packet"
    if e.tasks:
        last = max(e.tasks, key=lambda task: task.end)
        text += f"; the last that ran was {e.name(last)}, until {_moment(last.end)}"
    elif not e.record["started"]:
        text += " before a task of it began"
    return text + _spent(e, _work(e))


def _downlink(e: Evidence) -> str:
    usual_lead, missed = e.setting.downlink_lead_ms, _first_missed(e)
    lead = float(e.record["lead"]) / _NS_PER_MS or usual_lead
    text = f"{e.downlink or e.outcome} {_ms(lead)} before going on air"
    if missed is not None:
        due = float(e.setting.symbols[missed]["deadline_ms"]) + usual_lead - lead
        text += f", symbol {missed} first, due {_moment(due)}"
    combiner, usual = e.ms("combiner_done"), e.setting.combiner_ms
    over = 0.0
    if e.setting.own_channel and combiner is not None and usual is not None:
        text += f"; the combiner was ready {_moment(combiner)}, {_relative(combiner - usual)}"
        if missed is not None:
            over = combiner + (e.setting.precoding_ms or 0.0) - due
    if over >= lead:
        return f"{text}; precoder_age 1 would not wait for it"
    if over > 0:
        return f"{text}; downlink_lead_ms {_at_most(lead - over)} would have held"
    made = [task for task in e.tasks if task.step == missed]
    if made:
        last = max(made, key=lambda task: task.end)
        text += f"; {e.name(last)} ran until {_moment(last.end)}"
    return f"{text}; more workers would help"


def _relative(difference: float) -> str:
    return f"{_ms(abs(difference))} {'later' if difference >= 0 else 'earlier'} than usual"


def _first_missed(e: Evidence) -> int | None:
    """The first downlink symbol that was not made for all antennas, by the kept tasks."""
    if not e.tasks or "Ifft" not in e.setting.opcodes:
        return None
    made = dict.fromkeys(e.setting.of_kind("D"), 0)
    for task in e.tasks:
        if task.step in made and e.setting.opcodes[task.opcode] == "Ifft":
            made[task.step] += task.chunks
    return next((s for s, antennas in made.items() if antennas < e.setting.antennas), None)


def _work(e: Evidence) -> list[float]:
    """Its tasks' times after its last packet had come, in ms."""
    arrival = e.ms("last_packet") or 0.0
    return [t.end - max(t.start, arrival) for t in e.tasks if t.end > arrival]


def _spent(e: Evidence, work: list[float]) -> str:
    if not work:
        return ""
    text = f"; after its last packet it took {sum(work):.3g} core-ms on {e.setting.workers} workers"
    before = e.record["frame"] - 1
    waited = e.setting.ends.get(before, 0) - e.record["air_start"] - e.record["last_packet"]
    if waited > _PROMPT * _NS_PER_MS:
        text += f", where frame {before} before it went on for {_ms(waited / _NS_PER_MS)}"
    return text


def _workers_for(e: Evidence, work: list[float]) -> int:
    """How many would do it in the budget; 0 where one task alone does not fit."""
    if not work or max(work) > e.setting.uplink_budget_ms:
        return 0
    return math.ceil(sum(work) / e.setting.uplink_budget_ms)


_BY_CAUSE: dict[str, Callable[[Evidence], str]] = {
    "machine_stall": _stalled("the machine"),
    "operating_system": _stalled("the operating system"),
    "lost": _lost,
    "fronthaul": _fronthaul,
    "processing": _processing,
}
