"""What `carillon power mcs` does."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence, Set
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from carillon import cells, files, runfolder
from carillon.commands.bars import steps_bar
from carillon.commands.tables import new_table, print_table
from carillon.daemon import Interrupts
from carillon.percent import percent
from carillon.power.mcs import Measured, choose, run, rungs, together


def mcs(
    name: str,
    step: int,
    seconds: float,
    turns: int,
    cores: float | None,
    users: Set[int],
    folder: Path | None,
    *,
    as_json: bool,
) -> None:
    """Writes mcs.csv, mcs.json and mcs.svg; KeyboardInterrupt if it was stopped, after that."""
    loaded = cells.load(name)
    loaded.check_cores()
    target = runfolder.made(
        folder or Path("runs") / f"power-mcs-{runfolder.file_name(loaded.cell.name)}"
    )
    console = Console(stderr=as_json, highlight=False, markup=False)
    tried = rungs(loaded, step, users)
    ran: list[list[Measured]] = [[] for _ in tried]
    with Interrupts() as interrupts, steps_bar(console) as progress:
        task = progress.add_task("running", total=turns * len(tried))
        for _ in range(turns):  # so that what else the machine does meets every row
            for rung, own in zip(tried, ran, strict=True):
                one = None if interrupts.count else run(rung, seconds, interrupts)
                if one is not None:
                    own.append(one)
                    progress.advance(task)
    found = [together(own) for own in ran if own]
    if not found:
        raise KeyboardInterrupt
    chosen = choose(found, cores) if cores is not None else None
    _write(target, loaded.cell.name, found, cores, users, chosen)
    if as_json:
        print((target / "mcs.json").read_text(encoding="utf-8"), end="")
    _show(console, found, cores, chosen)
    console.print(f"all rows: {target / 'mcs.csv'}, {target / 'mcs.svg'}", soft_wrap=True)
    if interrupts.count:
        console.print("stopped early; turns are missing")
        raise KeyboardInterrupt


def _row(own: Measured, first: Measured) -> dict[str, Any]:
    return asdict(own) | {
        "goodput_lost": 1 - own.goodput_mbps / first.goodput_mbps if first.goodput_mbps else None,
        "core_time_saved": 1 - own.core_ms_per_ms / first.core_ms_per_ms,
    }


def _write(
    target: Path, cell: str, found: Sequence[Measured], cores: float | None, users: Set[int],
    chosen: Measured | None,
) -> None:  # fmt: skip
    rows = [_row(own, found[0]) for own in found]
    tree = {
        "cell": cell,
        "machine": runfolder.machine(),
        "source": "measured: runs of both sides of the cell on this machine, the least core time",
        "rows": rows,
        "users": sorted(users) or "all",
        "cores": cores,
        "chosen": chosen and chosen.mcs,
    }
    files.write_text(target / "mcs.json", json.dumps(tree, indent=2, ensure_ascii=False) + "\n")
    with files.table(target / "mcs.csv") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    from carillon.power.plots import draw_mcs  # with matplotlib, which takes its time

    draw_mcs(cell, found, chosen, cores, target / "mcs.svg")


def _show(
    console: Console, found: Sequence[Measured], cores: float | None, chosen: Measured | None
) -> None:
    table = new_table(
        ["MCS"],
        ["bits", "rate", "goodput, Mbit/s", "lost", "core-ms per ms", "saved", "BLER", "late"],
    )
    for own in found:
        row = _row(own, found[0])
        lost = row["goodput_lost"]
        table.add_row(
            own.mcs + (", chosen" if own is chosen else ""), str(own.bits_per_element),
            f"{own.code_rate:.2f}", f"{own.goodput_mbps:.4g}",
            "" if lost is None else percent(lost), f"{own.core_ms_per_ms:.3f}",
            percent(row["core_time_saved"]), "" if own.bler is None else f"{own.bler:.2g}",
            f"{own.late} of {own.frames}",
        )  # fmt: skip
    print_table(console, table)
    if any(own.overloaded for own in found):
        console.print(
            "where more than one frame in twenty was late, work was given up: the core time is "
            "less than the row needs, and it is not chosen", soft_wrap=True,
        )  # fmt: skip
    if cores is not None:
        console.print(_choice(found, cores, chosen), soft_wrap=True)


def _choice(found: Sequence[Measured], cores: float, chosen: Measured | None) -> str:
    within = f"within {cores:g} core-ms per ms"
    if chosen is not None:
        return f"most goodput {within}: {chosen.mcs}, {chosen.goodput_mbps:.4g} Mbit/s"
    least = min(own.core_ms_per_ms for own in found)
    return (
        f"no row stays {within}, the least takes {least:.3f}: give it more cores, or fewer users "
        "or resource blocks"
    )
