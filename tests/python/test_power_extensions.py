"""Late TTIs of shorter TTIs, and models by load in place of the rate."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from carillon import cli
from carillon.power.extensions import LOAD, LOADS, TTI, cells_of, load_of
from carillon.power.measured import CellDelays, write_delays
from typer.testing import CliRunner

MS = 1e6


def delays_of(name: str, noise: float = 0.0) -> list[CellDelays]:
    """Work that is linear in rate and resource blocks, as long as the TTI lets it be."""
    found = []
    for loaded, (mhz, blocks) in zip(cells_of(name), LOADS, strict=False):
        rate, tti = mhz * 1.536, loaded.cell.deadlines.uplink_budget_ms / 4 * MS
        work = (30 + rate + 2 * blocks) * 1e3 * tti / MS
        spread = np.linspace(1 - noise, 1 + noise, 21)
        found.append(
            CellDelays(
                loaded.cell.name,
                rate,
                tti,
                4 * tti,
                work * spread,
                np.array([0.0] * 49 + [2 * MS]),
                np.array([1e3]),
            )
        )
    return found


def study(name: str, folder: Path) -> dict[str, Any]:
    file = folder / "delays.json"
    write_delays(file, delays_of(name, 0.1), {"cores": 2})
    words = ["study", name, "--from", str(file), "--frames", "600"]
    done = CliRunner().invoke(cli.app, [*words, "--folder", str(folder / "out")],
                              catch_exceptions=False)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert (folder / "out" / "study.svg").exists()
    tree: dict[str, Any] = json.loads((folder / "out" / "study.json").read_text())
    return tree


def test_shorter_ttis_are_half_of_the_band_and_four_of_them_are_the_response() -> None:
    cells = [loaded.cell for loaded in cells_of(TTI)]
    assert [cell.numerology.spacing_khz for cell in cells] == [15, 30, 60]
    assert [cell.deadlines.uplink_budget_ms for cell in cells] == [4, 2, 1]
    assert [cell.grants.list[0].blocks for cell in cells] == [25, 12, 6]
    assert {cell.numerology.fft_size * cell.numerology.spacing_khz for cell in cells} == {15_360}


def test_a_standstill_costs_more_of_shorter_ttis(tmp_path: Path) -> None:
    tree = study(TTI, tmp_path)
    highest = {row["cell"]: row["late"] / row["ttis"] for row in tree["rows"]
               if row["clock_mhz"] == 2100}  # fmt: skip
    longest, _, shortest = highest.values()
    assert shortest > longest


def test_the_load_is_what_the_work_was_made_of() -> None:
    measured = delays_of(LOAD)
    load = load_of(measured)
    for own in measured:
        assert load[own.cell] == pytest.approx(own.processing.mean() / own.tti_ns)


def test_both_models_are_of_the_same_points(tmp_path: Path) -> None:
    tree = study(LOAD, tmp_path)
    assert len(set(tree["cells_per_core"].values())) == 1
    assert len(set(tree["load"].values())) == len(LOADS)
    with (tmp_path / "out" / "study.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == len(LOADS) * 19
    for name in ("rate", "load"):
        off = [float(row[f"by_{name}"]) - int(row["late"]) / int(row["ttis"])
               for row in rows if row[f"by_{name}"]]  # fmt: skip
        assert 0 < np.mean(np.square(off)) <= tree["models"][name]["mse"] * 1.001
