"""`carillon link`: SNR ranges, pieces, stopping, going on."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from carillon import cells, cli, core, link
from carillon.config import Run, parse_cell, plan_text
from carillon.link import (
    CurveError,
    Point,
    Rules,
    parse_range,
    read_csv,
    simulate,
    study_key,
    write_csv,
)
from carillon.plots import link as link_plot
from hang import HANG_S
from typer.testing import CliRunner


def coin(snr_db: float, frames: int, seed: int) -> dict[str, Any]:
    """Blocks that fail with a known probability, in place of a link."""
    rate = 1 / (1 + 10 ** (snr_db / 10))
    errors = int(np.random.default_rng(seed).binomial(4 * frames, rate))
    return {
        "frames": frames,
        "blocks": 4 * frames,
        "block_errors": errors,
        "raw_bits": 4000 * frames,
        "raw_errors": 40 * frames,
        "iterations": 12 * frames,
        "code_blocks": 4 * frames,
        "symbols": 100 * frames,
        "error_power": 1.0 * frames,
        "noise_power": 1.0 * frames,
        "known_error": 4.0 * frames,
        "known_symbols": 100 * frames,
    }


class Coins:
    """A link of coins, whatever the plan."""

    def __init__(self, plan: str, *, samples: bool) -> None:
        pass

    def point(self, snr_db: float, frames: int, seed: int) -> dict[str, Any]:
        return coin(snr_db, frames, seed)


@pytest.fixture
def coins(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(core, "Link", Coins)
    yield


def curve(points: list[Point], rules: Rules, workers: int, plan: str = "plan") -> list[Point]:
    with ThreadPoolExecutor(workers) as pool:
        simulate(plan, points, rules, pool, workers, lambda point: None)
    return points


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0:1:3", [0, 1, 2, 3]),
        ("0:0.1:0.3", [0, 0.1, 0.2, 0.3]),
        ("5:-2.5:0", [5, 2.5, 0]),
        ("-3", [-3]),
        ("0,2.5,10", [0, 2.5, 10]),
        ("3,0,3", [3, 0]),
        ("0:2:3", [0, 2]),
        ("0:0.1:0.3", [0, 0.1, 0.2, 0.3]),
        ("1e-12:1e-12:3e-12", [1e-12, 2e-12, 3e-12]),
    ],
)
def test_a_range_includes_both_ends(text: str, expected: list[float]) -> None:
    assert parse_range(text) == expected


@pytest.mark.parametrize(
    "text", ["", "a", "0:1", "0:0:3", "0:-1:3", "1:2:3:4", "0:nan:5", "0:inf:5"]
)
def test_a_range_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"never reaches|neither"):
        parse_range(text)


@pytest.mark.parametrize("text", ["nan", "0,inf", "-61", "0:50:100", "0:1e-9:80", "0:1:1e300"])
def test_a_range_without_sense_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"more than 1000 points|leaves -60 to 80 dB"):
        parse_range(text)


def test_a_point_stops_at_enough_errors_or_enough_frames(coins: None) -> None:
    rules = Rules(block_errors=30, most_frames=200, piece=10)
    low, high = curve([Point(-10.0), Point(60.0)], rules, 2)
    assert 30 <= low.block_errors <= 30 + 40
    assert (high.frames, high.block_errors) == (200, 0)


def test_no_more_pieces_are_begun_than_frames_are_wanted(
    coins: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int] = []

    class Counted(Coins):
        def point(self, snr_db: float, frames: int, seed: int) -> dict[str, Any]:
            begun.append(seed)
            return coin(snr_db, frames, seed)

    monkeypatch.setattr(core, "Link", Counted)
    (point,) = curve([Point(60.0)], Rules(most_frames=25, piece=10), 50)
    assert (point.frames, len(begun)) == (30, 3)


def test_the_curve_does_not_depend_on_the_number_of_workers(coins: None) -> None:
    rules = Rules(block_errors=50, most_frames=300)
    snrs = [0.0, 5.0, 10.0]
    one = curve([Point(s) for s in snrs], rules, 1)
    assert one == curve([Point(s) for s in snrs], rules, 5)
    assert one != curve([Point(s) for s in snrs], Rules(50, 300, seed=2), 1)


def test_a_stopped_curve_goes_on_to_the_same_counts(coins: None, tmp_path: Path) -> None:
    rules = Rules(block_errors=10**6, most_frames=100)
    whole = curve([Point(3.0)], rules, 2)
    half = curve([Point(3.0)], Rules(block_errors=10**6, most_frames=50), 2)
    write_csv(tmp_path / "link.csv", "key", half)
    resumed = list(read_csv(tmp_path / "link.csv", "key").values())
    assert resumed == half
    assert curve(resumed, rules, 2) == whole


def test_counts_of_another_study_are_not_taken_over(tmp_path: Path) -> None:
    write_csv(tmp_path / "link.csv", study_key("plan", Rules()), [Point(1.0, pieces=1, frames=10)])
    assert read_csv(tmp_path / "link.csv", study_key("other plan", Rules())) == {}
    assert read_csv(tmp_path / "link.csv", study_key("plan", Rules(seed=2))) == {}
    assert read_csv(tmp_path / "missing.csv", "key") == {}


@pytest.mark.parametrize("rest", [b"a,b\n1,2\n", b"snr_db,pieces\n1,x\n", b"snr_db\n\xff\n"])
def test_a_damaged_curve_is_told_with_its_file(tmp_path: Path, rest: bytes) -> None:
    (tmp_path / "link.csv").write_bytes(rest)
    with pytest.raises(CurveError, match=r"link\.csv is damaged; delete it"):
        read_csv(tmp_path / "link.csv", "key")


def test_a_row_holds_rates_with_their_intervals(coins: None) -> None:
    (point,) = curve([Point(0.0)], Rules(block_errors=200), 1)
    row = point.row()
    assert row["bler"] == point.block_errors / point.blocks
    assert row["bler_low"] < 0.5 < row["bler_high"]  # type: ignore[operator]
    assert row["ber"] == pytest.approx(0.01)
    assert row["evm_percent"] == pytest.approx(10.0)
    assert row["known_evm_percent"] == pytest.approx(20.0)
    assert row["snr_after_db"] == pytest.approx(20.0)
    assert row["mean_iterations"] == pytest.approx(3.0)


def test_seeds_of_pieces_differ() -> None:
    seeds = {link.piece_seed(s, snr, p) for s in (1, 2) for snr in (0.0, 1.0) for p in range(50)}
    assert len(seeds) == 200


def test_a_curve_is_drawn_whatever_the_cells_name_holds(tmp_path: Path) -> None:
    cell = parse_cell("name: '$\\frac{$ [x] <b>'").cell
    link_plot.draw(tmp_path, cell, "uplink", [Point(0.0, frames=1, blocks=4, block_errors=1)])
    assert (tmp_path / "link.svg").stat().st_size > 1000


def test_the_downlink_is_a_study_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    class Both(Coins):
        def point(self, snr_db: float, frames: int, seed: int) -> dict[str, Any]:
            return coin(-100.0, frames, seed) | {"downlink": coin(100.0, frames, seed)}

    monkeypatch.setattr(core, "Link", Both)
    up, down = Rules(10, 20), Rules(10, 20, direction="downlink")
    assert curve([Point(0.0)], up, 1)[0].bler == 1.0
    assert curve([Point(0.0)], down, 1)[0].bler == 0.0
    assert study_key("plan", up) != study_key("plan", down)


def test_a_cells_curve_falls_with_snr_and_is_the_same_again() -> None:
    plan = plan_text(cells.load("rayleigh-16x4").cell, Run())
    rules = Rules(block_errors=10**6, most_frames=20, piece=10)
    low, high = curve([Point(-5.0), Point(15.0)], rules, 2, plan)
    assert low.blocks == high.blocks == 20 * 4
    assert low.bler is not None
    assert high.bler is not None
    assert low.bler > 0.9
    assert high.bler == 0.0
    assert low.ber is not None
    assert high.ber is not None
    assert low.ber > 10 * high.ber
    assert curve([Point(-5.0), Point(15.0)], rules, 1, plan) == [low, high]


@pytest.mark.parametrize(("direction", "snr_of_noise"), [("uplink", -8.0), ("downlink", 4.0)])
def test_the_known_evm_grows_with_noise_and_the_blind_one_hides_it(
    direction: Literal["uplink", "downlink"], snr_of_noise: float
) -> None:
    """Among 16QAM's points the nearest is never farther than half a step, whatever was sent."""
    plan = plan_text(cells.load("lan-8x4").cell, Run())
    rules = Rules(10**6, 20, direction=direction)
    low, high = curve([Point(snr_of_noise), Point(20.0)], rules, 2, plan)
    for point in (low, high):
        assert point.evm_percent is not None
        assert point.known_evm_percent is not None
        assert point.evm_percent <= 1.05 * point.known_evm_percent
        if direction == "uplink":  # what the receiver predicts, however much that is
            predicted = 100 * (point.noise_power / point.symbols) ** 0.5
            assert point.known_evm_percent == pytest.approx(predicted, rel=0.1)
    assert low.known_evm_percent > 1.3 * low.evm_percent  # type: ignore[operator]
    assert high.known_evm_percent == pytest.approx(high.evm_percent, rel=0.05)


def test_the_uplink_is_the_same_through_samples() -> None:
    plan = plan_text(cells.load("rayleigh-16x4").cell, Run())
    points = [
        curve([Point(2.0)], Rules(10**6, 60, samples=samples), 2, plan)[0]
        for samples in (False, True)
    ]
    (subcarriers, samples) = points
    assert subcarriers != samples  # another noise
    assert samples.ber == pytest.approx(subcarriers.ber, rel=0.1)
    assert samples.evm_percent == pytest.approx(subcarriers.evm_percent, rel=0.05)
    assert study_key(plan, Rules()) != study_key(plan, Rules(samples=True))


def test_json_holds_names_as_they_are_written(tmp_path: Path) -> None:
    cell = tmp_path / "one.yaml"
    cell.write_text("name: Zürich 8×2\nantennas: 8\nusers: 2\n", encoding="utf-8")
    words = [
        "link",
        str(cell),
        "--snr",
        "0",
        "--frames",
        "1",
        "--folder",
        str(tmp_path / "curve"),
        "--json",
    ]
    result = CliRunner().invoke(cli.app, words)
    assert result.exit_code == 0, result.output
    for text in (result.stdout, (tmp_path / "curve" / "link.json").read_text(encoding="utf-8")):
        assert '"cell": "Zürich 8×2"' in text


def test_a_stopped_command_lists_what_is_measured_and_goes_on(tmp_path: Path) -> None:
    words = ["link", "laptop-8x2", "--snr", "-30,-20,60", "--piece", "1", "--folder", str(tmp_path)]
    command = [sys.executable, "-m", "carillon", *words, "--errors", "1000000"]
    process = subprocess.Popen(
        [*command, "--frames", "1000000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not (tmp_path / "link.csv").is_file():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=HANG_S)
    assert (process.returncode, err) == (130, "carillon: stopped\n")
    table, told = out.split("curve: ")
    assert [line.split()[0] for line in table.splitlines()[1:]] == ["-30"]
    assert "stopped early; the same command goes on from here" in told
    with (tmp_path / "link.csv").open() as file:
        rows = file.read().splitlines()[1:]
    assert len(rows) == 1
    measured = int(rows[0].split(",")[1])
    again = [*command, "--frames", str(measured + 1)]
    done = subprocess.run(again, capture_output=True, text=True, check=True)
    assert "going on with" in done.stdout
    assert len(done.stdout.split("curve: ")[0].splitlines()) == 5  # going on, heads, three points
