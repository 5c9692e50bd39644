"""Error rates over SNR."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from matplotlib.axes import Axes

from carillon.config import Cell
from carillon.link import Point
from carillon.plots import style
from carillon.statistics import wilson


def draw(
    folder: Path, cell: Cell, direction: Literal["uplink", "downlink"], points: Sequence[Point]
) -> None:
    """link.png and link.svg: BLER and raw BER with 95 % intervals."""
    known = [point for point in points if point.blocks]
    if not known:
        return
    with style.applied():
        figure, axes = style.figure(height=4.2)
        snr = [p.snr_db for p in known]
        bler = [(p.block_errors, p.blocks) for p in known]
        ber = [(p.raw_errors, p.raw_bits) for p in known]
        _curve(axes, snr, bler, style.ACCENT, "block error rate")
        _curve(axes, snr, ber, style.SECOND, "bit error rate before decoding")
        axes.set_yscale("log")
        axes.set_ylim(top=1.5)
        axes.set(xlabel="SNR of a user at one antenna, dB", ylabel="error rate")
        title = f"{cell.name}: {direction}, {cell.antennas} antennas × {cell.users} users"
        axes.set_title(title, parse_math=False)  # a name may hold dollar signs
        axes.grid(visible=True, which="minor", alpha=0.4)
        axes.legend(loc="lower left")
        style.save(figure, folder / "link.png")
        style.save(figure, folder / "link.svg")


def draw_harq(folder: Path, cell: Cell, points: Sequence[Point]) -> None:
    """link.png and link.svg: BLER after one transmission, two, three and four."""
    known = [point for point in points if point.blocks]
    if not known:
        return
    with style.applied():
        figure, axes = style.figure(height=4.2)
        snr = [p.snr_db for p in known]
        colours = (style.ACCENT, style.SECOND, style.STAGES["PilotFft"], style.STAGES["Precode"])
        for sent, colour in enumerate(colours, 1):
            counts = [(p.errors_after[sent - 1], p.blocks) for p in known]
            _curve(axes, snr, counts, colour, f"{sent} transmission{'s' * (sent > 1)}")
        axes.set_yscale("log")
        axes.set_ylim(top=1.5)
        axes.set(xlabel="SNR of a user at one antenna, dB", ylabel="block error rate")
        title = f"{cell.name}: uplink with HARQ, {cell.antennas} antennas × {cell.users} users"
        axes.set_title(title, parse_math=False)
        axes.grid(visible=True, which="minor", alpha=0.4)
        axes.legend(loc="lower left")
        style.save(figure, folder / "link.png")
        style.save(figure, folder / "link.svg")


def _curve(
    axes: Axes, snr: list[float], counts: list[tuple[int, int]], colour: str, label: str
) -> None:
    """A line through the rates that were seen; where no error was, only the upper bound."""
    seen = [(x, e / n, *wilson(e, n)) for x, (e, n) in zip(snr, counts, strict=True) if e and n]
    if seen:
        x, rate, low, high = zip(*seen, strict=True)
        axes.plot(x, rate, "o-", color=colour, markersize=3.5, label=label)
        axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
        axes.vlines(x, low, high, color=colour, linewidth=1)  # a point alone has no band
    none = [(x, wilson(0, n)[1]) for x, (e, n) in zip(snr, counts, strict=True) if n and not e]
    if none:
        x, bound = zip(*none, strict=True)
        text = f"{label}: no error seen, below this with 95 %"
        axes.plot(x, bound, "v", color=colour, markersize=5, fillstyle="none", label=text)
