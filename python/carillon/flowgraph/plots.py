"""Plots of fronts."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from carillon.flowgraph.plan import Front, Plan
from carillon.plots import style


def draw_front(front: Front, own: Plan | None, file: Path) -> None:
    """Utilization against the bound."""
    with style.applied():
        style.save(front_picture(front, own), file)


def front_picture(front: Front, own: Plan | None) -> Figure:
    """Each point is a choice of batches; a smaller bound or less utilization is not to be had."""
    figure, axes = style.figure()
    first = front.plans[0]
    axes.step(
        [plan.bound_ns / 1e6 for plan in front.plans],
        [plan.utilization for plan in front.plans],
        where="post", color=style.ACCENT, marker="o", markersize=3.5, label="least utilization",
    )  # fmt: skip
    if own is not None:
        axes.plot(
            own.bound_ns / 1e6, own.utilization, "D", color=style.SECOND, label="the plan",
            linestyle="none",
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("end-to-end bound, ms")
    axes.set_ylabel("cores used")
    axes.set_title(f"{first.graph.name} on {first.machine}: what a shorter bound costs")
    style.legend(figure, axes, 2)
    return figure
