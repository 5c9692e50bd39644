"""The published case study: a receiver of narrowband FM in batches of N, measured and bounded.

Source: job-level batching (slides), whose machine was three isolated cores of a Raspberry Pi. That
one is computed here in virtual time, from GNU Radio's costs; this machine's runs are measured.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from rich.console import Console

from carillon import core, examples, files, runfolder
from carillon.commands.bars import steps_bar
from carillon.commands.tables import new_table, print_table
from carillon.daemon import Interrupts
from carillon.errors import TooSlowError
from carillon.flowgraph.graph import Graph, load
from carillon.flowgraph.plan import Machine, Method, evaluate, published
from carillon.flowgraph.running import Running, own_cores

NAME = "batching-nbfm"
TITLE = "an FM receiver in batches of N: cores used and latency, measured here, and bounds"
SIZES = (5, 10, 25, 50, 100, 240, 1200)
METHODS: tuple[Method, ...] = ("uniform", "rate-exploiting")
SECONDS = 0.8  # of each run
_PUBLISHED_CORES, _VIRTUAL_SECONDS = 3, 0.5


@dataclass(frozen=True)
class Point:
    """A batch size by a method, on a machine. What is not known is None."""

    machine: str  # "here", measured; "published", in virtual time
    method: str
    batch: int
    cores_used: float
    latency_ms: float  # the longest
    bound_ms: float | None  # by planned costs; None: cores do not suffice by these
    late: int | None
    late_by_standstill: int | None


def study(folder: Path | None, *, as_json: bool) -> None:
    """study.csv, study.json, study.png and study.svg; when it is stopped, of what is known by then,
    and KeyboardInterrupt."""
    target = runfolder.made(folder or Path("runs") / f"study-{NAME}")
    console = Console(stderr=as_json, highlight=False, markup=False)
    points: list[Point] = []
    with Interrupts() as interrupts, steps_bar(console) as progress:
        task = progress.add_task("batch sizes", total=2 * len(METHODS) * len(SIZES))
        for point in measure():
            points += point
            progress.advance(task)
            if interrupts.count:
                break
    _write(target, points)
    if as_json:
        print((target / "study.json").read_text(encoding="utf-8"), end="")
    _tell(console, points)
    console.print(f"all points: {target / 'study.csv'}, {target / 'study.png'}", soft_wrap=True)
    if interrupts.count:
        raise KeyboardInterrupt


def measure() -> Iterator[list[Point]]:
    """Point by point; empty where cores do not suffice."""
    here, slides = (
        load(examples.resolve("flowgraphs", name)) for name in ("nbfm", "nbfm-published")
    )
    cores = own_cores(min(2, len(os.sched_getaffinity(0))))
    for method in METHODS:
        for batch in SIZES:
            yield [_measured(here, method, batch, cores)]
            yield _virtual(slides, method, batch)


def _measured(graph: Graph, method: Method, batch: int, cores: list[int]) -> Point:
    batches = published(graph, method, batch)
    try:
        plan = evaluate(graph, batches, Machine(len(cores), preemptive=False), method)
    except TooSlowError:
        plan = None
    with Running(
        graph, plan, batches=batches, cores=cores, seconds=SECONDS, realtime=True
    ) as running:
        running.wait()
    result = running.result()
    late = None if plan is None else result.late
    return Point(
        "here",
        method,
        batch,
        sum(result.worker_cpu),
        max(sink.longest_ns for sink in result.sinks) / 1e6,
        None if plan is None else plan.bound_ns / 1e6,
        None if late is None else late.jobs,
        None if late is None else late.by_standstill,
    )


def _virtual(graph: Graph, method: Method, batch: int) -> list[Point]:
    batches = published(graph, method, batch)
    try:
        plan = evaluate(graph, batches, Machine(_PUBLISHED_CORES), method)
    except TooSlowError:
        return []
    found = graph.core.simulate(batches, _PUBLISHED_CORES, True, _VIRTUAL_SECONDS)
    latency = found["latency_ns"] / 1e6
    return [
        Point(
            "published", method, batch, plan.utilization, latency, plan.bound_ns / 1e6, None, None
        )
    ]


def _write(target: Path, points: list[Point]) -> None:
    about = {
        "study": NAME,
        "title": TITLE,
        "here": f"measured on {runfolder.cpu_model()}, {SECONDS} s each; bounds by nbfm's costs",
        "published": f"computed for {_PUBLISHED_CORES} cores by GNU Radio's costs; nothing ran",
        "version": core.version,
        "points": [asdict(point) for point in points],
    }
    files.write_text(target / "study.json", json.dumps(about, indent=2, ensure_ascii=False) + "\n")
    with files.table(target / "study.csv") as stream:
        writer = csv.DictWriter(stream, fieldnames=[each.name for each in fields(Point)])
        writer.writeheader()
        writer.writerows(asdict(point) for point in points)
    from carillon.flowgraph.plots import draw_nbfm  # with matplotlib, which takes its time

    draw_nbfm(points, target)


def _tell(console: Console, points: list[Point]) -> None:
    table = new_table(
        ["machine", "method"], ["N", "cores used", "longest ms", "bound ms", "late", "standstills"]
    )
    for point in points:
        table.add_row(
            point.machine,
            point.method,
            str(point.batch),
            f"{point.cores_used:.3f}",
            f"{point.latency_ms:.3f}",
            "–" if point.bound_ms is None else f"{point.bound_ms:.3f}",
            "–" if point.late is None else str(point.late),
            "–" if point.late_by_standstill is None else str(point.late_by_standstill),
        )
    print_table(console, table)
