"""Every derived figure of a cell, for people."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from carillon.config.blocks import DIRECTIONS, Direction, Kind, kinds
from carillon.config.combiner_group import group_of
from carillon.config.models import Cell

Derived = dict[str, Any]


def derived_tables(cell: Cell, derived: Derived) -> RenderableType:
    """What follows from a cell's configuration (the engine's figures)."""
    parts: list[RenderableType] = [_cell(cell, derived)]
    for name in DIRECTIONS:
        if derived[name] is not None:
            parts += _direction(cell, name, derived[name])
    return Group(*parts)


def _table(title: str) -> Table:
    table = Table(
        title=title, title_justify="left", show_header=False, box=None, padding=(0, 2, 0, 0)
    )
    table.add_column(style="dim")
    table.add_column()
    return table


def _cell(cell: Cell, derived: Derived) -> Table:
    table = _table(f"{cell.name}: {cell.antennas} antennas, {cell.users} users")
    if cell.description:
        table.add_row("", cell.description)
    symbols = derived["symbols"]
    deadlines = [s["deadline_ms"] for s in symbols if s["kind"] == "U"]
    leads = [s["deadline_ms"] for s in symbols if s["kind"] == "D"]
    table.add_row("frame", f"{derived['frame_ms']:.4g} ms, {len(symbols)} symbols: {cell.schedule}")
    if cell.pilots.occasions > 1:
        table.add_row("pilot occasions", _occasions(symbols))
    table.add_row("sample rate", f"{derived['sample_rate_mhz']:.6g} MHz")
    table.add_row("samples of a frame", f"{derived['samples_per_frame']} per antenna")
    table.add_row(
        "IQ up, down", f"{derived['uplink_iq_gbps']:.4g}, {derived['downlink_iq_gbps']:.4g} Gb/s"
    )
    if deadlines:
        table.add_row("uplink deadline", f"{max(deadlines):.4g} ms after the frame's start on air")
    if leads:
        table.add_row("first downlink symbol", f"leaves by {leads[0]:.4g} ms of the frame")
    table.add_row(
        "memory", f"{derived['memory_bytes'] / 1e6:.4g} MB for {cell.ring} frames in flight"
    )
    return table


def _occasions(symbols: list[Derived]) -> str:
    """How many symbols have each."""
    served = Counter(symbol["occasion"] for symbol in symbols if symbol["kind"] in "UD")
    count = 1 + max(symbol["occasion"] for symbol in symbols)
    each = ", ".join(str(served[occasion]) for occasion in range(count))
    return f"{count}, used by {each} U and D symbols"


_MATRICES: dict[Direction, str] = {"uplink": "combiners", "downlink": "precoders"}


def _direction(cell: Cell, name: Direction, side: Derived) -> Iterator[Table]:
    table = _table(name)
    found = kinds(cell, name)
    table.add_row("data symbols", str(side["data_symbols"]))
    frames = cell.grants.frames
    every = "a frame" if frames == 1 else f"{frames} frames"
    table.add_row(f"transport blocks of {every}", _count(found, side["blocks"]))
    if len(found) == 1:
        (kind,) = found
        table.add_row("coded bits of a transport block", str(kind.coded_bits))
        table.add_row("code blocks of a transport block", str(kind.code_blocks))
        code = f"base graph {kind.base_graph}, Z = {kind.lifting}, rate {kind.rate:.4g}"
        table.add_row("code", code)
    shared = f", one for {group_of(cell)} subcarriers"
    table.add_row(_MATRICES[name], f"in {side['precision']}{shared}")
    table.add_row("ideal data rate", f"{side['ideal_rate_mbps']:.5g} Mb/s over all users")
    yield table
    if len(found) > 1:
        yield _each(found)


def _count(found: list[Kind], total: int) -> str:
    if len(found) == 1:
        return f"{total}, each of {found[0].bits} bits"
    all_known = total == sum(kind.count for kind in found)
    return f"{total}, of {len(found)} kinds" + ("" if all_known else " and others")


def _each(found: list[Kind]) -> Table:
    """A row for each kind of transport block, where grants differ."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    headings = ("blocks", "bits", "coded bits", "code blocks", "version", "graph", "Z", "rate")
    for heading in headings:
        table.add_column(heading, justify="right")
    for kind in found:
        numbers = (
            kind.count,
            kind.bits,
            kind.coded_bits,
            kind.code_blocks,
            kind.redundancy_version,
            kind.base_graph,
            kind.lifting,
        )
        table.add_row(*map(str, numbers), f"{kind.rate:.4g}")
    return table
