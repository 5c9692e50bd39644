"""A scheduler for a cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from carillon.config import Cell
from carillon.config.blocks import Direction
from carillon.config.models import Coding
from carillon.errors import InputError
from carillon.mac.flow import Flow
from carillon.mac.harq import Processes
from carillon.mac.link_adaptation import LinkAdaptation, OuterLoop, Row, rows_of
from carillon.mac.policies import POLICIES
from carillon.mac.queues import Arrivals, Constant, Full, Poisson, Queue
from carillon.mac.scheduler import BLOCK_SUBCARRIERS, Part, Scheduler, parts_of

_LIMIT = 256 << 10  # bytes that wait for a user
_FRAMES_AHEAD = 10  # for which a full queue is full enough


@dataclass(frozen=True)
class Settings:
    """`loads`: Mbit/s in each direction, one for all users or one for each; none: always more than
    can be sent."""

    policy: str = "proportional-fair"
    target_bler: float = 0.1
    loads: Sequence[float] = ()
    arrivals: Literal["constant", "poisson"] = "poisson"
    seed: int = 1
    harq: int = 0  # processes of each user's uplink; 0: what failed waits with all the rest

    def require_fit(self, cell: Cell) -> None:
        """Raises InputError."""
        if len(self.loads) not in (0, 1, cell.users):
            raise InputError(
                f"{len(self.loads)} loads, but {cell.name} has {cell.users} users: give one for "
                "all or one for each"
            )
        for direction in {part.direction for part in parts_of(cell)}:
            if getattr(cell, direction).block == "frame":
                raise InputError(
                    f"{cell.name}: {direction}.block is frame, but this scheduler grants slots; "
                    "set it to slot"
                )
        if self.harq and cell.uplink.block != "slot":
            raise InputError(
                f"{cell.name}: uplink.block is {cell.uplink.block}, but with --harq it must be slot"
            )


def with_room(cell: Cell) -> Cell:
    """The same cell, whose own coding is the fastest row: frames have room for what all users take
    with that."""
    update: dict[str, Coding] = {}
    for direction in dict.fromkeys(part.direction for part in parts_of(cell)):
        row, coding = rows_of(cell, direction)[-1], getattr(cell, direction)
        own: dict[str, object] = {"mcs_index": row.mcs}
        if coding.mcs_table == "none":
            own = {"modulation": row.modulation, "rate": row.rate}
        update[direction] = coding.model_copy(update=own)
    return cell.model_copy(update=update)


def scheduler_of(cell: Cell, settings: Settings, frame_s: float) -> Scheduler:
    """With a flow for each user and direction."""
    settings.require_fit(cell)
    parts = parts_of(cell)
    flows = []
    for direction in dict.fromkeys(part.direction for part in parts):
        rows = rows_of(cell, direction)
        level = _FRAMES_AHEAD * _frame_bytes(cell, parts, direction, rows)
        for user in range(cell.users):
            flows.append(
                Flow(
                    user,
                    direction,
                    Queue(max(_LIMIT, level)),
                    _arrivals(settings, direction, user, level),
                    LinkAdaptation(rows, OuterLoop(settings.target_bler)),
                    by_table=getattr(cell, direction).mcs_table != "none",
                    harq=_processes(direction, settings),
                )
            )
    return Scheduler(cell, flows, POLICIES[settings.policy], frame_s)


def _processes(direction: Direction, settings: Settings) -> Processes | None:
    return Processes(settings.harq) if settings.harq and direction == "uplink" else None


def _frame_bytes(
    cell: Cell, parts: Sequence[Part], direction: Direction, rows: Sequence[Row]
) -> int:
    """That a frame carries at most."""
    elements = sum(part.elements for part in parts if part.direction == direction)
    blocks = cell.numerology.subcarriers // BLOCK_SUBCARRIERS
    return int(blocks * elements * rows[-1].efficiency / 8)


def _arrivals(settings: Settings, direction: Direction, user: int, level: int) -> Arrivals:
    if not settings.loads:
        return Full(level)
    load = settings.loads[user if len(settings.loads) > 1 else 0]
    bytes_per_s = load * 1e6 / 8
    if settings.arrivals == "constant":
        return Constant(bytes_per_s)
    return Poisson(bytes_per_s, settings.seed, user, int(direction == "downlink"))
