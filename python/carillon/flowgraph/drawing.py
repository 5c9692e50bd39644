"""A graph as a picture: what each node does, and the path that makes the bound."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from carillon.flowgraph.graph import Graph
from carillon.flowgraph.plan import Plan, time_text
from carillon.plots import style

_WIDE, _HIGH = 1.5, 0.9  # inches of a node's box
_GAP_X, _GAP_Y = 0.95, 0.5
_WIDEST = 7.5  # inches of a chain in one row: 1200 pixels


def draw(graph: Graph, plan: Plan | None, file: Path) -> None:
    """Writes it as the file's name ends: rates, and of a plan batches, periods and utilization."""
    with style.applied():
        style.save(picture(graph, plan), file)


def picture(graph: Graph, plan: Plan | None) -> Figure:
    """Nodes from left to right in layers, each behind all that feed it; long chains in two rows."""
    places = _in_two_rows(_places(graph))
    wide = max(x for x, _ in places) * (_WIDE + _GAP_X) + _WIDE
    high = (max(y for _, y in places) - min(y for _, y in places)) * (_HIGH + _GAP_Y) + _HIGH
    figure = Figure(figsize=(wide + 0.4, high + 0.9))
    figure.set_layout_engine("none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-0.2, wide + 0.2)
    top = max(y for _, y in places) * (_HIGH + _GAP_Y) + _HIGH / 2
    axes.set_ylim(top - high - 0.15, top + 0.75)
    critical = plan.critical if plan is not None else []
    for place, node in enumerate(graph.nodes):
        _node(axes, places[place], _words(graph, plan, place), marked=node.name in critical)
    names = {node.name: place for place, node in enumerate(graph.nodes)}
    steps = set(pairwise(critical))
    for edge in graph.edges:
        _edge(
            axes,
            places[names[edge.start]],
            places[names[edge.end]],
            _ratio(edge.produce, edge.threshold, edge.consume),
            marked=(edge.start, edge.end) in steps,
        )
    axes.text(
        0, top + 0.55, _title(graph, plan), fontsize=10, fontweight="bold", va="center",
        parse_math=False,
    )  # fmt: skip
    if plan is not None:
        axes.text(0, top + 0.3, _about(plan), fontsize=8, color=style.QUIET, va="center")
    return figure


def _places(graph: Graph) -> list[tuple[float, float]]:
    """A column behind all that feed a node; rows by the mean of what feeds it."""
    names = {node.name: place for place, node in enumerate(graph.nodes)}
    before: list[list[int]] = [[] for _ in graph.nodes]
    for edge in graph.edges:
        before[names[edge.end]].append(names[edge.start])
    columns = [-1] * len(graph.nodes)
    waiting = list(range(len(graph.nodes)))
    while waiting:
        ready = [v for v in waiting if all(columns[u] >= 0 for u in before[v])]
        for v in ready:
            columns[v] = 1 + max((columns[u] for u in before[v]), default=-1)
        waiting = [v for v in waiting if columns[v] < 0]
    rows = [0.0] * len(graph.nodes)
    for column in range(max(columns) + 1):
        own = [v for v in range(len(graph.nodes)) if columns[v] == column]
        own.sort(key=lambda v: sum(rows[u] for u in before[v]) / max(len(before[v]), 1))
        for place, v in enumerate(own):
            rows[v] = place - (len(own) - 1) / 2
    return [(column, -row) for column, row in zip(columns, rows, strict=True)]


def _in_two_rows(places: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Of a chain that is too wide for one."""
    last = max(x for x, _ in places)
    is_chain = len(places) == last + 1
    if not is_chain or last * (_WIDE + _GAP_X) + _WIDE <= _WIDEST:
        return places
    own = last // 2 + 1  # columns of the first row
    return [(x % own, -(x // own)) for x, _ in places]


def _words(graph: Graph, plan: Plan | None, place: int) -> list[str]:
    rate = float(graph.rates_hz[place])
    lines = [graph.nodes[place].name, f"{_rate(rate)}"]
    if plan is not None:
        own = plan.nodes[place]
        lines.append(f"batch {own.batch} every {time_text(own.period_ns)}")
        lines.append(f"{100 * own.utilization:.3g} % of a core")
    return lines


def _rate(hz: float) -> str:
    for unit, size in (("MHz", 1e6), ("kHz", 1e3)):
        if hz >= size:
            return f"{hz / size:.4g} {unit}"
    return f"{hz:.4g} Hz"


def _ratio(produce: int, threshold: int, consume: int) -> str:
    """Nothing where each sample is read alone."""
    if produce == threshold == consume == 1:
        return ""
    peeked = f" (of {threshold})" if threshold > consume else ""
    return f"{produce} : {consume}{peeked}"


def _node(axes: Axes, place: tuple[float, float], lines: list[str], *, marked: bool) -> None:
    x, y = place[0] * (_WIDE + _GAP_X), place[1] * (_HIGH + _GAP_Y)
    axes.add_patch(
        FancyBboxPatch(
            (x, y - _HIGH / 2), _WIDE, _HIGH, boxstyle="round,pad=0,rounding_size=0.08",
            facecolor=style.PAPER, edgecolor=style.ACCENT if marked else style.QUIET,
            linewidth=1.8 if marked else 0.9,
        )
    )  # fmt: skip
    for line, text in enumerate(lines):
        axes.text(
            x + _WIDE / 2, y + (len(lines) - 1) * 0.095 - line * 0.19, text, ha="center",
            va="center", fontsize=8.5 if line == 0 else 7,
            fontweight="bold" if line == 0 else "normal",
            color=style.INK if line == 0 else style.QUIET,
            parse_math=False,
        )  # fmt: skip


def _edge(
    axes: Axes, start: tuple[float, float], end: tuple[float, float], ratio: str, *, marked: bool
) -> None:
    colour, width = (style.ACCENT, 1.6) if marked else (style.QUIET, 0.9)
    tail = (start[0] * (_WIDE + _GAP_X) + _WIDE, start[1] * (_HIGH + _GAP_Y))
    head = (end[0] * (_WIDE + _GAP_X), end[1] * (_HIGH + _GAP_Y))
    if end[0] <= start[0]:
        tail, head = _turned(axes, tail, head, colour, width)
    far = end[0] - start[0] > 1
    axes.annotate(
        "", xy=head, xytext=tail,
        arrowprops={
            "arrowstyle": "-|>", "color": colour, "linewidth": width, "shrinkA": 0, "shrinkB": 0,
            "connectionstyle": "arc3,rad=0.25" if far else "arc3",
        },
    )  # fmt: skip
    if ratio:
        axes.text(
            tail[0] + 0.3 * (head[0] - tail[0]), tail[1] + 0.3 * (head[1] - tail[1]), ratio,
            ha="center", va="center", fontsize=7, color=style.QUIET,
            bbox={"facecolor": style.PAPER, "edgecolor": "none", "pad": 1},
        )  # fmt: skip


def _turned(
    axes: Axes, tail: tuple[float, float], head: tuple[float, float], colour: str, width: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Draws an edge's way back to the next row, between the rows; what is left for its arrow."""
    middle = (tail[1] + head[1]) / 2
    x, above = tail[0] - _WIDE / 2, tail[1] - _HIGH / 2
    end = head[0] + _WIDE / 2
    axes.plot([x, x, end], [above, middle, middle], color=colour, linewidth=width)
    return (end, middle), (end, head[1] + _HIGH / 2)


def _title(graph: Graph, plan: Plan | None) -> str:
    if plan is None:
        return graph.name
    return f"{graph.name}: at most {time_text(plan.bound_ns)} on {plan.machine}"


def _about(plan: Plan) -> str:
    return (
        f"{plan.utilization:.4g} cores used; the critical path is blue; "
        "on edges: samples made : read by one execution"
    )
