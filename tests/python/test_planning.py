"""Plans, from costs that we chose: the schedule is the engine's own."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from carillon import calibration, cells, cli, planning
from carillon.calibration import Calibration, Size, Stage
from carillon.planning import Costs
from typer.testing import CliRunner

LAN = cells.load("lan-8x4").cell


def stage(claim: float, chunk: float, slow: float = 1.5) -> Stage:
    sizes = tuple(Size(n, 1000, claim + n * chunk, slow * (claim + n * chunk)) for n in (1, 4, 16))
    return Stage(claim, chunk, (claim, claim), (chunk, chunk), 0.0, sizes)


def costs(scale: float = 1.0) -> Calibration:
    """About those of an AVX2 core, times `scale`."""
    ns = {
        "PilotFft": (100, 4200),
        "UplinkFft": (400, 2100),
        "ZeroForce": (100, 3300),
        "EqualizeDemodulate": (370, 210),
        "Decode": (0, 27000),
        "Encode": (0, 1200),
        "Modulate": (0, 2200),
        "Precode": (0, 120),
        "Ifft": (0, 2400),
    }
    return Calibration(
        cell=LAN.name,
        key=calibration.key_of(LAN),
        stages={op: stage(claim * scale, chunk * scale) for op, (claim, chunk) in ns.items()},
        frames=1,
        machine={},
        build="",
        measured="",
    )


def usual(scale: float = 1.0) -> Costs:
    return Costs.of(costs(scale), quantile="p50", speed=1.0)


def test_more_cores_leave_more_time() -> None:
    slack = [planning.simulate(LAN, usual(4), n).slack_ms for n in (1, 2, 4, 8)]
    assert None not in slack
    assert slack == sorted(slack, key=lambda ms: ms or 0.0)
    assert slack[-1] != slack[0]


def test_the_cores_needed_are_the_first_that_fit() -> None:
    points = planning.cores_needed(LAN, usual(5), lambda point: None)
    assert [p.cores for p in points] == list(range(1, len(points) + 1))
    assert points[-1].fits
    assert len(points) > 1
    assert not any(p.fits for p in points[:-1])


def test_core_groups_need_more_cores_and_are_planned_too() -> None:
    any_of_two = LAN.runtime.groups.model_copy(update={"fft": 2})
    runtime = LAN.runtime.model_copy(
        update={"policy": "core-groups", "groups": any_of_two, "workers": 2}
    )
    grouped = LAN.model_copy(update={"runtime": runtime})
    needed = [
        planning.cores_needed(cell, usual(5), lambda point: None)[-1] for cell in (LAN, grouped)
    ]
    assert all(point.fits for point in needed)
    assert needed[1].cores > needed[0].cores
    alone = planning.plan(grouped, costs(), 1, 1.0)
    assert not alone.fits
    assert alone.bottleneck is None
    json.dumps(alone.about(), allow_nan=False)


def test_a_faster_core_does_the_work_of_a_slower_one_and_more() -> None:
    slow = planning.simulate(LAN, usual(4), 2)
    fast = planning.simulate(LAN, Costs.of(costs(4), quantile="p50", speed=2.0), 2)
    assert fast.load == pytest.approx(slow.load / 2, rel=0.05)


def test_slow_claims_are_as_much_slower_as_was_measured() -> None:
    p50, p99 = (Costs.of(costs(), quantile=q, speed=1.0) for q in ("p50", "p99"))
    for one, other in zip(p50.chunk_ns, p99.chunk_ns, strict=True):
        assert other == pytest.approx(1.5 * one)


def test_job_sizes_are_the_best_of_all_that_could_be_tried() -> None:
    """Claims cost much here: the search must find that they should be few."""
    dear = replace(costs(), stages={op: stage(20_000, 500) for op in costs().stages})
    table = Costs.of(dear, quantile="p50", speed=1.0)
    grain, best = planning.job_sizes(LAN, table, 2)
    for stage_name in grain:
        for size in (1, 2, 4, 8, 16, 32, 64):
            other = planning.simulate(
                planning.with_grain(LAN, {**grain, stage_name: size}), table, 2
            )
            assert best.latency_ms <= other.latency_ms * 1.005
    every_one = planning.simulate(planning.with_grain(LAN, dict.fromkeys(grain, 1)), table, 2)
    assert not every_one.keeps_up or best.latency_ms < 0.8 * every_one.latency_ms


def test_a_plan_that_does_not_fit_says_what_would_do() -> None:
    found = planning.plan(LAN, costs(8), 2, 1.0)
    assert not found.fits
    assert found.cores_needed is not None
    assert found.cores_needed > 2
    assert f"{found.cores_needed} cores like these" in found.advice
    bigger = planning.plan(LAN, costs(8), found.cores_needed, 1.0)
    assert bigger.fits


def test_the_command_keeps_a_plan_and_tells_scripts_whether_it_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    words = ["plan", "laptop-8x2", "--seconds", "0.1", "--folder", str(tmp_path / "plan")]
    result = CliRunner().invoke(cli.app, [*words, "--cores", "4", "--json"])
    assert result.exit_code == 0, result.output
    about = json.loads(result.stdout)
    assert about["fits"]
    assert about["cores"] == 4
    assert json.loads((tmp_path / "plan" / "plan.json").read_text()) == about
    assert (tmp_path / "plan" / "plan.png").stat().st_size > 10_000
    # Kept: the second time nothing is measured. A core a hundred times slower is too slow.
    result = CliRunner().invoke(cli.app, [*words, "--cores", "1", "--speed", "0.01"])
    assert result.exit_code == 1, result.output
    assert "does not fit on 1 core of 0.01 times this one's speed" in result.output
