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
    figure, axes = style.figure()
    if len(times.uplink):
        label = "uplink D_UL: first packet → last bits"
        _tail(axes, times.uplink, style.ACCENT, label)
    if len(times.downlink) and folder.derived["downlink"]:
        label = "downlink D_DL: frame start → first symbol ready"
        _tail(axes, times.downlink, style.SECOND, label)
    limit = uplink_limit(folder, frames)
    if limit is not None and len(times.uplink):
        style.deadline(axes, limit, "uplink deadline")
    axes.set_yscale("log")
    axes.set_ylim(0.5 / max(len(frames), 2), 1.4)
    axes.set_xlim(left=0)
    axes.set(xlabel="ms", ylabel="share of frames that took longer", title="Latency")
    axes.legend(loc="best", frameon=True, edgecolor="none")  # over the deadline at most
    return figure


def _tail(axes: Axes, values: Values, colour: str, label: str) -> None:
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
    done = "uplink_done" if uplink else "downlink_first"
    kept = frames[(frames[done] != 0) & (frames["nack"] == 0)]
    if len(kept) == 0:
        return None
    origin = frames["air_start"].min()
    seconds = (kept["air_start"] - origin) / 1e9
    latency = (kept[done] - (kept["first_packet"] if uplink else 0)) / 1e6
    late = kept["late_cause"] != 0
    shown = late | (np.arange(len(kept)) % max(1, len(kept) // _MOST_POINTS) == 0)
    figure, axes = style.figure(height=2.6)
    good = shown & ~late
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
    axes.plot(
        seconds[late],
        latency[late],
        "x",
        color=style.ALARM,
        markersize=5,
        label=f"late in either direction: {int(late.sum())}",
    )
    refused = frames[frames["nack"] != 0]
    at = (refused["air_start"] - origin) / 1e9
    axes.plot(at, np.zeros(len(at)), "|", color=style.ALARM, markersize=9, label=f"NACK: {len(at)}")
    limit = uplink_limit(folder, frames) if uplink else None
    if limit is not None:
        axes.axhline(
            limit, color=style.ALARM, linewidth=1, linestyle=(0, (4, 2)), label="uplink deadline"
        )
    # Room for the legend above everything that is drawn.
    axes.set_ylim(0, 1.3 * max([*latency[shown], limit or 0.0]))
    axes.set(xlabel="s", ylabel="ms", title=("D_UL" if uplink else "D_DL") + " of every frame")
    axes.legend(loc="upper right", ncols=4)
    return figure
