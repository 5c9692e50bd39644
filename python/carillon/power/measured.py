"""The three delays of a cell's TTIs, measured in a run of both of its sides here.

T_BS is the time of a frame's tasks on cores, T_OS how long threads stood still, T_f from the end of
its last received symbol on air to its last packet (section 6). A frame is the cell's TTI. A
standstill that outlasts frames is the first one's: others wait for it, and are not held up anew.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carillon import files, runfolder
from carillon.config import Cell, Loaded, Run
from carillon.config.plan import Power
from carillon.daemon import Interrupts, carry_out
from carillon.errors import InputError
from carillon.inputs import read_json
from carillon.power.delays import delays, received_by
from carillon.telemetry import CAUSES, Records

Times = NDArray[np.float64]
_MOST_FRAMES = 1_000_000
_FORMAT = 1
_LONGEST_NS = 1e12


@dataclass(frozen=True)
class CellDelays:
    """Of one cell, in ns; samples in no order."""

    cell: str
    rate_msps: float  # of all antennas
    tti_ns: float
    response_ns: float  # from its end on air to its deadline
    processing: Times  # T_BS
    system: Times  # T_OS
    fronthaul: Times  # T_f

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        arrays = ("processing", "system", "fronthaul")
        return asdict(self) | {name: getattr(self, name).round().tolist() for name in arrays}


@dataclass(frozen=True)
class Counted:
    """Frames of a run, and of those that were late how many by which cause."""

    frames: int
    late: int
    stalled: int  # of the late: the machine or the system kept threads from running


def rate_msps(cell: Cell) -> float:
    """Samples per microsecond of all antennas."""
    return cell.antennas * cell.numerology.fft_size * cell.numerology.spacing_khz / 1000


@dataclass(frozen=True)
class Ran:
    """Records of a run's frames, in their order, and of its standstills."""

    frames: Records
    gaps: Records


@contextmanager
def ran_aside(cell: Cell, asked: Run, interrupts: Interrupts) -> Iterator[runfolder.RunFolder]:
    """The folder of a run of both sides of a cell, while the block lasts."""
    with tempfile.TemporaryDirectory(prefix="carillon-") as scratch:
        folder = runfolder.create(Path(scratch) / "run", cell, asked)
        carry_out([folder], interrupts)
        yield folder


def run(loaded: Loaded, seconds: float, power: Power, interrupts: Interrupts) -> Ran:
    """Of both sides of a cell; InputError of a run without any frame."""
    loaded.check()
    loaded.check_cores()
    asked = Run(seconds=seconds, record_frames=_MOST_FRAMES, power=power)
    with ran_aside(loaded.cell, asked, interrupts) as folder:
        telemetry = folder.telemetry()
        frames, gaps = telemetry.read("frames"), telemetry.read("gaps")
    if not len(frames) and not interrupts.count:
        raise InputError(f"{loaded.cell.name}: no frame came within {seconds:g} s; run it longer")
    return Ran(frames[np.argsort(frames["frame"])], gaps)


def counted(frames: Records) -> Counted:
    """By the run's own account."""
    late = frames["completed"] == 0
    causes = [1 + CAUSES.index(name) for name in ("machine_stall", "operating_system")]
    stalled = late & np.isin(frames["late_cause"], causes)
    return Counted(len(frames), int(late.sum()), int(stalled.sum()))


def delays_of(cell: Cell, ran: Ran) -> CellDelays:
    """T_BS and T_f of the frames of which all packets came and all was computed, late or not, T_OS
    of all. InputError if there are none."""
    derived, frames = runfolder.describe(cell), ran.frames
    whole = (frames["nack"] == 0) & (frames["missing_packets"] == 0) & (frames["uplink_done"] > 0)
    own = delays(frames[whole], received_by(derived["symbols"]))
    known = own.all_three
    if not known.any():
        raise InputError(
            f"{cell.name}: no frame was computed whole, so that nothing is known of its delays"
        )
    return CellDelays(
        cell.name,
        rate_msps(cell),
        derived["frame_ms"] * 1e6,
        cell.deadlines.uplink_budget_ms * 1e6,
        own.t_bs[known],
        standstills(frames, ran.gaps),
        np.maximum(own.t_f[known], 0.0),
    )


def standstills(frames: Records, gaps: Records) -> Times:
    """[frame] How long threads stood still that began to while it was on air, in ns; what several
    did at once counts once."""
    begins = frames["air_start"].astype(np.int64)
    found: Times = np.zeros(len(frames), dtype=np.float64)
    until = int(begins[0])
    for gap in np.sort(gaps, order="start"):
        start, end = int(gap["start"]), int(gap["start"] + gap["length"])
        since = max(start, until)
        if end <= since:
            continue
        until = end
        place = int(np.searchsorted(begins, start, side="right")) - 1
        found[max(place, 0)] += end - since
    return found


def together(measured: list[CellDelays]) -> tuple[Times, Times]:
    """T_OS and T_f of cells that were measured one after another: one machine's."""
    return (
        np.concatenate([own.system for own in measured]),
        np.concatenate([own.fronthaul for own in measured]),
    )


def write_delays(file: Path, measured: list[CellDelays], machine: dict[str, Any]) -> None:
    """As read_delays() reads them."""
    about = {"format": _FORMAT, "measured": True, "machine": machine}
    tree = about | {"cells": [own.as_json() for own in measured]}
    files.write_text(file, json.dumps(tree, ensure_ascii=False) + "\n")


def read_delays(file: Path) -> list[CellDelays]:
    """InputError names what is wrong."""
    try:
        tree = read_json(file)
        if tree["format"] is True or tree["format"] != _FORMAT:
            raise InputError(f"{file}: has format {tree['format']}, this Carillon reads {_FORMAT}")
        found = [_read(each) for each in tree["cells"]]
    except OSError as error:
        raise InputError(f"{file}: {(error.strerror or str(error)).lower()}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{file}: holds no measured delays: {error!r}") from None
    if not found:
        raise InputError(f"{file}: holds no cell")
    return found


def _read(tree: dict[str, Any]) -> CellDelays:
    if not isinstance(tree["cell"], str):
        raise ValueError("cell must be a name")
    tti = _number("tti_ns", tree["tti_ns"], 1e3, 1e9)
    return CellDelays(
        tree["cell"],
        _number("rate_msps", tree["rate_msps"], 1e-3, 1e6),
        tti,
        _number("response_ns", tree["response_ns"], 1.0, 1000 * tti),
        *(_times(name, tree[name]) for name in ("processing", "system", "fronthaul")),
    )


def _number(name: str, given: object, least: float, most: float) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not least <= given <= most:
        raise ValueError(f"{name} must be a number between {least:g} and {most:g}")
    return float(given)


def _times(name: str, given: object) -> Times:
    if not isinstance(given, list) or not given:
        raise ValueError(f"{name} must be a list of times in ns")
    return np.array([_number(name, value, 0.0, _LONGEST_NS) for value in given])
