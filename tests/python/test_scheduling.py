"""`carillon study megastation-15`: what decisions take is measured, and nothing else changes."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from carillon.commands.study import Choice, study
from carillon.config.pool import POLICIES
from carillon.pool.study import simulate
from carillon.studies import scheduling


def test_every_instruction_has_a_time_and_the_schedule_stays_as_it_is() -> None:
    whole = scheduling.pool("uplink", 30)
    plain = simulate(whole, "scoreboard", 1)
    timed = simulate(whole, "scoreboard", 1, timed=True)
    assert len(plain["decision_ns"]) == 0
    assert len(timed["decision_ns"]) == timed["tasks"]
    assert (np.asarray(timed["decision_ns"]) > 0).all()
    assert (timed["latency"] == plain["latency"]).all()


def test_a_stopped_study_has_the_policies_that_are_whole() -> None:
    calls: list[int] = []

    def progress(ended: int) -> bool:
        calls.append(ended)
        return len(calls) < 3

    found = list(scheduling.measure(40, progress))
    assert [one.policy for one in found] == list(POLICIES[:2])


def test_a_copy_of_the_combiner_takes_what_its_bytes_take() -> None:
    found = {(one.direction, one.what): one.ms for one in scheduling.simulated(20)}
    combiner = 1216 / 16 * 128 * 32 * 8  # groups × antennas × users × complex float
    assert found["uplink", "its copy to another GPU"] == pytest.approx(combiner / 25e6 + 1e-3)
    assert 0.2 < found["downlink", "ZeroForce, p90"] < 0.4


def test_the_study_says_what_is_measured_and_what_is_simulated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study("megastation-15", Choice(frames=20), tmp_path, as_json=False)
    told = json.loads((tmp_path / "study.json").read_text())
    assert {one["source"] for one in told["points"]} == {"measured"}
    assert told["degrees"]["a100"]["by"] == "procedure"
    assert {one["source"] for one in told["kernels"]} == {"simulated"}
    with (tmp_path / "study.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 2 * len(POLICIES)
    for row in rows:
        assert 0 < float(row["p50_us"]) <= float(row["p90_us"]) <= float(row["p99_us"])
    assert (tmp_path / "study.png").read_bytes().startswith(b"\x89PNG")
    assert "published" in capsys.readouterr().out
