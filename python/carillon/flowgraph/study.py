"""Batches of random graphs: utilization and latency by method (job-level batching, Evaluation)."""

from __future__ import annotations

import csv
import json
import math
import signal
import statistics
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from carillon import core, files, resources, runfolder
from carillon.commands.bars import steps_bar
from carillon.commands.tables import new_table, print_table
from carillon.daemon import Interrupts
from carillon.flowgraph.graph import synthetic
from carillon.flowgraph.plan import METHODS, Method

NAME = "batching-synthetic"
TITLE = "batches of random flowgraphs: utilization against the end-to-end bound"
GRAPHS = 1000
BATCHES = (1, 2, 4, 8)
PERIOD_NS = (8_000, 16_000)  # of the source
JOINS = 0.25
SIMULATED_S = 0.01
_CHUNK = 400  # nodes that a process looks at before it reports

# The slides' figure: about 6 cores become about 2 by N = 4, for 0.06 ms.
PUBLISHED = {1: 6.0, 4: 2.0}


@dataclass(frozen=True)
class Drawn:
    """Which graphs: by their seeds, of so many nodes, of which a share divides the rate."""

    first: int = 0
    graphs: int = GRAPHS
    nodes: tuple[int, int] = (8, 20)
    divides: float = 0.1

    @property
    def is_published(self) -> bool:
        """That its graphs are of the kind that the published figure is held against."""
        return (self.nodes, self.divides) == (Drawn.nodes, Drawn.divides)


@dataclass(frozen=True)
class Row:
    """A graph with a method's batches."""

    seed: int
    method: Method
    batch: int  # N; of the optimum: within the bound of uniform batches of N
    cores: int  # as many as suffice without batches
    utilization: float
    bound_ms: float
    simulated_ms: float  # the longest latency in virtual time, of SIMULATED_S
    least: float  # proven: no batches need less; of the optimum alone


@dataclass(frozen=True)
class Point:
    """The mean of all graphs."""

    method: Method
    batch: int
    graphs: int
    utilization: float
    bound_ms: float
    tight_median: float  # of simulated latency over bound
    tight_p95: float
    near: float  # share of graphs for which the optimum is within 2 % of what is proven
    farthest: float  # by what share it may be above the least, of all graphs


def rows_of(seed: int, drawn: Drawn = Drawn()) -> list[Row]:
    """All methods on one graph."""
    graph = synthetic(seed, drawn.nodes, PERIOD_NS, JOINS, drawn.divides)
    alone = [1] * len(graph.nodes)
    cores = max(1, math.ceil(graph.core.utilization(alone) - 1e-9))
    rows: list[Row] = []
    for batch in BATCHES:
        scaled = [batch] * len(alone)
        uniform = graph.core.latency(scaled, cores)
        exploiting = graph.core.latency(graph.core.rate_exploiting(batch), cores)
        best = graph.core.least_utilization(
            uniform["bound_ns"], cores, most=32, gap=0.02, ranges=60, steps=1_000_000
        )
        # A search that was cut off may know of none; uniform batches are within their own bound.
        if best["utilization"] > uniform["utilization"]:
            best = {**uniform, "least": best["least"], "batches": scaled}
        every = (best, exploiting, uniform)
        chosen = (best["batches"], graph.core.rate_exploiting(batch), scaled)
        rows += [
            Row(seed, method, batch, cores, one["utilization"], one["bound_ns"] / 1e6,
                graph.core.simulate(batches, cores, seconds=SIMULATED_S)["latency_ns"] / 1e6,
                one.get("least", math.nan))
            for method, one, batches in zip(METHODS, every, chosen, strict=True)
        ]  # fmt: skip
    return rows


def _chunk(drawn: Drawn) -> list[Row]:
    seeds = range(drawn.first, drawn.first + drawn.graphs)
    return [row for seed in seeds for row in rows_of(seed, drawn)]


def measure(drawn: Drawn) -> Iterator[list[Row]]:
    """Of all graphs, some at a time, on all cores."""
    end = drawn.first + drawn.graphs
    size = max(1, _CHUNK // drawn.nodes[1])
    parts = [
        replace(drawn, first=start, graphs=min(size, end - start))
        for start in range(drawn.first, end, size)
    ]
    ignore = partial(signal.signal, signal.SIGINT, signal.SIG_IGN)
    pool = ProcessPoolExecutor(resources.cores().count, initializer=ignore)
    try:
        yield from pool.map(_chunk, parts)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def points_of(rows: Sequence[Row]) -> list[Point]:
    """Means by method and batch."""
    points = []
    for method in METHODS:
        for batch in BATCHES:
            own = [row for row in rows if row.method == method and row.batch == batch]
            if not own:
                continue
            tight = sorted(row.simulated_ms / row.bound_ms for row in own)
            above = [row.utilization / row.least - 1 for row in own]  # nan: nothing is proven
            near = sum(share <= 0.02 for share in above)
            points.append(
                Point(
                    method,
                    batch,
                    len(own),
                    sum(row.utilization for row in own) / len(own),
                    sum(row.bound_ms for row in own) / len(own),
                    statistics.median(tight),
                    tight[min(len(own) * 95 // 100, len(own) - 1)],
                    near / len(own) if method == "optimum" else math.nan,
                    max(above),
                )
            )
    return points


def study(drawn: Drawn, folder: Path | None, *, as_json: bool) -> None:
    """Makes the study: study.csv, study.json, study.png and study.svg in its folder.

    When it is stopped, of what is known by then, and KeyboardInterrupt.
    """
    target = runfolder.made(
        folder or Path("runs") / f"study-{NAME}{'' if drawn.is_published else '-own'}"
    )
    console = Console(stderr=as_json, highlight=False, markup=False)
    with Interrupts() as interrupts:
        rows = _collect(drawn, console, interrupts)
    if rows:
        points = points_of(rows)
        about = _about(drawn, len(rows) // (len(METHODS) * len(BATCHES)), points)
        _write(target, about, rows, points)
        if as_json:
            print(json.dumps(about, indent=2, ensure_ascii=False))
        _tell(console, points, with_published=drawn.is_published)
        console.print(f"all points: {target / 'study.csv'}, {target / 'study.png'}", soft_wrap=True)
    if interrupts.count:
        console.print("stopped early; graphs are missing", style="dim")
        raise KeyboardInterrupt


def _collect(drawn: Drawn, console: Console, interrupts: Interrupts) -> list[Row]:
    rows: list[Row] = []
    with steps_bar(console) as progress:
        task = progress.add_task("graphs", total=drawn.graphs)
        for found in measure(drawn):
            rows += found
            progress.advance(task, len(found) / (len(METHODS) * len(BATCHES)))
            if interrupts.count:
                break
    return rows


def _about(drawn: Drawn, graphs: int, points: Sequence[Point]) -> dict[str, Any]:
    return {
        "study": NAME,
        "title": TITLE,
        "computed": "bounds and utilization by formulas, latencies simulated; nothing ran",
        "simulated_s": SIMULATED_S,
        "version": core.version,
        "seeds": [drawn.first, drawn.first + graphs - 1],
        "nodes": drawn.nodes,
        "source_period_ns": PERIOD_NS,
        "joins": JOINS,
        "decimates": drawn.divides,
        "published_utilization_uniform": PUBLISHED,
        "points": [
            {name: value for name, value in asdict(point).items() if value == value}
            for point in points
        ],
    }


def _write(
    target: Path, about: dict[str, Any], rows: Sequence[Row], points: Sequence[Point]
) -> None:
    files.write_text(target / "study.json", json.dumps(about, indent=2, ensure_ascii=False) + "\n")
    with files.table(target / "study.csv") as stream:
        writer = csv.DictWriter(stream, fieldnames=[each.name for each in fields(Row)])
        writer.writeheader()
        writer.writerows(
            asdict(row) | {"least": row.least if row.least == row.least else ""} for row in rows
        )
    from carillon.flowgraph.plots import draw_study  # with matplotlib, which takes its time

    draw_study(points, target)


def _tell(console: Console, points: Sequence[Point], *, with_published: bool) -> None:
    table = new_table(
        ["method"],
        [
            "N",
            "cores used",
            "bound ms",
            "simulated/bound",
            "p95",
            "within 2 %",
            "at most",
            *(["published"] if with_published else []),
        ],
    )
    for point in points:
        published = PUBLISHED.get(point.batch) if point.method == "uniform" else None
        beside = [f"about {published:g}" if published else ""] if with_published else []
        table.add_row(
            point.method,
            str(point.batch),
            f"{point.utilization:.3f}",
            f"{point.bound_ms:.3f}",
            f"{point.tight_median:.2f}",
            f"{point.tight_p95:.2f}",
            f"{100 * point.near:.1f} %" if point.near == point.near else "",
            f"{100 * point.farthest:.2g} % above" if point.near == point.near else "",
            *beside,
        )
    print_table(console, table)
