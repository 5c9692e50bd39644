"""One run from plan to report, as demo, run and radio all do it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from carillon import daemon, report, runfolder
from carillon.config import Loaded, Run
from carillon.daemon import Interrupts, carry_out
from carillon.live import LiveView
from carillon.result import Result


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
    """Checks, runs, reports; raises ConfigError or RunError when there is no run to report."""
    loaded.check(run)
    loaded.check_cores()
    run = replace(run, record_frames=_expected_records(loaded, run))
    daemon.binary()
    made = runfolder.create(folder, loaded.cell, run)
    console = output.console
    if output.shows_live:
        with LiveView(made, console) as view:
            carry_out(made, interrupts, view.update)
    else:
        length = f"{run.frames} frames" if run.frames else f"{run.seconds:g} s"
        until = "until Ctrl-C" if not run.frames and not run.seconds else f"for {length}"
        console.print(f"running {loaded.cell.name} {until}", style="dim")
        carry_out(made, interrupts)
    return finish(made, output)


def finish(made: runfolder.RunFolder, output: Output) -> Result:
    """Writes the report and says where it is."""
    result = report.rebuild(made)
    if output.json:
        sys.stdout.write((made.path / "result.json").read_text(encoding="utf-8"))
        return result
    for line in report.summary(result):
        output.console.print(line, soft_wrap=True)
    output.console.print(f"report: {made.path / 'report.html'}", soft_wrap=True)
    return result


def _expected_records(loaded: Loaded, run: Run) -> int:
    """Frame records to keep: all of the run, within reason."""
    frames = run.frames or int(run.seconds * 1e3 / runfolder.describe(loaded.cell)["frame_ms"])
    return min(max(frames, 1 << 16), 1 << 20)
