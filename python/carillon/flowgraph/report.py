"""The page of a graph's run: report.html, which needs nothing else."""

from __future__ import annotations

import html
from base64 import b64encode
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template

from matplotlib.figure import Figure

from carillon import core, runfolder
from carillon.files import write_text
from carillon.flowgraph.drawing import draw
from carillon.flowgraph.plan import time_text
from carillon.flowgraph.run_command import MOST_TOLD, about, times_of, verdict
from carillon.flowgraph.running import Running, RunResult
from carillon.flowgraph.waterfall import draw_waterfalls
from carillon.plots import style
from carillon.report.page import figure

_MOST_DRAWN = 200  # nodes of a picture that somebody can read


def write_report(target: Path, running: Running, result: RunResult) -> None:
    """latency.svg, jobs.svg, graph.svg, waterfall-NODE.png, and the page that holds them."""
    drawn = dict(_draw(target, running, result))
    page = files("carillon.report").joinpath("page.html").read_text(encoding="utf-8")
    text = Template(page).substitute(
        title=html.escape(result.graph),
        description="a flowgraph in its batches",
        about=html.escape(
            f"{result.seconds:.4g} s · {len(result.cores)} workers on cores "
            f"{', '.join(map(str, result.cores))} · {runfolder.cpu_model()}, {core.active_isa()}"
        ),
        verdict=_banner(result),
        tiles="\n".join(_tiles(result)),
        plots="\n".join(_picture(target, name, words) for name, words in drawn.items()),
        tables=_nodes(result),
        configuration=html.escape(_configuration(running)),
        log="<section><h2>In words</h2>"
        + "".join(f"<p>{html.escape(line)}</p>" for line in about(result)[1:])
        + "</section>",
        files="result.json",
        version=html.escape(core.version),
    )
    write_text(target / "report.html", text)


def _picture(target: Path, name: str, words: str) -> str:
    file = target / f"{name}.svg"
    if file.exists():
        return figure(name, file, words)
    pixels = b64encode(file.with_suffix(".png").read_bytes()).decode()
    caption = html.escape(words)
    return (
        f'<figure><img src="data:image/png;base64,{pixels}" alt="{caption}" '
        f'style="max-width:100%"><figcaption>{caption}</figcaption></figure>'
    )


def _banner(result: RunResult) -> str:
    promised = result.paced and result.bound_ns is not None
    mood = "fair"
    if promised:
        mood = "good" if result.late.jobs == 0 else "fair"
        mood = mood if result.holds else "bad"
    return f'<p class="verdict {mood}">{html.escape(verdict(result))}</p>'


def _tiles(result: RunResult) -> Iterator[str]:
    def tile(name: str, value: str, more: str) -> str:
        return (
            f'<div class="tile"><h2>{name}</h2><p class="value">{html.escape(value)}</p>'
            f"<p>{html.escape(more)}</p></div>"
        )

    if result.sinks:
        longest = max(sink.longest_ns for sink in result.sinks)
        bound = "no bound" if result.bound_ns is None else f"bound {time_text(result.bound_ns)}"
        yield tile("longest latency", time_text(longest), bound)
        p99 = max(sink.p99_ns for sink in result.sinks)
        yield tile("p99 latency", time_text(p99), "of the slowest sink")
    yield tile(
        "late", str(result.late.jobs),
        f"{result.late.by_standstill} by standstills, {result.late.by_overrun} by costs, "
        f"{result.late.unexplained + result.late.unlisted} unexplained",
    )  # fmt: skip
    busy = sum(node.busy_ns for node in result.nodes) / max(result.seconds * 1e9, 1)
    yield tile("cores used", f"{sum(result.worker_cpu):.3g}", f"{busy:.3g} of it in blocks")
    first = [node for node in result.nodes if node.executions][:1]
    if first:
        rate = first[0].executions / max(result.seconds, 1e-9)
        yield tile("executions of the source", f"{rate:,.0f}".replace(",", " "), "a second")


def _draw(target: Path, running: Running, result: RunResult) -> Iterator[tuple[str, str]]:
    with style.applied():
        if result.sinks:
            style.save(latency_picture(result), target / "latency.svg")
            yield "latency", "How long samples took, from their arrival to the end of the last job."
        style.save(jobs_picture(result), target / "jobs.svg")
        hidden = len(result.nodes) - MOST_TOLD
        rest = f" {hidden} nodes more are in the table." if hidden > 0 else ""
        yield "jobs", f"The longest job of each node, and what it was planned to take.{rest}"
    for waterfall, file in draw_waterfalls(running, target):
        yield file.stem, f"Frequencies over time at {waterfall.node}."
    if len(running.graph.nodes) <= _MOST_DRAWN:
        draw(running.graph, running.plan, target / "graph.svg")
        yield "graph", "The graph, with batches and utilization as planned."


def latency_picture(result: RunResult) -> Figure:
    """The share of sinks' jobs that took longer, with the bound."""
    figure_, axes = style.figure()
    for sink, colour in zip(result.sinks, _colours(len(result.sinks)), strict=True):
        left = sum(count for _, count in sink.bins)
        x, y = [sink.bins[0][0] / 1e6], [1.0]
        for upper, count in sink.bins:
            left -= count
            x.append(upper / 1e6)
            y.append(left / sink.jobs if left else 0.5 / sink.jobs)
        axes.step(x, y, where="post", color=colour, label=sink.name)
    if result.bound_ns is not None:
        axes.axvline(result.bound_ns / 1e6, color=style.ALARM, linestyle="--", label="bound")
    axes.set_yscale("log")
    axes.set_xlabel("latency, ms")
    axes.set_ylabel("share of jobs that took longer")
    axes.set_xlim(left=0)
    style.legend(figure_, axes, 3)
    return figure_


def jobs_picture(result: RunResult) -> Figure:
    """Bars, node by node."""
    figure_, axes = style.figure()
    shown = result.nodes[:MOST_TOLD]
    places = range(len(shown))
    axes.barh(
        places, [node.longest_job_ns / 1e3 for node in shown], color=style.ACCENT, label="longest"
    )
    planned = [(i, node.planned_job_ns) for i, node in enumerate(shown)]
    known = [(i, ns / 1e3) for i, ns in planned if ns is not None]
    if known:
        axes.plot(
            [ns for _, ns in known], [i for i, _ in known], "|", color=style.SECOND,
            markersize=14, markeredgewidth=2.5, label="planned at most", linestyle="none",
        )  # fmt: skip
    axes.set_yticks(places, [node.name for node in shown], parse_math=False)
    axes.invert_yaxis()
    axes.set_xlabel("a job, µs")
    style.legend(figure_, axes, 2)
    return figure_


def _colours(count: int) -> Sequence[str]:
    own = (style.ACCENT, style.SECOND, style.QUIET)
    return [own[i % len(own)] for i in range(count)]


def _nodes(result: RunResult) -> str:
    def cells(values: Sequence[str]) -> str:
        return "".join(f"<td>{html.escape(value)}</td>" for value in values)

    heads = (
        "block", "batch", "jobs", "executions", "of a core", "longest job", "planned",
        "response", "bound", "tardiness",
    )  # fmt: skip
    rows = []
    for node in result.nodes:
        values = (
            node.type,
            str(node.batch),
            str(node.jobs),
            str(node.executions),
            *times_of(node, result),
            time_text(node.tardiness_ns) if result.paced else "–",
        )
        rows.append(f"<tr><th>{html.escape(node.name)}</th>{cells(values)}</tr>")
    head = "".join(f"<th>{name}</th>" for name in ("node", *heads))
    return (
        "<section><h2>Nodes</h2><p>Response: from a job's release to its end. Tardiness: what of "
        "the longest response is beyond a period.</p>"
        f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div></section>"
    )


def _configuration(running: Running) -> str:
    file = running.graph.file
    try:
        return Path(file).read_text(encoding="utf-8") if file else "built with Python"
    except OSError:
        return file
