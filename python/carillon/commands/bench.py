"""`carillon bench` and `carillon bench cell`."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from carillon import cells
from carillon.bench import (
    CELL_PATTERN,
    CellChoice,
    Choice,
    Row,
    about,
    cell_command,
    cell_result,
    command,
    measure,
    names,
    variants,
    write_csv,
)
from carillon.commands.tables import print_table
from carillon.daemon import Interrupts
from carillon.errors import InputError
from carillon.files import require_plain
from carillon.percent import percent
from carillon.runfolder import machine


def bench(choice: Choice, *, as_json: bool, csv_file: Path | None, list_only: bool) -> None:
    """Measures and lists all that is chosen; when stopped, lists what it has."""
    if list_only:
        with command(choice) as words:
            print("\n".join(names(words)))
        return
    rows: list[Row] = []
    with Interrupts() as interrupts, command(choice) as words:
        if csv_file is not None:
            require_plain(csv_file)
            csv_file.open("a").close()  # or fail now, not after a minute of measuring
        program = about()
        _collect(words, choice.pattern, rows, interrupts)
    if csv_file is not None:
        write_csv(rows, csv_file)
    if as_json:
        print(
            json.dumps(
                circumstances() | program | {"rows": [asdict(r) for r in rows]},
                indent=2,
                ensure_ascii=False,
            )
        )
    else:
        _show(rows, choice, program)
    if interrupts.count:
        raise KeyboardInterrupt


def bench_cell(name: str, choice: CellChoice, *, as_json: bool) -> bool:
    """Measures one cell's frames; whether every block was decoded right."""
    cell = cells.load(name).cell
    program = about()
    rows: list[Row] = []
    with Interrupts() as interrupts, cell_command(variants(cell, choice).values(), choice) as words:
        _collect(words, CELL_PATTERN, rows, interrupts)
    if interrupts.count:
        raise KeyboardInterrupt
    result = cell_result(cell, choice, rows)
    if as_json:
        print(
            json.dumps(
                circumstances() | {"compiler": program["compiler"]} | result,
                indent=2,
                ensure_ascii=False,
            )
        )
    else:
        _show_cell(result)
    return all(one["blocks_failed"] == 0 < one["blocks"] for one in _ways(result))


def circumstances() -> dict[str, Any]:
    """When, on what, and beside how much else something is measured."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "load": [round(load, 2) for load in os.getloadavg()],
    }


def _collect(words: Sequence[str], pattern: str, rows: list[Row], interrupts: Interrupts) -> None:
    total = len(names(words))
    if total == 0:
        raise InputError(f"no benchmark matches --filter '{pattern}'; --list names all")
    columns = (
        TextColumn("{task.description:<44}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("measuring", total=total)
        for row in measure(words):
            rows.append(row)
            what = f"{row.kernel} {row.shape} {row.isa}"
            progress.update(task, advance=1, description=what)
            if interrupts.count:
                break


# --- Tables ---------------------------------------------------------------------------------------


def _show(rows: Sequence[Row], choice: Choice, program: dict[str, Any]) -> None:
    console = Console(highlight=False, markup=False)
    how = "medians of rounds that take turns" if choice.compare else "the fastest of many rounds"
    console.print(f"One core of {machine()['cpu']}; {how}.")
    if choice.compare:
        console.print()
        print_table(console, _comparison(rows))
        if any(peer.recorded for row in rows for peer in row.peers):
            console.print("recorded: measured elsewhere, its time scaled by the clock.")
        for peer in program["peers"]:
            if not peer["found"]:
                console.print(f"{peer['library']} is not here: {peer['get']}", soft_wrap=True)
        return
    kernels = [row for row in rows if row.core_ms_per_ms is None]
    for isa in dict.fromkeys(row.isa for row in kernels):
        console.print()
        print_table(console, _kernels(isa, [row for row in kernels if row.isa == isa]))
    frames = [row for row in rows if row.core_ms_per_ms is not None]
    for cell, isa in dict.fromkeys((row.shape, row.isa) for row in frames):
        of_cell = [row for row in frames if (row.shape, row.isa) == (cell, isa)]
        console.print()
        print_table(console, _frames(cell, isa, of_cell))


def _table(title: str, *columns: str) -> Table:
    """Columns by name; `>` before those that hold numbers."""
    table = Table(title=title or None, title_justify="left", box=None, padding=(0, 1, 0, 0))
    for name in columns:
        justify: Literal["right", "left"] = "right" if name.startswith(">") else "left"
        table.add_column(name.lstrip(">"), justify=justify, no_wrap=True)
    return table


def _comparison(rows: Sequence[Row]) -> Table:
    table = _table(
        "", "kernel", "shape", "by", ">ns", "per", ">rate", ">times ours", ">of peak", ">of bound"
    )
    for row in rows:
        ns = row.median_ns
        shares = _share(row.peak_ns, row.peak, ns), _share(row.bound_ns, row.bound, ns)
        table.add_row(
            row.kernel, row.shape, row.isa, _digits(ns), row.per, _rate(row, ns), "", *shares
        )
        for peer in row.peers:
            by, time = f"{peer.peer}, {peer.method}", _digits(peer.median_ns)
            table.add_row("", "", by, time, "", peer.recorded or "", _digits(peer.ratio))
    return table


def _kernels(isa: str, rows: Sequence[Row]) -> Table:
    table = _table(f"kernels, {isa}", "kernel", "shape", ">ns", "per", ">rate", ">of bound")
    for row in rows:
        share = _share(row.bound_ns, row.bound, row.ns)
        table.add_row(row.kernel, row.shape, _digits(row.ns), row.per, _rate(row, row.ns), share)
    return table


def _frames(cell: str, isa: str, rows: Sequence[Row]) -> Table:
    title = f"whole frames of {cell}, {isa}"
    table = _table(
        title, "opcode", ">ns", "per", ">µs per frame", ">core-ms per ms", ">blocks failed"
    )
    for row in rows:
        assert row.us_per_frame is not None
        table.add_row(
            row.kernel,
            _digits(row.ns),
            row.per,
            f"{row.us_per_frame:.1f}",
            f"{row.core_ms_per_ms:.3f}",
            f"{row.blocks_failed} of {row.blocks}" if row.kernel == "frame" else "",
        )
    return table


def _ways(result: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    return result, result["with_early_stop"]


def _show_cell(result: dict[str, Any]) -> None:
    console = Console(highlight=False, markup=False)
    console.print(
        f"{result['cell']} on one core of {machine()['cpu']} ({result['isa']}), from memory: "
        "core-ms per ms of air time, medians over frames."
    )
    fixed = f"{result['iterations']} iterations"
    table = _table("", "stage", "per", ">ns", f">{fixed}", f">at most {fixed}")
    for name, stage in result["stages"].items():
        costs = [f"{way['stages'][name]['core_ms_per_ms']:.3f}" for way in _ways(result)]
        table.add_row(name, stage["chunk"], _digits(stage["chunk_ns"]), *costs)
    table.add_row("all", "", "", *[f"{way['core_ms_per_ms']:.3f}" for way in _ways(result)])
    failed = [f"{way['blocks_failed']} of {way['blocks']}" for way in _ways(result)]
    table.add_row("blocks failed", "", "", *failed)
    print_table(console, table)


def _share(least: float | None, of: str | None, ns: float) -> str:
    return "" if least is None else f"{percent(least / ns)} {of}"


def _rate(row: Row, ns: float) -> str:
    rates = (
        (row.mbps, "Mb/s"),
        (row.gflops, "Gop/s" if row.peak == "int16" else "GFLOP/s"),
        (row.gops, "Gop/s"),
        (row.gbytes, "GB/s"),
    )
    scale = row.ns / ns  # they are those of the fastest round
    found = (f"{_digits(rate * scale)} {unit}" for rate, unit in rates if rate is not None)
    return next(found, "")


def _digits(value: float) -> str:
    """Three digits, never an exponent: 0.0042, 1.23, 12300."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}"
