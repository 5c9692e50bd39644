"""`carillon demo`: a cell that this machine can carry, live, then its report."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NoReturn

from carillon import cells, core, runfolder
from carillon.bench import BenchError, Choice, command, measure
from carillon.commands.start import Output, finish, start, start_all
from carillon.config import Loaded, Run, busiest
from carillon.config.sections import Data
from carillon.daemon import Interrupts, RunError, carry_out
from carillon.percent import percent
from carillon.result import Result

_TRIAL_SECONDS = 0.5
_TRIAL_REPLAY = 4  # frames; making them is most of a large cell's trial
_MOST_LOAD = 0.5  # of the cores: the rest is room for the machine's own moods
_MOST_MEMORY = 0.2


@dataclass(frozen=True)
class Trial:
    """A short run of one cell; without frames when it could not run at all."""

    loaded: Loaded
    folder: runfolder.RunFolder
    load: float = 0.0  # share of all cores
    frames: int = 0
    late: int = 0
    stalled: int = 0  # of these, for which the machine is to blame and not the cell
    refused: int = 0  # of the late ones, or discarded: what they would have cost is not in `load`

    @property
    def fits(self) -> bool:
        late = self.late - self.stalled
        return self.frames > 0 and late * 50 <= self.frames and self.load <= _MOST_LOAD

    @property
    def verdict(self) -> str:
        if not self.frames:
            return "did not run"
        load = f"{'at least ' if self.refused else ''}{percent(self.load)} of the cores"
        if self.fits:
            return f"{load}, fits"
        if self.load > _MOST_LOAD:
            return f"{load}, is too much: {percent(1 - _MOST_LOAD)} are to stay free"
        late = f"{self.late - self.stalled} of {self.frames} frames were late"
        return f"{late} or refused" if self.refused else f"{load}, but {late}"

    @property
    def overloads(self) -> bool:
        return 2 * (self.late - self.stalled) > self.frames - self.stalled


def demo(
    cell: str | None,
    transport: Literal["shm", "udp"] | None,
    run: Run,
    folder: Path | None,
    output: Output,
) -> Result:
    """Chooses a cell unless one is named, runs it, writes the report.

    Raises, with the report written, TooSlowError when no frame was in time, and KeyboardInterrupt
    when stopped.
    """
    runfolder.require_free(folder)
    with Interrupts() as interrupts, tempfile.TemporaryDirectory(prefix="carillon-") as scratch:
        if cell is not None:
            loaded = with_transport(cells.load(cell, live=True), transport)
            loaded.check(run)
            trial = _try(loaded, Path(scratch) / "trial", interrupts)
        else:
            output.console.print("looking for a cell that this machine can carry …", style="dim")
            trial = choose(Path(scratch), transport, interrupts, output)
        path = folder or runfolder.new_path(Path("runs"), trial.loaded.cell.name)
        if cell is not None and trial.overloads and not interrupts.count:
            output.console.print(_warning(cell, trial, _cost(cell, interrupts)), style="yellow")
        if interrupts.count:
            _stopped_early(trial, path, output)
        return start(trial.loaded, run, path, output, interrupts)


def demo_cells(
    names: Sequence[str],
    transport: Literal["shm", "udp"] | None,
    run: Run,
    folder: Path | None,
    output: Output,
) -> list[Result]:
    """Runs several cells on the cores that they share, both sides of each, without a trial."""
    chosen = [with_transport(cells.load(name, live=True), transport) for name in names]
    return start_all(chosen, run, folder, cells.title(chosen), output)


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
        output.console.print(f"  {name}: {trial.verdict}", style="dim")
        if best is None or trial.fits:
            best = trial
        if not trial.fits or interrupts.count:
            break
    assert best is not None
    return best


def _may_fit(loaded: Loaded) -> bool:
    """Whether its memory leaves the machine enough."""
    about = runfolder.machine()
    derived = runfolder.describe(loaded.cell)
    return bool(derived["memory_bytes"] < _MOST_MEMORY * about["memory_gb"] * 1e9)


def _try(loaded: Loaded, path: Path, interrupts: Interrupts) -> Trial:
    loaded.check()
    loaded.check_cores()
    radio = loaded.cell.radio
    differ = loaded.cell.grants.frames
    replay = -(-_TRIAL_REPLAY // differ) * differ
    fewer = radio.model_copy(update={"frames": min(radio.frames, replay)})
    # Who owns its bits is not bothered with a trial.
    cell = busiest(loaded.cell).model_copy(update={"radio": fewer, "data": Data()})
    folder = runfolder.create(path, cell, Run(seconds=_TRIAL_SECONDS))
    try:
        carry_out([folder], interrupts)
    except RunError:  # the run itself will say why
        return Trial(loaded, folder)
    telemetry = folder.telemetry()
    count, threads = telemetry.counters(), telemetry.read("threads")
    frames = count["frames_seen"]
    air_ns = max(frames, 1) * folder.derived["frame_ms"] * 1e6
    used = sum(float(threads[n].sum()) for n in ("busy", "overhead", "network", "emulating"))
    load = used / air_ns / folder.machine["cores"]
    late, stalled = frames - count["frames_completed"], count["lates_machine_stall"]
    return Trial(loaded, folder, load, frames, late, stalled, count["frames_nacked"])


def _cost(cell: str, interrupts: Interrupts) -> float:
    """Cores that a cell's baseband keeps busy, measured from memory on one of them."""
    frame = Choice("^frame frame ", (core.active_isa(),), (cell,), quick=True)
    try:
        with command(frame) as words:
            (row,) = measure(words)
    except BenchError:
        if interrupts.count:  # a terminal's Ctrl-C ends the program too
            raise KeyboardInterrupt from None
        raise
    assert row.core_ms_per_ms is not None
    return row.core_ms_per_ms


def _warning(cell: str, trial: Trial, cost: float) -> str:
    """What to expect of a cell that was too much, why, and what to do."""
    have, need = trial.folder.machine["cores"], math.ceil(round(cost, 1)) + 1
    name = trial.loaded.cell.name
    told = f"In a trial of {name}, {trial.late} of {trial.frames} frames were late. "
    if need <= have:
        return told + (
            f"Its baseband takes {cost:.2f} of {have} cores, so this machine is busy otherwise or "
            "stalls; `carillon doctor` tells what to change."
        )
    return told + (
        f"This machine cannot carry it in real time: it has {have} cores, and the cell needs "
        f"{need} like them, {cost:.1f} for the baseband by measurement and one for the emulated "
        f"radio. It runs all the same, to show what is refused; `carillon demo` alone chooses a "
        f"cell that fits, and `carillon bench cell {cell}` tells what each stage costs."
    )


def _stopped_early(trial: Trial, path: Path, output: Output) -> NoReturn:
    """Ctrl-C came before the run began: the report is of the trial."""
    if not trial.frames:
        raise KeyboardInterrupt
    output.console.print("stopped before the run; this is the trial", style="dim")
    made = runfolder.create(path, trial.folder.cell, trial.folder.run)
    made.telemetry_file.write_bytes(trial.folder.telemetry_file.read_bytes())
    finish(made, output)
    raise KeyboardInterrupt


def with_transport(loaded: Loaded, kind: Literal["shm", "udp"] | None) -> Loaded:
    """The same cell over another transport."""
    if kind is None:
        return loaded
    fronthaul = loaded.cell.fronthaul.model_copy(update={"kind": kind})
    return replace(loaded, cell=loaded.cell.model_copy(update={"fronthaul": fronthaul}))
