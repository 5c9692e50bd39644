"""Which row of an MCS table a user gets: by its measured SNR, corrected until the share of failed
blocks is the target's."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from carillon import core
from carillon.config import Cell, ConfigError, Problem, Run, busiest, plan_text
from carillon.config.blocks import Direction
from carillon.config.models import Coding, Grants

Modulation = Literal["qpsk", "16qam", "64qam", "256qam"]

# Of a code of short blocks to Shannon's limit. A guess will do: the outer loop corrects it.
_GAP_DB = 2.0
_SMOOTHING = 0.1  # a measurement's weight
_MOST_DB = 10.0  # that one may differ: of a frame whose packets were lost it says anything
_MOST_RATE = 0.93  # check included; the engine takes no block with more than 0.95
_CHECK_BITS = 24  # at most
_MODULATIONS: dict[int, Modulation] = {2: "qpsk", 4: "16qam", 6: "64qam", 8: "256qam"}
_MOST_ROWS = 29


@dataclass(frozen=True)
class Row:
    """A row of an MCS table (TS 38.214 5.1.3.1)."""

    mcs: int
    modulation: Modulation
    rate: float
    efficiency: float  # bits of a resource element

    @property
    def needed_db(self) -> float:
        """SNR from which it may do."""
        return 10 * math.log10(2**self.efficiency - 1) + _GAP_DB

    def fits(self, elements: int) -> bool:
        """Whether so many resource elements have room for parity beside the block's check."""
        return self.efficiency * elements + _CHECK_BITS <= _MOST_RATE * self._bits * elements

    @property
    def _bits(self) -> int:
        return next(bits for bits, name in _MODULATIONS.items() if name == self.modulation)


def rows_of(cell: Cell, direction: Direction) -> tuple[Row, ...]:
    """Those of the direction's table, of the 64QAM table where it names none, the slowest first.
    They are the engine's, but for rows with which the cell's blocks cannot be coded."""
    found = sorted(_known(cell, direction), key=lambda row: row.efficiency)
    if not found:
        why = "has no row of its MCS table for which a resource block has room"
        raise ConfigError([Problem(direction, 0, "", why)])
    return tuple(found)


def _known(cell: Cell, direction: Direction) -> Iterator[Row]:
    cell = busiest(cell.model_copy(update={"grants": Grants(kind="port")}))
    coding: Coding = getattr(cell, direction)
    table = "64qam" if coding.mcs_table == "none" else coding.mcs_table
    for mcs in range(_MOST_ROWS):
        update = {"mcs_table": table, "mcs_index": mcs} | _WITHOUT
        tried = cell.model_copy(update={direction: coding.model_copy(update=update)})
        plan = plan_text(tried, Run())
        if not core.validate(plan):
            side = core.describe(plan)[direction]
            bits, rate = side["bits_per_element"], side["code_rate"]
            yield Row(mcs, _MODULATIONS[bits], rate, bits * rate)


# A row of a table stands in their place.
_WITHOUT = {name: Coding.model_fields[name].default for name in ("modulation", "rate")}


@dataclass
class OuterLoop:
    """An offset to the SNR, in dB: lower after each block that failed, and by so much less higher
    after each good one that the two balance where the target's share fails."""

    target: float = 0.1
    down_db: float = 0.5
    limit_db: float = 10.0
    offset_db: float = 0.0

    @property
    def up_db(self) -> float:
        return self.down_db * self.target / (1 - self.target)

    def heard(self, *, good: bool) -> None:
        moved = self.offset_db + (self.up_db if good else -self.down_db)
        self.offset_db = min(max(moved, -self.limit_db), self.limit_db)


class LinkAdaptation:
    """One user's, in one direction."""

    def __init__(self, rows: Sequence[Row], loop: OuterLoop | None = None) -> None:
        self.rows = rows
        self.loop = loop or OuterLoop()
        self.snr_db: float | None = None  # smoothed
        self._needed = [row.needed_db for row in rows]

    def heard(self, *, good: bool, snr_db: float | None) -> None:
        """Of a block that was decoded."""
        self.loop.heard(good=good)
        if snr_db is None:
            return
        if self.snr_db is None:
            self.snr_db = snr_db
        moved = min(max(snr_db - self.snr_db, -_MOST_DB), _MOST_DB)
        self.snr_db += _SMOOTHING * moved

    @property
    def row(self) -> Row:
        """For the next block: the slowest until something was measured."""
        return self.rows[self._place]

    def row_for(self, elements: int) -> Row:
        """For a block of so many resource elements: a slower one if it is too small for that."""
        possible = self.rows[: self._place + 1]
        return next((row for row in reversed(possible) if row.fits(elements)), possible[0])

    @property
    def _place(self) -> int:
        if self.snr_db is None:
            return 0
        expected = self.snr_db + self.loop.offset_db
        return max(bisect_right(self._needed, expected) - 1, 0)
