"""Pictures of frequencies over time, of what waterfall-sink kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter
from numpy.typing import NDArray

from carillon import runfolder
from carillon.flowgraph.running import Running
from carillon.plots import style

_MOST_COLUMNS = 1024  # that a picture shows
_FLOOR_DB = -200.0  # of no power at all
_QUIET_SHARE = 5  # per cent of what is seen that has the darkest colour


@dataclass(frozen=True)
class Waterfall:
    """Powers, each row the mean over `row_s`; the last may be of less, up to `seconds`."""

    node: str
    powers: NDArray[np.float32] = field(repr=False)  # rows × frequencies
    first_hz: float
    step_hz: float
    row_s: float
    seconds: float

    @property
    def frequencies_hz(self) -> NDArray[np.floating]:
        """Of each column."""
        return self.first_hz + self.step_hz * np.arange(self.powers.shape[1])


def waterfalls(running: Running) -> Iterator[Waterfall]:
    """Of each sink that kept any rows, when the run has ended."""
    for name, rate_hz, rows in running.rows():
        powers, first_hz, step_hz, came, merged = rows
        if len(powers):
            yield Waterfall(name, powers, first_hz, step_hz, merged / rate_hz, came / rate_hz)


def draw_waterfalls(running: Running, target: Path) -> list[tuple[Waterfall, Path]]:
    """A PNG of each into a folder: waterfall-NODE.png."""
    drawn: list[tuple[Waterfall, Path]] = []
    for each in waterfalls(running):
        file = target / f"waterfall-{runfolder.file_name(each.node)}.png"
        if file in [known for _, known in drawn]:  # of names that differ in what files cannot have
            file = file.with_stem(f"{file.stem}-{len(drawn)}")
        with style.applied():
            style.save(waterfall_picture(each), file)
        drawn.append((each, file))
    return drawn


def waterfall_picture(waterfall: Waterfall) -> Figure:
    """Time runs down; the strongest of the frequencies that share a column is shown."""
    levels = 10 * np.log10(np.maximum(_folded(waterfall.powers), 10 ** (_FLOOR_DB / 10)))
    seen = levels[levels > _FLOOR_DB]
    quietest, loudest = (_FLOOR_DB, 0.0) if not seen.size else (
        float(np.percentile(seen, _QUIET_SHARE)), float(seen.max())
    )  # fmt: skip
    figure, axes = style.figure(height=4.8)
    low = waterfall.first_hz - waterfall.step_hz / 2
    high = low + waterfall.step_hz * waterfall.powers.shape[1]
    image = axes.imshow(
        levels, aspect="auto", interpolation="nearest", cmap="viridis", vmin=quietest,
        vmax=max(loudest, quietest + 1), extent=(low, high, len(levels) * waterfall.row_s, 0),
    )  # fmt: skip
    axes.set_ylim(waterfall.seconds, 0)
    axes.grid(visible=False)
    axes.xaxis.set_major_formatter(EngFormatter("Hz"))
    axes.set_xlabel("frequency")
    axes.set_ylabel("time, s")
    axes.set_title(waterfall.node, parse_math=False)
    figure.colorbar(image, ax=axes, label="power, dB")
    return figure


def _folded(powers: NDArray[np.float32]) -> NDArray[np.float32]:
    together = -(-powers.shape[1] // _MOST_COLUMNS)
    first = np.arange(0, powers.shape[1], together)
    return np.asarray(np.maximum.reduceat(powers, first, axis=1))
