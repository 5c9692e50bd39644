"""`carillon link`: curves over SNR, with a progress bar, resumed where they stopped."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from carillon import cells, files, resources, runfolder
from carillon.commands.tables import print_table
from carillon.config import ConfigError, Run, plan_text
from carillon.config.warnings import too_wide
from carillon.daemon import Interrupts
from carillon.link import Point, Rules, read_csv, simulate, study_key, write_csv
from carillon.plots import link as link_plot
from carillon.statistics import ratio

_MOST_BARS = 20  # beyond them a terminal shows no more than those that are under way


@dataclass(frozen=True)
class Curve:
    """The points that were asked for, and the file that holds them and those of earlier calls."""

    file: Path
    key: str
    points: list[Point]
    before: dict[float, Point]
    harq: bool

    @classmethod
    def open(cls, file: Path, key: str, snr_db: list[float], *, harq: bool) -> Curve:
        before = read_csv(file, key)
        return cls(file, key, [before.get(snr, Point(snr)) for snr in snr_db], before, harq)

    @property
    def measured(self) -> list[Point]:
        return [point for point in self.points if point.frames]

    def known(self) -> list[Point]:
        merged = self.before | {point.snr_db: point for point in self.measured}
        return [merged[snr] for snr in sorted(merged)]

    def save(self) -> None:
        write_csv(self.file, self.key, self.known(), harq=self.harq)

    def rows(self, points: list[Point]) -> list[dict[str, object]]:
        return [point.row(harq=self.harq) for point in points]


def link(
    cell: str,
    snr_db: list[float],
    rules: Rules,
    workers: int,
    folder: Path | None,
    *,
    as_json: bool,
) -> None:
    """Simulates, writes link.csv, link.json and link.png/.svg, prints a table.

    Raises KeyboardInterrupt after all that when it was stopped by one.
    """
    loaded = cells.load(cell)
    plan = plan_text(loaded.cell, Run())
    if runfolder.describe(loaded.cell)[rules.direction] is None:
        raise ConfigError([loaded.problem("schedule", f"has no {rules.direction} symbols")])
    if rules.harq and (frames := loaded.cell.grants.frames) > 1:
        why = f"is {frames}, but --harq sends the same blocks again: give frames that are alike"
        raise ConfigError([loaded.problem("grants.frames", why)])
    suffix = "-harq" if rules.harq else "" if rules.direction == "uplink" else "-downlink"
    target = runfolder.made(
        folder or Path("runs") / f"link-{runfolder.file_name(loaded.cell.name)}{suffix}"
    )
    curve = Curve.open(target / "link.csv", study_key(plan, rules), snr_db, harq=rules.harq)
    console = Console(stderr=as_json, highlight=False, markup=False)
    for warning in too_wide(loaded, max(snr_db)):
        console.print(f"warning: {warning}", soft_wrap=True)
    if curve.measured:
        console.print(f"going on with {curve.file}", style="dim", soft_wrap=True)
    with Interrupts() as interrupts, _progress(console) as bars:
        _measure(curve, plan, rules, workers, bars, interrupts)
    about = {"cell": loaded.cell.name, "rules": asdict(rules)}
    if curve.measured:
        # The files hold the whole curve as it is known, the answer only what was asked.
        whole = json.dumps(
            about | {"points": curve.rows(curve.known())}, indent=2, ensure_ascii=False
        )
        files.write_text(target / "link.json", whole + "\n")
        if rules.harq:
            link_plot.draw_harq(target, loaded.cell, curve.known())
        else:
            link_plot.draw(target, loaded.cell, rules.direction, curve.known())
    if as_json:
        print(
            json.dumps(about | {"points": curve.rows(curve.measured)}, indent=2, ensure_ascii=False)
        )
    elif curve.measured:
        print_table(console, (_harq_table if rules.harq else _table)(curve.measured))
        console.print(f"curve: {curve.file}, {target / 'link.png'}", soft_wrap=True)
    if not all(rules.done(point) for point in curve.points):
        what = "the same command goes on from here" if curve.measured else "nothing is measured yet"
        console.print(f"stopped early; {what}", style="dim")
        raise KeyboardInterrupt


def _measure(
    curve: Curve, plan: str, rules: Rules, workers: int, bars: Progress, interrupts: Interrupts
) -> None:
    """Simulates and saves, piece by piece, with a bar for each point."""
    tasks = {p.snr_db: bars.add_task(f"{p.snr_db:g} dB", total=1.0, about="") for p in curve.points}

    def show(point: Point) -> None:
        errors = rules.errors(point)
        share = max(errors / rules.block_errors, point.frames / rules.most_frames)
        about = f"{errors} of {point.blocks} blocks failed"
        shown = share < 1 or len(curve.points) <= _MOST_BARS
        bars.update(tasks[point.snr_db], completed=min(share, 1.0), about=about, visible=shown)

    def progress(point: Point) -> None:
        show(point)
        curve.save()

    for point in curve.measured:
        show(point)
    workers = workers or resources.cores().count
    pool = ThreadPoolExecutor(workers)  # the engine does not hold Python's lock
    simulate(plan, curve.points, rules, pool, workers, progress, lambda: interrupts.count > 0)
    pool.shutdown(wait=False)


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description:>9}"),
        BarColumn(),
        TextColumn("{task.fields[about]}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def _table(points: list[Point]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    rates = ("BLER", "95 %", "blocks", "raw BER", "EVM %", "known EVM %")
    for name in ("SNR dB", *rates, "iterations"):
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
            _text(point.known_evm_percent),
            _text(row["mean_iterations"]),
        )
    return table


def _harq_table(points: list[Point]) -> Table:
    """BLER after one transmission and more, 95 % intervals in the file."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("SNR dB", "BLER after 1", "after 2", "after 3", "after 4", "blocks"):
        table.add_column(name, justify="right")
    for point in points:
        rates = (ratio(errors, point.blocks) for errors in point.errors_after)
        table.add_row(f"{point.snr_db:g}", *map(_text, rates), str(point.blocks))
    return table


def _text(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else "–"
