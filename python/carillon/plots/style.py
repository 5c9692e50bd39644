"""One look for all pictures: quiet axes, one accent, a fixed colour for every stage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK, QUIET, GRID = "#1f2933", "#7b8794", "#e4e7eb"
ACCENT, SECOND, ALARM = "#0f6fc5", "#d97706", "#c81e3a"

_STAGES = {
    "Load": "#9aa5b1",
    "Store": "#9aa5b1",
    "PilotFft": "#2f9e8f",
    "ZeroForce": "#8a4fbf",
    "UplinkFft": "#74c2b8",
    "EqualizeDemodulate": "#0f6fc5",
    "Decode": "#e0a100",
    "Encode": "#f2c94c",
    "Modulate": "#f08a5d",
    "Precode": "#d1495b",
    "Ifft": "#ed8fa1",
    "scheduling": "#52606d",
    "network": "#b0bac5",
}

_SETTINGS: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 15,
    "figure.constrained_layout.w_pad": 0.08,
    "figure.constrained_layout.h_pad": 0.06,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "legend.frameon": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "carillon",
    "figure.constrained_layout.use": True,
}


@contextmanager
def applied() -> Iterator[None]:
    """Draws with this look inside the block."""
    with mpl.rc_context(_SETTINGS):
        yield


def figure(width: float = 8.4, height: float = 3.4) -> tuple[Figure, Axes]:
    """A figure with one set of axes; no window system is touched."""
    drawn = Figure(figsize=(width, height))
    return drawn, drawn.add_subplot()


def stage_colour(name: str) -> str:
    """The same colour for a stage in every picture."""
    return _STAGES.get(name, QUIET)


def deadline(axes: Axes, at: float, text: str) -> None:
    """A deadline: a red line with its name above the axes."""
    axes.axvline(at, color=ALARM, linewidth=1.2, linestyle=(0, (4, 2)))
    axes.annotate(
        text,
        (at, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="center",
        va="bottom",
        color=ALARM,
        fontsize=7.5,
    )
