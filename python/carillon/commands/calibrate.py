"""`carillon calibrate`: what a cell's stages cost on this machine, measured and kept."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from carillon import calibration, cells
from carillon.calibration import Calibration, CalibrationError
from carillon.commands.tables import print_table
from carillon.config import Cell
from carillon.daemon import Interrupts
from carillon.percent import percent

_UNSTEADY = 0.1  # of a size's time, off the line


def calibrate(cell: str, seconds: float, output: Path | None, *, as_json: bool) -> None:
    """Measures, keeps, and tells. Raises KeyboardInterrupt, with the file written, when stopped."""
    loaded = cells.load(cell)
    console = Console(stderr=as_json, highlight=False, markup=False)
    file = output or calibration.file_of(loaded.cell)
    calibration.check_writable(file)
    with Interrupts() as interrupts:
        found = run(loaded.cell, seconds, console, interrupts)
        calibration.save(found, file)
        if as_json:
            print(json.dumps(asdict(found), indent=2, ensure_ascii=False))
        else:
            print_table(console, _table(found))
            scheduling = found.scheduling
            console.print(
                f"scheduling: {_us(scheduling.instruction_ns)} µs an instruction, "
                f"{_us(scheduling.claim_ns)} µs a claim"
            )
            console.print(f"calibration: {file}", soft_wrap=True)
        if interrupts.count:
            raise KeyboardInterrupt


def run(cell: Cell, seconds: float, console: Console, interrupts: Interrupts) -> Calibration:
    """Measures with a progress bar."""
    bar = Progress(
        TextColumn(f"timing the stages of {cell.name}"),
        BarColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task("", total=1.0)
        return calibration.measure(
            cell,
            seconds,
            lambda share: bar.update(task, completed=share),
            lambda: interrupts.count > 0,
        )


def known_or_measured(
    cell: Cell, seconds: float, console: Console, interrupts: Interrupts
) -> Calibration:
    """The kept calibration where it is of this machine and build, else a new one, which is kept.

    Says so where it cannot be kept. Raises KeyboardInterrupt, with nothing kept, when stopped.
    """
    file = calibration.file_of(cell)
    if file.exists():
        try:
            kept = calibration.load(file)
        except CalibrationError as error:
            reason: str | None = str(error)
        else:
            reason = kept.stale()
            if reason is None:
                return kept
            reason = f"{file} is stale: {reason}"
        console.print(f"{reason}; measuring anew", style="dim", soft_wrap=True)
    found = run(cell, seconds, console, interrupts)
    if interrupts.count:
        raise KeyboardInterrupt
    try:
        calibration.save(found, file)
    except OSError as error:  # a home that may not be written: it is measured again next time
        console.print(f"{file} is not kept: {error.strerror}", style="dim", soft_wrap=True)
    return found


def _table(found: Calibration) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("stage")
    for name in ("I µs", "95 %", "Δ µs per chunk", "95 %", "claims", "off the line"):
        table.add_column(name, justify="right")
    packed = {f"Decode, from {n} cores on": stage for n, stage in found.decode.items() if n > 1}
    for name, stage in {**found.stages, **packed}.items():
        table.add_row(
            name,
            _us(stage.claim_ns),
            " … ".join(map(_us, stage.claim_interval_ns)),
            _us(stage.chunk_ns),
            " … ".join(map(_us, stage.chunk_interval_ns)),
            str(sum(size.claims for size in stage.sizes)),
            percent(stage.error) + (" !" if stage.error > _UNSTEADY else ""),
        )
    return table


def _us(ns: float) -> str:
    return f"{ns / 1e3:.3g}"
