"""What `carillon flowgraph` does."""

from __future__ import annotations

import csv
import json
import os
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from carillon import examples, files, runfolder
from carillon.commands.bars import steps_bar
from carillon.commands.tables import new_table, print_table
from carillon.config import ConfigError
from carillon.daemon import Interrupts
from carillon.errors import InputError
from carillon.flowgraph.costs import read_costs
from carillon.flowgraph.graph import Graph, load
from carillon.flowgraph.plan import (
    Machine,
    Method,
    Plan,
    Relief,
    front,
    plan,
    reliefs,
    time_text,
    with_plan,
)
from carillon.flowgraph.wiring import check_filters

MOST_DRAWN = 200  # nodes of a picture that somebody can read
_MOST_TOLD = 40  # nodes in a table
_POINTS = 24  # of a front
_MOST_ASKED = 1000  # nodes of a graph that is planned again with more cores and more time


@dataclass(frozen=True)
class Choice:
    """What is asked of a plan; nothing: what the file says."""

    latency_ns: float | None = None
    cores: int | None = None
    preemptive: bool | None = None
    method: Method = "optimum"
    costs: Path | None = None
    front: bool = False


def check(name: str) -> None:
    """Reads a graph; ConfigError with all that is wrong."""
    graph = load(examples.resolve("flowgraphs", name))
    if overloads := graph.overloads():
        raise ConfigError(overloads)
    nodes, edges = (
        f"{count} {what}{'' if count == 1 else 's'}"
        for count, what in ((len(graph.nodes), "node"), (len(graph.edges), "edge"))
    )
    print(f"{graph.file}: {nodes}, {edges}, rates consistent")


def show(name: str, costs: Path | None, file: Path | None, *, as_json: bool) -> None:
    """A graph's rates, and a picture of it."""
    graph = _with_costs(load(examples.resolve("flowgraphs", name)), costs)
    if file is not None:
        _check_drawing(graph, file)
    rates = graph.rates_hz
    executions = graph.core.executions()
    rows = [
        {"node": node.name, "rate_hz": float(rate), "x": x, "y": y}
        for node, rate, (x, y) in zip(graph.nodes, rates, executions, strict=True)
    ]
    console = Console(stderr=as_json, highlight=False, markup=False)
    if as_json:
        print(json.dumps({"graph": graph.name, "nodes": rows}, indent=2, ensure_ascii=False))
    table = new_table(["node"], ["executions/s", "x", "y"])
    for row in rows:
        table.add_row(str(row["node"]), f"{row['rate_hz']:.10g}", str(row["x"]), str(row["y"]))
    print_table(console, table)
    ticks = graph.core.ticks()
    console.print(
        f"each node executes x times in every y of {ticks[0] / ticks[1]:.10g} ticks a second",
        soft_wrap=True,
    )
    if file is not None:
        _draw(graph, None, file)
        console.print(f"drawn: {file}", soft_wrap=True)


def make_plan(name: str, choice: Choice, folder: Path | None, *, as_json: bool) -> None:
    """Chooses batches; writes plan.json, plan.svg, and of a front front.csv and front.svg."""
    graph = _with_costs(load(examples.resolve("flowgraphs", name)), choice.costs)
    graph.check()
    check_filters(graph)
    asked = graph.demand
    cores = choice.cores if choice.cores is not None else asked.cores
    preemptive = choice.preemptive if choice.preemptive is not None else asked.preemptive
    machine = Machine(cores, preemptive)
    latency = choice.latency_ns
    if latency is None and asked.latency_ms is not None:
        latency = asked.latency_ms * 1e6
    console = Console(stderr=as_json, highlight=False, markup=False)
    own = plan(graph, machine, latency, choice.method)
    target = runfolder.made(folder or Path("runs") / f"flowgraph-{runfolder.file_name(graph.name)}")
    asks = latency is not None and choice.method == "optimum" and len(own.nodes) <= _MOST_ASKED
    more = reliefs(own, latency) if asks and latency is not None else []
    found, whole = _front(graph, machine, console) if choice.front else (None, True)
    found = None if found is None else with_plan(found, own)
    written = _write(target, own, more, found)
    if as_json:
        print((target / "plan.json").read_text(encoding="utf-8"), end="")
    _tell(console, own, latency, more)
    console.print(f"written: {', '.join(map(str, written))}", soft_wrap=True)
    if not whole:
        console.print("stopped early; points of the front are missing", style="dim")
        raise KeyboardInterrupt


def _with_costs(graph: Graph, costs: Path | None) -> Graph:
    return graph if costs is None else read_costs(costs, graph)


def _front(graph: Graph, machine: Machine, console: Console) -> tuple[list[Plan], bool]:
    with (
        Interrupts() as interrupts,
        steps_bar(console) as progress,
    ):
        task = progress.add_task("front", total=_POINTS)

        def step() -> bool:
            progress.advance(task)
            return not interrupts.count

        return front(graph, machine, _POINTS, step=step), not interrupts.count


def _write(target: Path, own: Plan, more: list[Relief], found: list[Plan] | None) -> list[Path]:
    about = own.as_json() | {"with": {each.what: each.utilization for each in more}}
    if found is not None:
        about["front"] = [
            {"bound_ns": each.bound_ns, "utilization": each.utilization, "batches": each.batches}
            for each in found
        ]
    written = [target / "plan.json"]
    files.write_text(written[0], json.dumps(about, indent=2, ensure_ascii=False) + "\n")
    if len(own.nodes) <= MOST_DRAWN:
        written.append(target / "plan.svg")
        _draw(own.graph, own, written[-1])
    if found is not None:
        written += [target / "front.csv", target / "front.svg"]
        with files.table(written[-2]) as stream:
            rows = csv.writer(stream)
            rows.writerow(["bound_ns", "utilization"])
            rows.writerows((each.bound_ns, each.utilization) for each in found)
        from carillon.flowgraph.plots import draw_front

        draw_front(found, own, written[-1])
    return written


def _check_drawing(graph: Graph, file: Path) -> None:
    """Raises InputError of what cannot be drawn, or not there."""
    if len(graph.nodes) > MOST_DRAWN:
        raise InputError(
            f"{graph.name}: has {len(graph.nodes)} nodes; at most {MOST_DRAWN} are drawn"
        )
    if file.suffix not in (".svg", ".png", ".pdf"):
        raise InputError(f"{file}: a picture's name must end in .svg, .png or .pdf")
    if file.is_dir():
        raise InputError(f"{file}: is a folder, not a picture")
    if not file.parent.is_dir():
        raise InputError(f"{file}: there is no folder {file.parent}; make it first")
    if not os.access(file.parent, os.W_OK) or (file.exists() and not os.access(file, os.W_OK)):
        raise InputError(f"{file}: cannot be written; name another place")


def _draw(graph: Graph, own: Plan | None, file: Path) -> None:
    from carillon.flowgraph.drawing import draw  # with matplotlib, which takes its time

    draw(graph, own, file)


def _tell(console: Console, own: Plan, latency: float | None, more: list[Relief]) -> None:
    table = new_table(["node"], ["batch", "every", "takes", "of a core", "ends within"])
    for node in own.nodes[:_MOST_TOLD]:
        table.add_row(
            node.name,
            str(node.batch),
            time_text(node.period_ns),
            time_text(node.cost_ns),
            f"{100 * node.utilization:.3g} %",
            time_text(node.response_ns),
        )
    print_table(console, table)
    if len(own.nodes) > _MOST_TOLD:
        console.print(f"… and {len(own.nodes) - _MOST_TOLD} nodes more, in plan.json")
    for line in about(own, latency, more):
        console.print(line, soft_wrap=True)


def about(own: Plan, latency: float | None, more: list[Relief]) -> list[str]:
    """A plan in sentences."""
    quantile = f"p{100 * own.graph.quantile:g}"
    lines = [
        f"\nno sample comes out later than {time_text(own.bound_ns)} on {own.machine}, as long as "
        f"no batch takes longer than its cost ({quantile})",
        f"of that, {time_text(own.filling_ns)} for samples to come together, "
        f"{time_text(own.responding_ns)} for jobs to wait and run"
        + (f", {time_text(own.spreading_ns)} for them to leave" if own.spreading_ns else "")
        + f"; on the path {' -> '.join(_short(own.critical))}",
        f"utilization: {own.utilization:.4g} cores"
        + (f"; {_proof(own)}" if own.least_utilization is not None else ""),
    ]
    if own.mean_bound_ns is not None:
        lines.append(
            f"with mean costs the bound would be {time_text(own.mean_bound_ns)}: no proof, since "
            "batches take longer than their mean"
        )
    if latency is not None:
        lines += [f"with {each.what}: {each.utilization:.4g} cores used" for each in more]
    return lines


def _short(path: list[str]) -> list[str]:
    return path if len(path) <= 12 else [*path[:5], "…", *path[-5:]]


def _proof(own: Plan) -> str:
    if own.least_utilization is None or own.utilization == 0:
        return ""
    if own.utilization <= own.least_utilization * (1 + 1e-6):
        return "none of the batches looked at need less"
    gap = 100 * (own.utilization / own.least_utilization - 1)
    return f"no batches need less than {own.least_utilization:.4g} ({gap:.2g} % below)"
