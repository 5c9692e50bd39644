"""A cell in real time on this machine's cores, without a network: its samples come from memory."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from carillon import core
from carillon.config import Cell, Run, plan_text
from carillon.config.sections import Grain
from carillon.statistics import Values

ASLEEP = 0.08  # of the time: real-time threads that take all of it are stopped for 50 ms a second
_SETTLED = 8  # frames after which the pipeline is full and the caches are as they stay
_ROOM_SLOTS = 4  # between a frame's uplink and its downlink, where nothing is on air


@dataclass(frozen=True)
class Frames:
    """What frames took, in ms; NaN: has none. Measured, or of virtual time.

    uplink: D_UL, first packet → last bits; downlink: D_DL, frame start → first downlink symbol
    ready, where frames are at the pace of the air, else first packet → that. whole: first packet →
    everything done.
    """

    uplink: Values
    downlink: Values
    whole: Values
    completed: bool

    @classmethod
    def of(cls, run: Mapping[str, Any], *, at_once: bool) -> Frames:
        """Of core.MemoryRun or core.simulate, once the pipeline is full."""
        kept = {name: run[name][_SETTLED:] for name in ("first_packet", "uplink_done", "ended")}
        begin = kept["first_packet"]
        first = run["downlink_first"][_SETTLED:]
        return cls(
            uplink=kept["uplink_done"] - begin,
            downlink=first - begin if at_once else first,
            whole=kept["ended"] - begin,
            completed=bool(
                np.all(run["completed"][_SETTLED:]) and not np.any(run["missed"][_SETTLED:])
            ),
        )


@dataclass(frozen=True)
class Measured(Frames):
    """The same of real time, in ms. busy: core time of the kernels, [frame][opcode].

    starts: when frames were on air. idle, bringing: when, and for how long, workers without a claim
    stood still, or began frames and brought packets. traced: when, for how long, of which opcode
    and of how many chunks claims were, from known_from on; asked for.
    """

    busy: Values
    starts: Values
    idle: tuple[Values, Values]
    bringing: tuple[Values, Values]
    traced: tuple[Values, Values, Values, Values]
    known_from: float
    instructions: int  # of a frame
    claims: float


def with_grain(cell: Cell, grain: Mapping[str, int]) -> Cell:
    """The cell with these chunks per claim, 0 where they are to be measured."""
    runtime = cell.runtime.model_copy(update={"grain": Grain(**grain)})
    return cell.model_copy(update={"runtime": runtime})


def at_once(cell: Cell) -> Cell:
    """The cell with deadlines that do not matter, for frames that are each by themselves.

    The downlink gets room after the uplink, so that whole slots of nothing lie between them.
    """
    schedule, room = cell.schedule, "G" * (_ROOM_SLOTS * cell.symbols_per_slot)
    if "D" in schedule and cell.grants.kind != "list":  # those name slots
        first = schedule.index("D")
        room = room[: (140 - len(schedule)) // cell.symbols_per_slot * cell.symbols_per_slot]
        schedule = schedule[:first] + room + schedule[first:]
    deadlines = cell.deadlines.model_copy(
        update={"uplink_budget_ms": 1000.0, "downlink_lead_ms": 0.0}
    )
    return cell.model_copy(update={"schedule": schedule, "deadlines": deadlines})


class MemoryRun:
    """A cell's frames, each by itself (at_once) or at the pace of the air, on so many workers."""

    def __init__(self, cell: Cell, workers: int, *, at_once: bool) -> None:
        self.at_once = at_once
        self.cell = self._paced(cell)
        self.run = core.MemoryRun(plan_text(self.cell, Run()), workers)

    def _paced(self, cell: Cell) -> Cell:
        return at_once(cell) if self.at_once else cell

    def frames(self, cell: Cell, count: int, *, traced: bool = False) -> Measured:
        """Frames under the policy and with the job sizes of `cell`, which is else the same."""
        begun = time.monotonic()
        text = plan_text(self._paced(cell), Run())
        got = self.run.run(text, frames=count + _SETTLED, at_once=self.at_once, traced=traced)
        at = got["traced"][0]
        time.sleep(ASLEEP * (time.monotonic() - begun))
        return Measured(
            **vars(Frames.of(got, at_once=self.at_once)),
            busy=got["busy"][_SETTLED:],
            starts=got["starts"][_SETTLED:],
            idle=got["idle"],
            bringing=got["bringing"],
            traced=got["traced"],
            known_from=-np.inf if len(at) == got["claims"] else np.min(at, initial=np.inf),
            instructions=got["instructions"],
            claims=got["claims"] / (count + _SETTLED),
        )
