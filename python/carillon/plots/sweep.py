"""One column of a sweep against one parameter."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from carillon.config.sweep import Plot
from carillon.plots import style
from carillon.sweep.grid import text
from carillon.sweep.table import Row
from carillon.sweep.task import Scalar

_COLOURS = (style.ACCENT, style.SECOND, *style.STAGES.values())


def draw(folder: Path, title: str, plot: Plot, table: Sequence[Row]) -> bool:
    """sweep.png and sweep.svg: a line for each value of `plot.lines`, the mean over repeats, and a
    band from the least to the most. False where no number is known."""
    known = [row for row in table if _is_number(row.get(plot.y))]
    if not known:
        return False
    with style.applied():
        figure, axes = style.figure(height=4.2)
        values = [row[plot.lines] if plot.lines else None for row in known]
        for place, value in enumerate(dict.fromkeys(values)):
            own = [row for row, its in zip(known, values, strict=True) if its == value]
            points = curve(own, plot)
            label = None if value is None else f"{plot.lines} {text(value)}"
            colour = _COLOURS[place % len(_COLOURS)]
            x = [point for point, _ in points]
            axes.plot(x, [fmean(y) for _, y in points], "o-", ms=3.5, color=colour, label=label)
            if any(len(y) > 1 for _, y in points):
                low, high = [min(y) for _, y in points], [max(y) for _, y in points]
                axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
        axes.set_yscale(plot.scale)
        axes.set_xlabel(plot.x, parse_math=False)
        axes.set_ylabel(plot.y, parse_math=False)
        axes.set_title(title, parse_math=False)
        if plot.lines:
            axes.legend(loc="best")
        figure.savefig(folder / "sweep.png", dpi=160)
        figure.savefig(folder / "sweep.svg", metadata={"Date": None})
    return True


def curve(rows: Sequence[Row], plot: Plot) -> list[tuple[float | str, list[float]]]:
    """Points along the axis, in the grid's order, each with the values of its repeats."""
    points: dict[Scalar | None, list[float]] = {}
    for row in rows:
        points.setdefault(row[plot.x], []).append(float(row[plot.y] or 0))
    numeric = all(map(_is_number, points))
    return [(float(x or 0) if numeric else text(x or ""), y) for x, y in points.items()]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
