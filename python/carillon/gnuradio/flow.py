"""The blocks of a GNU Radio flowgraph, by name, and who reads whom."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from gnuradio import gr

_RECORD = "_carillon_connected"  # attributes of hierarchical blocks, and of top ones
_ABOUT = "_carillon_about"


class FlowError(Exception):
    """A flowgraph that cannot be controlled, and why."""


@dataclass(frozen=True)
class Link:
    """A stream between two blocks."""

    writer: str
    output: int
    reader: str
    input: int


def record_connections() -> None:
    """From now on hierarchical blocks remember what they connect.

    GNU Radio's Python cannot list the blocks of a flowgraph: those that are no attributes, such as
    the filter in `analog.fm_deemph`, are known only while they are connected.
    """
    connect = gr.hier_block2.connect
    if getattr(connect, _RECORD, False):
        return

    @functools.wraps(connect)
    def recording(self: Any, *points: Any) -> None:
        connect(self, *points)
        known = self.__dict__.setdefault(_RECORD, [])
        known.extend(point[0] if isinstance(point, tuple) else point for point in points)

    setattr(recording, _RECORD, True)
    gr.hier_block2.connect = recording


class Flow:
    """A top block. Names are those of its attributes, which are the names in a .grc file.

    A block inside a hierarchical one is HIER.BLOCK, or HIER where it is the only one there.
    """

    def __init__(self, top: Any) -> None:
        self.top = top
        self.blocks: dict[str, Any] = {}
        for name, block in _inside(top, set()):
            unique, again = name, 1
            while unique in self.blocks:
                again += 1
                unique = f"{name}-{again}"
            self.blocks[unique] = block
        if not self.blocks:
            raise FlowError("no blocks: keep them as attributes of the top block, as grcc does")

    def links(self, without: Collection[str] = ()) -> list[Link]:
        """Of the whole flowgraph once it has been started, hierarchies resolved; but for readers
        `without`, by their symbols."""
        names = {}
        for name, block in self.blocks.items():
            names[block.symbol_name()] = names[block.alias()] = name
        found = []
        for line in self.top.edge_list().splitlines():
            if not line:
                continue
            ends = [end.rpartition(":") for end in line.split("->")]
            if ends[1][0] in without:
                continue
            unknown = [end[0] for end in ends if end[0] not in names]
            if unknown:
                raise FlowError(
                    f"block {unknown[0]} cannot be reached from Python: it is inside a "
                    "hierarchical block of C++, or was connected before carillon.gnuradio looked"
                )
            (writer, _, output), (reader, _, taken) = ends
            found.append(Link(names[writer], int(output), names[reader], int(taken)))
        return found

    def describe(self) -> list[dict[str, Any]]:
        """What a plan has to know of each block, as it was before any batch was set."""
        about: list[dict[str, Any]] = vars(self.top).setdefault(
            _ABOUT, [_described(name, block) for name, block in self.blocks.items()]
        )
        return about

    def start(self) -> None:
        """Starts it; blocks that are connected have threads then."""
        self.top.start()
        self.blocks = {n: block for n, block in self.blocks.items() if block.detail() is not None}

    def stop(self) -> None:
        """Returns when all threads have ended."""
        self.top.stop()
        self.top.wait()


def _inside(hier: Any, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Blocks of a hierarchical one, by name."""
    members = [*vars(hier).items(), *((None, each) for each in vars(hier).get(_RECORD, []))]
    for name, member in members:
        if not hasattr(member, "to_basic_block") or member.unique_id() in seen:
            continue
        seen.add(member.unique_id())
        own = name if name is not None else member.symbol_name()
        if isinstance(member, gr.hier_block2):
            within = list(_inside(member, seen))
            for inner, block in within:
                yield own if len(within) == 1 else f"{own}.{inner}", block
        elif hasattr(member, "output_multiple"):
            yield own, member


def _described(name: str, block: Any) -> dict[str, Any]:
    rate = getattr(block, "sample_rate", None)
    return {
        "name": name,
        "kind": block.name(),
        "produces": block.relative_rate_i(),
        "consumes": block.relative_rate_d(),
        "multiple": block.output_multiple() if block.output_multiple_set() else 1,
        "history": block.history(),
        "rate_hz": rate() if rate is not None else None,
    }
