"""Studies power-9 to power-13 and power-tables: models of late TTIs, fitted to points of our own.

The points are of virtual time, from delays that were measured: a cell of each bandwidth, at each
clock of table 3. System 1 and 2 are the paper's ranges of clocks, both played from one machine's
delays: the clock that they were measured at counts as the highest.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from carillon import files
from carillon.commands.tables import new_table, print_table
from carillon.power.commands import formula, searched, tell_found, write_models
from carillon.power.learn import VIRTUAL, Watch, in_virtual_time, points
from carillon.power.measured import CellDelays
from carillon.power.model import FAMILIES, Found, Model
from carillon.power.operating_point import FFT_SIZE
from carillon.power.points import Points, write_points
from carillon.power.refit import PUBLISHED, best_refit

BANDWIDTHS = tuple(FFT_SIZE)  # MHz
TABLES = "power-tables"
TABLES_TITLE = "tables 5 to 8: the best model of each number of coefficients, on our points"

# Tables 5 to 8: the smallest error of each number of coefficients, from 1 on.
PUBLISHED_MSE = {
    "power": (
        0.7722, 0.1178, 2.8e-3, 2.0e-3, 1.5e-3, 8.9748e-4, 7.2662e-4, 6.9194e-4, 6.6601e-4,
        6.5194e-4, 6.4732e-4, 5.1029e-4, 5.8179e-4, 4.5423e-4, 6.1349e-4, 6.2157e-4, 6.3755e-4,
        6.6866e-4,
    ),
    "exponential": (
        0.1178, 0.0898, 3.0e-3, 2.5e-3, 1.6e-3, 8.4944e-4, 7.3278e-4, 6.6535e-4, 6.4281e-4,
        6.1681e-4, 6.2235e-4, 5.0068e-4, 4.8199e-4, 6.2180e-4, 6.2916e-4, 6.0026e-4, 6.1458e-4,
        6.1423e-4,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Fit:
    """Which system's points are shown, and to which one's the model was fitted."""

    name: str
    title: str
    seen: int
    learned: int
    residuals: bool = False


FITS = {
    fit.name: fit
    for fit in (
        Fit("power-9", "the published model's terms, fitted to clocks up to 2100 MHz", 1, 1),
        Fit("power-10", "the same model beside clocks up to 3300 MHz", 2, 1),
        Fit("power-11", "the same terms, fitted to clocks up to 3300 MHz", 2, 2),
        Fit("power-12", "residuals of power-9", 1, 1, residuals=True),
        Fit("power-13", "residuals of power-11", 2, 2, residuals=True),
    )
}


@dataclass(frozen=True)
class System:
    """A range of clocks, and how many cells of a bandwidth share a core there."""

    clocks: tuple[float, ...]
    per_core: dict[str, int]  # by cell

    def count(self, measured: Sequence[CellDelays], ttis: int, step: Watch) -> Points:
        """Late TTIs of each cell at each clock, in virtual time."""
        return points(
            [
                row
                for own in measured
                for row in in_virtual_time(
                    [own], self.clocks, ttis, self.per_core[own.cell], step=step
                )
            ]
        )


def fit_study(
    fit: Fit, systems: Sequence[System], measured: Sequence[CellDelays], ttis: int, target: Path,
    console: Console, step: Watch,
) -> dict[str, Any]:  # fmt: skip
    """Writes points.csv, study.csv and study.svg; what study.json is to say."""
    counted = {
        number: systems[number - 1].count(measured, ttis, step)
        for number in sorted({fit.seen, fit.learned})
    }
    model = best_refit(PUBLISHED, counted[fit.learned])
    step()
    seen = counted[fit.seen]
    predicted = np.clip(model.late(seen.clock_mhz, seen.rate_msps), 0, 1)
    real = np.isfinite(predicted)
    error = float(np.mean((predicted - seen.share)[real] ** 2)) if real.any() else None
    write_points(target / "points.csv", seen)
    _write(target / "study.csv", seen, predicted)
    from carillon.power.plots import draw_fit

    draw_fit(fit.title, seen, model, target / "study.svg", residuals=fit.residuals)
    _tell(console, seen, predicted)
    console.print(formula(model), soft_wrap=True)
    if not real.all():
        console.print(f"not real at {np.count_nonzero(~real)} of {len(real)} points")
    if error is not None:
        console.print(
            f"mean squared error {error:.3g}; {VIRTUAL}", soft_wrap=True
        )  # fmt: skip
    return {
        "study": fit.name,
        "title": fit.title,
        "source": VIRTUAL,
        "cells_per_core": systems[fit.seen - 1].per_core,
        "model": {"family": model.family, "coefficients": model.coefficients},
        "mse_where_fitted": model.mse,
        "mse": error,
        "not_real": int(np.count_nonzero(~real)),
    }


def _write(file: Path, seen: Points, predicted: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    with files.table(file) as stream:
        writer = csv.writer(stream)
        writer.writerow(["clock_mhz", "rate_msps", "ttis", "late", "ratio", "model", "residual"])
        for clock, rate, ttis, late, ratio, own in zip(
            seen.clock_mhz, seen.rate_msps, seen.ttis, seen.late, seen.share, predicted, strict=True
        ):
            known = [f"{x:.6g}" for x in (ratio, own, ratio - own)]
            if np.isnan(own):
                known[1:] = ["", ""]
            writer.writerow([f"{clock:g}", f"{rate:g}", ttis, late, *known])


def _tell(console: Console, seen: Points, predicted: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    table = new_table(["Msps"], ["points", "mean late", "largest residual", "at MHz"])
    for rate in np.unique(seen.rate_msps):
        own = seen.rate_msps == rate
        off = np.abs(seen.share - predicted)[own]
        worst = ("", "")  # where the model is real nowhere
        if np.isfinite(off).any():
            place = int(np.nanargmax(off))
            worst = (f"{off[place]:.3g}", f"{seen.clock_mhz[own][place]:g}")
        mean = f"{seen.share[own].mean():.3g}"
        table.add_row(f"{rate:g}", str(int(own.sum())), mean, *worst)
    print_table(console, table)


def tables_study(
    system: System, counted: Points, most: int, target: Path, console: Console
) -> dict[str, Any]:
    """Writes points.csv, models.json, models.csv, study.csv and study.svg; KeyboardInterrupt when
    the search is stopped, which goes on when the same points are searched again."""
    write_points(target / "points.csv", counted)
    found, whole = searched(counted, FAMILIES, most, 4, target, console)
    if not whole:
        console.print(
            "stopped early; the same command goes on where it was, with --from and the delays.json "
            "of this one", soft_wrap=True,
        )  # fmt: skip
        raise KeyboardInterrupt
    write_models(target, counted, found, {}, VIRTUAL)
    (target / "models.svg").replace(target / "study.svg")
    rows = [_beside(model) for own in found for model in own.models]
    with files.table(target / "study.csv") as stream:
        writer = csv.DictWriter(stream, rows[0] if rows else ["family"])
        writer.writeheader()
        writer.writerows(rows)
    for own in found:
        tell_found(console, own)
    console.print("tables 9 and 10, of round trips, are what `carillon net rtt` measures")
    return {
        "study": TABLES,
        "title": TABLES_TITLE,
        "source": VIRTUAL,
        "cells_per_core": system.per_core,
        "rows": rows,
        "chosen": {own.family: _chosen(own) for own in found},
    }


def _beside(model: Model) -> dict[str, Any]:
    published = PUBLISHED_MSE[model.family][model.count - 1]
    return {
        "family": model.family, "count": model.count, "mse": model.mse, "published_mse": published,
        "aic": model.aic, "bic": model.bic, "pole": model.pole,
    }  # fmt: skip


def _chosen(found: Found) -> dict[str, Any] | None:
    return None if found.chosen is None else asdict(found.chosen)
