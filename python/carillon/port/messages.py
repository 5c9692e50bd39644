"""The messages of a data port, as they travel (engine/port/message.hpp)."""

import struct
from typing import NamedTuple

MAGIC = 0x31504443
CARRIER, FRAME, BLOCK, BITS, REFUSED, WORK = range(1, 7)
VERDICTS = ("good", "failed", "late")
REFUSALS = (
    "none", "no_frame", "late", "early", "block", "bits", "order", "format", "busy", "grant",
)  # fmt: skip
PIECE = 32768  # most bytes behind a header

_HEADER = struct.Struct("<IBBHIIHBBHHIIq")
_ROW = struct.Struct("<BBBxHHHHI")
ROW = _ROW.size
_GRANT = struct.Struct("<HHBBBBHHHHBBH")


class Header(NamedTuple):
    """What every message begins with."""

    magic: int = MAGIC
    type: int = 0
    verdict: int = 0
    cell: int = 0
    frame: int = 0
    block: int = 0
    user: int = 0
    harq_process: int = 0
    redundancy_version: int = 0
    slot: int = 0
    snr: int = 0  # hundredths of a dB above -100 dB; 0: not measured
    bits: int = 0
    offset: int = 0
    time: int = 0

    def pack(self) -> bytes:
        """The header's 40 bytes."""
        return _HEADER.pack(*self)


def parse(datagram: bytes) -> tuple[Header, bytes]:
    """A message's header, and what follows it. ValueError: it is none of this kind."""
    if len(datagram) < _HEADER.size:
        raise ValueError(f"a message of {len(datagram)} bytes, fewer than {_HEADER.size}")
    header = Header(*_HEADER.unpack_from(datagram))
    if header.magic != MAGIC:
        raise ValueError(f"a message that begins with {header.magic:#x}, not {MAGIC:#x}")
    return header, datagram[_HEADER.size :]


def rows(data: bytes) -> list[tuple[int, ...]]:
    """The rows of a Carrier, and of Work: direction, HARQ process, redundancy version, user, slot,
    first and last symbol, bits."""
    return list(_ROW.iter_unpack(data))


def grant(*numbers: int) -> bytes:
    """A grant of Work: user, slot, direction, redundancy version, HARQ process, modulation, first
    resource block, blocks, first symbol, symbols, MCS row + 1, whether it is sent again, rate ·
    10240. ValueError: a number that does not travel."""
    try:
        return _GRANT.pack(*numbers)
    except struct.error as error:
        raise ValueError(f"a grant of {numbers}: {error}") from None
