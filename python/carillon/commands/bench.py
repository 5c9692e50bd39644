"""`carillon bench`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from carillon.bench import BenchError, Row, build, measure, programs, source_tree, with_peak
from carillon.runfolder import machine


def bench(pattern: str, *, as_json: bool, list_only: bool) -> None:
    """Builds, runs and lists the benchmarks whose name matches."""
    tree = source_tree()
    names = programs(tree, pattern)
    if not names:
        raise BenchError(
            f"no benchmark matches '{pattern}'; there are {', '.join(programs(tree, ''))}"
        )
    if list_only:
        print("\n".join(names))
        return
    console = Console(stderr=as_json, highlight=False)
    with console.status("building") as status:
        folder = build(tree, names)
        rows = []
        for name in names:
            status.update(name)
            rows += measure(Path(folder / name))
    rows = with_peak(rows)
    if as_json:
        print(json.dumps({"machine": machine(), "rows": [asdict(row) for row in rows]}, indent=2))
    else:
        about = machine()
        console.print(f"one core of {about['cpu']}")
        console.print(_table(rows))


def _table(rows: list[Row]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name, justify in (
        ("kernel", "left"),
        ("case", "left"),
        ("ISA", "left"),
        ("ns", "right"),
        ("per", "left"),
        ("GFLOP/s", "right"),
        ("Mb/s", "right"),
        ("of peak", "right"),
    ):
        table.add_column(name, justify="right" if justify == "right" else "left")
    for row in rows:
        table.add_row(
            row.kernel,
            row.case,
            row.isa,
            f"{row.ns:.4g}",
            row.per,
            "" if row.gflops is None else f"{row.gflops:.1f}",
            "" if row.mbps is None else f"{row.mbps:.0f}",
            "" if row.peak_share is None else f"{row.peak_share:.0%}",
        )
    return table
