"""`carillon sweep`: a command over a grid of parameters, on the cores of one machine or many."""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from carillon import examples, runfolder
from carillon.commands.tables import print_table
from carillon.config import ConfigError
from carillon.daemon import Interrupts
from carillon.errors import CarillonError
from carillon.sweep import engines, grid, table
from carillon.sweep.grid import Described
from carillon.sweep.schedule import Schedule
from carillon.sweep.table import Row
from carillon.sweep.task import Outcome, Task, recorded

_MOST_ROWS, _MOST_FAILURES = 40, 10  # in the terminal; the files have all


class SweepError(CarillonError):
    """A folder that another sweep is at work in."""


@dataclass(frozen=True)
class Choice:
    """What the command line says instead of the file."""

    engine: str | None = None
    workers: int | None = None


def sweep(name: str, choice: Choice, folder: Path | None, *, fresh: bool, as_json: bool) -> bool:
    """Runs what is missing, writes results.csv, sweep.json and the plot; whether all is well.

    Raises KeyboardInterrupt after all that when it was stopped by one.
    """
    described = _described(name, choice)
    target = runfolder.made(
        folder or Path("runs") / f"sweep-{runfolder.file_name(described.file.stem)}"
    )
    console = Console(stderr=as_json, highlight=False, markup=False)
    with _alone(target), Interrupts() as interrupts:
        if fresh and (target / "tasks").exists():
            shutil.rmtree(target / "tasks")  # an error names what is in the way
        tasks = grid.tasks(described, target.absolute())
        outcomes = _known(tasks)
        if outcomes:
            told = f"{len(outcomes)} of {len(tasks)} are done already, in {target}"
            console.print(told, style="dim", soft_wrap=True)
        try:
            _run(described, tasks, outcomes, console, interrupts)
        finally:
            about = table.about(described, tasks, outcomes)
            table.write_about(target / "sweep.json", about)
        rows = table.rows(described, tasks, outcomes)
        table.write_csv(target / "results.csv", rows)
        drawn = _draw(target, described, rows)
    if as_json:
        print(json.dumps({"rows": rows} | about, indent=2, ensure_ascii=False))
    _tell(console, described, rows)
    _tell_failures(console, tasks, outcomes)
    files = [target / name for name in ("results.csv", "sweep.json", *drawn)]
    console.print(f"sweep: {', '.join(map(str, files))}", soft_wrap=True)
    if about["tasks_missing"]:
        console.print("stopped early; the same command goes on from here", style="dim")
        raise KeyboardInterrupt
    _check_columns(described, rows)
    return bool(about["tasks_ok"] == len(tasks))


def _described(name: str, choice: Choice) -> Described:
    described = grid.load(examples.resolve("sweeps", name))
    update = {key: value for key, value in asdict(choice).items() if value is not None}
    return replace(described, sweep=described.sweep.model_copy(update=update))


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One sweep at a time works in a folder: also when MPI or Slurm starts this many times."""
    with (folder / ".lock").open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SweepError(f"another sweep is at work in {folder}") from None
        yield


def _known(tasks: Sequence[Task]) -> dict[str, Outcome]:
    """What earlier calls have done; failed ones are tried again."""
    known = {task.key: recorded(task) for task in tasks}
    return {key: outcome for key, outcome in known.items() if outcome and outcome.state == "ok"}


def _run(
    described: Described,
    tasks: Sequence[Task],
    outcomes: dict[str, Outcome],
    console: Console,
    interrupts: Interrupts,
) -> None:
    """Adds the outcomes of the tasks that have none."""
    missing = [task for task in tasks if task.key not in outcomes]
    if not missing:
        return
    stop = missing[0].stop
    stop.unlink(missing_ok=True)
    workers = min(described.sweep.workers, len(missing))  # the others would have nothing to do
    sweep = described.sweep.model_copy(update={"workers": workers})
    with (
        engines.started(sweep, stop.parent) as engine,
        _progress(console) as progress,
    ):
        bar = progress.add_task("", total=len(tasks), completed=len(outcomes))

        def done(task: Task, outcome: Outcome) -> None:
            outcomes[task.key] = outcome
            failed = sum(one.state != "ok" for one in outcomes.values())
            progress.update(bar, advance=1, description=f"{failed} failed" if failed else "")

        try:
            Schedule(missing, engine, done).run(lambda: interrupts.count > 0)
        finally:
            stop.touch()  # for what an error left running
    stop.unlink()


def _progress(console: Console) -> Progress:
    columns = (
        TextColumn("sweep {task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _draw(target: Path, described: Described, rows: Sequence[Row]) -> list[str]:
    """The files that were drawn."""
    plot = described.sweep.plot
    if not plot.x:
        return []
    from carillon.plots import sweep as picture  # with matplotlib, which takes its time

    return ["sweep.png"] if picture.draw(target, described.file.stem, plot, rows) else []


def _tell(console: Console, described: Described, rows: Sequence[Row]) -> None:
    """The table, where columns were chosen; else there may be hundreds."""
    if not described.sweep.columns:
        return
    shown = Table(box=None, padding=(0, 2, 0, 0))
    for name in rows[0]:
        shown.add_column(name, justify="right" if name in described.sweep.columns else "left")
    for row in rows[:_MOST_ROWS]:
        shown.add_row(*map(_text, row.values()))
    print_table(console, shown)
    if len(rows) > _MOST_ROWS:
        console.print(f"… and {len(rows) - _MOST_ROWS} more", style="dim")


def _text(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _tell_failures(
    console: Console, tasks: Sequence[Task], outcomes: Mapping[str, Outcome]
) -> None:
    failed = [
        (task, outcome)
        for task in tasks
        if (outcome := outcomes.get(task.key)) and outcome.state != "ok"
    ]
    for task, outcome in failed[:_MOST_FAILURES]:
        console.print(f"{outcome.state}: {task.folder.name}: {outcome.error}", soft_wrap=True)
    if len(failed) > _MOST_FAILURES:
        console.print(f"… and {len(failed) - _MOST_FAILURES} more", style="dim")


def _check_columns(described: Described, rows: Sequence[Row]) -> None:
    """Raises ConfigError for columns that no result has."""
    missing = table.unknown(described, rows)
    if missing:
        columns = described.sweep.columns
        raise ConfigError(
            [
                described.problem(
                    ("columns", columns.index(name)), f"is '{name}', which is in no result"
                )
                for name in missing
            ]
        )
