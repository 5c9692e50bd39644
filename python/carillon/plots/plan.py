"""Latency against cores, in virtual time."""

from __future__ import annotations

from pathlib import Path

from carillon.planning import Plan
from carillon.plots import style


def draw(file: Path, plan: Plan, frame_ms: float, budget_ms: float) -> None:
    """plan.png: what is left to the deadlines on each number of cores, and the cores' load."""
    points = sorted(
        {p.cores: p for p in [*plan.points, plan.point]}.values(), key=lambda p: p.cores
    )
    cores = [p.cores for p in points]
    with style.applied():
        figure, axes = style.figure(height=4.2)
        for name, colour, label in (
            ("uplink_extra_ms", style.ACCENT, "uplink: D_UL − T"),
            ("downlink_ms", style.SECOND, "downlink: D_DL"),
        ):
            known = [p for p in points if getattr(p, name) is not None]
            if not known:
                continue
            steady = [p for p in known if p.keeps_up]
            x, y = [p.cores for p in steady], [getattr(p, name) for p in steady]
            axes.plot(x, y, "o", color=colour, markersize=4, label=label)
            for pair in range(len(x) - 1):  # dotted: what lies between was not asked
                line = "-" if x[pair + 1] - x[pair] == 1 else ":"
                axes.plot(x[pair : pair + 2], y[pair : pair + 2], line, color=colour)
            losing = [p for p in known if not p.keeps_up]
            if losing:
                axes.plot(
                    [p.cores for p in losing],
                    [getattr(p, name) for p in losing],
                    "x",
                    color=colour,
                    label=f"{label} of what gets through, others are refused",
                )
        for p in points:  # of numbers of cores between them nothing is known
            if p.fits:
                axes.axvspan(
                    p.cores - 0.5, p.cores + 0.5, color=style.ACCENT, alpha=0.08, linewidth=0
                )
        axes.axhline(0, color=style.QUIET, linewidth=0.8)
        axes.set(
            xlabel="cores", ylabel="ms, in virtual time", xlim=(min(cores) - 0.5, max(cores) + 0.5)
        )
        axes.set_xticks(cores if len(cores) <= 16 else cores[:: len(cores) // 12])
        title = f"{plan.cell}: frames of {frame_ms:g} ms, uplink budget {budget_ms:g} ms"
        axes.set_title(title, parse_math=False)
        axes.legend(
            loc="best", title="shaded: every task in time by usual costs; dotted: not asked"
        )
        style.save(figure, file)
