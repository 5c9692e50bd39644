"""The transport blocks of a cell by their kinds: a kind for each grant that differs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from carillon import core
from carillon.config.models import Cell, Coding, Grant, Grants
from carillon.config.plan import Run, busiest, data_symbols, plan_text, slots_of

Direction = Literal["uplink", "downlink"]
DIRECTIONS: tuple[Direction, ...] = ("uplink", "downlink")

# TS 38.212 table 5.4.2.1-2: where reading of the circular buffer starts, in columns of the graph.
_START = {1: (0, 17, 33, 56), 2: (0, 13, 25, 43)}
_COLUMNS = {1: (22, 66), 2: (10, 50)}  # of information, and of the buffer
_MOST_KINDS = 64  # of more, nobody wants to read
_SURE = 64  # soft bit of a channel without noise
_ITERATIONS = 100


@dataclass(frozen=True)
class Kind:
    """Transport blocks that are alike, and how many all frames that differ have of them."""

    count: int
    bits: int
    coded_bits: int
    code_blocks: int
    base_graph: int
    lifting: int
    fillers: int
    bits_per_element: int
    redundancy_version: int

    @property
    def rate(self) -> float:
        """Of all coded bits, as sent."""
        return self.bits / self.coded_bits


def kinds(cell: Cell, direction: Direction) -> list[Kind]:
    """In the order of the first user, slot and grant that has each, 64 at most."""
    coding: Coding = getattr(cell, direction)
    alike: dict[object, tuple[list[Grant], int]] = {}
    for grants in _of_one_block(cell, direction, coding):
        row = coding.mcs_of(grants[0].user)
        shape = (row, *(_shape(cell, grant) for grant in grants))
        if shape not in alike and len(alike) == _MOST_KINDS:
            continue
        first, count = alike.setdefault(shape, (grants, 0))
        alike[shape] = (first, count + 1)
    found = (_described(cell, direction, grants, count) for grants, count in alike.values())
    return [kind for kind in found if kind is not None]


def _of_one_block(cell: Cell, direction: Direction, coding: Coding) -> Iterator[list[Grant]]:
    """Grants that a user has together in a block, or each alone."""
    grants = sorted(_grants(cell, direction, coding), key=lambda grant: (grant.user, grant.slot))
    if coding.block != "frame":
        yield from ([grant] for grant in grants)
        return
    together: dict[tuple[int, int], list[Grant]] = {}
    for grant in grants:
        together.setdefault((grant.user, grant.slot // slots_of(cell)), []).append(grant)
    yield from together.values()


def _grants(cell: Cell, direction: Direction, coding: Coding) -> Iterator[Grant]:
    """As the engine expands them (engine/frame/format.cpp)."""
    cell = busiest(cell)
    if cell.grants.kind == "list":
        yield from (grant for grant in cell.grants.list if grant.direction == direction)
        return
    band = -(-cell.numerology.subcarriers // 12)
    for slot in range(slots_of(cell)):
        for user in range(cell.users):
            share = (user + slot) % cell.users
            whole = cell.grants.kind == "full"
            first = 0 if whole else band * share // cell.users
            end = band if whole else band * (share + 1) // cell.users
            if end > first:
                yield Grant(
                    user=user,
                    slot=slot,
                    direction=direction,
                    first_block=first,
                    blocks=end - first,
                    redundancy_version=coding.redundancy_version,
                )


def _shape(cell: Cell, grant: Grant) -> tuple[object, ...]:
    """What a grant's blocks depend on: subcarriers, data symbols, redundancy version, coding."""
    begin, end = (12 * block for block in (grant.first_block, grant.first_block + grant.blocks))
    data = data_symbols(cell, grant)
    coding = (grant.redundancy_version, grant.modulation, grant.rate, grant.mcs)
    return (min(end, cell.numerology.subcarriers) - begin, data, *coding)


def _described(
    cell: Cell, direction: Direction, grants: Sequence[Grant], count: int
) -> Kind | None:
    """The engine's figures of a frame that has no other grants; None: it has no data symbol."""
    own = [grant.model_copy(update={"slot": grant.slot % slots_of(cell)}) for grant in grants]
    alone = cell.model_copy(update={"grants": Grants(kind="list", list=own)})
    side: dict[str, Any] | None = core.describe(plan_text(alone, Run()))[direction]
    if side is None:
        return None
    user = side["users"][grants[0].user]
    return Kind(
        count * user["blocks"],
        user["block_bits"][0],
        user["coded_bits"][0],
        user["code_blocks"][0],
        side["base_graph"],
        side["lifting"],
        side["fillers"],
        side["bits_per_element"],
        grants[0].redundancy_version,
    )


def decodes_alone(kind: Kind, buffer_limit: float, redundancy_version: int) -> bool:
    """Whether a code block is decoded from what one transmission sends of it, without noise."""
    information, length = (each * kind.lifting for each in _COLUMNS[kind.base_graph])
    bits = np.random.default_rng(1).integers(0, 2, information, dtype=np.uint8)
    bits[information - kind.fillers :] = 0
    code = core.ldpc_encode(kind.base_graph, kind.lifting, bits)
    sent = _sent(kind, int(buffer_limit * length + 1e-6), redundancy_version)
    soft = np.zeros(length, np.int8)
    soft[sent] = np.where(code[sent] == 0, _SURE, -_SURE)
    decoded, _, holds = core.ldpc_decode(
        kind.base_graph, kind.lifting, soft, fillers=kind.fillers, iterations=_ITERATIONS
    )
    return holds and bool(np.array_equal(decoded, bits))


def _sent(kind: Kind, buffer: int, redundancy_version: int) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Positions of the codeword that the smallest code block sends (38.212 5.4.2.1)."""
    information, length = (each * kind.lifting for each in _COLUMNS[kind.base_graph])
    column = _START[kind.base_graph][redundancy_version] * buffer // length
    order = np.roll(np.arange(buffer), -column * kind.lifting)
    end = information - 2 * kind.lifting
    order = order[(order < end - kind.fillers) | (order >= end)]
    elements = kind.coded_bits // kind.bits_per_element // kind.code_blocks
    return order[: elements * kind.bits_per_element]
