"""`carillon study megastation-8`: policies on five shapes, beside what MegaStation published."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from carillon import core
from carillon.commands.simulate import WARNING, frames_bar, milliseconds
from carillon.commands.tables import print_table
from carillon.daemon import Interrupts
from carillon.pool.running import Outcome, Request, run_all
from carillon.pool.summary import written
from carillon.studies import megastation
from carillon.studies.megastation import Gain, Point, Verdict, gains, verdicts

_MEASURES = {"mean_ms": "mean", "tail_ms": "tail", "frames_per_s": "throughput"}


def study(frames: int, folder: Path | None, *, as_json: bool) -> None:
    """Makes the study: study.csv, study.json, study.png and study.svg in its folder.

    When it is stopped, the cells that are whole by then, and KeyboardInterrupt.
    """
    console = Console(stderr=as_json, highlight=False, markup=False)
    console.print(WARNING.format(profile="megastation"), soft_wrap=True)
    with Interrupts() as interrupts:
        points = _collect(frames, console, interrupts)
    if points:
        target = folder or Path("runs") / f"study-{megastation.NAME}"
        target.mkdir(parents=True, exist_ok=True)
        about = _about(frames, points)
        _write(target, about, points)
        if as_json:
            print(json.dumps(about, indent=2))
        for table in (_table(points), _gains(gains(points)), _verdicts(verdicts(points))):
            print_table(console, table)
            console.print()
        console.print(f"all points: {target / 'study.csv'}, {target / 'study.png'}", soft_wrap=True)
    if interrupts.count:
        console.print("stopped early; points are missing", style="dim")
        raise KeyboardInterrupt


def _collect(frames: int, console: Console, interrupts: Interrupts) -> list[Point]:
    with frames_bar(console) as progress:
        bar = progress.add_task(megastation.NAME, total=megastation.frames_in_all(frames))
        before = 0

        def carry_out(requests: list[Request]) -> list[Outcome | None]:
            nonlocal before
            outcomes = run_all(
                requests,
                0,
                lambda ended: progress.update(bar, completed=before + ended),
                lambda: interrupts.count > 0,
            )
            before += sum(request.frames for request in requests)
            return outcomes

        return [point for case in megastation.measure(frames, carry_out) for point in case]


def _about(frames: int, points: Sequence[Point]) -> dict[str, object]:
    return {
        "study": megastation.NAME,
        "title": megastation.TITLE,
        "simulated": True,
        "about": WARNING.format(profile="megastation"),
        "version": core.version,
        "frames": frames,
        "points": [point.row() for point in points],
        "scoreboard_against_rivals": [vars(gain) for gain in gains(points)],
        "adaptive_against_best": [_told(verdict) for verdict in verdicts(points)],
    }


def _told(verdict: Verdict) -> dict[str, object]:
    never = float("inf")
    return {name: "never" if value == never else value for name, value in vars(verdict).items()}


def _write(target: Path, about: dict[str, object], points: Sequence[Point]) -> None:
    from carillon.plots import megastation as picture  # with matplotlib, which takes its time

    text = json.dumps(about, indent=2, ensure_ascii=False)
    (target / "study.json").write_text(text + "\n", encoding="utf-8")
    with (target / "study.csv").open("w", newline="", encoding="utf-8") as stream:
        rows = [point.row() for point in points]
        writer = csv.DictWriter(stream, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    picture.draw(target, points)


def _new_table(words: Sequence[str], numbers: Sequence[str]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in words:
        table.add_column(name)
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def _table(points: Sequence[Point]) -> Table:
    """Every point. ZF: parts of zero-forcing that did best for latency and for throughput."""
    numbers = ("mean ms", written(points[0].tail), "late", "frames/s", "ZF")
    table = _new_table(("M×K", "", "policy"), numbers)
    for point in points:
        table.add_row(
            point.shape.replace("x", "×"),
            point.direction,
            point.policy,
            milliseconds(point.mean_ms),
            milliseconds(point.tail_ms),
            str(point.late),
            f"{point.frames_per_s:.0f}",
            f"{point.latency_parts}, {point.throughput_parts}",
        )
    return table


def _gains(found: Sequence[Gain]) -> Table:
    numbers = ("simulated %", "shapes", "published %")
    table = _new_table(("scoreboard gains in", "", "on"), numbers)
    for gain in found:
        table.add_row(
            _MEASURES[gain.measure],
            gain.direction,
            gain.rival,
            "–" if gain.percent is None else f"{gain.percent:.1f}",
            str(gain.shapes),
            f"{gain.published:.1f}",
        )
    return table


def _verdicts(found: Sequence[Verdict]) -> Table:
    table = _new_table(("M×K", "", "", "best other"), ("its ms", "adaptive ms", "as good"))
    for one in found:
        table.add_row(
            one.shape.replace("x", "×"),
            one.direction,
            _MEASURES[one.measure],
            one.best_policy,
            milliseconds(one.best),
            milliseconds(one.adaptive),
            "yes" if one.near else "NO",
        )
    return table
