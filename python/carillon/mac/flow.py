"""A user's bytes in one direction: what waits, at which rate it goes, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from carillon.config.blocks import Direction
from carillon.mac.link_adaptation import LinkAdaptation, Row
from carillon.mac.policies import Demand, averaged
from carillon.mac.queues import Arrivals, Queue
from carillon.port import Block


@dataclass(frozen=True)
class Sent:
    """What the scheduler put into a transport block."""

    user: int
    bits: bytes


@dataclass
class Blocks:
    """Transport blocks whose end is known."""

    good: int = 0
    failed: int = 0
    late: int = 0  # of frames that were refused, or discarded before they were decoded
    unlike: int = 0  # of the good ones, that are not what was put in: padding went out instead


@dataclass
class Flow:
    """`average`: bits that were granted of a slot, for the policy; `by_table`: its direction has an
    MCS table, whose rows are told."""

    user: int
    direction: Direction
    queue: Queue
    arrivals: Arrivals
    link: LinkAdaptation
    by_table: bool = False
    blocks: Blocks = field(default_factory=Blocks)
    average: float = 0.0
    granted: dict[Row, int] = field(default_factory=dict)  # resource blocks

    def demand(self, elements: int) -> Demand:
        """Of a slot whose resource blocks have so many elements."""
        bits = self.link.row.efficiency * elements
        return Demand(self.user, self.queue.waiting, bits, self.average)

    def grant(self, blocks: int, elements: int) -> tuple[Row, int]:
        """The row for so many resource blocks, and the bytes that it takes out of the queue."""
        row = self.link.row_for(blocks * elements)
        self.granted[row] = self.granted.get(row, 0) + blocks
        return row, self.queue.take(int(blocks * elements * row.efficiency) // 8)

    def remember(self, bits: float, window: float) -> None:
        """What a slot granted, or 0."""
        self.average = averaged(self.average, bits, window)

    def heard(self, block: Block, sent: Sent | None) -> None:
        """Of a block; `sent`: what had been put in, if anything."""
        good = block.verdict == "good"
        if block.verdict == "late":
            self.blocks.late += 1
        else:
            self.blocks.good += good
            self.blocks.failed += not good
            self.link.heard(good=good, snr_db=block.snr_db)
        if sent is None:
            return
        if good and block.bits.startswith(sent.bits):
            self.queue.deliver(len(sent.bits))
        else:
            self.queue.give_back(len(sent.bits))
            self.blocks.unlike += good

    @property
    def bler(self) -> float | None:
        decoded = self.blocks.good + self.blocks.failed
        return self.blocks.failed / decoded if decoded else None

    def mean(self, name: str) -> float | None:
        """Of a number of the rows, over the resource blocks granted."""
        total = sum(self.granted.values())
        if not total:
            return None
        return sum(float(getattr(row, name)) * n for row, n in self.granted.items()) / total
