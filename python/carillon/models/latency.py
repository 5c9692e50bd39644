"""The latency of a frame on groups of cores, in steady state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from carillon import measures
from carillon.models.costs import Costs
from carillon.models.workload import NEED_COMBINER, Instruction, Workload


@dataclass(frozen=True)
class Group:
    """Cores that do the work of some opcodes and of no others."""

    ops: tuple[str, ...]
    cores: int


@dataclass(frozen=True)
class Latency:
    """A frame's milestones in ms from its start on air, as a run measures them; NaN: has none.

    Of the thesis: T_Pilot, T_ZF, T_ULData, D_UL and D_DL, with the same names as in FrameTimes.
    """

    frame_ms: float
    first_packet: float
    pilots_done: float
    combiner_done: float
    uplink_done: float
    downlink_first: float
    groups: tuple[Group, ...] = ()

    @property
    def pilot(self) -> float:
        """T_Pilot (eq. 3.1): first packet → all pilots processed."""
        return self.pilots_done - self.first_packet

    @property
    def zeroforce(self) -> float:
        """T_ZF: pilots processed → combiner ready."""
        return self.combiner_done - self.pilots_done

    @property
    def data(self) -> float:
        """T_ULData: combiner ready → last bits."""
        return self.uplink_done - self.combiner_done

    @property
    def uplink(self) -> float:
        """D_UL (eq. 3.2): first packet → last bits."""
        return self.uplink_done - self.first_packet

    @property
    def uplink_extra(self) -> float:
        """D_UL - T (eq. 2.3)."""
        return self.uplink - self.frame_ms

    @property
    def downlink(self) -> float:
        """D_DL (eq. 3.3): first packet → first downlink symbol ready, at most a frame.

        The published radio sends a frame's first packet when the frame begins; ours when its first
        symbol has been on air.
        """
        return min(max(self.downlink_first - self.first_packet, 0.0), self.frame_ms)

    def rate(self, ideal: float, symbols: int, data_symbols: int) -> float:
        """Eq. 2.1 in whole symbols, in the unit of `ideal`."""
        return measures.achievable_rate_whole_symbols(
            ideal, self.frame_ms, self.downlink, symbols, data_symbols
        )


def latency(
    work: Workload, costs: Costs, groups: Sequence[Group], link_gbps: float = math.inf
) -> Latency | None:
    """The steady latency of a frame when every frame is like it; None if work piles up.

    All of an opcode's work is done by the one group that names it: frame by frame, and what is
    ready of a frame in the order of its symbols. A backlog keeps all of a group's cores busy; what
    waits for an instruction waits for its last chunk, in whole rounds of claims. link_gbps: of the
    fronthaul, which delays a symbol's last packet by tRX behind its first.
    """
    servers = [_Server(work, costs, group) for group in groups]
    if any(server.load > work.frame_ms for server in servers):
        return None
    found = _Frame(work, servers, link_gbps).run()
    for _ in servers:  # what one server leaves over may delay the next server's frame after that
        for server in servers:
            server.free = max(server.free - work.frame_ms, 0.0)
        if not any(server.free for server in servers):
            break
        found = _Frame(work, servers, link_gbps).run()
    return found


class _Server:
    """A group at work: until when it is busy, and what waits for it; all times in ms."""

    def __init__(self, work: Workload, costs: Costs, group: Group) -> None:
        self.group = group
        self.free = 0.0
        instructions = [known for known in work.instructions() if known[0] in group.ops]
        self.times = {
            (op, chunks): (
                costs.busy_ns(op, chunks, group.cores) * 1e-6,
                costs.span_ns(op, chunks, group.cores) * 1e-6,
            )
            for op, chunks in set(instructions)
        }
        self.load = sum(self.times[instruction][0] for instruction in instructions)
        self.coming: list[tuple[float, int, int]] = []  # ready, symbol, place in its work
        self.here: list[tuple[int, int]] = []  # without those that are ready already

    def next_start(self) -> float:
        """When something begins; infinite if nothing waits."""
        if self.here:
            return self.free
        return max(self.free, self.coming[0][0]) if self.coming else math.inf

    def take(self) -> tuple[int, int, float]:
        """The symbol and place of what begins then: of all that is ready the earliest symbol."""
        start = self.next_start()
        while self.coming and self.coming[0][0] <= start:
            heappush(self.here, heappop(self.coming)[1:])
        return *heappop(self.here), start

    def serve(self, instructions: Sequence[Instruction], start: float) -> float:
        """When instructions that follow each other are done.

        Others begin on cores that would wait for the last chunks, and give way at every chunk.
        """
        times = [self.times[instruction] for instruction in instructions]
        self.free = start + sum(busy for busy, _ in times)
        return start + sum(span for _, span in times)


def _zero_force(occasion: int) -> int:
    """In place of a symbol, and more urgent than all of them."""
    return occasion - _MOST_OCCASIONS


_MOST_OCCASIONS = 1000


class _Frame:
    """One frame on its way through the servers."""

    def __init__(self, work: Workload, servers: Sequence[_Server], link_gbps: float) -> None:
        self.work, self.servers = work, servers
        self.server_of = {op: server for server in servers for op in server.group.ops}
        self.transfer_ms = work.symbol_bits / link_gbps * 1e-6
        self.pilots_left = work.occasions()
        self.pilots_done = math.nan
        self.combiners = dict.fromkeys(self.pilots_left, math.nan) or {0: -math.inf}
        self.done = [math.nan] * len(work.symbols)
        self.waiting: list[tuple[float, int, int]] = []  # for a combiner

    def run(self) -> Latency:
        """Always lets begin what may begin first, until nothing is left."""
        for place, symbol in enumerate(self.work.symbols):
            received = symbol.kind in "PU"
            self._push(symbol.end_ms + self.transfer_ms if received else 0.0, place, 0)
        while True:
            server = min(self.servers, key=_Server.next_start)
            if server.next_start() == math.inf:
                return self._milestones()
            place, step, start = server.take()
            end = self._end_of_run(server, place, step)
            self._push(server.serve(self._chain(place)[step:end], start), place, end)

    def _chain(self, place: int) -> tuple[Instruction, ...]:
        if place < 0:
            return (("ZeroForce", self.work.zero_force),)
        return self.work.symbols[place].work

    def _end_of_run(self, server: _Server, place: int, step: int) -> int:
        """The place in a symbol's work up to which one server goes on with it."""
        chain = self._chain(place)
        end = step + 1
        while end < len(chain) and chain[end][0] in server.group.ops:
            if self._needs_combiner(place, end):
                break
            end += 1
        return end

    def _push(self, ready: float, place: int, step: int) -> None:
        """What comes at a place in a symbol's work is ready, as far as that symbol goes."""
        chain = self._chain(place)
        if step == len(chain):
            self._finish(place, ready)
        elif self._needs_combiner(place, step) and math.isnan(self._combiner(place)):
            self.waiting.append((ready, place, step))
        else:
            if self._needs_combiner(place, step):
                ready = max(ready, self._combiner(place))
            server = self.server_of[chain[step][0]]
            if server.times[chain[step]][1] == 0:  # a stage that the system does not have
                self._push(ready, place, step + 1)
            else:
                heappush(server.coming, (ready, place, step))

    def _combiner(self, place: int) -> float:
        """When a symbol's is there."""
        return self.combiners[self.work.symbols[place].occasion]

    def _needs_combiner(self, place: int, step: int) -> bool:
        if self._chain(place)[step][0] not in NEED_COMBINER:
            return False
        return self.work.symbols[place].kind == "U" or self.work.own_precoder

    def _finish(self, place: int, at: float) -> None:
        if place < 0:
            self.combiners[place + _MOST_OCCASIONS] = at
            waiting, self.waiting = self.waiting, []
            for early in waiting:
                self._push(*early)
            return
        self.done[place] = at
        if self.work.symbols[place].kind == "P":
            occasion = self.work.symbols[place].occasion
            self.pilots_left[occasion] -= 1
            if self.pilots_left[occasion] == 0:
                self.pilots_done = at
                self._push(at, _zero_force(occasion), 0)

    def _all_combiners(self) -> float:
        last = max(self.combiners.values())
        return last if math.isfinite(last) else math.nan

    def _milestones(self) -> Latency:
        symbols = self.work.symbols
        done = {
            kind: [at for at, s in zip(self.done, symbols, strict=True) if s.kind == kind]
            for kind in "UD"
        }
        return Latency(
            frame_ms=self.work.frame_ms,
            first_packet=min((s.end_ms for s in symbols if s.kind in "PU"), default=math.nan),
            pilots_done=self.pilots_done,
            combiner_done=self._all_combiners(),
            uplink_done=max(done["U"], default=math.nan),
            downlink_first=done["D"][0] if done["D"] else math.nan,
            groups=tuple(server.group for server in self.servers),
        )
