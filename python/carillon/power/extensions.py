"""Studies that the paper leaves to others: shorter TTIs, and the load in place of the rate."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from carillon import files
from carillon.commands.tables import new_table, print_table
from carillon.config import Loaded
from carillon.power.learn import VIRTUAL, Row, Watch, in_virtual_time, points
from carillon.power.measured import CellDelays
from carillon.power.operating_point import LIGHT, LOADED, SPACINGS, operating_point, short_ttis
from carillon.power.refit import PUBLISHED, best_refit

TTI, LOAD = "power-tti", "power-load"
TITLES = {
    TTI: "late TTIs over the clock: TTIs of 1, 0.5 and 0.25 ms",
    LOAD: "the published model's terms with the rate, and with the load in its place",
}
LOADS = tuple((mhz, blocks) for mhz in (5, 10, 20) for blocks in (LIGHT, 13, LOADED))
LOAD_CLOCKS = tuple(float(mhz) for mhz in range(300, 2101, 100))


def cells_of(name: str) -> list[Loaded]:
    """Whose delays the study needs."""
    if name == TTI:
        return [short_ttis(10, spacing) for spacing in SPACINGS]
    return [operating_point(mhz, blocks) for mhz, blocks in LOADS]


def rows_of(
    measured: Sequence[CellDelays], per_core: dict[str, int], clocks: Sequence[float], ttis: int,
    step: Watch,
) -> list[Row]:  # fmt: skip
    """Late TTIs of each cell at each clock, of so many such cells on a core. All meet the same
    standstills, those of the cell with the longest TTIs, as often in a second."""
    longest = max(measured, key=lambda own: own.tti_ns)
    found: list[Row] = []
    for own in measured:
        others = round(longest.tti_ns / own.tti_ns - 1) * longest.system.size  # TTIs without any
        alike = replace(own, system=np.append(longest.system, np.zeros(others)))
        found += in_virtual_time([alike], clocks, ttis, per_core[own.cell], step=step)
    return found


def tti_study(
    rows: Sequence[Row], per_core: dict[str, int], target: Path, console: Console
) -> dict[str, Any]:
    """Writes study.csv and study.svg; what study.json is to say."""
    with files.table(target / "study.csv") as stream:
        writer = csv.DictWriter(stream, asdict(rows[0]))
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
    from carillon.power.late_plots import draw_late  # with matplotlib, which takes its time

    draw_late(rows, VIRTUAL, target / "study.svg")
    clocks = sorted({row.clock_mhz for row in rows})
    table = new_table(["MHz"], list(per_core))
    for clock in clocks:
        late = [f"{row.ratio:.3g}" for row in rows if row.clock_mhz == clock]
        table.add_row(f"{clock:g}", *late)
    print_table(console, table)
    console.print(f"late, of all TTIs; {VIRTUAL}", soft_wrap=True)
    return _about(TTI, per_core) | {"rows": [asdict(row) for row in rows]}


def load_of(measured: Sequence[CellDelays]) -> dict[str, float]:
    """The share of a core that each cell's work takes, linear in its rate and its resource blocks
    (section 6), by least squares."""
    blocks = dict(zip((each.cell.name for each in cells_of(LOAD)), LOADS, strict=True))
    terms = np.array([[1.0, own.rate_msps, blocks[own.cell][1]] for own in measured])
    taken = np.array([own.processing.mean() / own.tti_ns for own in measured])
    shares = terms @ np.linalg.lstsq(terms, taken, rcond=None)[0]
    return {own.cell: float(share) for own, share in zip(measured, shares, strict=True)}


def load_study(
    rows: Sequence[Row], load: dict[str, float], per_core: dict[str, int], target: Path,
    console: Console, step: Watch,
) -> dict[str, Any]:  # fmt: skip
    """The same of models by rate and by load."""
    by_rate = points(rows)
    loads = np.array([load[row.cell] for row in rows])
    # In the unit of a rate, so that both fits begin alike.
    by_load = replace(by_rate, rate_msps=loads * by_rate.rate_msps.mean() / loads.mean())
    found = {}
    for name, counted in (("rate", by_rate), ("load", by_load)):
        model = best_refit(PUBLISHED, counted)
        late: NDArray[np.float64] = model.late(counted.clock_mhz, counted.rate_msps)
        found[name] = (model, np.clip(late, 0, 1))
    step()
    with files.table(target / "study.csv") as stream:
        writer = csv.writer(stream)
        writer.writerow([*asdict(rows[0]), "load", "by_rate", "by_load"])
        for place, row in enumerate(rows):
            late_by = [found[name][1][place] for name in found]
            models = ["" if np.isnan(late) else f"{late:.6g}" for late in late_by]
            writer.writerow([*asdict(row).values(), f"{load[row.cell]:.6g}", *models])
    from carillon.power.late_plots import draw_load  # with matplotlib, which takes its time

    shares = [load[row.cell] * per_core[row.cell] * LOAD_CLOCKS[-1] / row.clock_mhz for row in rows]
    draw_load(rows, shares, VIRTUAL, target / "study.svg")
    table = new_table(["model by"], ["mean squared error"])
    for name, (model, _) in found.items():
        table.add_row(name, f"{model.mse:.3g}")
    print_table(console, table)
    console.print(f"of {len(rows)} points; {VIRTUAL}", soft_wrap=True)
    return _about(LOAD, per_core) | {
        "load": load,
        "models": {
            name: {"coefficients": model.coefficients, "mse": model.mse}
            for name, (model, _) in found.items()
        },
        "rows": [asdict(row) for row in rows],
    }


def _about(name: str, per_core: dict[str, int]) -> dict[str, Any]:
    return {
        "study": name,
        "title": TITLES[name],
        "source": VIRTUAL,
        "cells_per_core": per_core,
    }
