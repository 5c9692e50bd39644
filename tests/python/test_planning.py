"""Plans, from costs that we chose: the schedule is the engine's own."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from carillon import calibration, cells, cli, core, job_sizes, planning, virtual
from carillon.calibration import Calibration, Scheduling, Size, Stage
from carillon.commands import plan as plan_command
from carillon.commands.plan import Choice
from carillon.commands.plan import plan as run_plan
from carillon.config import Cell, ConfigError
from carillon.machine import Machine, MachineFile
from carillon.memory_run import with_grain
from carillon.plots import plan as plan_plot
from carillon.plots import style
from carillon.virtual import Costs, Expected
from matplotlib.figure import Figure
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
        decode={},
        scheduling=Scheduling(0.0, 0.0),
        sharing={},
        sharing_cores=1,
        frames=100,
        machine={},
        build="",
        measured="",
    )


def usual(scale: float = 1.0) -> Costs:
    return Costs(costs(scale), Machine.of_speed(1))


def test_more_cores_leave_more_time() -> None:
    slack = [virtual.simulate(LAN, usual(4), n).slack_ms for n in (1, 2, 4, 8)]
    assert None not in slack
    assert slack == sorted(slack, key=lambda ms: ms or 0.0)
    assert slack[-1] != slack[0]


def test_the_cores_needed_are_the_first_that_fit() -> None:
    points = virtual.cores_needed(LAN, usual(5), lambda point: None)
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
        virtual.cores_needed(cell, usual(5), lambda point: None)[-1] for cell in (LAN, grouped)
    ]
    assert all(point.fits for point in needed)
    assert needed[1].cores > needed[0].cores
    alone = planning.plan(grouped, costs(), Machine.of_speed(1))
    assert not alone.fits
    assert alone.point.load > 0
    json.dumps(alone.about(), allow_nan=False)


def test_a_faster_core_does_the_work_of_a_slower_one_and_more() -> None:
    slow = virtual.simulate(LAN, usual(4), 2)
    fast = virtual.simulate(LAN, Costs(costs(4), Machine.of_speed(2, 2.0)), 2)
    assert fast.load == pytest.approx(slow.load / 2, rel=0.1)  # and has fewer claims


def with_stalls(share: float) -> Calibration:
    """Costs of which a share of the decoder's claims takes a hundred times as long."""
    known = costs()
    spread = ((0.0, 1.0), (1 - share, 1.0), (1 - share + 1e-6, 100.0), (1.0, 100.0))
    stalling = replace(known.stages["Decode"], spread=spread)
    return replace(known, stages={**known.stages, "Decode": stalling})


def test_a_cell_of_which_some_frames_are_late_does_not_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steady = planning.plan(LAN, costs(), Machine.of_speed(2))
    assert (steady.fits, steady.expected.failed) == (True, 0)
    file = tmp_path / "stalls.json"
    calibration.save(with_stalls(0.02), file)
    choice = Choice(cores=2, calibration=file)
    assert not run_plan("lan-8x4", choice, tmp_path / "json", as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert not told["fits"]
    assert told["point"]["slack_ms"] > 0  # with usual claims
    late = told["expected"]["failed"]
    assert 0 < late < told["expected"]["frames"] == 100
    assert not run_plan("lan-8x4", choice, tmp_path / "words", as_json=False)
    words = capsys.readouterr().out
    assert words.startswith(
        "lan-8x4 does not fit on 2 cores: by usual costs 1 core would be enough"
    )
    assert f"single slow claims of this calibration make {late} of 100 frames late" in words
    assert "\nBy usual costs it needs 1 core for the baseband; " in words
    more = told["more_cores"]
    assert more["cores"] == 4
    assert 2 * more["failed"] >= late
    assert f"; more cores do not help: on 4, {more['failed']} are; " in words
    assert "4 cores like these" not in words


@pytest.mark.parametrize(
    ("failed", "told"),
    [
        (0, ", and none on 4 cores; "),
        (1, ", and 1 on 4 cores; "),
        (8, "; more cores do not help: on 4, 8 are; "),
    ],
)
def test_more_cores_are_advised_where_slow_claims_are_in_time_on_them(
    monkeypatch: pytest.MonkeyPatch, failed: int, told: str
) -> None:
    def varying(cell: Cell, table: Costs, cores: int, *step: object) -> Expected:
        known = virtual.expected(cell, table, cores)
        return replace(known, failed=10 if cores == 2 else failed)

    monkeypatch.setattr(planning, "expected", varying)
    found = planning.plan(LAN, costs(), Machine.of_speed(2))
    assert found.more_cores == planning.MoreCores(4, failed)
    assert told in plan_command.verdict(found)
    assert ("4 cores like these" in found.advice) == (failed == 0)


def test_the_picture_says_by_which_costs_tasks_are_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(style, "save", lambda figure, file: drawn.append(figure))
    found = planning.plan(LAN, with_stalls(0.02), Machine.of_speed(2))
    plan_plot.draw(tmp_path / "plan.png", found, 1.0, 1.0)
    legend = drawn[0].axes[0].get_legend()
    assert legend is not None
    assert "every task in time by usual costs" in legend.get_title().get_text()


def test_slow_claims_are_as_much_slower_as_was_measured() -> None:
    p50, p99 = (Costs(costs(), Machine.of_speed(1), q).on(1) for q in ("p50", "p99"))
    for one, other in zip(p50.chunk_ns, p99.chunk_ns, strict=True):
        assert other == pytest.approx(1.5 * one)


def test_job_sizes_are_the_best_of_all_that_could_be_tried() -> None:
    """Claims cost much here: the search must find that they should be few."""
    dear = replace(costs(), stages={op: stage(20_000, 500) for op in costs().stages})
    table = Costs(dear, Machine.of_speed(2))
    grain, best = job_sizes.choose(LAN, table, 2)
    for stage_name in grain:
        for size in (1, 2, 4, 8, 16, 32, 64):
            other = virtual.simulate(with_grain(LAN, {**grain, stage_name: size}), table, 2)
            assert best.latency_ms <= other.latency_ms * 1.005
    every_one = virtual.simulate(with_grain(LAN, dict.fromkeys(grain, 1)), table, 2)
    assert not every_one.keeps_up or best.latency_ms < 0.8 * every_one.latency_ms


def test_a_plan_that_does_not_fit_says_what_would_do() -> None:
    found = planning.plan(LAN, costs(8), Machine.of_speed(2))
    assert not found.fits
    assert found.cores_needed is not None
    assert found.cores_needed > 2
    assert f"{found.cores_needed} cores like these" in found.advice
    bigger = planning.plan(LAN, costs(8), Machine.of_speed(found.cores_needed))
    assert bigger.fits


def test_what_a_cell_asks_for_is_known_where_it_cannot_have_it() -> None:
    """Of twice the cores half the load; above 1 where they do not keep up."""
    one, two = (virtual.simulate(LAN, usual(40), n) for n in (1, 2))
    assert not one.keeps_up
    assert one.load > two.load > 1
    assert one.load == pytest.approx(2 * two.load, rel=0.02)
    assert one.bottleneck == "EqualizeDemodulate"
    sized = with_grain(LAN, dict.fromkeys(job_sizes.sizes(LAN, 2), 4))
    busy = virtual.run_virtually(sized, usual().on(2), 2, frames=24)
    asked = virtual.demand(sized, usual().on(2), 2)
    assert asked.keys() >= busy["stages"].keys()
    for op, ms in busy["stages"].items():
        assert asked[op] == pytest.approx(ms / 24, rel=0.02), op


def test_every_change_that_is_advised_helps() -> None:
    for scale, cores in ((8, 2), (2.2, 1), (1.6, 1), (3.0, 2)):
        known, machine = costs(scale), Machine.of_speed(cores)
        found = planning.plan(LAN, known, machine)
        sized = with_grain(LAN, found.job_sizes)
        for line in found.advice:
            quantile: virtual.Quantile = "p99" if found.fits else "p50"
            for change in line.rpartition(": ")[2].split(" or "):
                name, _, number = change.rpartition(" ")
                if name.endswith("uplink_budget_ms"):
                    deadlines = sized.deadlines.model_copy(
                        update={"uplink_budget_ms": float(number)}
                    )
                    changed = sized.model_copy(update={"deadlines": deadlines})
                    assert virtual.simulate(changed, Costs(known, machine, quantile), cores).fits
                elif change.endswith("more"):
                    more = cores + int(change.split()[0])
                    assert virtual.simulate(sized, Costs(known, machine, quantile), more).fits


def test_percentiles_rest_on_as_many_frames_as_were_calibrated() -> None:
    few = virtual.expected(LAN, usual(), 1)
    assert few.frames == 100
    assert few.uplink.p50 is not None
    assert few.uplink.p999 is None
    known = costs()
    rare = {
        op: replace(one, spread=((0.0, 1.0), (0.999, 1.0), (0.9999, 4.0), (1.0, 4.0)))
        for op, one in known.stages.items()
    }
    many = replace(known, stages=rare, frames=20_000)
    expected = virtual.expected(LAN, Costs(many, Machine.of_speed(1)), 1)
    assert expected.uplink.samples == 20_000
    assert expected.uplink.p9999 is not None
    assert expected.uplink.p50 is not None
    usually = virtual.simulate(LAN, usual(), 1).uplink_ms
    assert expected.uplink.p50 == pytest.approx(usually, rel=0.01)
    assert expected.uplink.p9999 > 1.02 * expected.uplink.p50


def test_sharing_and_packs_count_by_the_number_of_cores() -> None:
    known = replace(
        costs(), sharing={"Precode": 1.0}, decode={1: stage(0, 27000), 4: stage(0, 9000)}
    )
    place = {op: core.opcodes().index(op) for op in ("Precode", "Decode", "Ifft")}
    one, two, four = (Costs(known, Machine.of_speed(1)).on(n).chunk_ns for n in (1, 2, 4))
    assert two[place["Precode"]] == pytest.approx(1.5 * one[place["Precode"]])
    assert four[place["Precode"]] == pytest.approx(1.75 * one[place["Precode"]])
    assert four[place["Ifft"]] == one[place["Ifft"]]
    assert (two[place["Decode"]], four[place["Decode"]]) == (27000, 9000)


def test_a_described_machine_is_as_fast_as_its_file_says(tmp_path: Path) -> None:
    file = tmp_path / "server.yaml"
    file.write_text("cores: 12\nisa: avx512\nclock_ghz: 4\nspeed: 1.25\n")
    known = replace(costs(), machine={"isa": "avx2", "clock_ghz": 2.0})
    machine = MachineFile.load(file).machine(known)
    assert (machine.name, machine.cores) == ("server", 12)
    assert machine.factor("PilotFft") == pytest.approx(0.745 / 2 / 1.25)
    assert machine.scheduling == pytest.approx(1 / 2 / 1.25)
    assert len(machine.basis) == 3
    back = MachineFile.load(file).machine(
        replace(known, machine={"isa": "avx512", "clock_ghz": 4.0})
    )
    assert back.factor("Ifft") == pytest.approx(1 / 1.25)
    narrower = tmp_path / "narrower.yaml"
    narrower.write_text("isa: avx2\n")
    wide = replace(known, machine={"isa": "avx512"})
    assert MachineFile.load(narrower).machine(wide).factor("PilotFft") == pytest.approx(1 / 0.745)


@pytest.mark.parametrize(
    ("text", "about", "message"),
    [
        (
            "cores: 0",
            {},
            r"server\.yaml:1: cores is 0 but must be a whole number between 1 and 128",
        ),
        ("\nclock: 3", {}, r"server\.yaml:2: clock is not a key; did you mean clock_ghz"),
        ("isa: avx512", {"isa": "avx512fp16"}, "isa is 'avx512', and nothing is known"),
        ("clock_ghz: 3", {}, "clock_ghz cannot be compared"),
        ("clock_ghz: 1.0e-9", {"clock_ghz": 2.0}, "clock_ghz is 1e-09 but must be 0 or 0.1 to 10"),
    ],
)
def test_a_machine_that_cannot_be_is_told_by_its_line(
    tmp_path: Path, text: str, about: dict[str, object], message: str
) -> None:
    file = tmp_path / "server.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=message):
        MachineFile.load(file).machine(replace(costs(), machine=about))


def test_the_command_keeps_a_plan_and_tells_scripts_whether_it_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    measure = calibration.measure

    def steady(*words: Any) -> Calibration:
        """Without the claims that a busy machine held up."""
        found = measure(*words)
        stages = {op: replace(one, spread=()) for op, one in found.stages.items()}
        return replace(found, stages=stages, decode={})

    monkeypatch.setattr(calibration, "measure", steady)
    words = ["plan", "laptop-8x2", "--seconds", "0.1", "--folder", str(tmp_path / "plan")]
    result = CliRunner().invoke(cli.app, [*words, "--cores", "4", "--json"])
    assert result.exit_code == 0, result.output
    about = json.loads(result.stdout)
    assert about["fits"]
    assert about["machine"]["cores"] == 4
    assert json.loads((tmp_path / "plan" / "plan.json").read_text()) == about
    assert (tmp_path / "plan" / "plan.png").stat().st_size > 10_000
    # Kept: the second time nothing is measured. A core a hundred times slower is too slow.
    result = CliRunner().invoke(cli.app, [*words, "--cores", "1", "--speed", "0.01"])
    assert result.exit_code == 3, result.output
    assert "does not fit on 1 core of 0.01 times the speed of the calibrated one" in result.output
    # What GPUs would do is not known, and said to be left out.
    file = tmp_path / "with-gpus.yaml"
    told = Path(cells.load("laptop-8x2").file).read_text(encoding="utf-8")
    file.write_text(told + "runtime:\n  gpus: 2\n", encoding="utf-8")
    words[1] = str(file)
    result = CliRunner().invoke(cli.app, [*words, "--cores", "4"])
    assert "runtime.gpus is 2, but this counts on the cores alone" in result.output


@pytest.mark.parametrize("name", ["lan-8x4", "laptop-8x2", "rayleigh-16x4"])
@pytest.mark.parametrize("cores", [1, 2, 4])
def test_a_bound_is_above_every_frame_in_virtual_time(name: str, cores: int) -> None:
    cell = with_grain(
        cells.load(name).cell, {"fft": 2, "zero_force": 4, "demodulate": 8, "precode": 8}
    )
    varying = costs(0.7)
    spread = ((0.0, 0.5), (0.5, 1.0), (0.999, 3.0), (1.0, 3.0))
    stages = {op: replace(stage, spread=spread) for op, stage in varying.stages.items()}
    known = Costs(replace(varying, stages=stages), Machine.of_speed(cores))
    bound = virtual.bound(cell, known, cores)
    seen = virtual.expected(cell, known, cores)
    if bound.uplink_ms is not None:
        assert seen.uplink.max is not None
        assert seen.uplink.max <= bound.uplink_ms
        usual = virtual.simulate(cell, known, cores)
        assert usual.uplink_ms is not None and usual.uplink_ms <= bound.uplink_ms
    if bound.downlink_ms is not None:
        assert seen.downlink.max is not None
        assert seen.downlink.max <= bound.downlink_ms
    assert cores < 4 or bound.uplink_ms is not None


def test_a_bound_needs_cores_that_suffice_and_are_not_kept_idle() -> None:
    assert virtual.bound(LAN, Costs(costs(50), Machine.of_speed(1)), 1).uplink_ms is None
    runtime = LAN.runtime.model_copy(update={"policy": "core-groups"})
    grouped = LAN.model_copy(update={"runtime": runtime})
    assert virtual.bound(grouped, usual(), 4).uplink_ms is None


def test_a_plan_tells_the_bound_beside_what_virtual_time_has_seen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "costs.json"
    calibration.save(costs(0.5), file)
    run_plan("lan-8x4", Choice(cores=2, calibration=file), tmp_path / "out", as_json=False)
    told = json.loads((tmp_path / "out" / "plan.json").read_text())
    assert told["expected"]["uplink"]["max"] <= told["bound"]["uplink_ms"]
    out = " ".join(capsys.readouterr().out.split())
    assert "proven, as long as no claim is slower than its p99.9: D_UL is at most" in out
