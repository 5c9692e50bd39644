"""`carillon study rack`: radio units that a rack serves, with what power and price, by policy."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from carillon import core, files, runfolder
from carillon.commands.simulate import milliseconds, runs_with_bar
from carillon.commands.tables import print_table
from carillon.config.pool import POLICIES
from carillon.daemon import Interrupts
from carillon.percent import percent
from carillon.pool.degree import by_type, sentence
from carillon.pool.study import WARNING, Described, degrees
from carillon.studies import rack
from carillon.studies.rack import Point


def study(frames: int | None, folder: Path | None, *, as_json: bool) -> None:
    """Makes the study: study.csv, study.json, study.png and study.svg in its folder.

    When it is stopped, what is known by then, and KeyboardInterrupt.
    """
    target = runfolder.made(folder or Path("runs") / f"study-{rack.NAME}")
    console = Console(stderr=as_json, highlight=False, markup=False)
    console.print(WARNING.format(profile="megastation"), soft_wrap=True)
    frames = frames or rack.FRAMES
    with Interrupts() as interrupts:
        points = _collect(frames, console, interrupts)
    if points:
        whole = rack.describe(POLICIES[0], 1, frames, rack.Rack())
        about = _about(frames, points, whole)
        _write(target, about, points)
        if as_json:
            print(json.dumps(about, indent=2, ensure_ascii=False))
        print_table(console, _table(points))
        console.print(sentence(degrees(whole)), soft_wrap=True)
        console.print("power and price are assumed: economy in docs/pool.md")
        console.print(f"all points: {target / 'study.csv'}, {target / 'study.png'}", soft_wrap=True)
    if interrupts.count:
        console.print("stopped early; points are missing", style="dim")
        raise KeyboardInterrupt


def _collect(frames: int, console: Console, interrupts: Interrupts) -> list[Point]:
    # Who knows when it is too many?
    with runs_with_bar(rack.NAME, None, console, interrupts) as carry_out:
        return [point for points in rack.measure(frames, carry_out) for point in points]


def _about(frames: int, points: Sequence[Point], whole: Described) -> dict[str, object]:
    return {
        "study": rack.NAME,
        "title": rack.TITLE,
        "simulated": True,
        "about": WARNING.format(profile="megastation"),
        "criterion": f"at most {rack.MOST_MISSED:g} of the frames not done by their deadline",
        "version": core.version,
        "frames": frames,
        "configuration": whole.study.model_dump(mode="json"),
        "degrees": by_type(degrees(whole)),
        "points": [point.row() for point in points],
    }


def _write(target: Path, about: dict[str, object], points: Sequence[Point]) -> None:
    from carillon.plots import rack as picture  # with matplotlib, which takes its time

    text = json.dumps(about, indent=2, ensure_ascii=False)
    files.write_text(target / "study.json", text + "\n")
    rows = [point.row() for point in points]
    with files.table(target / "study.csv") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    picture.draw(target, points)


def _table(points: Sequence[Point]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("rack", "policy"):
        table.add_column(name)
    for name in ("units", "mean ms", "SM use", "W/unit", "price/unit"):
        table.add_column(name, justify="right")
    for name in dict.fromkeys(point.rack for point in points):
        for policy in POLICIES:
            best = rack.most(points, name, policy)
            if best is None:
                table.add_row(name, policy, "0", *4 * ("–",))
                continue
            figures = (percent(best.sm_share, 1), f"{best.watts:.0f}", f"{best.price:.0f}")
            table.add_row(name, policy, str(best.units), milliseconds(best.mean_ms), *figures)
    return table
