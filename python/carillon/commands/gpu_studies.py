"""`carillon study gpu-*`: what was measured on GPUs, beside CPUs and published values."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path

from rich.console import Console
from rich.table import Table

from carillon import core, files, runfolder
from carillon.commands.tables import new_table, print_table
from carillon.studies.gpu import GpuStudy, NotMeasuredError, Row, how_to_measure, measurements


def study(chosen: GpuStudy, source: Path | None, folder: Path | None, *, as_json: bool) -> None:
    """Makes the study: study.csv, study.json, study.png and study.svg in its folder.

    Raises NotMeasuredError, after all that there is without a GPU, when none was measured.
    """
    found = measurements(source)
    own = [row for one in found for row in chosen.of(one)]
    rows = [*own, *chosen.beside(own)]
    target = runfolder.made(folder or Path("runs") / f"study-{chosen.name}")
    _write(target, chosen, own, rows)
    console = Console(stderr=as_json, highlight=False, markup=False)
    if as_json:
        print(json.dumps(_about(chosen, own, rows), indent=2, ensure_ascii=False))
    print_table(console, _table(rows))
    console.print(f"all points: {target / 'study.csv'}, {target / 'study.png'}", soft_wrap=True)
    if not found:
        raise NotMeasuredError(how_to_measure(chosen, source))
    if not own:
        files = ", ".join(str(one.folder) for one in found)
        raise NotMeasuredError(f"{files}: nothing of {chosen.name} is there")


def _about(chosen: GpuStudy, own: Sequence[Row], rows: Sequence[Row]) -> dict[str, object]:
    return {
        "study": chosen.name,
        "title": chosen.title,
        "gpu_measured": _measured(own),
        "version": core.version,
        "rows": [asdict(row) for row in rows],
    }


def _measured(own: Sequence[Row]) -> bool:
    """Whether a GPU was; what is synthetic was made up."""
    return any(row.source == "measured" for row in own)


def _write(target: Path, chosen: GpuStudy, own: Sequence[Row], rows: Sequence[Row]) -> None:
    from carillon.plots import gpu as picture  # with matplotlib, which takes its time

    text = json.dumps(_about(chosen, own, rows), indent=2, ensure_ascii=False)
    files.write_text(target / "study.json", text + "\n")
    with files.table(target / "study.csv") as stream:
        writer = csv.DictWriter(stream, [field.name for field in fields(Row)])
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
    title = chosen.title if _measured(own) else f"{chosen.title}: no GPU was measured"
    picture.draw(target, rows, title)


def _table(rows: Sequence[Row]) -> Table:
    table = new_table(("", "", "from"), ("value",))
    table.add_column("")
    table.add_column("")
    for row in rows:
        whence = " ".join(word for word in (row.source, row.device, row.date) if word)
        table.add_row(row.what, row.measure, whence, f"{row.value:.4g}", row.unit, row.note)
    return table
