"""The files of a report: result.json, frames.csv, trace.json, plots, report.html."""

from __future__ import annotations

import csv
from pathlib import Path

from carillon import plots, results, trace
from carillon.report.page import page
from carillon.result import Result
from carillon.runfolder import RunFolder
from carillon.telemetry import Records, cause_name

_INSTANTS = (
    "first_packet",
    "last_packet",
    "started",
    "pilots_done",
    "combiner_done",
    "uplink_done",
    "downlink_first",
    "downlink_done",
)
_COUNTS = (
    "completed",
    "nack",
    "missing_packets",
    "uplink_blocks",
    "uplink_failed",
    "downlink_late_symbols",
    "iterations",
    "code_blocks",
)


def rebuild(folder: RunFolder) -> Result:
    """Writes every file of the report anew, from the telemetry."""
    telemetry = folder.telemetry()
    result = results.build(folder, telemetry)
    (folder.path / "result.json").write_text(result.model_dump_json(indent=2) + "\n", "utf-8")
    _write_frames(folder.path / "frames.csv", telemetry.read("frames"))
    trace.write(folder.path / "trace.json", folder, telemetry)
    drawn = plots.draw(folder, telemetry, result)
    (folder.path / "report.html").write_text(page(folder, telemetry, result, drawn), "utf-8")
    return result


def _write_frames(file: Path, frames: Records) -> None:
    """One row a frame; instants in ms from the frame's start on air, empty where there is none."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        instants = [f"{name}_ms" for name in _INSTANTS]
        writer.writerow(["frame", "air_start_ns", *instants, *_COUNTS, "late_cause"])
        for frame in frames:
            times = [f"{int(frame[n]) / 1e6:.6f}" if frame[n] else "" for n in _INSTANTS]
            counts = [int(frame[name]) for name in _COUNTS]
            cause = cause_name(int(frame["late_cause"]))
            writer.writerow([int(frame["frame"]), int(frame["air_start"]), *times, *counts, cause])
