"""Plots of fronts, of profiles and of the study."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from carillon.flowgraph import nbfm_study
from carillon.flowgraph.plan import METHODS, Plan
from carillon.flowgraph.profile import SETTINGS, Profile
from carillon.flowgraph.study import BATCHES, PUBLISHED, Point
from carillon.plots import style

_METHODS = {"optimum": style.ACCENT, "rate-exploiting": style.SECOND, "uniform": style.QUIET}
_SETTINGS = {"warm": style.SECOND, "cold": style.QUIET, "in-place": style.ACCENT}


def _in_plain_numbers(axis: Axis) -> None:
    """A logarithmic axis with 1, 2, 5, 10 … at its ticks."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def draw_front(front: Sequence[Plan], own: Plan | None, file: Path) -> None:
    """Utilization against the bound."""
    with style.applied():
        style.save(front_picture(front, own), file)


def front_picture(front: Sequence[Plan], own: Plan | None) -> Figure:
    """Each point is a choice of batches; a smaller bound or less utilization is not to be had."""
    figure, axes = style.figure()
    first = front[0]
    axes.step(
        [plan.bound_ns / 1e6 for plan in front],
        [plan.utilization for plan in front],
        where="post", color=style.ACCENT, marker="o", markersize=3.5, label="least utilization",
    )  # fmt: skip
    if own is not None:
        axes.plot(
            own.bound_ns / 1e6, own.utilization, "D", color=style.SECOND, label="the plan",
            linestyle="none",
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        _in_plain_numbers(axis)
    axes.set_xlabel("end-to-end bound, ms")
    axes.set_ylabel("cores used")
    title = f"{first.graph.name} on {first.machine}: what a shorter bound costs"
    axes.set_title(title, parse_math=False)
    style.legend(figure, axes, 2)
    return figure


def draw_study(points: Sequence[Point], target: Path) -> None:
    """study.png and study.svg in a folder."""
    _draw_both(lambda: study_picture(points), target / "study")


def draw_profile(found: Profile, target: Path) -> None:
    """profile.png and profile.svg in a folder."""
    _draw_both(lambda: profile_picture(found), target / "profile")


def _draw_both(picture: Callable[[], Figure], file: Path) -> None:
    with style.applied():
        drawn = picture()
        for ending in (".png", ".svg"):
            style.save(drawn, file.with_suffix(ending))


def study_picture(points: Sequence[Point]) -> Figure:
    """Utilization over the bound and over N, with the published figures."""
    figure = Figure(figsize=(8.4, 3.6))
    left, right = figure.subplots(1, 2)
    for method in METHODS:
        own = [point for point in points if point.method == method]
        used = [point.utilization for point in own]
        left.plot(
            [point.bound_ms for point in own], used, "o-", color=_METHODS[method], markersize=4,
            label=method,
        )  # fmt: skip
        right.plot([point.batch for point in own], used, "o-", color=_METHODS[method], markersize=4)
    right.plot(
        list(PUBLISHED), list(PUBLISHED.values()), "D", color=style.ALARM, linestyle="none",
        label="published, uniform (read from the text)",
    )  # fmt: skip
    for axes, label in ((left, "end-to-end bound, ms"), (right, "N")):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(label)
    for axis in (left.xaxis, left.yaxis, right.yaxis):
        _in_plain_numbers(axis)
    right.set_xticks(BATCHES, [str(batch) for batch in BATCHES])
    right.minorticks_off()
    left.set_ylabel("cores used, mean of all graphs")
    left.set_title("What a longer bound saves")
    right.set_title("By batch; the optimum: same bound")
    handles, labels = style.legend_of((left, right))
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure


def draw_nbfm(points: Sequence[nbfm_study.Point], target: Path) -> None:
    """study.png and study.svg in a folder."""
    _draw_both(lambda: nbfm_picture(points), target / "study")


def nbfm_picture(points: Sequence[nbfm_study.Point]) -> Figure:
    """Cores used and latency over N, measured here and in virtual time, with bounds."""
    figure = Figure(figsize=(8.4, 6.4))
    rows = figure.subplots(2, 2, sharex=True)
    titles = {"here": "Measured here", "published": "Published machine, virtual time"}
    for column, (machine, title) in enumerate(titles.items()):
        used, latency = rows[0][column], rows[1][column]
        for method in nbfm_study.METHODS:
            own = [p for p in points if (p.machine, p.method) == (machine, method)]
            colour, sizes = _METHODS[method], [point.batch for point in own]
            used.plot(sizes, [p.cores_used for p in own], "o-", color=colour, markersize=4)
            latency.plot(
                sizes, [p.latency_ms for p in own], "o-", color=colour, markersize=4, label=method
            )
            known = [p for p in own if p.bound_ms is not None]
            latency.plot(
                [p.batch for p in known], [p.bound_ms or 0.0 for p in known], "--", color=colour,
                label=f"{method}, bound",
            )  # fmt: skip
        used.set_title(title)
        latency.set_xlabel("N")
        for axes in (used, latency):
            axes.set_xscale("log")
            axes.set_yscale("log")
            _in_plain_numbers(axes.yaxis)
        latency.set_xticks(nbfm_study.SIZES, [str(size) for size in nbfm_study.SIZES])
        latency.minorticks_off()
    rows[0][0].set_ylabel("cores used")
    rows[1][0].set_ylabel("longest latency, ms")
    handles, labels = style.legend_of(rows.flat)
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure


def profile_picture(found: Profile) -> Figure:
    """Time over batch size, a panel for each node."""
    names = list(dict.fromkeys(point.node for point in found.points))
    columns = min(3, len(names))
    rows = -(-len(names) // columns)
    figure = Figure(figsize=(2.9 * columns, 2.5 * rows + 0.5))
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True)
    for place, axes in enumerate(panels.flat):
        if place >= len(names):
            axes.set_axis_off()
            continue
        own = [point for point in found.points if point.node == names[place]]
        for setting in SETTINGS:
            ours = [p for p in own if p.setting == setting and p.of == "carillon"]
            axes.plot(
                [p.batch for p in ours], [p.median_ns for p in ours], "o-", markersize=3,
                color=_SETTINGS[setting], label=setting,
            )  # fmt: skip
        theirs = [p for p in own if p.of == "gnuradio"]
        if theirs:
            axes.plot(
                [p.batch for p in theirs], [p.median_ns for p in theirs], "s--", markersize=3,
                color=style.ALARM, label="GNU Radio, in place",
            )  # fmt: skip
        axes.set_xscale("log", base=4)
        axes.set_yscale("log")
        axes.set_title(names[place], parse_math=False)
        if place % columns == 0:
            axes.set_ylabel("ns of a batch")
        if place + columns >= len(names):
            axes.set_xlabel("executions in a batch")
            axes.tick_params(labelbottom=True)
    handles, labels = style.legend_of(panels.flat[: len(names)])
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure
