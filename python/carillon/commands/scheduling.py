"""`carillon study megastation-15`: what a policy's decisions take, measured on this machine."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from carillon import core, files, runfolder
from carillon.commands.simulate import frames_bar
from carillon.commands.tables import new_table, print_table
from carillon.config.pool import POLICIES
from carillon.daemon import Interrupts
from carillon.pool.degree import Degree, by_type, sentence
from carillon.pool.study import degrees
from carillon.studies import scheduling
from carillon.studies.scheduling import PUBLISHED_US, Simulated, Timing

ABOUT = "decisions measured in real time on this machine; the pool that they are about is simulated"


def study(frames: int | None, folder: Path | None, *, as_json: bool) -> None:
    """Makes the study: study.csv, study.json, study.png and study.svg in its folder.

    When it is stopped, the policies that are whole by then, and KeyboardInterrupt.
    """
    target = runfolder.made(folder or Path("runs") / f"study-{scheduling.NAME}")
    console = Console(stderr=as_json, highlight=False, markup=False)
    console.print(ABOUT, soft_wrap=True)
    with Interrupts() as interrupts:
        timings = _collect(frames or scheduling.FRAMES, console, interrupts)
    if timings:
        kernels = scheduling.simulated()
        used = degrees(scheduling.pool(timings[0].direction, 1))
        about = _write(target, timings, kernels, used)
        if as_json:
            print(json.dumps(about, indent=2, ensure_ascii=False))
        _print(console, timings, kernels)
        console.print(sentence(used), soft_wrap=True)
        console.print(f"all points: {target / 'study.csv'}, {target / 'study.png'}", soft_wrap=True)
    if interrupts.count:
        console.print("stopped early; points are missing", style="dim")
        raise KeyboardInterrupt


def _collect(frames: int, console: Console, interrupts: Interrupts) -> list[Timing]:
    found: list[Timing] = []
    with frames_bar(console) as bars:
        total = frames * len(scheduling.DIRECTIONS) * len(POLICIES)
        bar = bars.add_task(scheduling.NAME, total=total)

        def progress(ended: int) -> bool:
            bars.update(bar, completed=len(found) * frames + ended)
            return interrupts.count == 0

        for one in scheduling.measure(frames, progress):
            found.append(one)  # progress() counts them
    return found


def _write(
    target: Path, timings: Sequence[Timing], kernels: Sequence[Simulated], used: dict[str, Degree]
) -> dict[str, object]:
    from carillon.plots import scheduling as picture  # with matplotlib, which takes its time

    about = {
        "study": scheduling.NAME,
        "title": scheduling.TITLE,
        "simulated": False,
        "about": ABOUT,
        "version": core.version,
        "points": [{"source": "measured"} | vars(one) for one in timings],
        "degrees": by_type(used),
        "published_p90_us": PUBLISHED_US,
        "kernels": [{"source": "simulated"} | vars(one) for one in kernels],
    }
    text = json.dumps(about, indent=2, ensure_ascii=False)
    files.write_text(target / "study.json", text + "\n")
    rows = [
        {"source": "measured"} | {key: value for key, value in vars(one).items() if key[0] != "q"}
        for one in timings
    ]
    with files.table(target / "study.csv") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    picture.draw(target, timings)
    return about


def _print(console: Console, timings: Sequence[Timing], kernels: Sequence[Simulated]) -> None:
    numbers = ("instructions", "mean µs", "p50", "p90", "p99")
    table = new_table(("measured", "policy"), numbers)
    for one in timings:
        values = (one.mean_us, one.p50_us, one.p90_us, one.p99_us)
        figures = [f"{value:.2f}" for value in values]
        table.add_row(one.direction, one.policy, str(one.instructions), *figures)
    for name, us in PUBLISHED_US.items():
        table.add_row("published", name, "", "", "", f"{us:g}", "")
    print_table(console, table)
    console.print()
    table = new_table(("simulated", ""), ("ms", "published ms"))
    for each in kernels:
        table.add_row(each.direction, each.what, f"{each.ms:.3f}", f"{each.published_ms:g}")
    print_table(console, table)
    console.print()
