"""One run from plan to report, as demo, run and radio all do it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from carillon import core, daemon, files, report, resources, runfolder
from carillon.commands import cells_table
from carillon.commands.bars import working
from carillon.commands.tables import print_table
from carillon.config import Cell, Loaded, Run, cell_folder, cell_run, together
from carillon.daemon import Interrupts, RunError, carry_out
from carillon.errors import CarillonError, NoDeviceError, TooSlowError
from carillon.live import CellsView, LiveView, View
from carillon.result import Result
from carillon.telemetry import PHASES, Telemetry

_SIDES = {"both": "", "bbu": "the baseband unit of ", "radio": "the radio unit of "}


@dataclass(frozen=True)
class Output:
    """How a run shows itself; `aside`: standard output belongs to the JSON of who starts it."""

    live: bool
    json: bool
    aside: bool = False

    @property
    def console(self) -> Console:
        """Where words go: standard output belongs to --json."""
        return Console(stderr=self.json or self.aside, highlight=False, markup=False)

    @property
    def shows_live(self) -> bool:
        """Only a terminal can show something live."""
        return self.live and self.console.is_terminal


def start_all(
    cells: Sequence[Loaded], run: Run, folder: Path | None, title: str, output: Output
) -> list[Result]:
    """start() or start_cells() in a folder, which is named by `title` and the time if not given."""
    runfolder.require_free(folder)
    path = folder or runfolder.new_path(Path("runs"), title)
    with Interrupts() as interrupts:
        if len(cells) > 1:
            return start_cells(cells, run, path, output, interrupts)
        return [start(cells[0], run, path, output, interrupts)]


def start(
    loaded: Loaded,
    run: Run,
    folder: Path,
    output: Output,
    interrupts: Interrupts,
    beside: Callable[[runfolder.RunFolder], AbstractContextManager[None]] = lambda _: nullcontext(),
) -> Result:
    """Checks, runs, reports. `beside` is entered while it runs.

    Raises ConfigError, NoDeviceError or RunError when there is no run to report. With the report
    written, KeyboardInterrupt when stopped, TooSlowError when frames were due and none was in time,
    and RunError when, at the radio unit, none was sent or answered.
    """
    made = _prepare(loaded, run, folder)
    with beside(made):
        _carry_out([made], output, interrupts)
    result = finish(made, output)
    _require_an_end([result], made, interrupts)
    return result


def start_cells(
    cells: Sequence[Loaded], run: Run, folder: Path, output: Output, interrupts: Interrupts
) -> list[Result]:
    """start() for several cells that share the cores: a run folder each, in one folder."""
    for loaded in cells:
        loaded.check(run)
    cells = together(cells, run)
    runfolder.made(folder)
    made = [_prepare(each, cell_run(run, each), folder / cell_folder(each)) for each in cells]
    _carry_out(made, output, interrupts)
    results = write_reports(made)
    _summarize(folder, made, results, output)
    _require_an_end(results, made[0], interrupts)
    return results


def _prepare(loaded: Loaded, run: Run, folder: Path) -> runfolder.RunFolder:
    loaded.check(run)
    loaded.check_cores()
    loaded.check_key()
    run = replace(run, record_frames=_expected_records(loaded, run))
    daemon.binary()
    _require_gpus(loaded.cell, run)
    _require_memory(loaded.cell)
    return runfolder.create(folder, loaded.cell, run)


def _require_gpus(cell: Cell, run: Run) -> None:
    gpus, machine = cell.runtime.gpus, core.cuda_machine()
    if gpus and run.role != "radio" and not machine["devices"]:
        raise NoDeviceError(f"runtime.gpus is {gpus}, but no GPU: {machine['why']}")


def _require_memory(cell: Cell) -> None:
    """The kernel ends without a word who fills more than a control group grants."""
    needed, granted = runfolder.describe(cell)["memory_bytes"], resources.memory()
    if needed > granted.bytes:
        raise RunError(
            f"{cell.name} needs {needed / 1e6:.4g} MB, more than {granted.limited or 'there is'}; "
            "lower ring, or use a smaller cell"
        )


def _carry_out(made: list[runfolder.RunFolder], output: Output, interrupts: Interrupts) -> None:
    console, run = output.console, made[0].run
    for limit in made[0].machine.get("limits", []):
        console.print(f"within {limit}", style="dim", soft_wrap=True)
    if output.shows_live:
        view: View = CellsView(made, console) if len(made) > 1 else LiveView(made[0], console)
        with view:
            notes = _Notes(made[0], view.update)
            carry_out(made, interrupts, notes.watch)
    else:
        limits = [f"{run.frames} frames"] * bool(run.frames) + [f"{run.seconds:g} s"] * bool(
            run.seconds
        )
        until = f"for {' or '.join(limits)}" if limits else "until Ctrl-C"
        names = " and ".join(folder.cell.name for folder in made)
        console.print(f"running {_SIDES[run.role]}{names} {until}", style="dim")
        notes = _Notes(made[0])
        carry_out(made, interrupts, notes.watch)
    notes.tell()  # what was found, or all if the run was too short to watch


def _require_an_end(
    results: list[Result], made: runfolder.RunFolder, interrupts: Interrupts
) -> None:
    """Raises what kept the run from its end; KeyboardInterrupt, after saying that, when stopped."""
    try:
        _check_end(results, made, interrupted=interrupts.count > 0)
    except CarillonError as error:
        if not interrupts.count:
            raise
        print(f"{error.prefix}{error}", file=sys.stderr)
    if interrupts.count:
        raise KeyboardInterrupt


def _check_end(results: list[Result], made: runfolder.RunFolder, *, interrupted: bool) -> None:
    if not all(result.finished for result in results) and not interrupted:
        raise RunError(f"carillond ended before the run did; its log is {made.log_file}")
    if silent := daemon.silent(made):
        raise RunError(
            "\n".join(silent) + "\nIs `carillon radio` running with the same cells in the same "
            "order, and does fronthaul name this machine?"
        )
    for result in results:
        _require_a_frame(result, interrupted=interrupted)


def _summarize(
    folder: Path, made: list[runfolder.RunFolder], results: list[Result], output: Output
) -> None:
    """cells.json, and the same as a table: a row for each cell."""
    rows = [cells_table.row(one, result) for one, result in zip(made, results, strict=True)]
    text = json.dumps(rows, indent=2, ensure_ascii=False) + "\n"
    files.write_text(folder / "cells.json", text)
    if output.json:
        print(text, end="")
        return
    print_table(output.console, cells_table.table(rows))
    for note in cells_table.notes(rows):
        output.console.print(note, style="dim", soft_wrap=True)
    for one in made:
        output.console.print(f"report: {one.path / 'report.html'}", soft_wrap=True)


class _Notes:
    """Passes carillond's notes on to standard error when the run has begun and when it is over."""

    def __init__(
        self, folder: runfolder.RunFolder, watch: Callable[[list[Telemetry]], None] | None = None
    ) -> None:
        self._folder = folder
        self._watch = watch
        self._begun = False
        self._told = 0

    def watch(self, cells: list[Telemetry]) -> None:
        if not self._begun and cells[0].phase() != PHASES[0]:
            self._begun = True
            self.tell()
        if self._watch is not None:
            self._watch(cells)

    def tell(self) -> None:
        notes = daemon.notes(self._folder)
        for note in notes[self._told :]:
            print(f"carillon: note: {note}", file=sys.stderr)
        self._told = len(notes)


def _require_a_frame(result: Result, *, interrupted: bool) -> None:
    frames = result.frames
    if result.role == "radio" and frames.sent:
        if not result.packets["sent"]:
            raise RunError(
                f"not one packet of {frames.sent} frames could be sent; `ip route get` with "
                "fronthaul.bbu_address tells whether there is a way to it"
            )
        if result.downlink.symbols_substituted and not result.packets["received"]:
            raise RunError(
                f"nobody answered {frames.sent} frames; is `carillon run` running with this cell, "
                "and does fronthaul name its machine?"
            )
        return
    if frames.completed:
        return
    if frames.seen:
        raise TooSlowError(f"none of {frames.seen} frames was in time")
    if frames.skipped and not interrupted:  # the first frame may not have been over yet
        raise RunError(
            f"the radio's thread did not run: it skipped all {frames.skipped} frames; "
            "`carillon doctor` tells who had its core"
        )


def finish(made: runfolder.RunFolder, output: Output) -> Result:
    """Writes the report and says where it is."""
    with working("writing the report"):
        result = _reported(made)
    if output.json:
        print((made.path / "result.json").read_text(encoding="utf-8"), end="")
        return result
    for line in report.summary(result):
        output.console.print(line, soft_wrap=True)
    output.console.print(f"report: {made.path / 'report.html'}", soft_wrap=True)
    return result


def write_reports(made: Sequence[runfolder.RunFolder]) -> list[Result]:
    """The report of each cell, one after the other."""
    results = []
    with working(f"writing {len(made)} reports") as tell:
        for number, one in enumerate(made, 1):
            tell(f"writing reports ({number} of {len(made)})")
            results.append(_reported(one))
    return results


def _reported(made: runfolder.RunFolder) -> Result:
    """Writes the report. What was recorded outlives a report that finds no room."""
    try:
        return report.rebuild(made)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise CarillonError(
            f"{error.filename or made.path}: {reason}; the run is recorded, and "
            f"`carillon report {made.path}` writes its report when that is mended"
        ) from error


def _expected_records(loaded: Loaded, run: Run) -> int:
    """Frame records to keep: all of the run, within reason."""
    in_time = int(run.seconds * 1e3 / runfolder.describe(loaded.cell)["frame_ms"])
    frames = min(run.frames, in_time) if run.frames and in_time else run.frames or in_time
    return min(max(frames, 1 << 16), 1 << 20)
