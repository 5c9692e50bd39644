"""`carillon plan --search`: which cells like this one a machine can carry."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from carillon import cells, runfolder, search
from carillon.commands.bars import steps_bar
from carillon.commands.plan import Choice
from carillon.commands.tables import new_table, print_table
from carillon.config import Cell
from carillon.daemon import Interrupts
from carillon.files import write_text
from carillon.percent import percent
from carillon.search import Candidate, Searched


def find(cell: str, choice: Choice, folder: Path | None, *, as_json: bool) -> bool:
    """Tells which cells like this one fit, and writes search.json; whether any does.

    Raises KeyboardInterrupt, with what was searched by then told and written, when stopped.
    """
    loaded = cells.load(cell)
    search.check(loaded)
    name = runfolder.file_name(loaded.cell.name)
    target = runfolder.require_own(folder or Path("runs") / f"search-{name}")
    console = Console(stderr=as_json, highlight=False, markup=False)
    with Interrupts() as interrupts:
        found = _searched(loaded.cell, choice, console, interrupts)
        fitting = sorted((one for one in found.tried if one.fits), key=lambda one: -one.rate_mbps)
        about = {
            "cell": loaded.cell.name,
            "looked_at": found.looked_at,
            "combinations": found.combinations,
            "best": asdict(fitting[0]) if fitting else None,
            "tried": [asdict(one) for one in found.tried],
        }
        text = json.dumps(about, indent=2, ensure_ascii=False)
        file = runfolder.made(target) / "search.json"
        write_text(file, text + "\n")
        if as_json:
            print(text)
        else:
            _tell(console, found, fitting)
            console.print(f"{len(found.tried)} cells tried: {file}", soft_wrap=True)
        if interrupts.count:
            raise KeyboardInterrupt
    return bool(fitting)


def _searched(cell: Cell, choice: Choice, console: Console, interrupts: Interrupts) -> Searched:
    with steps_bar(console) as bar:
        task = bar.add_task("")
        return search.search(
            cell,
            choice.machine_of,
            choice.seconds,
            lambda what, done, of: bar.update(task, description=what, completed=done, total=of),
            lambda: interrupts.count > 0,
        )


def _tell(console: Console, found: Searched, fitting: Sequence[Candidate]) -> None:
    if found.looked_at < found.combinations:
        console.print(
            f"stopped after {found.looked_at} of {found.combinations} combinations",
            style="bold",
            soft_wrap=True,
        )
    if not fitting:
        tried = "" if found.looked_at == found.combinations else " that was tried"
        console.print(f"no such cell{tried} fits this machine", style="bold")
        return
    table = new_table(["modulation"], ["MHz", "users, at most", "Mb/s", "D_UL − T ms", "load"])
    widest: dict[tuple[int, str], Candidate] = {}
    for one in fitting:
        place = (one.subcarriers, one.modulation)
        if place not in widest or widest[place].users < one.users:
            widest[place] = one
    for one in sorted(widest.values(), key=lambda one: -one.rate_mbps):
        extra = one.point.uplink_extra_ms
        table.add_row(
            one.modulation,
            f"{one.bandwidth_mhz:g}",
            str(one.users),
            f"{one.rate_mbps:.1f}",
            "–" if extra is None else f"{extra:.3f}",
            percent(one.point.load),
        )
    print_table(console, table)
