"""Latency: its tail against the deadline, and its course over the run."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from carillon import measures
from carillon.plots import style
from carillon.result import Result
from carillon.runfolder import RunFolder
from carillon.statistics import Values
from carillon.telemetry import Records, Telemetry

_MOST_POINTS = 4000


def tail(folder: RunFolder, telemetry: Telemetry, result: Result) -> Figure | None:
    """1 - CDF of D_UL and D_DL, with a logarithmic share of frames."""
    frames = telemetry.read("frames")
    times = measures.frame_times(frames, result.frame_ms)
    if len(times.uplink) == 0 and len(times.downlink) == 0:
        return None
    figure, axes = style.figure(height=3.6)
    limits, colours = {}, {}
    if len(times.uplink):
        draw_tail(axes, times.uplink, style.ACCENT, "uplink D_UL: first packet → last bits")
        if (limit := uplink_limit(folder, frames)) is not None:
            limits["uplink deadline"] = limit
            colours["uplink deadline"] = style.ACCENT
    if len(times.downlink) and folder.derived["downlink"]:
        label = "downlink D_DL: frame start → first symbol ready"
        draw_tail(axes, times.downlink, style.SECOND, label)
        due = [s["deadline_ms"] for s in folder.derived["symbols"] if s["kind"] == "D"]
        if min(due) >= 0:
            limits["downlink deadline"] = min(due)
            colours["downlink deadline"] = style.SECOND
    axes.set_yscale("log")
    axes.set_ylim(0.5 / max(len(frames), 2), 1.4)
    axes.yaxis.set_major_formatter(lambda share, _: _one_in(share))
    axes.set_xlim(0, 1.04 * max([axes.get_xlim()[1], *limits.values()]))
    axes.set(xlabel="ms", ylabel="frames that took longer", title="Latency")
    style.deadlines(axes, limits, colours)
    style.legend(figure, axes, columns=2)
    return figure


def _one_in(share: float) -> str:
    return "all" if share == 1 else f"1 in {1 / share:,.0f}".replace(",", " ")


def draw_tail(axes: Axes, values: Values, colour: str, label: str) -> None:
    """The share of values above each of them; there has to be one."""
    ordered = np.sort(values)
    above = 1 - np.arange(len(ordered)) / len(ordered)
    # Every sample of the tail, a selection of the bulk.
    ranks = len(ordered) - 1 - np.unique(np.geomspace(1, len(ordered), 600).astype(int) - 1)
    ranks = np.sort(ranks)
    axes.step(ordered[ranks], above[ranks], where="post", color=colour, linewidth=1.8, label=label)


def uplink_limit(folder: RunFolder, frames: Records) -> float | None:
    """The last uplink deadline, in ms from the frame's first packet as D_UL is."""
    deadlines = [s["deadline_ms"] for s in folder.derived["symbols"] if s["kind"] == "U"]
    seen = frames[frames["first_packet"] != 0]
    if not deadlines or len(seen) == 0:
        return None
    return float(max(deadlines) - np.median(seen["first_packet"]) / 1e6)


def history(folder: RunFolder, telemetry: Telemetry, result: Result) -> Figure | None:
    """D_UL, or D_DL where there is no uplink, of every frame; late ones marked."""
    frames = telemetry.read("frames")
    uplink = folder.derived["uplink"] is not None
    known = measures.has_uplink(frames) if uplink else measures.has_downlink(frames)
    kept = frames[known]
    if len(kept) == 0:
        return None
    origin = frames["air_start"].min()
    seconds = (kept["air_start"] - origin) / 1e9
    latency = (kept["uplink_done"] - kept["first_packet"]) if uplink else kept["downlink_first"]
    latency = latency / 1e6
    late = kept["late_cause"] != 0
    good = ~late & (np.arange(len(kept)) % max(1, len(kept) // _MOST_POINTS) == 0)
    figure, axes = style.figure(height=3.0)
    axes.plot(
        seconds[good],
        latency[good],
        ".",
        color=style.ACCENT,
        markersize=2.5,
        alpha=0.5,
        label="in time",
        rasterized=True,
    )
    if late.any():
        label = f"late in either direction: {int(late.sum())}"
        axes.plot(seconds[late], latency[late], "x", color=style.ALARM, markersize=5, label=label)
    limit = uplink_limit(folder, frames) if uplink else None
    top = 1.1 * max([*latency[good | late], limit or 0.0])
    without = frames[~known & (frames["late_cause"] != 0)]
    if len(without):
        at = (without["air_start"] - origin) / 1e9
        label = f"late without a latency (NACK, or packets missing): {len(without)}"
        low = np.full(len(at), 0.03 * top)
        axes.plot(at, low, "|", color=style.ALARM, markersize=9, label=label)
    if limit is not None:
        axes.axhline(
            limit, color=style.ALARM, linewidth=1, linestyle=(0, (4, 2)), label="uplink deadline"
        )
    axes.set_ylim(0, top)
    name = "D_UL" if uplink else "D_DL"
    axes.set(xlabel="s from the first frame", ylabel="ms", title=f"{name} of every frame")
    style.legend(figure, axes, columns=4)
    return figure
