"""Marginal costs: the fit against lines that we drew, the file, the command."""

import json
import math
from dataclasses import asdict, replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from carillon import calibration, cells, cli, core
from carillon.calibration import Calibration, CalibrationError
from carillon.commands import calibrate as commands
from carillon.config import Run, plan_text
from carillon.daemon import Interrupts
from carillon.errors import InputError
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

TINY = cells.load("laptop-8x2").cell


def drawn(claim: float, chunk: float, noise: float, sizes: list[int]) -> dict[int, list[object]]:
    random = np.random.default_rng(7)
    return {
        n: [np.rint((claim + n * chunk) * (1 + noise * random.exponential(1.0, 300)))]
        for n in sizes
    }


def test_a_drawn_line_is_found_again() -> None:
    stage = calibration.fit(drawn(5300, 110, 0.0, [1, 2, 4, 8, 16, 64]))  # type: ignore[arg-type]
    assert stage.claim_ns == pytest.approx(5300, rel=1e-3)
    assert stage.chunk_ns == pytest.approx(110, rel=2e-2)
    assert stage.error < 0.01
    assert stage.ns(3) == pytest.approx(5630, rel=1e-3)
    assert stage.ns(1000) == pytest.approx(115300, rel=2e-2)  # beyond what was measured


@given(claim=st.floats(0, 1e5), chunk=st.floats(10, 1e5), noise=st.floats(0, 0.3))
@settings(deadline=None, max_examples=30)
def test_intervals_hold_the_fit_and_nothing_is_negative(
    claim: float, chunk: float, noise: float
) -> None:
    stage = calibration.fit(drawn(claim, chunk, noise, [1, 2, 4, 8]))  # type: ignore[arg-type]
    assert stage.claim_ns >= 0
    assert stage.chunk_ns >= 0
    for value, (low, high) in (
        (stage.claim_ns, stage.claim_interval_ns),
        (stage.chunk_ns, stage.chunk_interval_ns),
    ):
        slack = 0.02 * (claim + 8 * chunk) + 1
        assert low - slack <= value <= high + slack


def test_a_bend_is_told_and_followed() -> None:
    ns = {1: 1000.0, 2: 1100.0, 4: 1300.0, 8: 1700.0, 16: 9000.0}
    stage = calibration.fit({n: [np.full(20, t, np.uint32)] for n, t in ns.items()})
    assert stage.error > 0.2
    assert stage.ns(8) == pytest.approx(1700)
    assert stage.ns(12) == pytest.approx((1700 + 9000) / 2)


@pytest.fixture(scope="module")
def measured() -> Calibration:
    """For as long as it takes to see through what else the machine does."""
    seconds = 0.1
    while True:
        found = calibration.measure(TINY, seconds)
        if all(stage.chunk_ns > 0 for stage in found.stages.values()) or seconds > 3:
            return found
        seconds *= 2


def test_every_stage_of_a_cell_is_timed(measured: Calibration) -> None:
    # Each of its transport blocks is one code block: nothing is left to assemble.
    assert set(measured.stages) == set(core.opcodes()) - {"Load", "Store"}
    for op, stage in measured.stages.items():
        assert stage.chunk_ns > 0, op
        assert [s.chunks for s in stage.sizes] == sorted({s.chunks for s in stage.sizes})
    assert measured.stage("Load", 1) is None
    assert measured.stage("Decode", 1) == measured.decode[1]
    assert 0 < measured.scheduling.instruction_ns < 1e5


def test_it_is_read_back_as_it_was_written(measured: Calibration, tmp_path: Path) -> None:
    file = tmp_path / "deep" / "calibration.json"
    calibration.save(measured, file)
    assert calibration.load(file) == measured
    assert [entry.name for entry in file.parent.iterdir()] == [file.name]


def test_another_machine_or_build_makes_it_stale(measured: Calibration) -> None:
    assert measured.stale() is None
    other = replace(measured, machine={**measured.machine, "cpu": "Abacus 3000"})
    assert other.stale() is not None
    assert "Abacus 3000" in str(other.stale())
    assert replace(measured, build="0" * 16).stale() == "the engine was built anew since"


def test_a_cell_is_known_by_what_its_costs_depend_on() -> None:
    workers = TINY.model_copy(
        update={"runtime": TINY.runtime.model_copy(update={"workers": 1, "policy": "static"})}
    )
    assert calibration.key_of(workers) == calibration.key_of(TINY)
    assert calibration.key_of(TINY.model_copy(update={"antennas": 16})) != calibration.key_of(TINY)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', '{"format": 1, "stages": 3}'])
def test_a_damaged_file_is_told_by_name(tmp_path: Path, text: str) -> None:
    file = tmp_path / "damaged.json"
    file.write_text(text)
    with pytest.raises(CalibrationError, match=r"damaged\.json holds no calibration"):
        calibration.load(file)


@pytest.mark.parametrize(
    ("key", "value"), [("claim_ns", "x"), ("chunk_ns", -1), ("chunk_ns", float("nan"))]
)
def test_a_cost_that_cannot_be_is_told_by_its_key(
    measured: Calibration, tmp_path: Path, key: str, value: object
) -> None:
    about = asdict(measured)
    about["stages"]["Decode"][key] = value
    file = tmp_path / "damaged.json"
    file.write_text(json.dumps(about))
    with pytest.raises(CalibrationError, match=rf"damaged\.json .*stages\.Decode\.{key}"):
        calibration.load(file)


@pytest.mark.parametrize(
    "spread",
    [
        [[0, 1], [1, math.nan]],
        [[0, 1], [1, math.inf]],
        [[0, 2], [1, 1]],
        [[1, 1], [0, 2]],
    ],
)
def test_a_spread_that_does_not_rise_is_told_by_its_stage(
    measured: Calibration, tmp_path: Path, spread: list[list[float]]
) -> None:
    about = asdict(measured)
    about["stages"]["Decode"]["spread"] = spread
    file = tmp_path / "damaged.json"
    file.write_text(json.dumps(about))
    with pytest.raises(CalibrationError, match=r"damaged\.json .*stages\.Decode: .*spread must"):
        calibration.load(file)


def test_a_folder_is_no_place_for_a_calibration(measured: Calibration, tmp_path: Path) -> None:
    for folder in (tmp_path, Path(), Path("/")):
        with pytest.raises(InputError, match="is a folder"):
            calibration.save(measured, folder)


@pytest.mark.parametrize("kept", ["{}", None])
def test_a_kept_file_that_is_of_no_use_is_measured_anew(
    measured: Calibration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: str | None
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setattr(calibration, "measure", lambda *given: measured)
    said = StringIO()
    if kept is None:  # nor can anything be kept
        cache.write_text("no folder")
    else:
        file = calibration.file_of(TINY)
        file.parent.mkdir(parents=True)
        file.write_text(kept)
    found = commands.known_or_measured(TINY, 1, Console(file=said), Interrupts())
    assert found == measured
    if kept is None:
        assert "is not kept: Not a directory" in said.getvalue().replace("\n", " ")
    else:
        assert calibration.load(file) == measured
        stopped = Interrupts()
        stopped.count = 1
        file.write_text(kept)
        with pytest.raises(KeyboardInterrupt):
            commands.known_or_measured(TINY, 1, Console(file=said), stopped)
        assert file.read_text() == kept


def test_a_stop_before_the_first_round_keeps_nothing() -> None:
    with pytest.raises(KeyboardInterrupt):
        calibration.measure(TINY, 10, stopped=lambda: True)


def test_the_command_measures_keeps_and_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    words = ["calibrate", "laptop-8x2", "--seconds", "0.1"]
    result = CliRunner().invoke(cli.app, words)
    assert result.exit_code == 0, result.output
    assert "EqualizeDemodulate" in result.output
    file = calibration.file_of(TINY)
    assert file.is_file()
    assert file.is_relative_to(tmp_path)
    result = CliRunner().invoke(cli.app, [*words, "--json"])
    assert json.loads(result.stdout)["stages"].keys() == calibration.load(file).stages.keys()


def test_a_place_that_cannot_be_written_is_told_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*given: object) -> Calibration:
        raise AssertionError("measured")

    monkeypatch.setattr(calibration, "measure", never)
    no_folder = tmp_path / "file"
    no_folder.write_text("no folder")
    for place, error in ((tmp_path, InputError), (no_folder / "costs.json", OSError)):
        words = ["calibrate", "laptop-8x2", "--output", str(place)]
        result = CliRunner().invoke(cli.app, words)
        assert isinstance(result.exception, error), result.output
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_stage_that_costs_nothing_is_told_by_its_name(
    measured: Calibration, tmp_path: Path
) -> None:
    about = asdict(measured)
    about["stages"]["Decode"] |= {"claim_ns": 0.0, "chunk_ns": 0.0}
    file = tmp_path / "zero.json"
    file.write_text(json.dumps(about))
    with pytest.raises(CalibrationError, match=r"zero\.json .*stages\.Decode: .*both 0"):
        calibration.load(file)


def test_spreads_rise_from_the_first_claim_to_the_last(measured: Calibration) -> None:
    for stage in (*measured.stages.values(), *measured.decode.values()):
        shares, factors = zip(*stage.spread, strict=True)
        assert (shares[0], shares[-1]) == (0, 1)
        assert list(shares) == sorted(set(shares))
        assert list(factors) == sorted(factors)
        assert factors[3] == pytest.approx(1, rel=0.3)  # the median, of all sizes together


def test_decoding_is_calibrated_for_every_way_to_pack_blocks() -> None:
    cell = cells.load("lan-8x4").cell
    known = calibration.measure(cell, 0.1)
    text = plan_text(cell, Run())
    for cores in (1, 2, 4, 16):
        same = [n for n in known.decode if n <= cores]
        assert core.work(text, cores)["packs"] == core.work(text, max(same))["packs"]
    # Fewer blocks in a pack take less time, though not in proportion.
    assert known.decode[max(known.decode)].ns(1) < known.decode[1].ns(1)
    assert known.stage("Decode", 64) == known.decode[max(known.decode)]
