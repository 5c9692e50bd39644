"""Late subframes that were counted at clocks and rates, as a CSV file."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from carillon import core, files
from carillon.errors import InputError
from carillon.inputs import read_text

COLUMNS = ["clock_mhz", "rate_msps", "ttis", "late"]
_MOST_BYTES = 1 << 20

# Equation 6, the published model of System 1: c2, c3, c7, c9, c13, c15 and c18 of f0.
EQUATION_6 = {
    2: 1.2865e05, 3: -119.1427, 7: 9.3501e07, 9: -83.9962,
    13: -16.2634, 15: 1.3552e-05, 18: 2.1030e-05,
}  # fmt: skip
CLOCKS_MHZ = tuple(range(1000, 2101, 100))  # System 1, table 3
RATES_MSPS = (7.68, 15.36, 23.04, 30.72)  # of 5, 10, 15 and 20 MHz


@dataclass(frozen=True)
class Points:
    """Counts, each of `ttis` subframes of which `late` were late."""

    clock_mhz: NDArray[np.float64]
    rate_msps: NDArray[np.float64]
    ttis: NDArray[np.int64]
    late: NDArray[np.int64]

    @property
    def share(self) -> NDArray[np.float64]:
        """Late ones of all."""
        return self.late / self.ttis

    @property
    def rows(self) -> NDArray[np.float64]:
        """Clock, rate and share, as core.LateSearch takes them."""
        return np.column_stack([self.clock_mhz, self.rate_msps, self.share])


def read_points(file: Path) -> Points:
    """InputError names the line and what is wrong with it."""
    text = read_text(file, _MOST_BYTES)
    rows = csv.reader(text.splitlines())
    if next(rows, None) != COLUMNS:
        raise InputError(f"{file}:1: the first line must be {','.join(COLUMNS)}")
    try:
        found = [_point(row) for row in rows if row]
    except (ValueError, csv.Error) as error:
        raise InputError(f"{file}:{rows.line_num}: {error}") from None
    if not found:
        raise InputError(f"{file}: has no points")
    clocks, rates, ttis, late = zip(*found, strict=True)
    return Points(np.array(clocks), np.array(rates), np.array(ttis), np.array(late))


def _point(row: list[str]) -> tuple[float, float, int, int]:
    if len(row) != len(COLUMNS):
        raise ValueError(f"needs {len(COLUMNS)} cells, {', '.join(COLUMNS)}, and has {len(row)}")
    try:
        clock, rate, ttis, late = float(row[0]), float(row[1]), int(row[2]), int(row[3])
    except ValueError:
        raise ValueError("clock_mhz and rate_msps are numbers, ttis and late whole ones") from None
    if not (0 < clock < 1e6 and 0 < rate < 1e6):
        raise ValueError("clock_mhz and rate_msps must be above 0 and below 1000000")
    if not 1 <= ttis < 1 << 53 or not 0 <= late <= ttis:
        raise ValueError("ttis must be 1 or more, and late from 0 to ttis")
    return clock, rate, ttis, late


def write_points(file: Path, points: Points) -> None:
    """As read_points() reads them."""
    with files.table(file) as stream:
        writer = csv.writer(stream)
        writer.writerow(COLUMNS)
        for clock, rate, ttis, late in zip(
            points.clock_mhz, points.rate_msps, points.ttis, points.late, strict=True
        ):
            writer.writerow([f"{clock:g}", f"{rate:g}", ttis, late])


def drawn(ttis: int, seed: int) -> Points:
    """Counts as they would be if the published model were the truth: binomial, of its probability
    at the paper's clocks and bandwidths, where that exceeds 1 of 1."""
    clocks, rates = (axis.ravel() for axis in np.meshgrid(CLOCKS_MHZ, RATES_MSPS, indexing="ij"))
    clocks = clocks.astype(float)
    published = [EQUATION_6.get(n + 1, 0.0) for n in range(18)]
    late = np.clip(core.late_probability("power", published, clocks, rates), 0, 1)
    counts = np.random.default_rng(seed).binomial(ttis, late)
    return Points(clocks, rates, np.full(len(clocks), ttis), counts)
