"""What a data port says to its client."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TransportBlock:
    """A block of a frame, of one direction; `index` is its place there."""

    index: int
    user: int
    slot: int
    first_symbol: int
    last_symbol: int
    harq_process: int
    redundancy_version: int
    bits: int

    @property
    def bytes(self) -> int:
        """That its bits take, most significant bit first; spare ones are zero."""
        return (self.bits + 7) // 8


@dataclass(frozen=True)
class Carrier:
    """What a cell carries: frame n is the one of n modulo those that differ, often one.

    What the cell has received comes to the client: the uplink's blocks, at the users' port the
    downlink's. The client gives the other direction's. Where the client schedules frames
    (`scheduled`), they have the blocks that Work says, and none here.
    """

    cell: int
    frame_ns: int  # how long a frame lasts
    slots: int  # of a frame
    ahead: int  # frames for which bits may be given before they begin
    gives: str  # the direction whose bits the client gives: uplink, downlink
    scheduled: bool
    all_received: tuple[tuple[TransportBlock, ...], ...]  # by frame
    all_given: tuple[tuple[TransportBlock, ...], ...]

    def received(self, frame: int = 0) -> tuple[TransportBlock, ...]:
        """The blocks of a frame that come."""
        return self.all_received[frame % len(self.all_received)]

    def given(self, frame: int = 0) -> tuple[TransportBlock, ...]:
        """The blocks of a frame that go."""
        return self.all_given[frame % len(self.all_given)]


@dataclass(frozen=True)
class Frame:
    """A frame has begun. Bits for later ones are welcome, for this one they are too late."""

    number: int
    air_start_ns: int  # of CLOCK_MONOTONIC_RAW


@dataclass(frozen=True)
class Block:
    """A received block. Its bits are whatever was decoded, and none of a late one."""

    frame: int
    block: TransportBlock
    verdict: str  # good, failed, late
    at_ns: int  # of CLOCK_MONOTONIC_RAW: when it was decoded, or given up
    bits: bytes
    snr_db: float | None = None  # after equalization, of the user's symbols; None: not measured


@dataclass(frozen=True)
class Refused:
    """A block, a piece of one, or a frame's work that was not taken."""

    frame: int
    block: int  # of a grant its place among the frame's
    reason: str  # no_frame, late, early, block, bits, order, format, grant
    why: str = ""  # of a grant


@dataclass(frozen=True)
class Work:
    """The blocks of a frame that was scheduled."""

    frame: int
    received: tuple[TransportBlock, ...]  # that come
    given: tuple[TransportBlock, ...]  # whose bits the client gives
