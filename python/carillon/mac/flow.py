"""A user's bytes in one direction: what waits, at which rate it goes, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from carillon.config.blocks import Direction
from carillon.mac.harq import Attempt, Processes
from carillon.mac.link_adaptation import LinkAdaptation, Row
from carillon.mac.policies import Demand, averaged
from carillon.mac.queues import Arrivals, Queue
from carillon.port import Block


@dataclass(frozen=True)
class Sent:
    """What the scheduler put into a transport block."""

    user: int
    bits: bytes
    process: int | None = None  # with HARQ


@dataclass
class Blocks:
    """Transport blocks whose end is known."""

    good: int = 0
    failed: int = 0
    late: int = 0  # of frames that were refused, or discarded before they were decoded
    unlike: int = 0  # of the good ones, that are not what was put in: padding went out instead
    again: int = 0  # of the good and failed ones, that were sent before
    failed_again: int = 0  # of the failed ones
    lost: int = 0  # of the failed ones, that were not sent again for the number of their attempts


@dataclass
class Flow:
    """`average`: bits that were granted of a slot, for the policy; `by_table`: its direction has an
    MCS table, whose rows are named; `harq`: None: what failed waits with all the rest."""

    user: int
    direction: Direction
    queue: Queue
    arrivals: Arrivals
    link: LinkAdaptation
    by_table: bool = False
    harq: Processes | None = None
    blocks: Blocks = field(default_factory=Blocks)
    average: float = 0.0
    granted: dict[Row, int] = field(default_factory=dict)  # resource blocks

    def demand(self, elements: int) -> Demand:
        """Of a slot whose resource blocks have so many elements."""
        bits = self.link.row.efficiency * elements
        blocked = self.harq is not None and not self.harq.any_free
        return Demand(self.user, 0 if blocked else self.queue.waiting, bits, self.average)

    def grant(self, blocks: int, elements: int) -> tuple[Row, int, int]:
        """The row for so many resource blocks, the bytes that it takes out of the queue, and the
        HARQ process."""
        row = self.link.row_for(blocks * elements)
        self.granted[row] = self.granted.get(row, 0) + blocks
        process = self.harq.begin(Attempt(row, blocks, elements)) if self.harq is not None else 0
        return row, self.queue.take(int(blocks * elements * row.efficiency) // 8), process

    def remember(self, bits: float, window: float) -> None:
        """What a slot granted, or 0."""
        self.average = averaged(self.average, bits, window)

    def heard(self, block: Block, sent: Sent | None, attempt: Attempt | None = None) -> None:
        """Of a block; `sent`: what had been put in, if anything; `attempt`: of its HARQ process."""
        good = block.verdict == "good"
        process = block.block.harq_process
        again = attempt is not None and attempt.number > 0
        if block.verdict == "late":
            self.blocks.late += 1
        else:
            self.blocks.good += good
            self.blocks.failed += not good
            self.blocks.again += again
            self.blocks.failed_again += again and not good
            if not again:  # whose BLER is to be at the target
                self.link.heard(good=good, snr_db=block.snr_db)
        if self.harq is not None and attempt is not None:
            if block.verdict == "late" and attempt.bits:
                self.harq.late(process)
                return
            if not good and self.harq.failed(process):
                return  # what it carries stays under way
            self.harq.over(process)
            self.blocks.lost += not good and bool(attempt.bits)
        if sent is None:
            return
        if good and block.bits.startswith(sent.bits):
            self.queue.deliver(len(sent.bits))
        else:
            self.queue.give_back(len(sent.bits))
            self.blocks.unlike += good

    @property
    def bler(self) -> float | None:
        """Of first attempts."""
        first = self.blocks.good + self.blocks.failed - self.blocks.again
        return (self.blocks.failed - self.blocks.failed_again) / first if first else None

    def mean(self, name: str) -> float | None:
        """Of a number of the rows, over the resource blocks granted."""
        total = sum(self.granted.values())
        if not total:
            return None
        return sum(float(getattr(row, name)) * n for row, n in self.granted.items()) / total
