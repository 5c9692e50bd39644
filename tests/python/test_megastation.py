"""`carillon study megastation-8`: which figure of which run a point has, and what follows."""

import csv
import json
import math
from pathlib import Path

import pytest
from carillon.commands.study import Choice, study
from carillon.pool.running import Outcome, Request
from carillon.studies import megastation
from carillon.studies.megastation import DIRECTIONS, SHAPES, Point, gains, verdicts


def point(policy: str, **figures: object) -> Point:
    known: dict[str, object] = {
        "shape": "64x32",
        "direction": "uplink",
        "policy": policy,
        "frames": 100,
        "late": 0,
        "mean_ms": 1.0,
        "tail": "p90",
        "tail_ms": 2.0,
        "latency_parts": 1,
        "frames_per_s": 1000.0,
        "throughput_parts": 1,
    }
    return Point(**(known | figures))  # type: ignore[arg-type]


def test_gains_are_means_over_the_shapes_that_both_can_do() -> None:
    points = [
        point("scoreboard", mean_ms=1.0, frames_per_s=3000.0),
        point("frame-level", mean_ms=2.0, frames_per_s=2000.0),
        point("scoreboard", shape="128x32", mean_ms=3.0, frames_per_s=1000.0),
        point("frame-level", shape="128x32", mean_ms=4.0, frames_per_s=0.0, tail_ms=math.inf),
    ]
    found = {(gain.measure, gain.rival): gain for gain in gains(points) if "up" in gain.direction}
    mean = found["mean_ms", "frame-level"]
    assert mean.percent == pytest.approx(37.5)
    assert (mean.shapes, mean.published) == (2, 50.6)
    throughput = found["frames_per_s", "frame-level"]
    assert throughput.percent == pytest.approx(50)
    assert throughput.shapes == 1
    assert found["tail_ms", "frame-level"].shapes == 1
    assert found["tail_ms", "task-level"].percent is None
    useless = [point("task-level", late=51), point("scoreboard")]
    assert {gain.shapes for gain in gains(useless)} == {0}


@pytest.mark.parametrize(
    ("mean", "tail", "near"),
    [(1.04, 2.01, [True, True]), (1.06, 2.03, [False, False]), (0.9, math.inf, [False, True])],
)
def test_adaptive_may_miss_the_best_by_a_hundredth_of_its_tail_and_a_twentieth_of_its_mean(
    mean: float, tail: float, near: list[bool]
) -> None:
    others = [point("scoreboard"), point("task-level", mean_ms=3.0, tail_ms=math.inf)]
    found = verdicts([*others, point("adaptive", mean_ms=mean, tail_ms=tail)])
    assert [one.measure for one in found] == ["tail_ms", "mean_ms"]
    assert [one.best_policy for one in found] == ["scoreboard"] * 2
    assert [one.near for one in found] == near


def test_a_study_that_is_stopped_has_the_cells_that_are_whole() -> None:
    def stopped(requests: list[Request]) -> list[Outcome | None]:
        return [None] * len(requests)

    assert list(megastation.measure(100, stopped)) == []


def test_the_rivals_do_not_split_zero_forcing_and_all_meet_the_same_frames() -> None:
    asked: list[Request] = []

    def carry_out(requests: list[Request]) -> list[Outcome | None]:
        asked.extend(requests)
        return [None] * len(requests)

    list(megastation.measure(1000, carry_out))
    studies = [request.described.study for request in asked]
    assert sum(own.frames for own in studies) == sum(request.frames for request in asked)
    assert megastation.frames_in_all(1000) == len(SHAPES) * len(DIRECTIONS) * 7 * 1100
    split = {own.policies[0] for own in studies if own.zero_force_parts > 1}
    assert split == {"scoreboard", "adaptive"}
    assert len({request.seed for request in asked}) == 1
    assert {own.frames for own in studies if own.at_once} == {100}


def test_the_study_leaves_every_point_and_says_that_it_is_simulated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(megastation, "SHAPES", ("64x32",))
    study("megastation-8", Choice(frames=40), tmp_path, as_json=False)
    told = json.loads((tmp_path / "study.json").read_text())
    assert told["simulated"] is True
    assert told["frames"] == 40
    with (tmp_path / "study.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == len(told["points"]) == 2 * 5
    assert {row["source"] for row in rows} == {"simulated"}
    assert all(row["late"] == "0" for row in rows)
    for row in told["points"]:
        frame_on_air = 1.0 if row["direction"] == "uplink" else 0.28  # its pilots: 4 of 14 symbols
        assert row["mean_ms"] > frame_on_air
    assert len(told["scoreboard_against_rivals"]) == 18
    assert len(told["adaptive_against_best"]) == 4
    assert (tmp_path / "study.png").read_bytes().startswith(b"\x89PNG")
    out = capsys.readouterr().out
    assert "nothing is measured" in out
    assert "58.9" in out
