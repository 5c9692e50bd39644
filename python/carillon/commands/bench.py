"""`carillon bench`."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from carillon import cells
from carillon.bench import BenchError, Row, Wanted, measure, names, program
from carillon.config import Run, plan_text
from carillon.runfolder import machine


def bench(wanted: Wanted, whole_cells: list[str], *, as_json: bool, list_only: bool) -> None:
    """Runs or lists the benchmarks; `whole_cells` are run as frames from memory besides."""
    console = Console(stderr=as_json, highlight=False)
    path = program(lambda text: console.print(f"{text} …", style="dim"))
    with tempfile.TemporaryDirectory(prefix="carillon-") as scratch:
        plans = [_plan(name, Path(scratch)) for name in whole_cells]
        wanted = replace(wanted, plans=plans)
        if list_only:
            print("\n".join(names(path, wanted)))
            return
        with console.status("measuring") as status:
            rows = measure(path, wanted, lambda row: status.update(_name(row)))
    if not rows:
        raise BenchError(f"no benchmark matches '{wanted.only}'; --list names them all")
    if as_json:
        print(json.dumps({"machine": machine(), "rows": rows}, indent=2))
        return
    console.print(f"One core of {machine()['cpu']}; the fastest of many rounds, and their median.")
    console.print(_table(rows))


def _plan(name: str, scratch: Path) -> tuple[str, Path]:
    cell = cells.load(name).cell
    file = scratch / f"{cell.name}.txt"
    file.write_text(plan_text(cell, Run()), encoding="utf-8")
    return cell.name, file


def _name(row: Row) -> str:
    return f"{row['kernel']} {row['shape']} {row['isa']}"


def _table(rows: list[Row]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("kernel", "case", "ISA"):
        table.add_column(name)
    for name in ("ns", "median", "per", "GFLOP/s", "Mb/s", "of peak"):
        table.add_column(name, justify="left" if name == "per" else "right", no_wrap=True)
    for row in rows:
        share = "" if row.get("share") is None else f"{row['share']:.0%} {row.get('of', '')}"
        table.add_row(
            row["kernel"],
            row["shape"],
            row["isa"],
            f"{row['ns']:.4g}",
            f"{row['median_ns']:.4g}",
            row["per"],
            _number(row.get("gflops") or row.get("gops"), ".1f"),
            _number(row.get("mbps"), ".0f"),
            share,
        )
        if row.get("core_ms_per_ms") is not None:
            table.add_row("", f"→ {row['core_ms_per_ms']:.3f} core-ms per ms of air time")
    return table


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
