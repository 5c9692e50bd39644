"""The study of batches of random graphs."""

import csv
import json
import math
from pathlib import Path

import pytest
from carillon import cli
from carillon.errors import InputError
from carillon.flowgraph import study
from carillon.flowgraph.plan import METHODS
from carillon.flowgraph.study import Drawn
from typer.testing import CliRunner


def test_every_method_meets_the_same_graphs_and_the_optimum_is_never_worse() -> None:
    for seed in range(12):
        rows = {(row.method, row.batch): row for row in study.rows_of(seed, Drawn())}
        assert len(rows) == len(METHODS) * len(study.BATCHES)
        for batch in study.BATCHES:
            uniform, best = rows["uniform", batch], rows["optimum", batch]
            assert best.bound_ms <= uniform.bound_ms * (1 + 1e-12)
            assert best.utilization <= uniform.utilization * (1 + 1e-12)
            assert best.least <= best.utilization * (1 + 1e-12)
            for row in rows.values():
                assert 0 < row.simulated_ms <= row.bound_ms * (1 + 1e-9)
            exploiting = rows["rate-exploiting", batch]
            assert exploiting.utilization <= uniform.utilization * (1 + 1e-12)


def test_the_study_shows_the_published_trend(tmp_path: Path) -> None:
    words = ["flowgraph", "study", "--graphs", "40", "--folder", str(tmp_path / "a"), "--json"]
    result = CliRunner().invoke(cli.app, words)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["seeds"] == [0, 39]
    points = {(point["method"], point["batch"]): point for point in told["points"]}
    assert points["uniform", 1]["utilization"] == pytest.approx(6, abs=1)
    assert points["uniform", 4]["utilization"] == pytest.approx(2, abs=0.6)
    assert points["optimum", 4]["utilization"] < 1
    with (tmp_path / "a" / "study.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 40 * len(METHODS) * len(study.BATCHES)
    assert {row["least"] == "" for row in rows if row["method"] != "optimum"} == {True}
    mean = sum(float(row["utilization"]) for row in rows if row["method"] == "uniform"
               and row["batch"] == "4") / 40  # fmt: skip
    assert mean == pytest.approx(points["uniform", 4]["utilization"])
    assert (tmp_path / "a" / "study.png").stat().st_size > 10_000


def test_seeds_go_on_where_others_end() -> None:
    both = [row for found in study.measure(Drawn(0, 30)) for row in found]
    parts = [row for start in (0, 15) for found in study.measure(Drawn(start, 15)) for row in found]
    assert repr(both) == repr(parts)  # nan is not itself
    assert math.isnan(both[-1].least)


def test_the_study_has_no_other_options() -> None:
    result = CliRunner().invoke(cli.app, ["study", "batching-synthetic", "--frames", "30"])
    assert isinstance(result.exception, InputError)
    assert "batching-synthetic has no --frames" in str(result.exception)
