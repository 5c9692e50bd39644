"""Plans held against this machine, and cells that would fit it instead. What is measured here is
whatever the machine gives while it is tested; that it is near what was foretold is for
`carillon validate` on a quiet one."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from carillon import calibration, cells, cli, core, memory_run, search, validation, virtual
from carillon.calibration import Calibration
from carillon.commands import validate
from carillon.config import Cell, ConfigError
from carillon.config.load import parse_cell
from carillon.job_sizes import Sweep
from carillon.machine import Machine
from carillon.memory_run import Measured
from carillon.models.allocation import STAGES
from carillon.plots import style
from carillon.plots import validation as picture
from carillon.validation import Grains, Prediction, Proof
from carillon.virtual import Costs
from test_planning import LAN, costs
from typer.testing import CliRunner

TINY = cells.load("laptop-8x2").cell


def test_frames_by_themselves_take_no_longer_than_their_work_in_virtual_time() -> None:
    sized = memory_run.with_grain(LAN, {"fft": 4, "demodulate": 16, "precode": 16, "ifft": 4})
    foretold, two = (
        validation.virtual_frames(sized, Costs(costs(), Machine.of_speed(n)), n, "at once")
        for n in (1, 2)
    )
    assert foretold.completed
    assert foretold.uplink.max() == pytest.approx(foretold.uplink.min(), rel=0.05)
    assert two.whole[0] < foretold.whole[0] < 2.1 * two.whole[0]


def test_a_frame_by_itself_has_room_for_its_downlink() -> None:
    alone = memory_run.at_once(LAN)
    assert alone.schedule.replace("G", "") == LAN.schedule.replace("G", "")
    assert len(alone.schedule) % LAN.symbols_per_slot == 0
    assert memory_run.at_once(alone).deadlines.uplink_budget_ms == 1000
    assert len(memory_run.at_once(alone).schedule) <= 140


def test_measured_frames_have_their_times_in_order() -> None:
    for at_once in (True, False):
        run = memory_run.MemoryRun(TINY, 1, at_once=at_once)
        got = run.frames(memory_run.with_grain(TINY, {"fft": 4, "decode": 1}), 50)
        assert got.busy.shape == (50, 11)
        assert got.claims > got.instructions / 2
        done = got.uplink == got.uplink
        assert done.sum() > 10
        assert (got.uplink[done] <= got.whole[done]).all()
        assert (got.busy.sum(axis=1)[done] > 0).all()


def test_the_median_error_is_of_both_ways_and_of_one_pace() -> None:
    def one(pace: validation.Pace, measure: validation.Measure, foretold: float) -> Prediction:
        return Prediction("cell", 1, pace, measure, foretold, 1.0, 1.0, 1.0, 100)

    found = [
        one("air", "D_UL", 1.02),
        one("air", "D_DL", 0.92),
        one("air", "D_DL", 1.3),
        one("air", "D_UL - T", 9.0),
        one("at once", "D_UL", 2.0),
    ]
    assert validation.median_error(found, "air") == pytest.approx(0.08)
    assert validation.median_error(found, "at once") == pytest.approx(1.0)
    assert validation.median_error([], "air") is None


def test_the_command_measures_draws_and_tells(tmp_path: Path) -> None:
    words = ["validate", "laptop-8x2", "--seconds", "0.1", "--folder", str(tmp_path), "--json"]
    result = CliRunner().invoke(cli.app, words)
    assert result.exit_code in (0, 1), result.output
    about = json.loads(result.stdout)
    assert json.loads((tmp_path / "validation.json").read_text()) == about
    assert result.exit_code == (0 if about["latencies_good"] and about["job_sizes_good"] else 1)
    for one in about["latencies"]:
        assert one["predicted_ms"] / one["measured_ms"] - 1 == pytest.approx(one["error"])
        assert one["low_ms"] <= one["measured_ms"] <= one["high_ms"]
    assert {one["measure"] for one in about["latencies"]} == {"D_UL", "D_DL", "D_UL - T"}
    assert {one["pace"] for one in about["job_sizes"]} == {"air", "at once"}
    for one in about["job_sizes"]:
        assert one["sweep"]["exhaustive"]
        assert 0 <= one["excess"] <= 0.05
    for name in ("latencies.png", "job-sizes.png"):
        assert (tmp_path / name).stat().st_size > 10_000


def test_a_cell_that_fails_is_named_and_the_others_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = Prediction("laptop-8x2", 1, "air", "D_UL", 1.02, 1.0, 0.9, 1.1, 100)
    proof = Proof("laptop-8x2", 1, 0.99, 0.7, None, 100, 3, 1, 1.02)

    def predictions(cell: Cell, *_: object) -> tuple[list[Prediction], list[Proof], None]:
        if cell.name == "lan-8x4":
            raise calibration.CalibrationError("no claim of precode was measured")
        return [kept], [proof], None

    monkeypatch.setattr(validation, "predictions", predictions)
    monkeypatch.setattr(validation, "grains", lambda *_: [])
    words = ["laptop-8x2", "lan-8x4", "laptop-8x2"]
    with pytest.raises(validate.ValidationError, match="lan-8x4: no claim of precode"):
        validate.validate(words, 1, 0.1, tmp_path, as_json=True)
    about = json.loads((tmp_path / "validation.json").read_text())
    assert json.loads(capsys.readouterr().out) == about
    assert [one["cell"] for one in about["latencies"]] == ["laptop-8x2", "laptop-8x2"]
    assert [one["unexplained"] for one in about["proven"]] == [1, 1]
    assert about["failed"] == {"lan-8x4": "no claim of precode was measured"}


# --- Search ---------------------------------------------------------------------------------------


def test_every_variant_is_a_cell_with_what_was_asked_for() -> None:
    found = 0
    for users, subcarriers, fft_size, modulation in search.candidates(LAN):
        cell = search.variant(LAN, users, subcarriers, fft_size, modulation)
        if cell is None:
            continue
        found += 1
        assert cell.users == users <= cell.antennas
        assert cell.numerology.subcarriers == subcarriers
        assert cell.uplink.modulation == cell.downlink.modulation == modulation
        assert cell.pilots.comb * cell.schedule.count("P") >= users
    assert found >= 4 * 4 * 3


def test_what_is_larger_than_what_does_not_fit_is_not_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Costs that grow with users, bandwidth and bits alike: what fits is a corner of the grid."""
    tried: list[tuple[int, int, str]] = []

    def scaled(cell: Cell, seconds: float, stopped: object) -> calibration.Calibration:
        tried.append((cell.users, cell.numerology.subcarriers, cell.uplink.modulation))
        bits = 1 + search.MODULATIONS.index(cell.uplink.modulation)
        return costs(cell.users * cell.numerology.subcarriers / 600 * bits / 4)

    monkeypatch.setattr(calibration, "measure", scaled)
    found = search.search(LAN, lambda known: Machine.of_speed(2), 1.0).tried
    fitting = [one for one in found if one.fits]
    failing = [one for one in found if not one.fits]
    assert fitting
    assert failing
    assert len(tried) == len(found) < len(list(search.candidates(LAN)))
    for one in failing:
        larger = [
            other
            for other in found
            if other is not one
            and search._exceeds((other.users, other.subcarriers, other.modulation), one)
        ]
        assert larger == []


def test_a_cell_whose_users_differ_is_not_varied() -> None:
    loaded = parse_cell("uplink: {mcs_table: 64qam, mcs_index: 5}", "mine.yaml")
    with pytest.raises(ConfigError, match=r"mine.yaml:1: uplink.mcs_table gives the modulation"):
        search.check(loaded)


def test_the_search_tells_scripts_whether_anything_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["plan", "lan-8x4", "--search", "--cores", "2", "--folder", str(tmp_path)]
    monkeypatch.setattr(search, "BANDWIDTHS", ((300, 512),))
    monkeypatch.setattr(calibration, "measure", lambda cell, seconds, stopped: costs())
    result = CliRunner().invoke(cli.app, words)
    assert result.exit_code == 0, result.output
    assert "256qam" in result.output
    about = json.loads((tmp_path / "search.json").read_text())
    assert about["best"]["fits"]
    assert about["best"]["rate_mbps"] == max(
        one["rate_mbps"] for one in about["tried"] if one["fits"]
    )
    monkeypatch.setattr(calibration, "measure", lambda cell, seconds, stopped: costs(1000))
    result = CliRunner().invoke(cli.app, words)
    assert result.exit_code == 3, result.output
    assert "no such cell fits" in result.output
    assert json.loads((tmp_path / "search.json").read_text())["best"] is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("within", [True, False])
def test_a_search_that_is_stopped_tells_what_it_found_by_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, within: bool
) -> None:
    """Within the first round of a calibration, which then ends at once, or later."""
    begun: list[Cell] = []

    def measure(cell: Cell, seconds: float, stopped: Callable[[], bool]) -> Calibration:
        begun.append(cell)
        if len(begun) == 4:
            os.kill(os.getpid(), number)
            assert stopped()
            if within:
                raise KeyboardInterrupt
        return costs()

    monkeypatch.setattr(calibration, "measure", measure)
    words = ["plan", "lan-8x4", "--search", "--cores", "2", "--folder", str(tmp_path)]
    result = CliRunner().invoke(cli.app, words)
    assert result.exit_code == 130, result.output
    assert len(begun) == 4
    about = json.loads((tmp_path / "search.json").read_text())
    assert (about["looked_at"], about["combinations"], len(about["tried"])) == (3, 64, 3)
    assert about["best"]["fits"]
    assert "stopped after 3 of 64 combinations\n" in result.output
    assert f"3 cells tried: {tmp_path / 'search.json'}" in result.output.replace("\n", "")


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_the_legend_of_job_sizes_lies_within_the_picture(count: int) -> None:
    alone = {stage: {1: 1.0, 2: 1.1} for stage in STAGES}
    sweep = Sweep(2, {}, 1.1, {}, 1.0, 2, True, alone)
    with style.applied():
        figure = picture._job_sizes([Grains(f"cell {n}", "air", sweep, None) for n in range(count)])
        figure.draw_without_rendering()
        (legend,) = figure.legends
        box, whole = legend.get_window_extent(), figure.bbox
    assert whole.x0 <= box.x0 < box.x1 <= whole.x1
    assert whole.y0 <= box.y0 < box.y1 <= whole.y1


def measured(latency_ms: float, **lost: tuple[list[float], list[float]]) -> Measured:
    """Three frames of LAN, 10 ms apart, of which the second has this D_UL."""
    none = np.empty(0)
    starts = np.array([0.0, 10.0, 20.0])
    gaps = {
        name: tuple(np.array(column) for column in lost.get(name, ([], [])))
        for name in ("idle", "bringing")
    }
    return Measured(
        uplink=np.array([0.1, latency_ms, np.nan]),
        downlink=np.array([0.01, 0.01, np.nan]),
        whole=np.array([0.2, latency_ms + 0.1, np.nan]),
        completed=False,
        busy=np.zeros((3, 11)),
        instructions=1,
        claims=1.0,
        starts=starts,
        known_from=-np.inf,
        traced=lost.get("traced", (none, none, none.astype(int), none)),  # type: ignore[arg-type]
        **gaps,  # type: ignore[arg-type]
    )


def test_a_frame_above_its_bound_is_explained_by_as_much_lost_core_time() -> None:
    given = Costs(costs(), Machine.of_speed(2))
    bound = virtual.bound(LAN, given, 2)
    assert bound.uplink_ms is not None
    above, end = bound.uplink_ms + 0.2, 10 + bound.uplink_ms

    def proof(latency_ms: float, **lost: Any) -> tuple[int, int, int]:
        one = validation.prove(LAN, given, 2, measured(latency_ms, **lost))
        assert (one.uplink_ms, one.quantile) == (bound.uplink_ms, bound.quantile)
        return one.frames, one.above, one.unexplained

    assert proof(bound.uplink_ms - 0.01) == (2, 0, 0)
    assert proof(above) == (2, 1, 1)
    assert proof(above, idle=([end - 1], [0.21])) == (2, 1, 0)
    assert proof(above, idle=([end - 1], [0.19])) == (2, 1, 1)
    assert proof(above, idle=([end - 1], [0.1]), bringing=([end - 0.5], [0.11])) == (2, 1, 0)
    assert proof(above, idle=([1.0, 25.0], [5.0, 5.0])) == (2, 1, 1)  # long before, and after
    # A claim that took longer by 0.25 ms than any is assumed to.
    table = given.on(2).slower(bound.quantile)
    decode = core.opcodes().index("Decode")
    usual = (table.claim_ns[decode] + 3 * table.chunk_ns[decode]) / 1e6
    slow = (np.array([end - 1]), np.array([usual + 0.25]), np.array([decode]), np.array([3]))
    assert proof(above, traced=slow) == (2, 1, 0)
    usual_one = (slow[0], np.array([usual]), slow[2], slow[3])
    assert proof(above, traced=usual_one) == (2, 1, 1)
