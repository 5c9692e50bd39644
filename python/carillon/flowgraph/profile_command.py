"""`carillon flowgraph profile`: what a graph's blocks cost on this machine."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict, fields
from pathlib import Path

from rich.console import Console

from carillon import examples, files, runfolder
from carillon.commands.bars import steps_bar
from carillon.commands.tables import new_table, print_table
from carillon.daemon import Interrupts
from carillon.flowgraph import profile
from carillon.flowgraph.graph import load
from carillon.flowgraph.profile import SETTINGS, Line, Point, Profile


def measure(
    name: str, seconds: float, folder: Path | None, *, with_gnuradio: bool, as_json: bool
) -> None:
    """Writes costs.json, profile.json, profile.csv, profile.png and profile.svg.

    KeyboardInterrupt when stopped; what is known of whole blocks is written before.
    """
    graph = load(examples.resolve("flowgraphs", name))
    profile.measurable(graph)
    console = Console(stderr=as_json, highlight=False, markup=False)
    target = runfolder.made(
        folder or Path("runs") / f"flowgraph-profile-{runfolder.file_name(graph.name)}"
    )
    theirs = with_gnuradio and profile.gnuradio_python() is not None
    if with_gnuradio and not theirs:
        console.print("GNU Radio 3.10 is not installed here (apt install gnuradio): without it")
    with (
        Interrupts() as interrupts,
        steps_bar(console) as progress,
    ):
        task = progress.add_task("blocks", total=profile.steps(graph, with_gnuradio=theirs))

        def step() -> None:
            progress.advance(task)
            if interrupts.count:
                raise KeyboardInterrupt

        found = profile.measure(graph, seconds, step, with_gnuradio=theirs)
    _write(target, found)
    if as_json:
        print(json.dumps(found.as_json(), indent=2, ensure_ascii=False))
    _tell(console, found)
    if found.costs.quantile < graph.quantile:
        longer = seconds * (1 - found.costs.quantile) / (1 - graph.quantile)
        console.print(
            f"so few batches show the quantile {found.costs.quantile:.4g} of costs in a job, not "
            f"{graph.quantile:g}: --seconds {longer:.2g} has enough",
            soft_wrap=True,
        )
    left = [node.name for node in graph.nodes if node.name not in found.costs.nodes]
    if left:
        console.print(
            "not measured, since "
            + ("they have no block or wait for a device" if found.whole else "it was stopped")
            + f": {', '.join(left)}",
            soft_wrap=True,
        )
    console.print(
        f"costs: {target / 'costs.json'}; carillon flowgraph plan {name} --costs "
        f"{target / 'costs.json'}",
        soft_wrap=True,
    )
    if not found.whole:
        raise KeyboardInterrupt


def _write(target: Path, found: Profile) -> None:
    costs = json.dumps(found.costs.model_dump(), indent=2, ensure_ascii=False)
    files.write_text(target / "costs.json", costs + "\n")
    text = json.dumps(found.as_json(), indent=2, ensure_ascii=False)
    files.write_text(target / "profile.json", text + "\n")
    with files.table(target / "profile.csv") as stream:
        writer = csv.DictWriter(stream, fieldnames=[each.name for each in fields(Point)])
        writer.writeheader()
        writer.writerows(asdict(point) for point in found.points)
    from carillon.flowgraph.plots import draw_profile  # with matplotlib, which takes its time

    draw_profile(found, target)


def _tell(console: Console, found: Profile) -> None:
    table = new_table(["node", "of", "setting"], ["I ns", "Δ ns", "off by", "first : further"])
    for line in found.lines:
        table.add_row(
            line.node,
            line.of,
            line.setting,
            _with_interval(line.initial_ns, line.initial_interval),
            _with_interval(line.each_ns, line.each_interval),
            f"{100 * line.residual:.0f} %",
            _first(line),
        )
    print_table(console, table)
    for words in about(found):
        console.print(words, soft_wrap=True)


def _with_interval(value: float, interval: tuple[float, float] | None) -> str:
    if interval is None:
        return f"{value:.3g}"
    return f"{value:.3g} ({interval[0]:.3g} … {interval[1]:.3g})"


def _first(line: Line) -> str:
    """How many times a further sample's cost the first one has."""
    return f"{(line.initial_ns + line.each_ns) / line.each_ns:.3g}" if line.each_ns > 0 else "–"


def about(found: Profile) -> list[str]:
    """Where the first sample is dear: in a job, with its wake-up, and not in the kernel."""
    lines = []
    for setting in SETTINGS:
        own = [each for each in found.lines if each.setting == setting and each.of == "carillon"]
        initial = sorted(each.initial_ns for each in own)[len(own) // 2]
        where = {
            "warm": "in the kernel, its samples in the cache",
            "cold": "in the kernel, its samples in memory",
            "in-place": "in a job, with its wake-up",
        }[setting]
        lines.append(f"{where}, a batch costs {initial:.3g} ns besides its samples (median)")
    return lines
