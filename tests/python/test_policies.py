"""Policies beside each other: pace, groups, ratios, and the command on this machine's cores."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import product

import pytest
from carillon import calibration, cells, cli, policies, runfolder, virtual
from carillon.calibration import Calibration
from carillon.machine import Machine
from carillon.models.allocation import STAGES
from carillon.policies import POLICIES, Comparison, Measured, PoliciesError, ratio
from hang import HANG_S
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

TINY = cells.load("laptop-8x2").cell


@pytest.fixture(scope="module")
def measured() -> Calibration:
    """Of this machine, whatever else it does."""
    return calibration.measure(TINY, 0.1)


CORES = len(os.sched_getaffinity(0))


@given(
    busy=st.fixed_dictionaries({op: st.floats(0.01, 10) for ops in STAGES.values() for op in ops}),
    workers=st.integers(1, 24),
)
@settings(deadline=None, max_examples=30)
def test_groups_have_all_cores_and_no_others_share_them_more_evenly(
    busy: dict[str, float], workers: int
) -> None:
    sizes = policies.groups(busy, workers)
    assert sum(sizes.values()) == workers
    assert sizes["fft"] > 0
    loads = [sum(busy[op] for op in ops) for ops in STAGES.values()]

    def worst(way: tuple[int, ...]) -> float:
        """Load of a core in the most loaded group; a 0 shares the cores of the stage before."""
        groups: list[list[float]] = []
        for load, cores in zip(loads, way, strict=True):
            if cores:
                groups.append([load, cores])
            else:
                groups[-1][0] += load
        return max(load / cores for load, cores in groups)

    if workers <= len(loads):
        ways = (way for way in product((0, 1), repeat=len(loads)) if sum(way) == workers)
        best = min(worst(way) for way in ways if way[0])
        assert worst(tuple(sizes.values())) == pytest.approx(best)
    else:
        assert min(sizes.values()) >= 1
        for more, less in product(STAGES, repeat=2):  # no core would be of more use elsewhere
            if sizes[less] > 1 and more != less:
                moved = sizes | {more: sizes[more] + 1, less: sizes[less] - 1}
                assert worst(tuple(moved.values())) >= worst(tuple(sizes.values())) - 1e-9


def test_stretched_air_changes_times_and_nothing_else() -> None:
    for name in ("laptop-8x2", "thesis-16x8"):
        cell = cells.load(name).cell
        usual, slow = (runfolder.describe(c) for c in (cell, policies.stretched(cell, 3)))
        assert slow["frame_ms"] == pytest.approx(3 * usual["frame_ms"], rel=1e-3)
        for figure in ("tiles", "uplink", "downlink"):
            if figure == "tiles":
                assert slow[figure] == usual[figure]
            elif usual[figure]:
                assert slow[figure]["payload_bits"] == usual[figure]["payload_bits"]


def test_the_pace_gives_the_load_that_is_asked_for() -> None:
    frame_ms = runfolder.describe(TINY)["frame_ms"]
    light, heavy = {"Decode": 0.5 * frame_ms}, {"Decode": 5 * frame_ms}
    assert policies.pace_of(TINY, light, 2, None) == policies.Pace(1.0, 0.25)
    assert policies.pace_of(TINY, light, 1, 0.8).load == pytest.approx(0.8)
    slowed = policies.pace_of(TINY, heavy, 2, None)
    assert slowed.load == pytest.approx(policies.MOST_LOAD)
    assert slowed.stretch == pytest.approx(2.5 / policies.MOST_LOAD)
    with pytest.raises(PoliciesError, match=r"laptop-8x2 would keep 50 times as many cores busy"):
        policies.pace_of(TINY, {"Decode": 100 * frame_ms}, 2, None)


def test_ratios_are_of_the_same_turn() -> None:
    comparison = Comparison(TINY, 1, None, 0.1)
    for _ in comparison.measure():
        pass
    one = comparison.result()["earliest-frame"]

    def with_turns(*values: float | None) -> Measured:
        return replace(one, turns=[{"core_ms": value} for value in values])

    found = ratio(with_turns(1, 8, 3, None), with_turns(2, 4, 3, 1), "core_ms")
    assert found == pytest.approx((1.0, 0.75, 1.5))
    assert ratio(with_turns(None), with_turns(1), "core_ms") is None


@pytest.mark.realtime
@pytest.mark.parametrize("load", [None, 0.5])
def test_every_policy_is_measured_and_decodes_everything(load: float | None) -> None:
    comparison = Comparison(TINY, CORES, load, 1.0)
    turns = list(comparison.measure())
    found = comparison.result()
    assert set(found) == set(POLICIES if CORES > 1 else POLICIES[::2])
    assert {turns.count(policy) for policy in found} == {comparison.turns}
    for one in found.values():
        assert one.blocks_failed == 0
        assert one.frames > 0
        assert 0 <= one.waiting < 1
        assert all(time > 0 for time in one.core_ms_per_ms.values())
    told = json.loads(json.dumps(policies.about(comparison, found), allow_nan=False))
    assert set(told["over_earliest_frame"]) == set(found) - {"earliest-frame"}


def test_virtual_time_has_a_latency_only_where_the_cores_keep_up(measured: Calibration) -> None:
    slow = virtual.Costs(measured, Machine.of_speed(64, 0.01))  # of cores a hundred times slower
    rows = policies.in_virtual_time(TINY, slow, [1, 64])
    assert [(row["cores"], row["policy"]) for row in rows] == list(product([1, 64], POLICIES))
    assert all(row["uplink_ms"] is None for row in rows[:3])
    usual = policies.in_virtual_time(TINY, virtual.Costs(measured, Machine.of_speed(64)), [8])
    assert all(row["uplink_ms"] > 0 for row in usual)


def test_more_workers_than_cores_are_refused() -> None:
    with pytest.raises(PoliciesError, match="want a core each"):
        Comparison(TINY, CORES + 1, None, 1.0)


# --- The command ----------------------------------------------------------------------------------


@pytest.mark.realtime
def test_the_command_tells_people_and_machines() -> None:
    words = ["bench", "policies", "laptop-8x2", "--seconds", "0.3"]
    shown = CliRunner().invoke(cli.app, words)
    assert shown.exit_code == 0, shown.output
    for word in ("earliest-frame", "static over earliest-frame", "its own pace", "waiting"):
        assert word in shown.output
    done = CliRunner().invoke(cli.app, [*words, "--json", "--load", "0.4"])
    told = json.loads(done.stdout)
    assert told["load"] == pytest.approx(0.4)
    assert told["policies"]["static"]["frames"] > 0
    assert told["virtual"] == []


@pytest.mark.realtime
def test_ctrl_c_tells_what_was_measured() -> None:
    words = ["bench", "policies", "laptop-8x2", "--seconds", "300"]
    with subprocess.Popen(
        [sys.executable, "-m", "carillon", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdout is not None
        while "measured in turns" not in run.stdout.readline():
            assert run.poll() is None
        time.sleep(3)  # some turns of each
        run.send_signal(signal.SIGINT)
        out, errors = run.communicate(timeout=HANG_S)
    assert run.returncode == 130
    assert errors == "carillon: stopped\n"
    assert "static over earliest-frame" in out
