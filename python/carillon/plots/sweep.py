"""One column of a sweep against one parameter."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from carillon.config.sweep import Plot
from carillon.plots import style
from carillon.sweep.grid import text
from carillon.sweep.table import Row
from carillon.sweep.task import Scalar

_COLOURS = (style.ACCENT, style.SECOND, *style.STAGES.values())
_MARKERS = "os^Dv<>P"
_DASHES = ("-", "--", ":", "-.")


def draw(folder: Path, title: str, plot: Plot, table: Sequence[Row]) -> bool:
    """sweep.png and sweep.svg: a panel for each value of `plot.panels`, a line for each value of
    `plot.lines`, the mean over repeats, and a band from the least to the most. On a logarithmic
    axis a mean of 0 is an open triangle at the bottom. False where no number is known."""
    known = [row for row in table if _is_number(row.get(plot.y))]
    if not known:
        return False
    lines = _values(known, plot.lines)
    looks = {line: _look(place, len(lines)) for place, line in enumerate(lines)}
    panels = _values(known, plot.panels)
    with style.applied():
        figure = Figure(figsize=(8.4 if len(panels) == 1 else 5.0 * len(panels), 4.2))
        side_by_side = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
        for axes, panel in zip(side_by_side, panels, strict=True):
            _panel(axes, [row for row in known if row.get(plot.panels) == panel], plot, looks)
            name = title if panel is None else f"{title}: {plot.panels} {text(panel)}"
            axes.set_title(name, parse_math=False)
        side_by_side[0].set_ylabel(plot.y, parse_math=False)
        if plot.lines:
            side_by_side[0].legend(loc="best")
        style.save(figure, folder / "sweep.png")
        style.save(figure, folder / "sweep.svg")
    return True


def _values(rows: Sequence[Row], parameter: str) -> list[Scalar | None]:
    return list(dict.fromkeys(row.get(parameter) for row in rows))


def _look(place: int, count: int) -> dict[str, Any]:
    """The first lines are the widest: where lines coincide, all are seen."""
    return {
        "color": _COLOURS[place % len(_COLOURS)],
        "linestyle": _DASHES[place % len(_DASHES)],
        "marker": _MARKERS[place % len(_MARKERS)],
        "linewidth": 1.4 + 1.2 * (count - 1 - place) / max(count - 1, 1),
        "markersize": 3.5 + 2.5 * (count - 1 - place) / max(count - 1, 1),
    }


def _panel(
    axes: Axes, rows: Sequence[Row], plot: Plot, looks: dict[Scalar | None, dict[str, Any]]
) -> None:
    axes.set_yscale(plot.scale)
    axes.set_xlabel(plot.x, parse_math=False)
    zero: list[tuple[float | str, str]] = []
    for line in _values(rows, plot.lines):
        look = looks[line]
        points = curve([row for row in rows if row.get(plot.lines) == line], plot)
        label = None if line is None else f"{plot.lines} {text(line)}"
        x, mean = [point for point, _ in points], [fmean(y) for _, y in points]
        shown = [y if y > 0 or plot.scale == "linear" else float("nan") for y in mean]
        axes.plot(x, shown, label=label, **look)
        if any(len(y) > 1 for _, y in points):
            low, high = [min(y) for _, y in points], [max(y) for _, y in points]
            axes.fill_between(x, low, high, color=look["color"], alpha=0.18, linewidth=0)
        if plot.scale == "log":
            zero += [(at, look["color"]) for at, y in zip(x, mean, strict=True) if y == 0]
    for at, colour in zero:  # where the axis ends
        axes.plot(
            [at], [0.02], "v", color=colour, fillstyle="none", transform=axes.get_xaxis_transform()
        )
    if zero:
        note = "open triangles: 0"
        axes.annotate(note, (0.01, 0.05), xycoords="axes fraction", fontsize="small")


def curve(rows: Sequence[Row], plot: Plot) -> list[tuple[float | str, list[float]]]:
    """Points along the axis, in the grid's order, each with the values of its repeats."""
    points: dict[Scalar | None, list[float]] = {}
    for row in rows:
        points.setdefault(row[plot.x], []).append(float(row[plot.y] or 0))
    numeric = all(map(_is_number, points))
    return [(float(x or 0) if numeric else text(x or ""), y) for x, y in points.items()]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
