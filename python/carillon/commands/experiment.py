"""`carillon study` of figures that are measured here: 5.6 to 5.9."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from carillon import runfolder
from carillon.commands.bench import circumstances
from carillon.commands.tables import print_table
from carillon.daemon import Interrupts
from carillon.studies import StudyError
from carillon.studies.bottlenecks import EXPERIMENTS, Choice, Experiment
from carillon.studies.study import Row, write_rows


def experiment(name: str, choice: Choice, folder: Path | None, *, as_json: bool) -> None:
    """Makes a study: study.csv, study.json, study.png and study.svg in its folder.

    When it is stopped, all that is known by then, and KeyboardInterrupt.
    """
    chosen = EXPERIMENTS[name]
    target = runfolder.made(folder or Path("runs") / f"study-{name}")
    console = Console(stderr=as_json, highlight=False, markup=False)
    with Interrupts() as interrupts:
        rows = _collect(chosen, choice, console, interrupts)
        if not rows:
            raise (
                KeyboardInterrupt if interrupts.count else StudyError(f"{name}: no point was made")
            )
        rows += chosen.published
        about = _about(chosen, choice, rows)
        write_rows(target, about, rows)
        from carillon.plots import bottlenecks  # with matplotlib, which takes its time

        bottlenecks.draw(target, chosen, rows)
        if as_json:
            print(json.dumps(about, indent=2, ensure_ascii=False))
        else:
            print_table(console, _table(rows))
            console.print(f"all points: {target / 'study.csv'}, {target}/study.png", soft_wrap=True)
        if interrupts.count:
            console.print("stopped early; points are missing", style="dim")
            raise KeyboardInterrupt


def _collect(
    chosen: Experiment, choice: Choice, console: Console, interrupts: Interrupts
) -> list[Row]:
    columns = (TextColumn("{task.description:<40}"), BarColumn(), TimeRemainingColumn())
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task(chosen.name, total=1.0)

        def step(what: str, share: float) -> bool:
            progress.update(task, description=f"{chosen.name}, {what}", completed=share)
            return interrupts.count == 0

        return list(chosen.measure(choice, step))


def _about(chosen: Experiment, choice: Choice, rows: Sequence[Row]) -> dict[str, Any]:
    return circumstances() | {
        "study": chosen.name,
        "title": chosen.title,
        "frames": choice.frames,
        "rows": [asdict(row) for row in rows],
    }


def _table(rows: Sequence[Row]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("measure", "M×K", "cores", "policy", "from", "value"):
        table.add_column(name, justify="right" if name in ("cores", "value") else "left")
    for row in rows:
        note = f", {row.note}" if row.note else ""
        table.add_row(
            row.measure,
            f"{row.antennas}×8" if row.antennas else "",
            str(row.cores or ""),
            row.policy,
            f"{row.source}{note}",
            "–" if row.value is None else f"{row.value:.4g}",
        )
    return table
