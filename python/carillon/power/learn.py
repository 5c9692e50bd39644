"""Late TTIs over clock: in virtual time from measured delays, or live under an emulated clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from carillon import core
from carillon.config import Loaded
from carillon.config.plan import Power
from carillon.daemon import Interrupts
from carillon.power.measured import CellDelays, counted, rate_msps, run, together
from carillon.power.points import Points

VIRTUAL = "virtual time, from delays that were measured"
WINDOWS = 15  # of a clock's TTIs; the ratio's deviation is that between them
Watch = Callable[[], bool]  # called for each step; false: stop


@dataclass(frozen=True)
class Row:
    """Late TTIs of a cell at a clock."""

    cell: str
    clock_mhz: float
    rate_msps: float
    ttis: int
    late: int
    by_system: int  # of the late: in time but for T_OS
    by_fronthaul: int  # … but for T_f
    median: float  # of the ratio in windows
    deviation: float

    @property
    def ratio(self) -> float:
        """Late ones of all."""
        return self.late / self.ttis


def in_virtual_time(
    measured: Sequence[CellDelays],
    clocks: Sequence[float],
    ttis: int,
    per_core: int = 1,
    *,
    seed: int = 1,
    wake_ns: int = 0,
    step: Watch = lambda: True,
) -> Iterator[Row]:
    """A row for each cell and clock, of so many TTIs of each of `per_core` such cells that share a
    core. Ends early when step() says so."""
    system, fronthaul = together(list(measured))
    for own in measured:
        for place, clock in enumerate(clocks):
            if not step():
                return
            ttis_of = core.VirtualTtis(
                [own.processing.tolist()], system.tolist(), fronthaul.tolist(), list(clocks),
                length=own.tti_ns, response=max(own.response_ns, own.tti_ns), cells=per_core,
                wake=wake_ns, seed=seed,
            )  # fmt: skip
            windows = [(max(ttis // WINDOWS, 1), 0)] * WINDOWS
            yield _row(own, clock, ttis_of.run(windows, fixed=place))


def _row(own: CellDelays, clock: float, outcomes: list[dict[str, int]]) -> Row:
    ratios = np.array([each["late"] / each["ttis"] for each in outcomes])
    sums = {
        name: sum(each[name] for each in outcomes)
        for name in ("ttis", "late", "by_system", "by_fronthaul")
    }
    return Row(
        own.cell, clock, own.rate_msps, **sums, median=float(np.median(ratios)),
        deviation=float(ratios.std()),
    )  # fmt: skip


def live(
    cells: Sequence[Loaded],
    clocks: Sequence[float],
    seconds: float,
    interrupts: Interrupts,
    step: Watch = lambda: True,
) -> Iterator[Row]:
    """A row for each cell and clock, of frames that were run at that emulated clock."""
    for loaded in cells:
        for clock in clocks:
            if not step():
                return
            frames = run(loaded, seconds, Power(tuple(clocks), fixed=clock), interrupts).frames
            if not len(frames):
                return
            count = counted(frames)
            ratio = count.late / count.frames
            yield Row(
                loaded.cell.name, clock, rate_msps(loaded.cell), count.frames, count.late,
                count.stalled, int((frames["late_cause"] == 2).sum()), ratio, 0.0,
            )  # fmt: skip


def points(rows: Sequence[Row]) -> Points:
    """What models are fitted to."""
    return _points(rows, [row.late for row in rows])


def excess(rows: Sequence[Row]) -> Points:
    """The same less what is late at a cell's highest clock: what lower ones cost."""
    highest = {row.cell: row for row in sorted(rows, key=lambda row: row.clock_mhz)}
    floor = [highest[row.cell].ratio * row.ttis for row in rows]
    late = [max(row.late - round(least), 0) for row, least in zip(rows, floor, strict=True)]
    return _points(rows, late)


def _points(rows: Sequence[Row], late: Sequence[int]) -> Points:
    return Points(
        np.array([row.clock_mhz for row in rows]),
        np.array([row.rate_msps for row in rows]),
        np.array([row.ttis for row in rows]),
        np.array(late),
    )
