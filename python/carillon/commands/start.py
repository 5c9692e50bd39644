"""One run from plan to report, as demo, run and radio all do it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from carillon import daemon, report, runfolder
from carillon.config import Loaded, Run
from carillon.daemon import Interrupts, RunError, carry_out
from carillon.live import LiveView
from carillon.result import Result
from carillon.telemetry import PHASES, Telemetry

_SIDES = {"both": "", "bbu": "the baseband unit of ", "radio": "the radio unit of "}


@dataclass(frozen=True)
class Output:
    """How a run shows itself."""

    live: bool
    json: bool

    @property
    def console(self) -> Console:
        """Where words go: standard output belongs to --json."""
        return Console(stderr=self.json, highlight=False, markup=False)

    @property
    def shows_live(self) -> bool:
        """Only a terminal can show something live."""
        return self.live and self.console.is_terminal


def start(loaded: Loaded, run: Run, folder: Path, output: Output, interrupts: Interrupts) -> Result:
    """Checks, runs, reports.

    Raises ConfigError or RunError when there is no run to report, and RunError, with the report
    written, when frames were due and none was in time or, at the radio unit, sent or answered.
    """
    loaded.check(run)
    loaded.check_cores()
    run = replace(run, record_frames=_expected_records(loaded, run))
    daemon.binary()
    made = runfolder.create(folder, loaded.cell, run)
    console = output.console
    if output.shows_live:
        with LiveView(made, console) as view:
            notes = _Notes(made, view.update)
            carry_out(made, interrupts, notes.watch)
    else:
        length = f"{run.frames} frames" if run.frames else f"{run.seconds:g} s"
        until = "until Ctrl-C" if not run.frames and not run.seconds else f"for {length}"
        console.print(f"running {_SIDES[run.role]}{loaded.cell.name} {until}", style="dim")
        notes = _Notes(made)
        carry_out(made, interrupts, notes.watch)
    notes.tell()  # the run may have been too short to watch
    result = finish(made, output)
    if not result.finished and not interrupts.count:
        raise RunError(f"carillond ended before the run did; its log is {made.log_file}")
    _require_a_frame(result, interrupted=interrupts.count > 0)
    return result


class _Notes:
    """Passes carillond's notes on to standard error, once: it has said all when the run begins."""

    def __init__(
        self, folder: runfolder.RunFolder, watch: Callable[[Telemetry], None] | None = None
    ) -> None:
        self._folder = folder
        self._watch = watch
        self._told = False

    def watch(self, telemetry: Telemetry) -> None:
        if telemetry.phase() != PHASES[0]:
            self.tell()
        if self._watch is not None:
            self._watch(telemetry)

    def tell(self) -> None:
        if self._told:
            return
        self._told = True
        for note in daemon.notes(self._folder):
            print(f"carillon: note: {note}", file=sys.stderr)


def _require_a_frame(result: Result, *, interrupted: bool) -> None:
    frames = result.frames
    if result.role == "radio" and frames.sent:
        if result.downlink.symbols_substituted and not result.packets["received"]:
            raise RunError(
                f"nobody answered {frames.sent} frames; is `carillon run` running with this cell, "
                "and does fronthaul name its machine?"
            )
        return
    if frames.completed:
        return
    if frames.seen:
        raise RunError(f"none of {frames.seen} frames was in time")
    if frames.skipped and not interrupted:  # the first frame may not have been over yet
        raise RunError(f"the machine stood still: the radio skipped all {frames.skipped} frames")


def finish(made: runfolder.RunFolder, output: Output) -> Result:
    """Writes the report and says where it is."""
    result = report.rebuild(made)
    if output.json:
        print((made.path / "result.json").read_text(encoding="utf-8"), end="")
        return result
    for line in report.summary(result):
        output.console.print(line, soft_wrap=True)
    output.console.print(f"report: {made.path / 'report.html'}", soft_wrap=True)
    return result


def _expected_records(loaded: Loaded, run: Run) -> int:
    """Frame records to keep: all of the run, within reason."""
    frames = run.frames or int(run.seconds * 1e3 / runfolder.describe(loaded.cell)["frame_ms"])
    return min(max(frames, 1 << 16), 1 << 20)
