"""Every derived figure of a cell, for people."""

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from carillon.config.models import Cell
from carillon.config.sharing import group_of

Derived = dict[str, Any]


def derived_tables(cell: Cell, derived: Derived) -> RenderableType:
    """What follows from a cell's configuration (the engine's figures)."""
    parts: list[RenderableType] = [_cell(cell, derived)]
    parts += [
        _direction(cell, name, derived[name])
        for name in ("uplink", "downlink")
        if derived[name] is not None
    ]
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


_MATRICES = {"uplink": "combiners", "downlink": "precoders"}


def _direction(cell: Cell, name: str, side: Derived) -> Table:
    table = _table(name)
    users = side["users"]
    bits = sorted({block for user in users for block in user["block_bits"]})
    counts = sorted({count for user in users for count in user["code_blocks"]})
    table.add_row("data symbols", str(side["data_symbols"]))
    table.add_row("coded bits of a symbol", f"{side['bits_per_symbol']} per user")
    table.add_row("transport blocks of a frame", f"{side['blocks']}, each of {_span(bits)} bits")
    table.add_row("code blocks of a transport block", _span(counts))
    table.add_row(
        "code",
        f"base graph {side['base_graph']}, Z = {side['lifting']}, rate {side['code_rate']:.4g}",
    )
    shared = f", one for {group_of(cell)} subcarriers"
    table.add_row(_MATRICES[name], f"in {side['precision']}{shared}")
    table.add_row("ideal data rate", f"{side['ideal_rate_mbps']:.5g} Mb/s over all users")
    return table


def _span(values: list[int]) -> str:
    if not values:
        return "none"
    return str(values[0]) if len(values) == 1 else f"{values[0]} to {values[-1]}"
