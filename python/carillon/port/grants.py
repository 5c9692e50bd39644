"""What a client schedules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from carillon.port import messages

_BITS = {"cell": 0, "qpsk": 2, "16qam": 4, "64qam": 6, "256qam": 8}
_RATE_UNITS = 10240


@dataclass(frozen=True)
class Allocation:
    """One user's transport block in a slot of a frame, as in a file of slots (docs/slots.md)."""

    user: int
    first_block: int = 0  # resource blocks of 12 subcarriers
    blocks: int = 1
    slot: int = 0  # of the frame
    direction: Literal["uplink", "downlink"] = "uplink"
    first_symbol: int = 0  # of the slot
    symbols: int = 0  # 0: to the slot's end
    modulation: Literal["cell", "qpsk", "16qam", "64qam", "256qam"] = "cell"
    rate: float | None = None  # None: the cell's
    mcs: int | None = None  # a row of the direction's mcs_table; None: the cell's
    redundancy_version: int = 0
    harq_process: int = 0
    again: bool = False  # what the user sent in this process before, of the uplink

    def pack(self) -> bytes:
        """As it travels. ValueError: a number that does not."""
        return messages.grant(
            self.user,
            self.slot,
            int(self.direction == "downlink"),
            self.redundancy_version,
            self.harq_process,
            _BITS[self.modulation],
            self.first_block,
            self.blocks,
            self.first_symbol,
            self.symbols,
            0 if self.mcs is None else self.mcs + 1,
            int(self.again),
            0 if self.rate is None else round(self.rate * _RATE_UNITS),
        )
