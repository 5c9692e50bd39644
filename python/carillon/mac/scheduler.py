"""What a cell's frames do, a few ahead of the air. It knows no sockets: serve.py brings what both
ports say, and takes along what they are to schedule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from carillon.config import Cell
from carillon.config.blocks import DIRECTIONS, Direction
from carillon.config.models import Grant
from carillon.config.plan import data_symbols, slots_of
from carillon.mac.flow import Flow, Sent
from carillon.mac.harq import Attempt
from carillon.mac.history import History
from carillon.mac.link_adaptation import Row
from carillon.mac.policies import Policy
from carillon.port import Allocation, Block, Refused, TransportBlock, Work

BLOCK_SUBCARRIERS = 12  # of a resource block
Fill = tuple[TransportBlock, bytes]


@dataclass(frozen=True)
class Part:
    """One direction of one slot of the frame."""

    slot: int
    direction: Direction
    elements: int  # of a resource block


def parts_of(cell: Cell) -> tuple[Part, ...]:
    """Those in which something can be sent."""
    found = []
    for slot in range(slots_of(cell)):
        for direction in DIRECTIONS:
            symbols = data_symbols(cell, Grant(slot=slot, direction=direction))
            if symbols:
                found.append(Part(slot, direction, symbols * BLOCK_SUBCARRIERS))
    return tuple(found)


@dataclass
class _Pending:
    """A frame that both ports were to schedule, until all of its blocks came."""

    reserved: dict[tuple[Direction, int, int, int], int]  # bytes by direction, slot, user, process
    sent: dict[tuple[Direction, int], Sent] = field(default_factory=dict)  # by direction and block
    accepted: set[Direction] = field(default_factory=set)  # by the ports that give these
    processes: set[tuple[int, int]] = field(default_factory=set)  # of users, with HARQ
    early: list[tuple[Direction, Block]] = field(default_factory=list)  # see heard()


class Scheduler:
    """`lead`: so many frames ahead of the newest one at the baseband unit; `patience`: frames after
    which a block of which nothing was heard is given up; `window`: slots, see averaged()."""

    def __init__(
        self,
        cell: Cell,
        flows: Sequence[Flow],
        policy: Callable[[], Policy],
        frame_s: float,
        *,
        lead: int = 6,
        patience: int = 128,
        window: float = 100.0,
    ) -> None:
        self.flows = flows
        self.frames = 0  # that began
        self.frame_s = frame_s
        self.history = History()
        self.refused: Counter[str] = Counter()
        self.unheard = 0  # blocks
        self._by_user = {(flow.direction, flow.user): flow for flow in flows}
        self._parts = parts_of(cell)
        self._blocks = cell.numerology.subcarriers // BLOCK_SUBCARRIERS
        self._policies = {direction: policy() for direction in DIRECTIONS}
        self._lead, self._patience, self._window = lead, patience, window
        self._newest: dict[Direction, int] = {}
        self._until = 0  # the last frame that was scheduled
        self._pending: dict[int, _Pending] = {}  # by frame, the oldest first

    def begun(self, gives: Direction, number: int) -> list[tuple[int, list[Allocation]]]:
        """A frame began, at the port that gives this direction: what both are to schedule."""
        before = self._newest.get(gives)
        self._newest[gives] = number
        if gives == "uplink" or "uplink" not in self._newest:
            return []  # the baseband unit's clock counts
        elapsed = 0 if before is None else number - before
        self.frames += elapsed
        for flow in self.flows:
            flow.queue.arrive(flow.arrivals.after(elapsed * self.frame_s, flow.queue.waiting))
        self.history.look(self.frames, self.flows)
        self._give_up(number - self._patience)
        # The users' frames begin earlier.
        first = max(self._until, number, self._newest["uplink"]) + 1
        return [(frame, self._schedule(frame)) for frame in range(first, number + self._lead + 1)]

    def accepted(self, gives: Direction, work: Work) -> list[Fill]:
        """A port says what blocks a frame has: what those are to carry that it gives."""
        pending = self._pending.get(work.frame)
        if pending is None:
            return []
        pending.accepted.add(gives)
        fills = [self._fill(pending, gives, work.frame, block) for block in work.given]
        for key in [key for key in pending.reserved if key[0] == gives]:  # refused, or smaller
            self._by_user[gives, key[2]].queue.give_back(pending.reserved.pop(key))
        has = {(block.user, block.harq_process) for block in (*work.given, *work.received)}
        for user, process in pending.processes - has:  # refused
            self._drop(pending, user, process)
        if len(pending.accepted) == len(DIRECTIONS):
            for way, event in pending.early:
                self.heard(way, event)
        return [fill for fill in fills if fill is not None]

    def heard(self, gives: Direction, event: Block) -> None:
        """A block came, at the port that gives the other direction; the other port's answer about
        its frame may still be on the way."""
        direction = _other(gives)
        pending = self._pending.get(event.frame)
        if pending is None:
            return
        if len(pending.accepted) < len(DIRECTIONS):
            pending.early.append((gives, event))
            return
        sent = pending.sent.pop((direction, event.block.index), None)
        flow = self._by_user[direction, event.block.user]
        attempt = self._attempt(pending, flow, event.block.harq_process)
        pending.processes.discard((event.block.user, event.block.harq_process))
        flow.heard(event, sent, attempt)

    def turned_down(self, gives: Direction, event: Refused) -> None:
        """An allocation, a block or all of a frame was not taken."""
        self.refused[event.reason] += 1
        pending = self._pending.get(event.frame)
        if pending is None or event.reason == "grant":  # Work comes, without its block
            return
        if gives not in pending.accepted:  # the frame: who was pending it does it alone
            self._forget(event.frame)
        elif (sent := pending.sent.get((gives, event.block))) is not None and sent.process is None:
            del pending.sent[gives, event.block]
            self._by_user[gives, sent.user].queue.give_back(len(sent.bits))

    def _schedule(self, frame: int) -> list[Allocation]:
        self._until = frame
        pending = self._pending[frame] = _Pending({})
        return [each for part in self._parts for each in self._divide(part, pending)]

    def _divide(self, part: Part, pending: _Pending) -> Iterator[Allocation]:
        flows = [flow for flow in self.flows if flow.direction == part.direction]
        first = 0
        for flow in flows:
            if (found := self._send_again(part, pending, flow, first)) is not None:
                yield found
                first += found.blocks
        demands = [flow.demand(part.elements) for flow in flows]
        wanting = [each for each in demands if each.waiting]
        shares = self._policies[part.direction].divide(wanting, self._blocks - first)
        for flow, demand in zip(flows, demands, strict=True):
            blocks = shares.get(flow.user, 0)
            if blocks:
                row, count, process = flow.grant(blocks, part.elements)
                pending.reserved[part.direction, part.slot, flow.user, process] = count
                if flow.harq is not None:
                    pending.processes.add((flow.user, process))
                yield _allocation(part, flow, row, first, blocks, process=process)
                first += blocks
            flow.remember(blocks * demand.bits_per_block, self._window)

    def _send_again(
        self, part: Part, pending: _Pending, flow: Flow, first: int
    ) -> Allocation | None:
        """Before anything new: what failed is waited for."""
        left = self._blocks - first
        found = flow.harq.again(part.elements, left) if flow.harq is not None else None
        if found is None:
            return None
        process, attempt = found
        pending.processes.add((flow.user, process))
        return _allocation(part, flow, attempt.row, first, attempt.blocks, process, attempt.version)

    def _fill(
        self, pending: _Pending, gives: Direction, frame: int, block: TransportBlock
    ) -> Fill | None:
        """As much as it holds: of what was reserved, and more if it holds more. None: nothing is
        there any more, and padding will do."""
        flow, process = self._by_user[gives, block.user], block.harq_process
        flow.queue.give_back(pending.reserved.pop((gives, block.slot, block.user, process), 0))
        attempt = self._attempt(pending, flow, process)
        if flow.harq is not None and attempt is None:
            return None  # the other port refused it
        if attempt is not None and attempt.bits:
            bits = attempt.bits
        else:
            bits = bytes([1 + (31 * block.index + frame) % 255]) * flow.queue.take(block.bits // 8)
        if not bits:
            return None
        if flow.harq is not None:
            flow.harq.filled(process, bits)
        pending.sent[gives, block.index] = Sent(
            block.user, bits, None if attempt is None else process
        )
        return block, bits.ljust(block.bytes, b"\0")

    @staticmethod
    def _attempt(pending: _Pending, flow: Flow, process: int) -> Attempt | None:
        """What this frame has in a process; None: nothing, or not any more."""
        if flow.harq is None or (flow.user, process) not in pending.processes:
            return None
        return flow.harq.under_way(process)

    def _drop(self, pending: _Pending, user: int, process: int) -> None:
        """A process whose block does not come: what it carried waits with the rest."""
        flow = self._by_user["uplink", user]
        attempt = self._attempt(pending, flow, process)
        pending.processes.discard((user, process))
        if flow.harq is None or attempt is None:
            return
        flow.harq.over(process)
        on_its_way = any(
            sent.user == user and sent.process == process for sent in pending.sent.values()
        )
        if attempt.bits and not on_its_way:  # sent again, and not filled yet
            flow.queue.give_back(len(attempt.bits))

    def _give_up(self, frame: int) -> None:
        """Nothing is heard any more of frames up to this one."""
        for old in [each for each in self._pending if each <= frame]:
            self.unheard += len(self._pending[old].sent)
            self._forget(old)

    def _forget(self, frame: int) -> None:
        """What was on its way with a frame waits again."""
        pending = self._pending.pop(frame)
        for user, process in tuple(pending.processes):
            self._drop(pending, user, process)
        for (direction, _, user, _), count in pending.reserved.items():
            self._by_user[direction, user].queue.give_back(count)
        for (direction, _), sent in pending.sent.items():
            self._by_user[direction, sent.user].queue.give_back(len(sent.bits))


def _other(direction: Direction) -> Direction:
    return "uplink" if direction == "downlink" else "downlink"


def _allocation(
    part: Part, flow: Flow, row: Row, first: int, blocks: int, process: int = 0, version: int = 0
) -> Allocation:
    """Version 0 is the first attempt's."""
    whole = Allocation(
        flow.user, first, blocks, part.slot, part.direction,
        redundancy_version=version, harq_process=process, again=version != 0,
    )  # fmt: skip
    if flow.by_table:
        return replace(whole, mcs=row.mcs)
    return replace(whole, modulation=row.modulation, rate=row.rate)
