"""Policies on a simulated pool: the tail of their latency, and their figures beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from carillon import core
from carillon.plots import style
from carillon.pool import profile as profiles
from carillon.pool.running import Outcome
from carillon.pool.study import Described
from carillon.pool.summary import LOST, Summary, latencies, written
from carillon.statistics import Values

COLOURS = {
    "frame-level": style.STAGES["ZeroForce"],
    "symbol-level": style.STAGES["UplinkFft"],
    "task-level": style.STAGES["Modulate"],
    "scoreboard": style.SECOND,
    "adaptive": style.ACCENT,
}
_SERVERS = [style.ACCENT, style.SECOND, *style.STAGES.values()]
_MOST_POINTS = 600


def draw(
    folder: Path,
    described: Described,
    outcomes: Sequence[Outcome],
    summaries: Sequence[Summary],
) -> list[str]:
    """latency, policies and, of several, servers, each .png and .svg; returns the first of each."""
    with style.applied():
        pictures = {"latency": tails(described, outcomes), "policies": bars(summaries)}
        if len(described.study.rack()) > 1:
            pictures["servers"] = servers(described, outcomes)
        for name, figure in pictures.items():
            _label(figure, described)
            _save(folder, name, figure)
    return [f"{name}.png" for name in pictures]


def _label(figure: Figure, described: Described) -> None:
    """Above all, where a device profile is used: whether its times were measured or made up."""
    if described.profile is not None:
        text = f"Simulated; {profiles.label(described.profile)}"
        figure.suptitle(text, fontsize=7.5, color=style.ALARM, parse_math=False)


def _save(folder: Path, name: str, figure: Figure) -> None:
    style.save(figure, folder / f"{name}.png")
    style.save(figure, folder / f"{name}.svg")


def tails(described: Described, outcomes: Sequence[Outcome]) -> Figure:
    """1 − CDF of the latency, over all frames: a line that ends above the axis had NACKs."""
    study = described.study
    figure, axes = style.figure(height=3.8)
    most = 0
    for policy in dict.fromkeys(outcome.policy for outcome in outcomes):
        own = [outcome for outcome in outcomes if outcome.policy == policy]
        values = latencies(own, study.warm_up)
        most = max(most, len(values))
        _tail(axes, values, policy)
    axes.set_yscale("log")
    axes.set_ylim(0.5 / max(most, 2), 1.4)
    axes.set_xlim(left=0)
    if not study.at_once:
        low, high = axes.get_xlim()
        axes.set_xlim(low, max(high, 1.04 * study.deadline_ms))
        style.deadlines(axes, {"deadline": study.deadline_ms}, {"deadline": style.ALARM})
    since = "its begin" if study.at_once else "its start on air"
    axes.set(xlabel=f"ms from {since}, simulated", ylabel="share of frames that took longer")
    axes.set_title(described.name, parse_math=False)
    style.legend(figure, axes, columns=5)
    return figure


def _tail(axes: Axes, values: Values, policy: str) -> None:
    ordered = np.sort(values)
    count = len(ordered)
    # Every frame of the tail, a selection of the bulk.
    ranks = np.unique(count - np.geomspace(1, count, _MOST_POINTS).astype(int))
    ranks = ranks[np.isfinite(ordered[ranks])]
    above = 1 - ranks / count
    axes.step(ordered[ranks], above, where="post", color=COLOURS[policy], label=policy)


def bars(summaries: Sequence[Summary]) -> Figure:
    """Mean and the highest percentile that is known, and frames per second."""
    policies = [summary.policy for summary in summaries]
    known = [name for name, value in summaries[0].percentiles_ms.items() if value is not None]
    figure = Figure(figsize=(8.4, 3.4))
    times, rates = figure.subplots(1, 2, width_ratios=(2, 1))
    places = np.arange(len(policies))
    colours = [COLOURS[policy] for policy in policies]
    means = [summary.mean_ms or 0.0 for summary in summaries]
    times.bar(places - 0.2, means, 0.38, color=colours, label="mean")
    if known:
        tail = [summary.percentiles_ms[known[-1]] or 0.0 for summary in summaries]
        finite = [value if np.isfinite(value) else 0.0 for value in tail]
        times.bar(places + 0.2, finite, 0.38, color=colours, alpha=0.5)
        for place, value in zip(places, tail, strict=True):
            if np.isinf(value):
                times.annotate("NACKed", (place + 0.2, 0), rotation=90, ha="center", fontsize=7.5)
    times.set(ylabel="ms, simulated")
    title = f"Latency: mean and {written(known[-1])}" if known else "Latency: mean"
    times.set_title(title)
    rates.bar(places, [summary.frames_per_s for summary in summaries], 0.6, color=colours)
    rates.set_title("Frames per second, simulated")
    for axes in (times, rates):
        axes.set_xticks(places, policies, rotation=25, ha="right")
        axes.grid(visible=False, axis="x")
    return figure


def servers(described: Described, outcomes: Sequence[Outcome]) -> Figure:
    """Which server had each radio unit's frames, and which frames were not done, of one policy."""
    wanted = described.study.traced()
    one = next((outcome for outcome in outcomes if outcome.policy == wanted), outcomes[0])
    figure, axes = style.figure(height=1.6 + 0.22 * described.units)
    for number in range(len(described.study.rack())):
        own = one.done & (one.server == number)
        colour = _SERVERS[number % len(_SERVERS)]
        axes.plot(one.began[own], one.cell[own], "|", ms=7, mew=1.2, color=colour)
        axes.plot([], [], "|", ms=7, mew=3, color=colour, label=f"server {number}")
    lost = np.isin(one.why, [code for code, why in enumerate(core.reasons()) if why in LOST])
    for label, which, mark in (("NACK", ~one.done & ~lost, "x"), ("lost", ~one.done & lost, "o")):
        colour = style.ALARM if mark == "x" else style.INK
        axes.plot(one.began[which], one.cell[which], mark, ms=3, color=colour, label=label)
    axes.set(xlabel="start on air, ms, simulated", ylabel="radio unit")
    axes.invert_yaxis()
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title(f"Who serves whom: {one.policy}")
    style.legend(figure, axes, columns=6)
    return figure
