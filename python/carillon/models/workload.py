"""How much work a cell's frame is: the chunks of every instruction, and when they may begin.

The same counts as the engine's graph (engine/frame/graph.cpp), except that code blocks are counted
one by one where the engine packs small ones together.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from carillon import runfolder
from carillon.config import Cell
from carillon.config.combiner_group import group_of
from carillon.errors import InputError

TILE = 16  # subcarriers

# A symbol's instructions, each after the one before it.
CHAINS = {
    "P": ("PilotFft",),
    "U": ("UplinkFft", "EqualizeDemodulate", "Decode", "Store"),
    "D": ("Encode", "Modulate", "Precode", "Ifft"),
    "G": (),
}
NEED_COMBINER = frozenset({"EqualizeDemodulate", "Encode", "Precode"})

Instruction = tuple[str, int]  # opcode, chunks


@dataclass(frozen=True)
class Symbol:
    """A symbol's work; `end_ms` of its time on air, from the frame's start; the pilot occasion that
    it is of, or whose combiner it has."""

    kind: str
    end_ms: float
    work: tuple[Instruction, ...]
    occasion: int = 0


@dataclass(frozen=True)
class Workload:
    """The work of one frame.

    symbol_bits: what all antennas' packets of a received symbol hold, headers included.
    bits_per_symbol: the constellations' bits of all users in a data symbol, as on air.
    """

    frame_ms: float
    symbols: tuple[Symbol, ...]
    zero_force: int  # chunks of each pilot occasion: tiles of CSI
    symbol_bits: float
    bits_per_symbol: int
    own_precoder: bool  # the downlink is precoded with this frame's own pilots

    @classmethod
    def of(cls, cell: Cell) -> Workload:
        """A cell's work, with every grant used. InputError for one whose frames differ."""
        _check_alike(cell)
        figures = runfolder.describe(cell)
        antennas, users, tiles = cell.antennas, cell.users, figures["tiles"]
        blocks = {kind: _blocks(cell, figures, kind) for kind in "UD"}
        symbols = []
        for place, symbol in enumerate(figures["symbols"]):
            kind = symbol["kind"]
            code, whole = blocks[kind] if kind in blocks else (Counter(), Counter())
            counts = {
                "PilotFft": antennas,
                "UplinkFft": antennas,
                "EqualizeDemodulate": tiles,
                "Decode": code[place],
                "Store": whole[place],
                "Encode": code[place],
                "Modulate": 0 if symbol["references"] else users,
                "Precode": tiles,
                "Ifft": antennas,
            }
            work = tuple((op, counts[op]) for op in CHAINS[kind] if counts[op])
            symbols.append(Symbol(kind, symbol["end_ms"], work, symbol["occasion"]))
        packets = figures["uplink_packets_per_second"]
        packet_bits = figures["uplink_iq_gbps"] * 1e9 / packets if packets else 0.0
        sides = [side for side in (figures["uplink"], figures["downlink"]) if side]
        return cls(
            frame_ms=figures["frame_ms"],
            symbols=tuple(symbols),
            zero_force=_csi_tiles(cell) if "P" in cell.schedule else 0,
            symbol_bits=packet_bits * cell.antennas,
            bits_per_symbol=max(side["bits_per_symbol"] for side in sides) * cell.users,
            own_precoder=cell.deadlines.precoder_age == 0,
        )

    def chunks(self, op: str) -> int:
        """Of all instructions of an opcode in a frame."""
        if op == "ZeroForce":
            return self.zero_force * len(self.occasions())
        return sum(chunks for symbol in self.symbols for name, chunks in symbol.work if name == op)

    def instructions(self) -> list[Instruction]:
        """All of a frame."""
        every = [instruction for symbol in self.symbols for instruction in symbol.work]
        combiners = [("ZeroForce", self.zero_force)] * len(self.occasions())
        return [*combiners, *every] if self.zero_force else every

    def occasions(self) -> Counter[int]:
        """P symbols of each pilot occasion."""
        return Counter(symbol.occasion for symbol in self.symbols if symbol.kind == "P")

    def count(self, kind: str) -> int:
        """How many symbols are of a kind."""
        return sum(symbol.kind == kind for symbol in self.symbols)


def _check_alike(cell: Cell) -> None:
    why = "costs are known of cells that do the same in every frame"
    if cell.grants.frames > 1:
        raise InputError(f"{cell.name}: grants.frames is {cell.grants.frames}, but {why}")
    taken = Counter((g.user, g.slot, g.direction) for g in cell.grants.list)
    if any(count > 1 for count in taken.values()):
        raise InputError(
            f"{cell.name}: grants.list has several of a user in a slot, but {why} "
            "and give each user one at most"
        )


def _blocks(cell: Cell, figures: dict[str, Any], kind: str) -> tuple[Counter[int], Counter[int]]:
    """By symbol: code blocks that are decoded after it or encoded before it, and transport blocks
    that are put together after it."""
    direction, coding = ("uplink", cell.uplink) if kind == "U" else ("downlink", cell.downlink)
    code: Counter[int] = Counter()
    whole: Counter[int] = Counter()
    side = figures[direction]
    for user, known in enumerate(side["users"] if side else ()):
        runs = _runs(cell, figures["symbols"], kind, user, coding.block)
        for run, count in zip(runs, known["code_blocks"], strict=True):
            for block in range(count):  # each an equal share of the run's elements
                share = (block + 1 if kind == "U" else block) * len(run) / count
                code[run[math.ceil(share) - 1 if kind == "U" else math.floor(share)]] += 1
            if kind == "U" and count > 1:
                whole[run[-1]] += 1
    return code, whole


def _runs(
    cell: Cell, symbols: list[dict[str, Any]], kind: str, user: int, block: str
) -> list[list[int]]:
    """The data symbols of each of a user's transport blocks."""
    data = [
        place
        for place, symbol in enumerate(symbols)
        if symbol["kind"] == kind and not symbol["references"]
    ]
    if cell.grants.kind == "list":
        direction = "uplink" if kind == "U" else "downlink"
        slots = {g.slot for g in cell.grants.list if (g.user, g.direction) == (user, direction)}
        data = [place for place in data if symbols[place]["slot"] in slots]
    spans = {"symbol": lambda at: at, "slot": lambda at: symbols[at]["slot"], "frame": lambda at: 0}
    return [list(run) for _, run in groupby(data, spans[block])]


def _csi_tiles(cell: Cell) -> int:
    """As phy::csi_tiles: the lanes of a tile are groups of subcarriers."""
    return math.ceil(math.ceil(cell.numerology.subcarriers / group_of(cell)) / TILE)
