"""cells.json and the table of cells that ran together: a row for each."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from carillon.commands.tables import new_table
from carillon.result import Result
from carillon.runfolder import RunFolder

_RADIO_HEADINGS = {
    "cell_id": "id",
    "sent": "sent",
    "skipped": "skipped",
    "downlink_blocks": "downlink blocks",
    "downlink_failed": "failed",
    "downlink_unverified": "unverified",
    "downlink_mbps": "Mb/s",
}
_BASEBAND_HEADINGS = {
    "cell_id": "id",
    "frames": "frames",
    "completed": "in time",
    "nacked": "refused",
    "late": "late",
    "machine": "machine",
    "uplink_p50_ms": "p50 ms",
    "uplink_p99_ms": "p99 ms",
    "core_ms_per_ms": "core-ms/ms",
}


def row(made: RunFolder, result: Result) -> dict[str, Any]:
    """A cell's line: of the baseband unit's work, or of the radio unit's where that ran alone."""
    counts = _of_radio(result) if result.role == "radio" else _of_baseband(result)
    name = {"name": result.name, "cell_id": made.cell.cell_id}
    return name | counts | {"folder": made.path.name}


def table(rows: list[dict[str, Any]]) -> Table:
    """The rows in words."""
    headings = _RADIO_HEADINGS if "sent" in rows[0] else _BASEBAND_HEADINGS
    drawn = new_table(["cell"], list(headings.values()))
    for one in rows:
        drawn.add_row(one["name"], *(_shown(one[key]) for key in headings))
    return drawn


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def _of_radio(result: Result) -> dict[str, Any]:
    downlink = result.downlink
    return {
        "sent": result.frames.sent,
        "skipped": result.frames.skipped,
        "downlink_blocks": downlink.blocks,
        "downlink_failed": downlink.blocks_failed,
        "downlink_unverified": downlink.blocks_unverified,
        "downlink_mbps": downlink.rate_mbps,
    }


def _of_baseband(result: Result) -> dict[str, Any]:
    """Latencies of the uplink."""
    frames, latency = result.frames, result.uplink.latency_ms
    return {
        "frames": frames.seen,
        "completed": frames.completed,
        "nacked": frames.nacked,
        "late": frames.seen - frames.completed - frames.nacked,
        "machine": result.lates.machine_stall + result.lates.operating_system,
        "uplink_p50_ms": latency.p50,
        "uplink_p99_ms": latency.p99,
        "core_ms_per_ms": sum(stage.core_ms_per_ms or 0.0 for stage in result.stages),
    }
