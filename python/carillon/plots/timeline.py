"""One frame across the cores."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from carillon.plots import style
from carillon.result import Result
from carillon.runfolder import RunFolder
from carillon.telemetry import PACKET_EVENT, Records, Telemetry, thread_name

_SHADES = {"P": "#c9e7e3", "U": "#d3e5f6", "D": "#fbe3cf", "G": "#e9ecef"}
_SHADE_INK = "#3e4c59"


def one_frame(folder: RunFolder, telemetry: Telemetry, result: Result) -> Figure | None:
    """The tasks of a typical frame: the one nearest to the median latency that is still traced."""
    tasks = telemetry.read("tasks")
    frame = _typical(telemetry.read("frames"), tasks)
    if frame is None:
        return None
    own = tasks[tasks["frame"] == np.uint32(int(frame["frame"]) & 0xFFFFFFFF)]
    events = own["opcode"] == PACKET_EVENT
    work, packets = own[~events], own[events]
    threads = [int(thread) for thread in np.unique(work["thread"])]
    figure, axes = style.figure(height=2.0 + 0.42 * len(threads))
    air_start = int(frame["air_start"])
    _air(axes, folder)
    for row, thread in enumerate(threads):
        _row(axes, row, work[work["thread"] == thread], air_start, telemetry.opcodes)
    arrivals = (packets["start"] - air_start) / 1e6
    axes.plot(
        arrivals,
        np.full(len(arrivals), -0.62),
        "v",
        color=style.INK,
        markersize=3.5,
        label="last packet of a symbol",
    )
    _deadlines(axes, folder)
    cores = telemetry.read("threads")["core"]
    labels = [f"{thread_name(telemetry.threads, t)}\ncore {int(cores[t])}" for t in threads]
    axes.set_yticks(range(-1, len(threads)), ["on air", *labels])
    axes.set_ylim(len(threads) - 0.4, -1.5)
    axes.grid(visible=False, axis="y")
    title = f"Frame {int(frame['frame'])} across the cores"
    axes.set(xlabel="ms from the frame's start on air", title=title)
    present = {telemetry.opcodes[int(opcode)] for opcode in np.unique(work["opcode"])}
    for name in style.STAGES:
        if name in present:
            axes.plot([], [], "s", color=style.stage_colour(name), label=name)
    style.legend(figure, axes, columns=5)
    return figure


def _typical(frames: Records, tasks: Records) -> Records | None:
    traced = np.unique(tasks["frame"][tasks["opcode"] != PACKET_EVENT])
    # The oldest frame of the trace may have lost its first tasks.
    whole = traced[1:] if len(traced) > 1 else traced
    kept = frames[np.isin(frames["frame"], whole) & (frames["completed"] == 1)]
    if len(kept) == 0:
        return None
    done = np.maximum(kept["uplink_done"], kept["downlink_done"])
    order = np.argsort(done)
    typical: Records = kept[order[len(order) // 2]]
    return typical


def _air(axes: Axes, folder: RunFolder) -> None:
    for symbol in folder.derived["symbols"]:
        start, length = symbol["start_ms"], symbol["end_ms"] - symbol["start_ms"]
        axes.broken_barh(
            [(start, length)],
            (-1.35, 0.5),
            facecolors=_SHADES[symbol["kind"]],
            edgecolors="white",
            linewidth=0.6,
            zorder=3,  # above the deadlines
        )
        if len(folder.derived["symbols"]) <= 28:
            axes.text(
                start + length / 2,
                -1.1,
                symbol["kind"],
                ha="center",
                va="center",
                fontsize=7,
                color=_SHADE_INK,
                zorder=4,
            )


def _deadlines(axes: Axes, folder: RunFolder) -> None:
    deadlines = {
        kind: [s["deadline_ms"] for s in folder.derived["symbols"] if s["kind"] == kind]
        for kind in "UD"
    }
    named = {}
    if deadlines["U"]:
        named["uplink deadline"] = max(deadlines["U"])
    if deadlines["D"]:
        named["first downlink symbol due"] = min(deadlines["D"])
    style.deadlines(axes, named, dict.fromkeys(named, style.ALARM))


def _row(axes: Axes, row: int, tasks: Records, air_start: int, opcodes: list[str]) -> None:
    for opcode in np.unique(tasks["opcode"]):
        own = tasks[tasks["opcode"] == opcode]
        spans = [
            ((int(t["start"]) - air_start) / 1e6, (int(t["end"]) - int(t["start"])) / 1e6)
            for t in own
        ]
        axes.broken_barh(
            spans,
            (row - 0.36, 0.72),
            facecolors=style.stage_colour(opcodes[int(opcode)]),
            edgecolors=style.stage_colour(opcodes[int(opcode)]),
            linewidth=0.4,  # of tasks too short to be seen
        )
