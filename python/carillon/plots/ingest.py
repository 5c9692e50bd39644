"""Ways into a GPU's memory: rate, and what a sample takes of the CPU, over the size of a block."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from carillon.ingest import PUBLISHED, Row, size_name
from carillon.plots import style

COLOURS = {
    "staged-host": "#b0bac5",
    "pinned-host": style.QUIET,
    "staged": style.SECOND,
    "pinned-copy": style.ACCENT,
    "pinned-read": "#117733",
    "card-host": "#aa4499",
    "dma-buf": "#332288",
    "peermem": "#882255",
}
_MARKS = "os^Dv"


def draw(folder: Path, rows: Sequence[Row]) -> None:
    """ingest.png and ingest.svg."""
    known = [row for row in rows if row.mb_per_s is not None]
    with style.applied():
        figure = Figure(figsize=(9.6, 4.2))
        rates, costs = figure.subplots(1, 2)
        _lines(rates, known, "mb_per_s")
        if any(row.ends_in == "device" for row in known):
            _published(rates)
            rates.set_title("Rate")
        else:
            rates.set_title("Rate into this machine's memory, not a GPU's")
        rates.set(ylabel="MB/s, all channels", ylim=(0, None))
        _lines(costs, known, "cpu_ns_per_sample")
        costs.set(ylabel="ns of a core per sample", ylim=(0, None))
        costs.set_title("What the CPU does")
        style.legend(figure, rates, columns=4)
        figure.savefig(folder / "ingest.png", dpi=160)
        figure.savefig(folder / "ingest.svg", metadata={"Date": None})


def _lines(axes: Axes, rows: Sequence[Row], figure: str) -> None:
    """A line for each path and number of channels, or radio."""
    counts = sorted({row.channels or 0 for row in rows})
    for path, channels, preset in dict.fromkeys((r.path, r.channels, r.preset) for r in rows):
        own = [r for r in rows if (r.path, r.channels, r.preset) == (path, channels, preset)]
        axes.plot(
            [row.block_bytes or 0 for row in own],
            [getattr(row, figure) for row in own],
            marker=_MARKS[counts.index(channels or 0) % len(_MARKS)],
            ms=4,
            color=COLOURS[path],
            label=f"{path}, {preset or f'{channels} ch.'}",
        )
    sizes = sorted({row.block_bytes or 0 for row in rows})
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [size_name(size) for size in sizes], rotation=25, ha="right")
    axes.minorticks_off()
    axes.set_xlabel("block")


def _published(axes: Axes) -> None:
    """The slides' second platform, on which the path showed."""
    of = PUBLISHED[1]
    for rate, name in ((of.staged, "staged"), (of.direct, "direct")):
        axes.axhline(rate, color=style.ALARM, lw=1, ls="--")
        axes.annotate(
            f"{name}, published",
            (0.01, rate),
            xycoords=("axes fraction", "data"),
            xytext=(0, 2),
            textcoords="offset points",
            color=style.ALARM,
            fontsize=7.5,
        )
