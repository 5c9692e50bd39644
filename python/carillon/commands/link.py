"""`carillon link`: curves over SNR, with a progress bar, resumed where they stopped."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from carillon import cells, runfolder
from carillon.config import ConfigError, Run, plan_text
from carillon.daemon import Interrupts
from carillon.link import Point, Rules, read_csv, simulate, study_key, write_csv
from carillon.plots import link as link_plot


def link(
    cell: str,
    snr_db: list[float],
    rules: Rules,
    workers: int,
    folder: Path | None,
    *,
    as_json: bool,
) -> None:
    """Simulates, writes link.csv, link.json and link.png/.svg, prints a table."""
    loaded = cells.load(cell)
    plan = plan_text(loaded.cell, Run())
    if runfolder.describe(loaded.cell)[rules.direction] is None:
        raise ConfigError([loaded.problem("schedule", f"has no {rules.direction} symbols")])
    suffix = "" if rules.direction == "uplink" else "-downlink"
    target = folder or Path("runs") / f"link-{runfolder.file_name(loaded.cell.name)}{suffix}"
    target.mkdir(parents=True, exist_ok=True)
    file, key = target / "link.csv", study_key(plan, rules)
    before = read_csv(file, key)
    points = [before.get(snr, Point(snr)) for snr in snr_db]
    console = Console(stderr=as_json, highlight=False)
    if any(point.frames for point in points):
        console.print(f"going on with {file}", style="dim")

    def known() -> list[Point]:
        merged = before | {point.snr_db: point for point in points}
        return [merged[snr] for snr in sorted(merged)]

    def save() -> None:
        write_csv(file, key, known())

    with Interrupts() as interrupts, _progress(console) as bars:
        tasks = {p.snr_db: bars.add_task(f"{p.snr_db:g} dB", total=1.0, about="") for p in points}

        def show(point: Point) -> None:
            share = max(point.block_errors / rules.block_errors, point.frames / rules.most_frames)
            about = f"{point.block_errors} of {point.blocks} blocks failed"
            bars.update(tasks[point.snr_db], completed=min(share, 1.0), about=about)
            save()

        for point in points:
            if point.frames:
                show(point)
        workers = workers or len(os.sched_getaffinity(0))
        with ThreadPoolExecutor(workers) as pool:  # the engine does not hold Python's lock
            simulate(plan, points, rules, pool, workers, show, lambda: interrupts.count > 0)
    save()
    about = {"cell": loaded.cell.name, "rules": asdict(rules)}
    # The files hold the whole curve as it is known, the answer only what was asked.
    whole = json.dumps(about | {"points": [p.row() for p in known()]}, indent=2)
    (target / "link.json").write_text(whole + "\n", encoding="utf-8")
    link_plot.draw(target, loaded.cell, rules.direction, known())
    if as_json:
        print(json.dumps(about | {"points": [p.row() for p in points]}, indent=2))
    else:
        console.print(_table(points))
        console.print(f"curve: {file}, {target / 'link.png'}", soft_wrap=True)


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description:>9}"),
        BarColumn(),
        TextColumn("{task.fields[about]}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )


def _table(points: list[Point]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("SNR dB", "BLER", "95 %", "blocks", "raw BER", "EVM %", "iterations"):
        table.add_column(name, justify="right")
    for point in points:
        row = point.row()
        table.add_row(
            f"{point.snr_db:g}",
            _text(point.bler),
            f"{row['bler_low']:.2g} … {row['bler_high']:.2g}",
            str(point.blocks),
            _text(point.ber),
            _text(point.evm_percent),
            _text(row["mean_iterations"]),
        )
    return table


def _text(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else "–"
