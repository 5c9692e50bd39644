"""`carillon demo`: a cell that this machine can carry, live, then its report."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from carillon import cells, runfolder
from carillon.commands.start import Output, expected_records, finish, start
from carillon.config import Cell, Loaded, Run
from carillon.daemon import Interrupts, RunError, carry_out
from carillon.result import Result

_TRIAL_SECONDS = 0.5
_MOST_LOAD = 0.5  # of the cores: the rest is room for the machine's own moods
_MOST_MEMORY = 0.2


@dataclass(frozen=True)
class Trial:
    """A short run of one cell."""

    loaded: Loaded
    folder: runfolder.RunFolder
    load: float  # share of all cores
    fits: bool


def demo(
    cell: str | None,
    transport: Literal["shm", "udp"] | None,
    run: Run,
    folder: Path | None,
    output: Output,
) -> Result:
    """Chooses a cell unless one is named, runs it, writes the report."""
    with Interrupts() as interrupts, tempfile.TemporaryDirectory(prefix="carillon-") as scratch:
        if cell is not None:
            loaded = with_transport(cells.load(cell), transport)
        else:
            output.console.print("looking for a cell that this machine can carry …", style="dim")
            trial = choose(Path(scratch), transport, interrupts, output)
            loaded = trial.loaded
        path = folder or runfolder.new_path(Path("runs"), loaded.cell.name)
        if cell is None and interrupts.count:
            return _stopped_early(trial, path, output)
        run = replace(run, record_frames=expected_records(run, frame_ms(loaded.cell)))
        return start(loaded, run, path, output, interrupts)


def choose(
    scratch: Path, transport: Literal["shm", "udp"] | None, interrupts: Interrupts, output: Output
) -> Trial:
    """Tries ever larger cells; the last one that left enough room wins."""
    best: Trial | None = None
    for name in cells.DEMO_LADDER:
        loaded = with_transport(cells.load(name, check=False), transport or "shm")
        if best is not None and not _may_fit(loaded):
            break
        trial = _try(loaded, scratch / name, interrupts)
        verdict = "fits" if trial.fits else "is too much"
        output.console.print(f"  {name}: {trial.load:.0%} of the cores, {verdict}", style="dim")
        if best is None or trial.fits:
            best = trial
        if not trial.fits or interrupts.count:
            break
    assert best is not None
    return best


def _may_fit(loaded: Loaded) -> bool:
    """Cheap reasons not to try: memory, or more work than cores can do for certain."""
    about = runfolder.machine()
    derived = runfolder.describe(loaded.cell)
    return bool(derived["memory_bytes"] < _MOST_MEMORY * about["memory_gb"] * 1e9)


def _try(loaded: Loaded, path: Path, interrupts: Interrupts) -> Trial:
    loaded.check()
    folder = runfolder.create(path, loaded.cell, Run(seconds=_TRIAL_SECONDS))
    carry_out(folder, interrupts)
    telemetry = folder.telemetry()
    count, threads = telemetry.counters(), telemetry.read("threads")
    air_ns = max(count["frames_seen"], 1) * folder.derived["frame_ms"] * 1e6
    used = sum(float(threads[n].sum()) for n in ("busy", "overhead", "network", "emulating"))
    load = used / air_ns / folder.machine["cores"]
    late = count["frames_seen"] - count["frames_completed"] - count["lates_machine_stall"]
    fits = count["frames_seen"] > 0 and late * 50 <= count["frames_seen"] and load <= _MOST_LOAD
    return Trial(loaded, folder, load, fits)


def _stopped_early(trial: Trial, path: Path, output: Output) -> Result:
    """Ctrl-C came while a cell was being chosen: the report is of the trial."""
    output.console.print("stopped while choosing a cell; this is the last trial", style="dim")
    made = runfolder.create(path, trial.loaded.cell, trial.folder.run)
    made.telemetry_file.write_bytes(trial.folder.telemetry_file.read_bytes())
    if not made.telemetry().written("counters"):
        raise RunError("stopped before anything ran")
    return finish(made, output)


def with_transport(loaded: Loaded, kind: Literal["shm", "udp"] | None) -> Loaded:
    """The same cell over another transport."""
    if kind is None:
        return loaded
    fronthaul = loaded.cell.fronthaul.model_copy(update={"kind": kind})
    return replace(loaded, cell=loaded.cell.model_copy(update={"fronthaul": fronthaul}))


def frame_ms(cell: Cell) -> float:
    """Length of the cell's frame."""
    return float(runfolder.describe(cell)["frame_ms"])
