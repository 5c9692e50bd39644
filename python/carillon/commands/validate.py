"""`carillon validate`: what `plan` foretells, held against this machine."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from carillon import cells, files, resources, runfolder, validation
from carillon.commands.tables import print_table
from carillon.config import Cell
from carillon.daemon import Interrupts
from carillon.errors import CarillonError
from carillon.percent import percent
from carillon.validation import PACES, Grains, Prediction, Proof

GOOD_LATENCY, GOOD_SIZES = 0.10, 0.05
_MOST_MEMORY = 400e6  # bytes, of a cell that is tried when none is named


class ValidationError(CarillonError):
    """Cells that could not be measured."""


def validate(
    names: Sequence[str], workers: int, seconds: float, folder: Path | None, *, as_json: bool
) -> bool:
    """Measures, tells, and writes validation.json, latencies.png and job-sizes.png.

    Raises KeyboardInterrupt when stopped and ValidationError when cells failed, with what is known
    by then written.
    """
    console = Console(stderr=as_json, highlight=False, markup=False)
    target = runfolder.made(folder or Path("runs") / "validation")
    some = [cells.load(name).cell for name in names] or _examples()
    found: list[Prediction] = []
    proofs: list[Proof] = []
    swept: list[Grains] = []
    failed: dict[str, str] = {}
    stopped = False
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    hidden = not console.is_terminal
    with (
        Interrupts() as interrupts,
        Progress(*columns, console=console, transient=True, disable=hidden) as bar,
    ):
        task = bar.add_task("")

        def step(what: str) -> None:
            bar.update(task, description=what)
            if interrupts.count:
                raise KeyboardInterrupt

        try:
            for cell in some:
                try:
                    _one(cell, workers, seconds, step, (found, proofs, swept))
                except (CarillonError, OSError, RuntimeError, ValueError, MemoryError) as error:
                    failed[cell.name] = str(error) or type(error).__name__
        except KeyboardInterrupt:
            stopped = True
    about = _about(found, proofs, swept, workers, seconds) | {"failed": failed}
    text = json.dumps(about, indent=2, ensure_ascii=False)
    files.write_text(target / "validation.json", text + "\n")
    from carillon.plots import validation as plot

    plot.draw(target, found, swept)
    if as_json:
        print(text)
    else:
        _tell(console, found, proofs, swept, target)
    if stopped:
        raise KeyboardInterrupt
    if failed:
        each = "; ".join(f"{name}: {reason}" for name, reason in failed.items())
        raise ValidationError(f"not all cells could be measured: {each}")
    return bool(about["latencies_good"] and about["job_sizes_good"])


def _examples() -> list[Cell]:
    every = [cells.load(name).cell for name in cells.names()]
    return [cell for cell in every if runfolder.describe(cell)["memory_bytes"] < _MOST_MEMORY]


def _one(
    cell: Cell,
    workers: int,
    seconds: float,
    step: Callable[[str], None],
    into: tuple[list[Prediction], list[Proof], list[Grains]],
) -> None:
    found, proofs, swept = into
    here = min(workers, resources.cores().count)
    predicted, proven, known = validation.predictions(cell, sorted({1, here}), seconds, step)
    found += predicted
    proofs += proven
    swept += validation.grains(cell, known, workers, seconds, step)


def _about(
    found: Sequence[Prediction],
    proofs: Sequence[Proof],
    swept: Sequence[Grains],
    workers: int,
    seconds: float,
) -> dict[str, Any]:
    errors = {pace: validation.median_error(found, pace) for pace in PACES}
    median = errors["air"]
    worst = max((one.sweep.excess for one in swept if one.pace == "air"), default=None)
    return {
        "machine": runfolder.machine(),
        "workers": workers,
        "seconds": seconds,
        "median_error": errors,
        "latencies_good": median is not None and median < GOOD_LATENCY,
        "latencies": [asdict(one) | {"error": one.error} for one in found],
        "proven": [asdict(one) for one in proofs],
        "worst_excess": worst,
        "job_sizes_good": worst is not None and worst <= GOOD_SIZES,
        "job_sizes": [asdict(one) | {"excess": one.sweep.excess} for one in swept],
    }


def _tell(
    console: Console,
    found: Sequence[Prediction],
    proofs: Sequence[Proof],
    swept: Sequence[Grains],
    target: Path,
) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("cell", "packets", "latency"):
        table.add_column(name)
    for name in ("workers", "foretold ms", "measured", "rounds", "off"):
        table.add_column(name, justify="right")
    for one in found:
        table.add_row(
            one.cell,
            one.pace,
            one.measure,
            str(one.workers),
            f"{one.predicted_ms:.3f}",
            f"{one.measured_ms:.3f}",
            f"{one.low_ms:.3f} … {one.high_ms:.3f}",
            percent(one.error, 1, "+"),
        )
    print_table(console, table)
    for pace in PACES:
        if (error := validation.median_error(found, pace)) is not None:
            console.print(f"median error of D_UL and D_DL, packets {pace}: {percent(error, 1)}")
    _tell_proofs(console, proofs)
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("job sizes of", "packets"):
        table.add_column(name)
    for name in (
        "cores",
        "tried",
        "chosen ms",
        "best ms",
        "more",
        "measured chosen",
        "best",
        "more",
    ):
        table.add_column(name, justify="right")
    for grains in swept:
        table.add_row(*_grains(grains))
    print_table(console, table)
    files = ", ".join(
        str(target / name) for name in ("validation.json", "latencies.png", "job-sizes.png")
    )
    console.print(f"validation: {files}", soft_wrap=True)


def _tell_proofs(console: Console, proofs: Sequence[Proof]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("proven of")
    for name in ("workers", "claims", "D_UL ms", "D_DL ms", "frames", "above"):
        table.add_column(name, justify="right")
    for name in ("unexplained", "nearest"):
        table.add_column(name, justify="right")
    for one in proofs:
        table.add_row(
            one.cell,
            str(one.workers),
            f"p{100 * one.quantile:g}" if one.quantile else "–",
            *("–" if ms is None else f"{ms:.3f}" for ms in (one.uplink_ms, one.downlink_ms)),
            *(str(n) for n in (one.frames, one.above, one.unexplained)),
            percent(one.near, 0),
        )
    print_table(console, table)


def _grains(grains: Grains) -> list[str]:
    sweep = grains.sweep
    measured = ["–", "–", "–"]
    if grains.measured is not None:
        chosen, best = grains.measured
        measured = [f"{chosen:.3f}", f"{best:.3f}", percent(chosen / best - 1, 1, "+")]
    return [
        grains.cell,
        grains.pace,
        str(sweep.cores),
        str(sweep.tried),
        f"{sweep.chosen_ms:.3f}",
        f"{sweep.best_ms:.3f}",
        percent(sweep.excess, 1, "+"),
        *measured,
    ]
