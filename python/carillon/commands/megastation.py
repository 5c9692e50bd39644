"""`carillon study megastation-N`: policies on simulated pools, beside MegaStation's figures."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from carillon import core, files, runfolder
from carillon.commands.simulate import milliseconds, runs_with_bar
from carillon.commands.tables import new_table, print_table
from carillon.daemon import Interrupts
from carillon.paired import MEAN_BATCHES, TAIL_BATCHES
from carillon.pool.degree import Degree, by_type, sentence
from carillon.pool.study import WARNING
from carillon.pool.summary import written
from carillon.studies.figure import (
    Figure,
    Measured,
    Point,
    degrees_in,
    frames_in_all,
    measure,
    never,
)
from carillon.studies.verdicts import Verdict

_MEASURES = {"mean_ms": "mean, ms", "tail_ms": "tail, ms", "late_share": "late, share"}

_AS_GOOD = {True: "yes", False: "NO", None: "–"}
_NO_VERDICT = (
    "as good –: too few frames for an interval, and without one there is no verdict; after the "
    f"warm-up a mean needs {2 * MEAN_BATCHES} frames, a tail at least {2 * TAIL_BATCHES}"
)


def study(figure: Figure, frames: int | None, folder: Path | None, *, as_json: bool) -> None:
    """Makes the study: study.csv, study.json, study.png and study.svg in its folder.

    When it is stopped, the cases that are whole by then, and KeyboardInterrupt.
    """
    target = runfolder.made(folder or Path("runs") / f"study-{figure.name}")
    console = Console(stderr=as_json, highlight=False, markup=False)
    console.print(WARNING.format(profile="megastation"), soft_wrap=True)
    frames = frames or figure.frames
    if figure.picture == "timeline" and frames < figure.frames:
        console.print(f"{frames} frames are over before the last GPU is back; ask {figure.frames}")
    with Interrupts() as interrupts:
        found = _collect(figure, frames, console, interrupts)
    if found:
        points = [point for case in found for point in case.points]
        used = degrees_in(found)
        about = _about(figure, frames, found, used, stopped=interrupts.count > 0)
        _write(target, figure, about, points)
        if as_json:
            print(json.dumps(about, indent=2, ensure_ascii=False))
        # What is said of all cases is not said of some.
        claims = [] if interrupts.count else [_claims(figure, points)]
        # Of thousands of pools only those where adaptive is behind are shown.
        shown = [] if figure.picture == "gaps" else [_points(figure, points)]
        for table in (*shown, *claims, _verdicts(figure, found)):
            if table.row_count:
                print_table(console, table)
                console.print()
        if any(one.near is None for case in found for one in case.verdicts):
            console.print(_NO_VERDICT, soft_wrap=True)
        console.print(sentence(used), soft_wrap=True)
        console.print(f"all points: {target / 'study.csv'}, {target / 'study.png'}", soft_wrap=True)
    if interrupts.count:
        missing = "points are missing" if found else "no point was whole, and nothing is written"
        console.print(f"stopped early; {missing}", style="dim")
        raise KeyboardInterrupt


def _collect(
    figure: Figure, frames: int, console: Console, interrupts: Interrupts
) -> list[Measured]:
    total = frames_in_all(figure, frames)
    with runs_with_bar(figure.name, total, console, interrupts) as carry_out:
        return list(measure(figure, frames, carry_out))


def _about(
    figure: Figure,
    frames: int,
    found: Sequence[Measured],
    used: dict[str, Degree],
    *,
    stopped: bool,
) -> dict[str, object]:
    points = [point for one in found for point in one.points]
    return {
        "study": figure.name,
        "title": figure.title,
        "simulated": True,
        "about": WARNING.format(profile="megastation"),
        "version": core.version,
        "frames": frames,
        "stopped": stopped,
        "degrees": by_type(used),
        "points": [point.row() for point in points],
        "beside_published": [
            {"claim": claim.text, "unit": claim.unit, "published": claim.published}
            | dict(zip(("simulated", "note"), claim.simulated(points), strict=True))
            for claim in (() if stopped else figure.claims)
        ],
        "adaptive_against_best": [
            {"group": one.case.group, "x": one.case.x}
            | {name: never(value) for name, value in vars(verdict).items()}
            for one in found
            for verdict in one.verdicts
        ],
    }


def _write(target: Path, figure: Figure, about: dict[str, object], points: Sequence[Point]) -> None:
    from carillon.plots import megastation as picture  # with matplotlib, which takes its time

    text = json.dumps(about, indent=2, ensure_ascii=False)
    files.write_text(target / "study.json", text + "\n")
    rows = [point.row() for point in points]
    columns = dict.fromkeys(
        name for row in rows for name, value in row.items() if not isinstance(value, list)
    )
    with files.table(target / "study.csv") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(columns), extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    picture.draw(target, figure, points)


def place(x: str | float) -> str:
    """Of a case on its axis, as a person writes it."""
    return x.replace("x", "×") if isinstance(x, str) else f"{x:g}"


def _axis(figure: Figure) -> str:
    """Of what tells cases apart; a timeline's own axis does not."""
    return "" if figure.picture == "timeline" else figure.axis


def _points(figure: Figure, points: Sequence[Point]) -> Table:
    """Every point. ZF: parts of zero-forcing that did best for latency and for throughput."""
    numbers = ("mean ms", "no jitter", written(points[0].tail), "late", "devices", "frames/s", "ZF")
    table = new_table((_axis(figure), "", "policy"), numbers)
    for point in points:
        devices = point.devices_per_frame
        table.add_row(
            place(point.x),
            point.group,
            point.policy,
            milliseconds(point.mean_ms),
            milliseconds(point.still_ms),
            milliseconds(point.tail_ms),
            f"{point.late} of {point.frames}" if point.late else "0",
            "–" if devices is None else f"{devices:.1f}",
            f"{point.frames_per_s:.0f}",
            f"{point.latency_parts}, {point.throughput_parts}",
        )
    return table


def _claims(figure: Figure, points: Sequence[Point]) -> Table:
    beside = "beside the paper" if figure.beside == "published" else f"beside the {figure.beside}"
    table = new_table((beside,), ("simulated", "", figure.beside))
    for claim in figure.claims:
        value, note = claim.simulated(points)
        simulated = "–" if value is None else f"{value:.1f} {claim.unit}"
        table.add_row(claim.text, simulated, note, f"{claim.published:g} {claim.unit}")
    return table


def _verdicts(figure: Figure, found: Sequence[Measured]) -> Table:
    """The interval is of the difference, in % of the best other."""
    numbers = ("its", "adaptive", "differs by %", "95 % interval", "as good")
    table = new_table((_axis(figure), "", "", "best other"), numbers)
    for measured in found:
        for one in measured.verdicts:
            if one.near is not False and figure.picture == "gaps":
                continue
            table.add_row(
                place(measured.case.x),
                measured.case.group,
                _MEASURES[one.measure],
                one.best_policy,
                milliseconds(one.best),
                milliseconds(one.adaptive),
                _percent(one.adaptive - one.best, one),
                "–"
                if one.near is None
                else f"{_percent(one.low, one)} to {_percent(one.high, one)}",
                _AS_GOOD[one.near],
            )
    return table


def _percent(difference: float | None, of: Verdict) -> str:
    if difference is None or not math.isfinite(difference) or not math.isfinite(of.best):
        return "–"
    return f"{100 * difference / of.best:+.1f}" if of.best else f"{difference:+.3f}"
