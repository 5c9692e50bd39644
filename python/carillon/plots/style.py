"""One look for all pictures: quiet axes, one accent, a fixed colour for every stage."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from carillon.files import whole

# The page (report/page.html) has the same, and others where the reader prefers dark.
INK, QUIET, LINE, PAPER = "#1f2933", "#616e7c", "#e4e7eb", "#ffffff"
ACCENT, SECOND, ALARM = "#0f6fc5", "#d97706", "#c81e3a"

# Paul Tol's "muted" scheme, which stays distinct for the colour-blind.
STAGES = {
    "PilotFft": "#117733",
    "UplinkFft": "#44aa99",
    "ZeroForce": "#332288",
    "EqualizeDemodulate": "#88ccee",
    "Decode": "#ddcc77",
    "Encode": "#999933",
    "Modulate": "#cc6677",
    "Precode": "#882255",
    "Ifft": "#aa4499",
    "scheduling": "#7b8794",
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
    "grid.color": LINE,
    "grid.linewidth": 0.8,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "legend.frameon": False,
    "legend.fontsize": 8,
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


def save(figure: Figure, file: Path) -> None:
    """As the file's name ends, whole or not at all; the same picture is the same file."""
    metadata = {"Date": None} if file.suffix == ".svg" else None
    with whole(file) as partial, warnings.catch_warnings():
        # Of a name in letters that the font lacks: a box stands for each.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(partial, dpi=160, metadata=metadata)


def stage_colour(name: str) -> str:
    """The same colour for a stage in every picture."""
    return STAGES.get(name, QUIET)


def legend(figure: Figure, axes: Axes, columns: int) -> None:
    """Below the axes, where it covers nothing."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        columns = min(columns, len(handles))
        figure.legend(handles, labels, loc="outside lower center", ncols=columns)


def legend_of(every: Iterable[Axes]) -> tuple[list[Artist], list[str]]:
    """What several axes show, each label once."""
    known: dict[str, Artist] = {}
    for axes in every:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            known.setdefault(label, handle)
    return list(known.values()), list(known)


def deadlines(axes: Axes, named: dict[str, float], colours: dict[str, str]) -> None:
    """Dashed lines with their names above the axes; names that would meet go above each other."""
    low, high = axes.get_xlim()
    last = -1.0
    level = 0
    for name, at in sorted(named.items(), key=lambda item: item[1]):
        place = (at - low) / (high - low)
        level = level + 1 if level >= 0 and place - last < 0.2 else 0
        last = place
        axes.axvline(at, color=colours[name], linewidth=1.2, linestyle=(0, (4, 2)), zorder=2.5)
        side = "right" if place > 0.9 else "left" if place < 0.1 else "center"
        axes.annotate(
            name,
            (at, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 2 + 9 * level),
            textcoords="offset points",
            ha=side,
            va="bottom",
            color=colours[name],
            fontsize=7.5,
        )
