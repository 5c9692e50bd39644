"""`carillon study megastation-N`: which figure of which run a point has, and what follows."""

import csv
import dataclasses
import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from carillon.commands import megastation as command
from carillon.commands.study import Choice, study
from carillon.config.pool import POLICIES, Devices, PoolStudy, RadioUnits
from carillon.daemon import Interrupts
from carillon.pool.plan import hardware
from carillon.pool.running import Outcome, Request
from carillon.pool.study import simulate
from carillon.studies.claims import change, gain, overall, times
from carillon.studies.figure import Case, Figure, Measured, Point, frames_in_all, measure
from carillon.studies.granularity import SMS
from carillon.studies.megastation import FIGURES, NAMED
from carillon.studies.scaling import timeline
from carillon.studies.verdicts import Verdict
from rich.console import Console


def point(policy: str, **figures: object) -> Point:
    known: dict[str, object] = {
        "group": "uplink",
        "x": "64x32",
        "policy": policy,
        "frames": 100,
        "late": 0,
        "mean_ms": 1.0,
        "still_ms": 1.0,
        "tail": "p90",
        "tail_ms": 2.0,
        "latency_parts": 1,
        "devices_per_frame": 1.0,
        "frames_per_s": 1000.0,
        "throughput_parts": 1,
    }
    return Point(**(known | figures))  # type: ignore[arg-type]


def outcome(
    policy: str, began: Sequence[float], latency: Sequence[float], cell: int = 0
) -> Outcome:
    """late: those of infinite latency."""
    values = np.array(latency, float)
    count = len(values)
    return Outcome(
        policy=policy,
        seed=1,
        began=np.array(began, float),
        latency=np.where(np.isfinite(values), values, 4.0),
        cell=np.full(count, cell, np.uint16),
        devices=np.ones(count, np.uint16),
        server=np.zeros(count, np.uint16),
        done=np.isfinite(values),
        why=np.zeros(count, np.uint8),
        busy=[0.5],
        memory=[0],
        ports=[],
        moves=[],
        joins=[],
        stages={"ZeroForce": 0.5, "Load": 1.0, "Precode": 1.5},
        tasks=1,
        copies=0,
        again=0,
        end=1.0,
    )


def pool(**other: object) -> PoolStudy:
    known: dict[str, object] = {
        "devices": [Devices(type="a100")],
        "cells": [RadioUnits(cell="64x32-uplink")],
    }
    return PoolStudy.model_validate(known | other)


def found(latencies: dict[str, list[float]], **other: object) -> Measured:
    """What a case is whose policies have these latencies, a frame a ms."""
    figure = Figure("figure", "", "", [Case("uplink", 1.0, pool(**other), parts=(1,))])
    count = len(latencies["adaptive"])

    def carry_out(requests: list[Request]) -> list[Outcome | None]:
        return [outcome(one.policy, range(count), latencies[one.policy]) for one in requests]

    (measured,) = measure(figure, count, carry_out)
    return measured


def verdict(measured: Measured, name: str) -> Verdict:
    (one,) = (each for each in measured.verdicts if each.measure == name)
    return one


def test_gains_are_means_over_the_cases_that_both_can_do() -> None:
    points = [
        point("scoreboard", mean_ms=1.0, frames_per_s=3000.0),
        point("frame-level", mean_ms=2.0, frames_per_s=2000.0),
        point("scoreboard", x="128x32", mean_ms=3.0, frames_per_s=1000.0),
        point("frame-level", x="128x32", mean_ms=4.0, frames_per_s=0.0, tail_ms=math.inf),
    ]
    assert gain("mean_ms", "uplink", "scoreboard", "frame-level")(points) == (37.5, "")
    throughput, note = gain("frames_per_s", "uplink", "scoreboard", "frame-level")(points)
    assert throughput == pytest.approx(50)
    assert note == "of 1 of 2"
    assert gain("tail_ms", "uplink", "scoreboard", "task-level")(points)[0] is None
    assert overall("frames_per_s", "uplink", "scoreboard", "frame-level")(points)[0] == 2.0
    assert times("mean_ms", "uplink", "scoreboard", "128x32", "64x32")(points)[0] == 3.0
    assert change("mean_ms", "uplink", "scoreboard", "128x32", "64x32")(points)[0] == 200.0
    late = [point("scoreboard"), point("task-level", late=51)]
    assert gain("mean_ms", "uplink", "scoreboard", "task-level")(late) == (None, "of 0 of 1")


@pytest.mark.parametrize(("factor", "near"), [(1.009, True), (1.011, False), (0.8, True)])
def test_adaptive_may_miss_the_best_tail_by_a_hundredth(factor: float, near: bool) -> None:
    best = list(np.random.default_rng(1).uniform(1.0, 2.0, 620))
    others = {str(each): [1.2 * one for one in best] for each in POLICIES} | {"scoreboard": best}
    one = verdict(found(others | {"adaptive": [factor * each for each in best]}), "tail_ms")
    assert (one.best_policy, one.near) == ("scoreboard", near)
    assert one.adaptive == pytest.approx(factor * (one.best or 0))
    assert one.low is not None and one.high is not None and one.low <= one.high
    assert (one.low > 0) == (factor > 1)


def test_without_an_interval_there_is_no_verdict() -> None:
    few = {str(each): [1.0] * 300 for each in POLICIES}
    measured = found(few)
    assert verdict(measured, "mean_ms").near is True
    tail = verdict(measured, "tail_ms")
    assert (tail.low, tail.high, tail.near) == (None, None, None)


def test_frames_that_are_late_count_until_the_deadline_in_the_mean() -> None:
    """Else a policy that gives its worst frames up would look the best."""
    best = [2.0] * 620
    others = {str(each): best for each in POLICIES}
    one = verdict(found(others | {"adaptive": [1.5] * 310 + [math.inf] * 310}), "mean_ms")
    assert one.adaptive == pytest.approx((290 * 1.5 + 310 * 4.0) / 600)
    assert not one.near
    tail = verdict(found(others | {"adaptive": [1.5] * 310 + [math.inf] * 310}), "tail_ms")
    assert tail.adaptive == math.inf and not tail.near


def test_where_all_have_late_frames_their_share_counts() -> None:
    some = [1.0] * 560 + [math.inf] * 60
    others = {str(each): some for each in POLICIES}
    (one,) = found(others | {"adaptive": some}).verdicts[2:]
    assert (one.measure, one.adaptive, one.near) == ("late_share", 0.1, True)
    (worse,) = found(others | {"adaptive": [1.0] * 550 + [math.inf] * 70}).verdicts[2:]
    assert worse.adaptive == pytest.approx(70 / 600) and not worse.near


def test_frames_are_paired_by_number_in_whatever_order_they_ended() -> None:
    frames = list(np.random.default_rng(2).uniform(1.0, 2.0, 620))
    shuffled = np.random.default_rng(3).permutation(620)
    figure = Figure("figure", "", "", [Case("uplink", 1.0, pool(), parts=(1,))])

    def carry_out(requests: list[Request]) -> list[Outcome | None]:
        order = {one.policy: range(620) for one in requests} | {"adaptive": shuffled}
        return [
            outcome(one.policy, list(order[one.policy]), [frames[i] for i in order[one.policy]])
            for one in requests
        ]

    (measured,) = measure(figure, 620, carry_out)
    one = verdict(measured, "mean_ms")
    assert one.low == pytest.approx(0, abs=1e-12)
    assert one.high == pytest.approx(0, abs=1e-12)


def test_a_study_that_is_stopped_has_the_cases_that_are_whole() -> None:
    def stopped(requests: list[Request]) -> list[Outcome | None]:
        return [None] * len(requests)

    assert list(measure(FIGURES["megastation-8"], 100, stopped)) == []


@pytest.mark.parametrize("name", FIGURES)
def test_all_policies_of_a_case_meet_the_same_frames_and_have_the_same_choices(name: str) -> None:
    asked: list[list[Request]] = []

    def carry_out(requests: list[Request]) -> list[Outcome | None]:
        """Nothing is simulated."""
        asked.append(requests)
        found: list[Outcome | None] = []
        for one in requests:
            none = [0] * len(hardware(one.described.study))
            made = outcome(one.policy, list(range(30)), [1.0] * 30)
            found.append(dataclasses.replace(made, busy=[0.0 for _ in none], memory=none))
        return found

    figure = dataclasses.replace(FIGURES[name], extra=lambda case, outcome: {})
    for case in figure.cases[:40]:  # of pools at random, some
        asked.clear()
        list(measure(dataclasses.replace(figure, cases=[case]), 1000, carry_out))
        requests = [request for call in asked for request in call]
        assert {request.policy for request in requests} == set(case.pool.policies)
        assert len({request.seed for request in requests}) == 1
        same = {"policies", "zero_force_parts"}
        kinds: dict[str, list[tuple[str, int]]] = {}
        for request in requests:
            study = request.described.study
            kind = study.model_dump_json(exclude=same)
            kinds.setdefault(kind, []).append((request.policy, study.zero_force_parts))
        pilots = asked[0] if len(case.parts) > 1 else []
        for offered in kinds.values():  # in the pilot all parts, or else the chosen ones
            of_policy = [
                sorted(k for one, k in offered if one == policy) for policy in case.pool.policies
            ]
            assert len({tuple(set(each)) for each in of_policy}) == 1
        assert len(pilots) == len(set(case.parts)) * len(case.pool.policies) * (
            1 + (case.saturated is not None)
        ) * (len(case.parts) > 1)
        whole = sum(request.frames for request in requests)
        assert frames_in_all(dataclasses.replace(figure, cases=[case]), 1000) == whole
        for own in {request.described.study.at_once: request for request in requests}.values():
            simulate(own.described, own.policy, own.seed, frames=0)  # else ValueError


def test_each_policy_has_its_better_parts() -> None:
    figure = Figure("figure", "", "", [Case("uplink", 1.0, pool(), parts=(1, 4))])

    def carry_out(requests: list[Request]) -> list[Outcome | None]:
        return [
            outcome(
                one.policy,
                list(range(30)),
                [
                    2.0
                    if (one.policy == "adaptive") == (one.described.study.zero_force_parts == 4)
                    else 1.0
                ]
                * 30,
            )
            for one in requests
        ]

    (measured,) = measure(figure, 30, carry_out)
    assert {one.policy: one.latency_parts for one in measured.points} == {
        policy: 1 if policy == "adaptive" else 4 for policy in POLICIES
    }
    assert all(one.mean_ms == 1.0 for one in measured.points)


def test_eight_cases_are_named_for_a_million_frames() -> None:
    cases = FIGURES["megastation-cases"].cases
    assert len(cases) == len(NAMED) == 8
    assert all(case.saturated is None for case in cases)


def test_two_gpus_have_between_them_the_sms_of_one() -> None:
    for name in ("megastation-5", "megastation-12", "megastation-19"):
        for case in FIGURES[name].cases:
            free = [SMS - group.reserved_sms for group in case.pool.devices]
            assert sum(free) == SMS
            if len(free) == 2:
                assert 100 * free[1] / free[0] == pytest.approx(case.x, abs=1.5)


def test_after_the_devices_are_back_frames_are_lost_for_so_long() -> None:
    case = FIGURES["megastation-11"].cases[0]
    began = np.arange(0.0, 1400.0)
    latency = np.ones(1400)
    latency[(began >= 300) & (began < 603)] = math.inf
    latency[began == 899] = math.inf  # with the devices that are lost at 900
    told = timeline(case, outcome("scoreboard", list(began), list(latency)))
    assert told["again_ms"] == 2.0
    assert told["longest_ms"] == 1.0
    rates = told["rates"]
    assert isinstance(rates, list)
    assert rates[10] == 1000.0
    assert rates[40] == 0.0
    assert rates[70] == 1000.0
    figure = FIGURES["megastation-11"]
    claim = figure.claims[0]
    assert claim.text == "scoreboard, 128x64, uplink: throughput with all GPUs back"
    again, _ = claim.simulated([point("scoreboard", x="128x64", extra=told)])
    assert again == pytest.approx(100.0, abs=1.0)
    assert claim.simulated([]) == (None, "")


@pytest.mark.parametrize("number", [5, 8, 9, 11])  # one of each kind of picture
def test_a_study_leaves_every_point_and_says_that_it_is_simulated(
    number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"megastation-{number}"
    figure = FIGURES[name]
    monkeypatch.setitem(FIGURES, name, dataclasses.replace(figure, cases=figure.cases[:1]))
    study(name, Choice(frames=40), tmp_path, as_json=False)
    told = json.loads((tmp_path / "study.json").read_text())
    assert told["simulated"] is True
    assert told["stopped"] is False
    assert told["frames"] == 40
    assert {kind: one["by"] for kind, one in told["degrees"].items()} == {"a100": "procedure"}
    with (tmp_path / "study.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    policies = figure.cases[0].pool.policies
    assert [row["policy"] for row in rows] == policies
    assert all(0.2 < float(row["still_ms"]) < 4 for row in rows)
    assert len(rows) == len(told["points"])
    assert {row["source"] for row in rows} == {"simulated"}
    assert len(told["beside_published"]) == len(figure.claims)
    judged = set(policies) == set(POLICIES)
    assert [one["near"] for one in told["adaptive_against_best"]] == [None, None] * judged
    assert (tmp_path / "study.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "study.svg").stat().st_size > 1000
    out = capsys.readouterr().out
    assert "nothing is measured" in out
    assert "scoreboard's α by MegaStation's procedure" in out
    assert ("published" in out) == bool(figure.claims)
    assert out.count("there is no verdict") == judged
    assert "yes" not in out and "NO" not in out


def test_figure_8_has_frames_in_order_and_the_published_gains() -> None:
    figure = FIGURES["megastation-8"]
    assert [case.x for case in figure.cases[::2]] == [
        "64x32",
        "128x32",
        "128x64",
        "256x64",
        "256x128",
    ]
    published = {claim.text: claim.published for claim in figure.claims}
    assert published["scoreboard gains in tail, uplink, on frame-level"] == 58.9
    assert published["scoreboard gains in tail, uplink, on task-level"] == 66.2
    assert len(published) == 18


@pytest.mark.parametrize("whole", [0, 1])
def test_a_study_that_was_stopped_says_so_and_claims_nothing(
    whole: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = FIGURES["megastation-8"]
    few = dataclasses.replace(figure, cases=figure.cases[:2])
    monkeypatch.setitem(FIGURES, "megastation-8", few)
    collect = command._collect

    def collect_and_stop(
        figure: Figure, frames: int, console: Console, interrupts: Interrupts
    ) -> list[Measured]:
        found = collect(figure, frames, console, interrupts)
        interrupts.count = 1
        return found[:whole]

    monkeypatch.setattr(command, "_collect", collect_and_stop)
    with pytest.raises(KeyboardInterrupt):
        study("megastation-8", Choice(frames=40), tmp_path, as_json=False)
    out = capsys.readouterr().out
    if whole == 0:
        assert "nothing is written" in out
        assert not (tmp_path / "study.json").exists()
        return
    told = json.loads((tmp_path / "study.json").read_text())
    assert told["stopped"] is True
    assert told["beside_published"] == []
    assert "points are missing" in out
