"""The three delays of frames, and the late ratio over the averaging time."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from carillon.plots import style
from carillon.plots.latency import draw_tail
from carillon.power import delays as measure
from carillon.result import Result
from carillon.runfolder import RunFolder
from carillon.telemetry import Telemetry

_MOST_POINTS = 1000
_SMALLEST = 1e-3  # ms; below it the axis is linear


def delays(folder: RunFolder, telemetry: Telemetry, result: Result) -> Figure | None:
    """1 - CDF of T_BS, T_OS and T_f; beside it the moving late ratio and P_out."""
    frames = telemetry.read("frames")
    if len(frames) == 0 or result.delays is None:
        return None
    own = measure.delays(frames, measure.received_by(folder.derived["symbols"]))
    figure = Figure(figsize=(8.4, 3.2))
    left, right = figure.subplots(1, 2)
    for delay, colour, name in (
        (own.t_bs, style.ACCENT, "T_BS"),
        (own.t_os, style.ALARM, "T_OS"),
        (own.t_f, style.SECOND, "T_f"),
    ):
        if len(values := delay[np.isfinite(delay)] / 1e6):
            draw_tail(left, values, colour, name)
    left.set_xscale("symlog", linthresh=_SMALLEST)
    left.set_xlim(left=0)
    left.set_yscale("log")
    left.set(xlabel="ms", ylabel="frames delayed for longer", title="Delays")
    left.legend()
    _moving(right, measure.moving_ratio(frames, result.delays.outage.averaging_s), result)
    return figure


def _moving(axes: Axes, moving: measure.MovingRatio, result: Result) -> None:
    assert result.delays is not None
    outage = result.delays.outage
    count = len(moving.seconds)
    firsts = np.unique(np.linspace(0, count - 1, min(count, _MOST_POINTS)).astype(int))
    peaks = np.maximum.reduceat(moving.ratio, firsts)
    axes.plot(moving.seconds[firsts], peaks, color=style.ACCENT)
    axes.axhline(
        outage.target, color=style.ALARM, linewidth=1, linestyle=(0, (4, 2)), label="P_out"
    )
    axes.set_ylim(bottom=0)
    axes.set(
        xlabel="s from the first frame",
        ylabel="late ratio",
        title=f"Late, over {outage.averaging_s:g} s",
    )
    axes.legend()
