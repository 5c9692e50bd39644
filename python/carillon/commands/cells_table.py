"""cells.json and the table of cells that ran together: a row for each."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from carillon.commands.tables import new_table
from carillon.result import Result
from carillon.runfolder import RunFolder
from carillon.telemetry import CAUSES

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
    "lost": "lost",
    "fronthaul": "fronthaul",
    "processing": "processing",
    "operating_system": "system",
    "machine_stall": "machine",
    "nacked": "refused",
    "skipped": "skipped",
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
    """The rows in words, without the causes that no frame was late by."""
    headings = _RADIO_HEADINGS if "sent" in rows[0] else _BASEBAND_HEADINGS
    shown = {
        key: heading
        for key, heading in headings.items()
        if key not in CAUSES or any(one[key] for one in rows)
    }
    drawn = new_table(["cell"], list(shown.values()))
    for one in rows:
        drawn.add_row(one["name"], *(_figure(one[key]) for key in shown))
    return drawn


def notes(rows: list[dict[str, Any]]) -> list[str]:
    """How the table's columns add up."""
    if "sent" in rows[0]:
        return []
    causes = [_BASEBAND_HEADINGS[cause] for cause in CAUSES if any(one[cause] for one in rows)]
    parts = " + ".join(["in time", *causes])
    told = [f"frames: {parts}; refused ones are among the late, skipped ones in no other column"]
    if any(one["nacked"] for one in rows):
        told.append("core-ms/ms: of the frames that were computed")
    return told


def _figure(value: float | None) -> str:
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
    """Frames are completed or late, by one cause each; the nacked ones are among the late."""
    frames, latency = result.frames, result.uplink.latency_ms
    return {
        "frames": frames.seen,
        "completed": frames.completed,
        "late": frames.seen - frames.completed,
        **result.lates.model_dump(),
        "nacked": frames.nacked,
        "skipped": frames.skipped,
        "uplink_p50_ms": latency.p50,
        "uplink_p99_ms": latency.p99,
        "core_ms_per_ms": sum(stage.core_ms_per_ms or 0.0 for stage in result.stages),
    }
