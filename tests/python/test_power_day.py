"""A day of load in virtual time, its energy model, and the studies that show them."""

from __future__ import annotations

import csv
import json
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from carillon import cli
from carillon.errors import InputError
from carillon.power import day
from carillon.power.energy import PowerModel, varied
from carillon.power.measured import CellDelays, write_delays
from carillon.power.operating_point import LIGHT, LOADED, operating_point
from carillon.power.studies import COALESCING_US, SYSTEM_1
from typer.testing import CliRunner

MS = 1e6


def of(cell: str, work_us: float) -> CellDelays:
    work = np.linspace(0.9, 1.1, 21) * work_us * 1e3
    return CellDelays(cell, 15.36, MS, 4 * MS, work, np.array([0.0]), np.array([1e3]))


CELLS = day.Cells.of(of("light", 100), of("full", 200))
RULES = day.Rules(SYSTEM_1, cells=4, ttis_a_minute=20)


def test_a_core_at_the_highest_clock_takes_what_everything_is_relative_to() -> None:
    model = PowerModel()
    assert model.computing(2100, 2100) == pytest.approx(1)
    assert model.idle(2100, 2100) == pytest.approx(0.3 + 0.2 * 0.7)
    # Half the clock of the table: 800 of 1600 MHz, 1.036 of 1.484 V.
    volts = 1.036 / 1.484
    assert model.volts(1050, 2100) == pytest.approx(volts)
    assert model.computing(1050, 2100) == pytest.approx(0.3 * volts + 0.7 * 0.5 * volts**2)
    assert model.at_clocks([1050, 2100], [10, 20], [10, 5]) == pytest.approx(
        10 * model.computing(1050, 2100) + 5 + 15 * model.idle(2100, 2100)
    )
    assert model.racing(10, 4, 1000) == pytest.approx(4 + 0.1 + 5.9 * 0.1 * 0.3)


def test_each_parameter_is_varied_by_itself() -> None:
    models = dict(varied(PowerModel()))
    assert len(models) == 1 + 2 * len(fields(PowerModel))
    for name, model in models.items():
        changed = [f.name for f in fields(model)
                   if getattr(model, f.name) != getattr(PowerModel(), f.name)]  # fmt: skip
        assert changed == ([] if name == "as assumed" else [name.split(" ")[0]])


def test_less_clock_is_less_energy_for_the_same_work() -> None:
    model = PowerModel()
    energy = [model.at_clocks([clock, 2100], [10, 0], [5 * 2100 / clock / 2, 0])
              for clock in (1050, 1400, 1750, 2100)]  # fmt: skip
    assert energy == sorted(energy)


def test_profiles_are_of_a_day_and_the_same_again() -> None:
    for profile in day.PROFILES:
        levels = day.levels(profile, 1)
        assert levels.shape == (1440,)
        assert (levels >= 0).all() and (levels < day.LEVELS).all()
        assert (levels == day.levels(profile, 1)).all()
        assert levels[3 * 60 : 5 * 60].mean() < levels[10 * 60 : 20 * 60].mean()  # night, day


def test_work_is_linear_in_the_load() -> None:
    means = [load.mean() for load in CELLS.loads]
    assert means == pytest.approx(np.linspace(100e3, 200e3, day.LEVELS), rel=0.01)


def test_a_day_adds_up_under_every_policy() -> None:
    predicted = CELLS.predicted(RULES, 200)
    most = day.most_cells(CELLS, RULES, 200)
    base = day.play("performance", CELLS, RULES, "office", predicted, most)
    for policy in day.POLICIES:
        own = day.play(policy, CELLS, RULES, "office", predicted, most)
        assert own.late == 0
        assert sum(own.busy) <= sum(own.at_clock) * 1.01
        assert sum(own.at_clock) == pytest.approx(own.cores * 86_400, rel=1e-9)
        if policy != "concentrated":  # whose cores are not all full
            assert own.ttis == 1440 * RULES.ttis_a_minute * RULES.cells
        saved = 1 - day.energy_s(own, RULES, PowerModel()) / day.energy_s(base, RULES, PowerModel())
        assert saved == 0 if policy == "performance" else saved > 0
    governed = day.play("governed", CELLS, RULES, "office", predicted, most)
    # The same work takes longer by as much as clocks are lower.
    work = sum(b * c for b, c in zip(governed.busy, RULES.clocks, strict=True)) / 2100
    assert work == pytest.approx(sum(base.busy), rel=1e-3)


def test_the_predicted_excess_falls_with_the_clock_and_rises_with_the_load() -> None:
    predicted = np.array(CELLS.predicted(day.Rules(SYSTEM_1, cells=6), 300))
    assert predicted.shape == (day.LEVELS, len(SYSTEM_1))
    assert (predicted[:, -1] == 0).all()
    assert predicted[-1, 0] > predicted[0, 0]


def measured(tmp_path: Path) -> Path:
    file = tmp_path / "delays.json"
    names = [operating_point(mhz, blocks).cell.name for mhz, blocks in
             ((5, LIGHT), (10, LIGHT), (10, LOADED))]  # fmt: skip
    found = [of(name, us) for name, us in zip(names, (50, 60, 90), strict=True)]
    write_delays(file, found, {})
    return file


@pytest.mark.parametrize(
    ("name", "rows"),
    [("power-4", 12), ("power-6", 12), ("power-7", 24), ("power-8", len(COALESCING_US))],
)
def test_figures_are_made_of_delays_of_before(tmp_path: Path, name: str, rows: int) -> None:
    target = tmp_path / name
    words = ["study", name, "--from", str(measured(tmp_path)), "--frames", "150",
             "--folder", str(target)]  # fmt: skip
    done = CliRunner().invoke(cli.app, words)
    assert done.exit_code == 0, done.output
    assert "virtual time" in done.output
    with (target / "study.csv").open() as stream:
        assert len(list(csv.DictReader(stream))) == rows
    assert (target / "study.svg").exists()
    assert json.loads((target / "study.json").read_text())["cells_per_core"] > 1


def test_the_day_compares_all_policies(tmp_path: Path) -> None:
    target = tmp_path / "day"
    words = ["study", "power-day", "--from", str(measured(tmp_path)), "--frames", "20",
             "--folder", str(target), "--json"]  # fmt: skip
    done = CliRunner().invoke(cli.app, words)
    assert done.exit_code == 0, done.output
    tree = json.loads((target / "study.json").read_text())
    assert "modelled" in tree["source"]
    assert len(tree["rows"]) == 2 * len(day.PROFILES) * len(day.POLICIES)
    for row in tree["rows"]:
        assert row["saved_least"] <= row["saved"] <= row["saved_most"]
        if row["policy"] == "governed":
            assert row["saved"] > 0
            assert row["late_above_performance"] <= 1e-3


def test_a_study_says_which_delays_it_lacks(tmp_path: Path) -> None:
    file = tmp_path / "delays.json"
    write_delays(file, [of("other", 50)], {})
    done = CliRunner().invoke(cli.app, ["study", "power-day", "--from", str(file)])
    assert isinstance(done.exception, InputError)
    assert "has no delays of lte-10mhz-1rb, only of other" in str(done.exception)
