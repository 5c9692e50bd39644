"""The whole uplink against a simulation of the same cell in NumPy, written apart from it."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy_reference as reference
import pytest
from carillon import core
from carillon.config import Run, load_cell
from carillon.config.plan import plan_text

CELL = Path(__file__).resolve().parents[2] / "examples" / "cells" / "rayleigh-16x4.yaml"
PIECE = 4  # frames of one piece


@dataclass(frozen=True)
class Mean:
    """Of a sample of independent values."""

    value: float
    variance: float

    @staticmethod
    def of(values: list[float]) -> "Mean":
        return Mean(float(np.mean(values)), float(np.var(values, ddof=1)) / len(values))

    def interval(self, other: "Mean") -> float:
        """How far the means of two samples may be apart by chance (99.9 %)."""
        return 3.29 * float(np.sqrt(self.variance + other.variance))


def engine(plan: str, snr_db: float, frames: int) -> tuple[Mean, Mean]:
    """Bit error rate before decoding and block error rate."""
    raw, blocks = [], []
    link = core.Link(plan)
    for seed in range(frames // PIECE):
        counts = link.point(snr_db, PIECE, 1000 + seed)
        raw.append(counts["raw_errors"] / counts["raw_bits"])
        blocks.append(counts["block_errors"] / counts["blocks"])
    return Mean.of(raw), Mean.of(blocks)


def numpy_cell(plan: str) -> reference.Cell:
    cell = load_cell(CELL).cell
    uplink = core.describe(plan)["uplink"]
    assert uplink["blocks"] == uplink["code_blocks"] == cell.users
    assert cell.combiner.group == 1
    return reference.Cell(
        antennas=cell.antennas,
        users=cell.users,
        fft_size=cell.numerology.fft_size,
        subcarriers=cell.numerology.subcarriers,
        data_symbols=uplink["data_symbols"],
        bits=uplink["bits_per_element"],
        code=reference.Ldpc(uplink["base_graph"], uplink["lifting"]),
        fillers=uplink["fillers"],
        iterations=cell.uplink.iterations,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("snr_db", "frames"), [(3.5, 100), (5.0, 140), (6.5, 180)])
def test_error_rates_agree_with_a_double_precision_simulation(snr_db: float, frames: int) -> None:
    plan = plan_text(load_cell(CELL).cell, Run())
    samples = list(reference.simulate(numpy_cell(plan), snr_db, frames, seed=round(10 * snr_db)))
    raw = Mean.of([sample.raw_error_rate for sample in samples])
    blocks = Mean.of([sample.block_error_rate for sample in samples])
    engine_raw, engine_blocks = engine(plan, snr_db, 4 * frames)

    assert abs(engine_raw.value - raw.value) < engine_raw.interval(raw)
    assert abs(engine_blocks.value - blocks.value) < engine_blocks.interval(blocks)
    # The intervals are narrow enough to tell a loss of half a decibel.
    assert engine_raw.interval(raw) < 0.15 * raw.value
    assert engine_blocks.interval(blocks) < 0.13
