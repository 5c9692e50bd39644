"""Ways into a GPU's memory: rate, and what a sample takes of the CPU, over the size of a block; or
whether a radio's rate was kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from carillon.ingest import PUBLISHED, Row, size_name, verdict
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
# By the number of channels.
_MARKS = "os^Dv"
_DASHES = ("-", "--", ":", "-.", (0, (6, 1, 1, 1, 1, 1)))


def draw(folder: Path, rows: Sequence[Row]) -> None:
    """ingest.png and ingest.svg."""
    known = [row for row in rows if row.mb_per_s is not None]
    with style.applied():
        figure = _radios(known) if known[0].preset else _sizes(known)
        style.save(figure, folder / "ingest.png")
        style.save(figure, folder / "ingest.svg")


def _sizes(known: Sequence[Row]) -> Figure:
    figure = Figure(figsize=(9.6, 4.2))
    rates, costs = figure.subplots(1, 2)
    _lines(rates, known, "mb_per_s")
    rates.set_title("Rate" + _where(known))
    if not _where(known):
        _published(rates)
    rates.set(ylabel="MB/s, all channels", ylim=(0, None))
    _lines(costs, known, "cpu_ns_per_sample")
    costs.set(ylabel="ns of a core per sample", ylim=(0, None))
    costs.set_title("What the CPU does")
    style.legend(figure, rates, columns=4)
    return figure


def _where(rows: Sequence[Row]) -> str:
    on_device = any(row.ends_in == "device" for row in rows)
    return "" if on_device else " into this machine's memory, not a GPU's"


def _radios(known: Sequence[Row]) -> Figure:
    """A bar for each path: what it delivered of what the radio sent, and whether that was all."""
    figure = Figure(figsize=(8.4, 1.6 + 0.3 * len(known)))
    axes = figure.add_subplot()
    for place, row in enumerate(known):
        share = 100 * (row.mb_per_s or 0) / (row.asked_mb_per_s or 1)
        axes.barh(place, share, color=style.ACCENT if row.in_time else style.ALARM, height=0.6)
        note = f"{verdict(row)}, {row.mb_per_s:.0f} of {row.asked_mb_per_s:.0f} MB/s"
        axes.annotate(
            note,
            (100, place),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
        )
    axes.axvline(100, color=style.INK, lw=1, ls="--")
    names = [f"{row.preset}, {row.path}, {size_name(row.block_bytes or 0)}" for row in known]
    axes.set_yticks(range(len(known)), names)
    axes.invert_yaxis()
    axes.set(xlabel="% of the radio's rate", xlim=(0, 165), xticks=range(0, 101, 20))
    axes.grid(visible=False, axis="y")
    kept = sum(row.in_time is True for row in known)
    axes.set_title(f"A radio's rate{_where(known)}: {kept} of {len(known)} kept")
    return figure


def _lines(axes: Axes, rows: Sequence[Row], figure: str) -> None:
    """A line for each path and number of channels."""
    counts = sorted({row.channels or 0 for row in rows})
    for path, channels in dict.fromkeys((row.path, row.channels) for row in rows):
        own = [row for row in rows if (row.path, row.channels) == (path, channels)]
        kind = counts.index(channels or 0) % len(_MARKS)
        axes.plot(
            [row.block_bytes or 0 for row in own],
            [getattr(row, figure) for row in own],
            marker=_MARKS[kind],
            ls=_DASHES[kind],
            ms=4,
            color=COLOURS[path],
            label=f"{path}, {channels} ch.",
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
