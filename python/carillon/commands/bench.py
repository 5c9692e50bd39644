"""`carillon bench`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from carillon.bench import (
    PEER_FILTER,
    BenchError,
    Choice,
    Peer,
    Row,
    command,
    measure,
    names,
    peers,
    write_csv,
)
from carillon.commands.tables import print_table
from carillon.runfolder import machine


def bench(
    choice: Choice, *, as_json: bool, csv_file: Path | None, list_only: bool, with_peers: bool
) -> None:
    """Measures and lists all that is chosen; when stopped, lists what it has."""
    if list_only:
        with command(choice) as words:
            print("\n".join(names(words)))
        return
    if csv_file is not None:
        csv_file.open("a").close()  # or fail now, not after a minute of measuring
    rows: list[Row] = []
    others: list[Peer] = []
    stopped: KeyboardInterrupt | None = None
    try:
        _collect(choice, rows)
        if with_peers:
            others = _peers(choice)
    except KeyboardInterrupt as interrupt:
        stopped = interrupt
    if csv_file is not None:
        write_csv(rows, csv_file)
    if as_json:
        found = {"rows": [asdict(r) for r in rows], "peers": [asdict(p) for p in others]}
        print(json.dumps({"machine": machine()} | found, indent=2))
    else:
        _show(rows, others)
    if stopped is not None:
        raise stopped


def _collect(choice: Choice, rows: list[Row]) -> None:
    with command(choice) as words:
        total = len(names(words))
        if total == 0:
            raise BenchError(f"no benchmark matches '{choice.pattern}'; --list names all")
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


def _peers(choice: Choice) -> list[Peer]:
    with command(replace(choice, pattern=PEER_FILTER, cells=())) as words:
        return peers(list(measure(words)))


def _show(rows: Sequence[Row], others: Sequence[Peer]) -> None:
    console = Console(highlight=False, markup=False)
    console.print(f"One core of {machine()['cpu']}; the fastest of many rounds.")
    kernels = [row for row in rows if row.core_ms_per_ms is None]
    for isa in dict.fromkeys(row.isa for row in kernels):
        console.print()
        print_table(console, _kernels(isa, [row for row in kernels if row.isa == isa]))
    frames = [row for row in rows if row.core_ms_per_ms is not None]
    for cell, isa in dict.fromkeys((row.shape, row.isa) for row in frames):
        of_cell = [row for row in frames if (row.shape, row.isa) == (cell, isa)]
        console.print()
        print_table(console, _frames(cell, isa, of_cell))
    for other in others:
        console.print(
            f"{other.peer} takes {_digits(other.ns)} ns, {other.ratio:.1f} times "
            f"{other.kernel} {other.shape} ({other.isa}, {_digits(other.our_ns)} ns)"
        )


def _table(title: str, *columns: tuple[str, bool]) -> Table:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0))
    for name, number in columns:
        table.add_column(name, justify="right" if number else "left", no_wrap=True)
    return table


def _kernels(isa: str, rows: Sequence[Row]) -> Table:
    table = _table(
        f"kernels, {isa}",
        ("kernel", False),
        ("shape", False),
        ("ns", True),
        ("per", False),
        ("rate", True),
        ("of peak", True),
    )
    for row in rows:
        share = "" if row.share is None else f"{row.share:.0%} {row.of}"
        table.add_row(row.kernel, row.shape, _digits(row.ns), row.per, _rate(row), share)
    return table


def _frames(cell: str, isa: str, rows: Sequence[Row]) -> Table:
    table = _table(
        f"whole frames of {cell}, {isa}",
        ("opcode", False),
        ("ns", True),
        ("per", False),
        ("µs per frame", True),
        ("core-ms per ms", True),
    )
    for row in rows:
        assert row.us_per_frame is not None
        table.add_row(
            row.kernel,
            _digits(row.ns),
            row.per,
            f"{row.us_per_frame:.1f}",
            f"{row.core_ms_per_ms:.3f}",
        )
    return table


def _rate(row: Row) -> str:
    rates = (
        (row.mbps, "Mb/s"),
        (row.gflops, "GFLOP/s"),
        (row.gops, "Gop/s"),
        (row.gbytes, "GB/s"),
    )
    return next((f"{_digits(rate)} {unit}" for rate, unit in rates if rate is not None), "")


def _digits(value: float) -> str:
    """Three digits, never an exponent: 0.0042, 1.23, 12300."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}"
