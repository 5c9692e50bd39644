"""`carillon ingest bench`."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import compress
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from carillon import core, files, ingest, runfolder
from carillon.commands.bench import circumstances
from carillon.commands.tables import new_table, print_table
from carillon.daemon import Interrupts
from carillon.ingest import Row
from carillon.others import Others
from carillon.percent import percent


@dataclass(frozen=True)
class Choice:
    """What is measured: sizes in bytes; numbers of channels, or radios by name."""

    sizes: tuple[int, ...]
    channels: tuple[int, ...]
    presets: tuple[str, ...]
    seconds: float

    def cases(self, paths: Sequence[str]) -> list[ingest.Case]:
        if self.presets:
            return ingest.preset_cases(paths, self.sizes, self.presets)
        return ingest.cases(paths, self.sizes, self.channels)


def bench(choice: Choice, folder: Path | None, *, as_json: bool) -> bool:
    """Measures, writes ingest.json, .csv, .png and .svg; whether every block arrived whole.

    When stopped, what is known by then, and KeyboardInterrupt.
    """
    target = runfolder.made(folder or runfolder.new_path(Path("runs"), "ingest"))
    about = circumstances()
    with Interrupts() as interrupts:
        around = core.ingest_surroundings()
        others = Others()
        measured = _collect(choice.cases(ingest.ready_paths(around)), choice.seconds, interrupts)
        taken = others.cores()
        # A GPU that has just worked has its link at full speed.
        around = {**core.ingest_surroundings(), "paths": around["paths"]}
    rows = ingest.with_limit(measured, ingest.limit_mb_per_s(around))
    result = {
        **about,
        "version": core.version,
        **around,
        "descriptor_ns": core.ingest_descriptor_ns(),
        "stopped": interrupts.count > 0,
        "others_cores": taken,
        "warnings": ingest.warnings(around, rows, taken),
        "published": [each.row() for each in ingest.PUBLISHED],
        "rows": [asdict(row) for row in [*rows, *ingest.missing(around)]],
    }
    _write(target, result, rows)
    if as_json:
        print(json.dumps(result, indent=2, ensure_ascii=False))
    _show(Console(stderr=as_json, highlight=False, markup=False), result, rows, target)
    if interrupts.count:
        raise KeyboardInterrupt
    return not any(row.wrong or row.out_of_order or row.why for row in rows)


def _collect(cases: list[ingest.Case], seconds: float, interrupts: Interrupts) -> list[Row]:
    measured = []
    columns = (
        TextColumn("{task.description:<36}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("measuring", total=sum(case.rounds for case in cases))
        for each in ingest.measure(cases, seconds, lambda: interrupts.count > 0):
            measured.append(each)
            case = each[0]
            what = f"{case.path} {case.channels} x {ingest.size_name(case.block_bytes)}"
            progress.update(task, advance=1, description=what)
    return ingest.rows_of(measured)


def _write(target: Path, result: Mapping[str, Any], rows: Sequence[Row]) -> None:
    text = json.dumps(result, indent=2, ensure_ascii=False)
    files.write_text(target / "ingest.json", text + "\n")
    with files.table(target / "ingest.csv") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(Row.__dataclass_fields__))
        writer.writeheader()
        writer.writerows(result["rows"])
    if any(row.mb_per_s for row in rows):
        from carillon.plots import ingest as picture  # with matplotlib, which takes its time

        picture.draw(target, rows)


# --- Tables ---------------------------------------------------------------------------------------

_FIGURES = (
    *("MB/s", "spread", "Gsamples/s", "cores", "ns/block", "ns/sample", "of the link"),
    *("checked", "wrong", "dropped"),
)


def _show(console: Console, result: Mapping[str, Any], rows: Sequence[Row], target: Path) -> None:
    console.print(f"Known blocks of I/Q on {result['machine']['cpu']}.")
    _show_devices(console, result)
    console.print()
    _show_rows(console, rows)
    console.print(
        "staged-host, pinned-host and card-host end in this machine's memory: nothing there is a "
        f"GPU's figure. A descriptor alone takes {result['descriptor_ns']:.0f} ns of a core.",
        soft_wrap=True,
    )
    _show_missing(console, result)
    _show_published(console, result)
    for warning in result["warnings"]:
        console.print(f"warning: {warning}", soft_wrap=True)
    console.print(f"results: {target / 'ingest.json'}, .csv, .png", soft_wrap=True)


def _show_devices(console: Console, result: Mapping[str, Any]) -> None:
    for device in result["devices"]:
        kind = "GPU" if device["gpu"] else "network card"
        link = ingest.link_name(device["narrowest"])
        console.print(f"{kind} {device['address']} below {device['root'] or '?'}: {link}")


def _show_rows(console: Console, rows: Sequence[Row]) -> None:
    """Without the columns in which nobody has anything."""
    words, numbers = ("path", "radio"), ("channels", "block", *_FIGURES, "verdict")
    lines = [_cells(row) for row in rows]
    used = [any(column) for column in zip(*lines, strict=True)]
    table = new_table(list(compress(words, used)), list(compress(numbers, used[len(words) :])))
    for line in lines:
        table.add_row(*compress(line, used))
    print_table(console, table)


def _cells(row: Row) -> tuple[str, ...]:
    shape = (row.path, row.preset, str(row.channels), ingest.size_name(row.block_bytes or 0))
    if row.mb_per_s is None:
        return (*shape, *len(_FIGURES) * ("",), row.why)
    return (
        *shape,
        f"{row.mb_per_s:.0f}",
        "" if row.spread is None else percent(row.spread),
        f"{row.gsps:.3f}",
        f"{row.cores:.2f}",
        f"{row.cpu_ns_per_block:.0f}",
        f"{row.cpu_ns_per_sample:.3f}",
        "" if row.of_limit is None else percent(row.of_limit),
        str(row.checked),
        str(row.wrong),
        str(row.dropped) if row.preset else "",
        ingest.verdict(row),
    )


def _show_missing(console: Console, result: Mapping[str, Any]) -> None:
    absent = [path for path in result["paths"] if not path["ready"]]
    if not absent:
        return
    console.print("\nNot measured here:")
    for path in absent:
        console.print(f"  {path['name']}: {path['why']}", soft_wrap=True)
    for needs in dict.fromkeys(path["needs"] for path in absent):
        names = ", ".join(path["name"] for path in absent if path["needs"] == needs)
        console.print(f"  needed for {names}: {needs}", soft_wrap=True)


def _show_published(console: Console, result: Mapping[str, Any]) -> None:
    console.print("\nPublished, not measured here (Orlando, GRCon 2019), MB/s:")
    table = new_table(("platform",), ("staged", "direct", "gain", "its link's limit"))
    for each in result["published"]:
        table.add_row(
            each["platform"],
            f"{each['staged_mb_per_s']:.0f}",
            f"{each['direct_mb_per_s']:.0f}",
            percent(each["gain"], 0, "+"),
            "" if each["limit_mb_per_s"] is None else f"{each['limit_mb_per_s']:.0f}",
        )
    print_table(console, table)
