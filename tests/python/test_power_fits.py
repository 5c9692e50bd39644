"""The published model's terms, fitted to points of our own, and the studies that show them."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from carillon import cli
from carillon.errors import InputError
from carillon.power.fits import BANDWIDTHS, FITS, PUBLISHED_MSE
from carillon.power.measured import CellDelays, write_delays
from carillon.power.operating_point import LOADED, operating_point
from carillon.power.points import CLOCKS_MHZ, RATES_MSPS, Points
from carillon.power.refit import PUBLISHED, best_refit, refit
from typer.testing import CliRunner

MS = 1e6


@pytest.fixture(scope="module")
def delays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cells of four bandwidths, whose work grows with these."""
    file = tmp_path_factory.mktemp("fits") / "delays.json"
    write_delays(
        file,
        [
            CellDelays(
                operating_point(mhz, LOADED).cell.name, mhz * 1.536, MS, 4 * MS,
                np.linspace(0.8, 1.2, 41) * (40 + 3 * mhz) * 1e3,
                np.array([0.0] * 99 + [2 * MS]), np.array([1e3]),
            )
            for mhz in BANDWIDTHS
        ],
        {"cores": 2},
    )  # fmt: skip
    return file


def study(name: str, delays: Path, folder: Path, *more: str) -> dict[str, Any]:
    words = ["study", name, "--from", str(delays), "--frames", "800", "--folder", str(folder)]
    done = CliRunner().invoke(cli.app, [*words, *more], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    tree: dict[str, Any] = json.loads((folder / "study.json").read_text())
    assert tree["study"] == name
    assert (folder / "study.svg").read_text().lstrip().startswith("<?xml")
    return tree


def rows(file: Path) -> list[dict[str, str]]:
    with file.open() as stream:
        return list(csv.DictReader(stream))


def test_terms_are_fitted_to_what_they_were_drawn_from() -> None:
    clocks, rates = (axis.ravel() for axis in np.meshgrid(CLOCKS_MHZ[2:], RATES_MSPS))
    clocks = clocks.astype(float)
    others = PUBLISHED.coefficients | {"c13": 1.1 * PUBLISHED.coefficients["c13"]}
    truth = replace(PUBLISHED, coefficients=others)
    share = truth.late(clocks, rates)
    ttis = np.full(len(clocks), 10**9)
    drawn = Points(clocks, rates, ttis, (share * ttis).round().astype(np.int64))
    before = float(np.mean((PUBLISHED.late(clocks, rates) - share) ** 2))
    found = refit(PUBLISHED, drawn)
    assert list(found.coefficients) == list(PUBLISHED.coefficients)
    assert before > 1e-5
    assert found.mse < 1e-9
    assert np.allclose(found.late(clocks, rates), share, atol=1e-4)


def test_further_starts_find_better_fits() -> None:
    random = np.random.default_rng(3)
    clocks, rates = (axis.ravel() for axis in np.meshgrid(CLOCKS_MHZ, RATES_MSPS))
    late = random.binomial(1000, 1 / (1 + (clocks / 1200) ** 20))
    drawn = Points(clocks.astype(float), rates, np.full(len(clocks), 1000), late)
    assert best_refit(PUBLISHED, drawn).mse < 0.8 * refit(PUBLISHED, drawn).mse


def test_terms_that_are_real_nowhere_have_no_fit() -> None:
    clocks = np.array([1000.0, 1500.0, 2000.0, 1200.0])
    counted = Points(clocks, np.full(4, 7.68), np.full(4, 10), np.array([5, 1, 0, 3]))
    nothing = replace(PUBLISHED, coefficients={"c1": 1.0})  # two polynomials are empty
    assert refit(nothing, counted).mse == np.inf
    with pytest.raises(InputError, match="real at all points"):
        best_refit(nothing, counted)


@pytest.mark.parametrize("name", FITS)
def test_a_fit_is_shown_beside_what_was_counted(name: str, delays: Path, tmp_path: Path) -> None:
    tree = study(name, delays, tmp_path / "out")
    known = rows(tmp_path / "out" / "study.csv")
    assert len(known) == (48 if FITS[name].seen == 1 else 96)
    real = [row for row in known if row["model"]]
    assert len(known) - len(real) == tree["not_real"]
    off = [float(row["ratio"]) - float(row["model"]) for row in real]
    assert off == pytest.approx([float(row["residual"]) for row in real], abs=1e-5)
    assert tree["mse"] == pytest.approx(np.mean(np.square(off)), rel=1e-3)
    assert [int(row["late"]) for row in known] == [
        int(row["late"]) for row in rows(tmp_path / "out" / "points.csv")
    ]


def test_a_model_of_another_system_fits_worse_than_one_of_its_own(
    delays: Path, tmp_path: Path
) -> None:
    foreign = study("power-10", delays, tmp_path / "foreign")
    own = study("power-11", delays, tmp_path / "own")
    assert (own["not_real"], own["mse"]) < (foreign["not_real"], foreign["mse"])
    assert own["model"] != foreign["model"]


def test_tables_show_published_errors_beside_ours(delays: Path, tmp_path: Path) -> None:
    tree = study("power-tables", delays, tmp_path / "out", "--coefficients", "3")
    known = rows(tmp_path / "out" / "study.csv")
    assert len(known) == len(tree["rows"]) > 0
    for row in known:
        assert float(row["published_mse"]) == PUBLISHED_MSE[row["family"]][int(row["count"]) - 1]
    assert (tmp_path / "out" / "models.csv").exists()


def test_only_tables_have_coefficients(delays: Path) -> None:
    words = ["study", "power-9", "--from", str(delays), "--coefficients", "3"]
    assert str(CliRunner().invoke(cli.app, words).exception) == "power-9 has no --coefficients"
