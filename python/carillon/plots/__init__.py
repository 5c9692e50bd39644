"""The pictures of a run, each a function from its records to a figure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from carillon.plots import constellation, delays, latency, stages, style, timeline
from carillon.result import Result
from carillon.runfolder import RunFolder
from carillon.telemetry import Telemetry

Plot = Callable[[RunFolder, Telemetry, Result], Figure | None]

PLOTS: dict[str, tuple[Plot, str]] = {
    "latency": (
        latency.tail,
        "How many frames took longer than a given time. A steep curve left of its deadline is what "
        "real time looks like.",
    ),
    "frames": (latency.history, "Every frame's latency over the run; late frames are crosses."),
    "delays": (
        delays.delays,
        "Left: the share of frames that were delayed for so long, by what delays them. Right: the "
        "ratio of late frames over the averaging time; the dashed line is the target.",
    ),
    "timeline": (
        timeline.one_frame,
        "One frame across the cores: packets come in (triangles), tasks follow, dashed lines are "
        "deadlines.",
    ),
    "stages": (stages.breakdown, "Where the core time goes, per millisecond of air time."),
    "constellation": (
        constellation.per_user,
        "Equalized uplink symbols of each user; crosses are the points of the constellation in the "
        "cell's file, while a scheduler may choose others. Tight clouds decode, wide ones do not.",
    ),
}


def draw(folder: RunFolder, telemetry: Telemetry, result: Result) -> dict[str, Path]:
    """Writes every plot that the run has data for as PNG and SVG; returns the SVGs."""
    drawn = {}
    target = folder.path / "plots"
    target.mkdir(exist_ok=True)
    with style.applied():
        for name, (plot, _) in PLOTS.items():
            figure = plot(folder, telemetry, result)
            if figure is not None:
                if clock := folder.run.power.words:
                    figure.suptitle(clock, x=0.995, ha="right", fontsize=7, fontweight="normal")
                style.save(figure, target / f"{name}.png")
                style.save(figure, target / f"{name}.svg")
                drawn[name] = target / f"{name}.svg"
    return drawn
