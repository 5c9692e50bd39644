"""Where the core time goes."""

from __future__ import annotations

from matplotlib.figure import Figure

from carillon.plots import style
from carillon.result import Result
from carillon.runfolder import RunFolder
from carillon.telemetry import Telemetry


def breakdown(folder: RunFolder, telemetry: Telemetry, result: Result) -> Figure | None:
    """Core-ms per ms of air time, for each stage and for what is not a stage."""
    bars = [
        (s.name, s.core_ms_per_ms or 0.0, f"{s.us_per_chunk:.3g} µs a chunk")
        for s in result.stages
        if s.us_per_chunk is not None
    ]
    bars.sort(key=lambda bar: -bar[1])
    bars.append(("scheduling", result.cores.scheduling or 0.0, ""))
    if result.cores.network:
        bars.append(("network", result.cores.network, "in the kernel's network stack, apart"))
    if not any(value for _, value, _ in bars):
        return None
    figure, axes = style.figure(height=0.9 + 0.28 * len(bars))
    names = [name for name, _, _ in bars]
    values = [value for _, value, _ in bars]
    axes.barh(names, values, color=[style.stage_colour(name) for name in names], height=0.7)
    for place, (_, value, note) in enumerate(bars):
        axes.annotate(
            f"{value:.3f}  {note}",
            (value, place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=style.QUIET,
            bbox={"facecolor": style.PAPER, "edgecolor": "none", "pad": 1},
        )
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlim(0, max(values) * 1.35)
    total = f"{result.core_ms_per_ms:.3f}" if result.core_ms_per_ms is not None else "?"
    axes.set(
        xlabel="core-ms per ms of air time",
        title=f"Cost of kernels and scheduling:\n{total} core-ms per ms{result.of_computed}",
    )
    return figure
