"""The files of a report: result.json, frames.csv, nacks.csv, trace.json, plots, report.html."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from carillon import explain, plots, results, trace
from carillon.files import table, write_text
from carillon.power.delays import delays, received_by
from carillon.report.page import page
from carillon.result import Result
from carillon.runfolder import RunFolder, require_plain
from carillon.statistics import Values
from carillon.telemetry import OVERLOAD, Records, cause_name

_INSTANTS = (
    "first_packet",
    "last_packet",
    "started",
    "pilots_done",
    "combiner_done",
    "uplink_done",
    "downlink_first",
    "downlink_done",
    "ended",
)
_COUNTS = (
    "completed",
    "missing_packets",
    "uplink_blocks",
    "uplink_failed",
    "downlink_late_symbols",
    "iterations",
    "code_blocks",
    "substituted",
    "clock_mhz",
)
FRAME_COLUMNS = (
    "frame",
    "air_start_ns",
    *(f"{name}_ms" for name in (*_INSTANTS, "t_bs", "t_os", "t_f", "lead")),
    *_COUNTS,
    "nack",
    "late_cause",
    "gap",
    "explanation",
)
_NACKS = ("", "refused", "discarded")


def rebuild(folder: RunFolder) -> Result:
    """Writes every file of the report anew, from the telemetry."""
    require_plain(folder.path)  # it may be somebody else's
    telemetry = folder.telemetry()
    late_frames = explain.late_frames(folder, telemetry)
    result = results.build(folder, telemetry, late_frames)
    write_text(folder.path / "result.json", result.model_dump_json(indent=2) + "\n")
    _write_frames(folder, telemetry.read("frames"), late_frames)
    _write_nacks(folder.path / "nacks.csv", telemetry.read("nacks"))
    trace.write(folder.path / "trace.json", folder, telemetry)
    drawn = plots.draw(folder, telemetry, result)
    write_text(folder.path / "report.html", page(folder, telemetry, result, drawn))
    return result


def _write_frames(folder: RunFolder, frames: Records, late_frames: Sequence[explain.Late]) -> None:
    """One row a frame; instants in ms from the frame's start on air, empty where there is none."""
    file = folder.path / "frames.csv"
    explanations = {late.frame: late.text for late in late_frames}
    columns = np.sort(frames, order="frame")
    instants = [_in_ms(columns[name]) for name in _INSTANTS]
    own = delays(columns, received_by(folder.derived["symbols"]))
    counts = [columns[name].tolist() for name in _COUNTS]
    rows = zip(
        columns["frame"].tolist(),
        columns["air_start"].tolist(),
        *instants,
        *(_delay_in_ms(delay) for delay in (own.t_bs, own.t_os, own.t_f, own.lead)),
        *counts,
        (_NACKS[nack] for nack in columns["nack"]),
        (cause_name(cause) for cause in columns["late_cause"]),
        columns["gap"].tolist(),
        (explanations.get(number, "") for number in columns["frame"].tolist()),
        strict=True,
    )
    with table(file) as stream:
        writer = csv.writer(stream)
        writer.writerow(FRAME_COLUMNS)
        writer.writerows(rows)


def _write_nacks(file: Path, nacks: Records) -> None:
    """One row for each frame given up and each block to be repeated, the newest that were kept."""
    with table(file) as stream:
        writer = csv.writer(stream)
        writer.writerow(["kind", "cell", "frame", "user", "harq_process", "cause"])
        for nack in nacks:
            overload = nack["kind"] == OVERLOAD
            writer.writerow(
                [
                    "overload_nack" if overload else "harq_nack",
                    nack["cell"],
                    nack["frame"],
                    "" if overload else nack["user"],
                    "" if overload else nack["process"],
                    cause_name(int(nack["cause"])) if nack["cause"] else "crc",
                ]
            )


def _in_ms(instants: Records) -> list[str]:
    return [f"{ns / 1e6:.6f}" if ns else "" for ns in instants.tolist()]


def _delay_in_ms(delay: Values) -> list[str]:
    return ["" if math.isnan(ns) else f"{ns / 1e6:.6f}" for ns in delay.tolist()]
