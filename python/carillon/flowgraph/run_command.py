"""`carillon flowgraph run`: a graph in the batches of its plan, and what became of its promise."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from carillon import examples, files, runfolder
from carillon.commands.tables import new_table, print_table
from carillon.daemon import Interrupts
from carillon.errors import CarillonError, InputError, TooSlowError
from carillon.flowgraph.changes import Prompt, read_changes
from carillon.flowgraph.costs import read_costs
from carillon.flowgraph.graph import Graph, load
from carillon.flowgraph.live import Live
from carillon.flowgraph.plan import Machine, Method, Plan, plan, read_plan, time_text
from carillon.flowgraph.running import NodeRun, Running, RunResult, Threads, own_cores

_SHORT_S = 0.01  # in which shares of time say nothing
MOST_TOLD = 40  # nodes in a table or a picture


@dataclass(frozen=True)
class RunChoice:
    """What is asked of a run; nothing: what the graph's file says."""

    seconds: float | None = None
    latency_ns: float | None = None
    cores: int | None = None
    method: Method = "optimum"
    costs: Path | None = None
    plan: Path | None = None
    batch: int | None = None
    fast: bool = False
    realtime: bool = True
    threads: Threads = "workers"
    changes: Path | None = None
    prompt: bool = False
    settings: Sequence[str] = ()  # NODE.PARAMETER=VALUE


def run(name: str, choice: RunChoice, folder: Path | None, *, as_json: bool) -> None:
    """Writes result.json, report.html with its pictures, and trace.json.

    TooSlowError of a bound that did not hold, CarillonError of a device that failed,
    KeyboardInterrupt if it was stopped; results are written before.
    """
    graph = load(examples.resolve("flowgraphs", name), choice.settings)
    if choice.costs is not None:
        graph = read_costs(choice.costs, graph)
    own = _plan(graph, choice)
    target = runfolder.made(folder or Path("runs") / f"flowgraph-{runfolder.file_name(graph.name)}")
    console = Console(stderr=as_json, highlight=False, markup=False)
    if choice.threads == "deadline" and own is None:
        raise InputError("SCHED_DEADLINE needs a plan, which says how long jobs take; give costs")
    cores = own_cores(choice.cores or graph.demand.cores) if own is None else None
    running = Running(
        graph,
        own,
        batches=[choice.batch or 1] * len(graph.nodes),
        cores=cores,
        seconds=choice.seconds,
        paced=not choice.fast,
        realtime=choice.realtime,
        threads=choice.threads,
        changes=read_changes(choice.changes, graph) if choice.changes else [],
    )
    interrupted = _watch(running, choice, console)
    result = running.result()
    _write(target, running, result)
    if as_json:
        print((target / "result.json").read_text(encoding="utf-8"), end="")
    _tell(console, result)
    console.print(f"report: {target / 'report.html'}", soft_wrap=True)
    _end(result)
    if interrupted:
        raise KeyboardInterrupt


def _plan(graph: Graph, choice: RunChoice) -> Plan | None:
    if choice.plan is not None:
        return read_plan(choice.plan, graph)
    if choice.batch is not None or (choice.fast and not _has_costs(graph)):
        return None
    if not _has_costs(graph):
        raise InputError(
            f"{graph.name}: not all nodes have costs, so that nothing can be promised; measure "
            "them with carillon flowgraph profile and name the file by --costs, or run without a "
            "promise: --batch 256"
        )
    latency = choice.latency_ns
    if latency is None and graph.demand.latency_ms is not None:
        latency = graph.demand.latency_ms * 1e6
    # Jobs run to their end.
    return plan(graph, Machine(choice.cores or graph.demand.cores, False), latency, choice.method)


def _has_costs(graph: Graph) -> bool:
    return all(node.cost is not None for node in graph.nodes)


def _watch(running: Running, choice: RunChoice, console: Console) -> bool:
    """Runs it; whether it was interrupted."""
    until = choice.seconds if _endless(running.graph, choice) else None
    live = Live(running, choice.seconds, console, quiet=choice.prompt)
    with Interrupts() as interrupts, running, live:
        prompt = Prompt(running)
        if choice.prompt:
            prompt.read(sys.stdin)

        def step() -> bool:
            live.step()
            return not interrupts.count and not prompt.ended

        running.wait(until, step)
        return interrupts.count > 0


def _endless(graph: Graph, choice: RunChoice) -> bool:
    """That somebody else has to stop it: of sources with a device their samples are not counted."""
    return choice.seconds is not None and any(
        node.rate_hz is not None and node.block is not None and node.block.shape.has_device
        for node in graph.nodes
    )


def _write(target: Path, running: Running, result: RunResult) -> None:
    text = json.dumps(result.as_json(), indent=2, ensure_ascii=False)
    files.write_text(target / "result.json", text + "\n")
    from carillon.flowgraph.report import write_report  # with matplotlib, which takes its time
    from carillon.flowgraph.trace import write_trace

    write_report(target, running, result)
    write_trace(target / "trace.json", running, result)


def _tell(console: Console, result: RunResult) -> None:
    table = new_table(
        ["node"], ["batch", "jobs", "of a core", "longest job", "planned", "response", "bound"]
    )
    for node in result.nodes[:MOST_TOLD]:
        table.add_row(node.name, str(node.batch), str(node.jobs), *times_of(node, result))
    if len(result.nodes) > MOST_TOLD:
        table.add_row(f"and {len(result.nodes) - MOST_TOLD} more, in result.json")
    print_table(console, table)
    for line in about(result):
        console.print(line, soft_wrap=True)


def times_of(node: NodeRun, result: RunResult) -> list[str]:
    """Share of a core, longest job and what was planned, longest response and its bound."""
    return [
        f"{100 * node.busy_ns / max(result.seconds * 1e9, 1):.3g} %",
        time_text(node.longest_job_ns),
        "–" if node.planned_job_ns is None else time_text(node.planned_job_ns),
        time_text(node.longest_response_ns) if result.paced else "–",
        "–" if node.response_bound_ns is None else time_text(node.response_bound_ns),
    ]


def about(result: RunResult) -> list[str]:
    """A run in sentences, the verdict first."""
    lines = [verdict(result)]
    for sink in result.sinks:
        lines.append(
            f"{sink.name}: latency p50 {time_text(sink.p50_ns)}, p99 {time_text(sink.p99_ns)}, "
            f"p99.9 {time_text(sink.p999_ns)}, longest {time_text(sink.longest_ns)}, "
            f"of {sink.jobs} jobs"
        )
    load = ", ".join(f"{100 * each:.3g} %" for each in result.worker_load)
    cpu = 100 * sum(result.worker_cpu)
    known = f"workers at work: {load}; CPU time: {cpu:.3g} % of a core; "
    lines.append((known if result.seconds > _SHORT_S else "") + f"{result.seconds:.4g} s")
    lines += [
        f"{node.name}: {', '.join(f'{name} {value:.6g}' for name, value in node.figures.items())}"
        for node in result.nodes
        if node.figures
    ]
    lines += [
        f"{node.name}: {node.left} samples at the end were too few for an execution"
        for node in result.nodes
        if node.left
    ]
    lines += [
        f"{node.name}: {node.lost_tags} tags had no room and are lost"
        for node in result.nodes
        if node.lost_tags
    ]
    lines += [
        f"{node.name}: {node.late_changes} of {node.changes} changes were made after their samples"
        for node in result.nodes
        if node.late_changes
    ]
    lines += [
        f"{node.name}: {node.unmade_changes} of {node.unmade_changes + node.changes} changes were "
        "not made: it ended before their samples"
        for node in result.nodes
        if node.unmade_changes
    ]
    if result.standstills and result.paced:
        longest = time_text(result.longest_standstill_ns)
        lines.append(
            f"workers woke or went on over 60 µs late {result.standstills} times, at most {longest}"
        )
    return lines + result.complaints


def verdict(result: RunResult) -> str:
    """Whether the promise held, in a sentence."""
    jobs = sum(sink.jobs for sink in result.sinks)
    if not result.paced:
        return "as fast as it goes: no sample has a time at which it is due"
    if result.bound_ns is None:
        return "without a plan: nothing was promised"
    bound = time_text(result.bound_ns)
    late = result.late
    if result.threads != "workers":
        return (
            f"{late.jobs} of {jobs} jobs of sinks ended later than {bound}, which is proven for "
            "workers alone"
        )
    if late.jobs == 0:
        return f"the bound held: all {jobs} jobs of sinks ended within {bound}"
    words = [
        f"{late.by_standstill} while a worker stood still",
        f"{late.by_overrun} while a batch took longer than its planned cost",
        f"{late.unexplained} for no reason that is known",
    ]
    if late.unlisted:
        words.append(f"{late.unlisted} more, of which no times were kept")
    held = "the bound held but for standstills" if result.holds else "the bound did not hold"
    return (
        f"{held}: {late.jobs} of {jobs} jobs of sinks ended later than {bound}: {', '.join(words)}"
    )


def _end(result: RunResult) -> None:
    if result.failures:
        raise CarillonError("; ".join(result.failures))
    if not result.holds:
        raise TooSlowError(verdict(result))
