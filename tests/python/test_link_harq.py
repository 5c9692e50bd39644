"""`carillon link --harq`: what sending again gains."""

import csv
import json
from pathlib import Path

import pytest
from carillon import cli
from carillon.link import Point, Rules, read_csv, write_csv
from typer.testing import CliRunner

CELL = """
antennas: 2
users: 1
numerology: {fft_size: 128, subcarriers: 72}
schedule: PUUUU
symbols_per_slot: 5
uplink: {modulation: qpsk, rate: 0.75, block: symbol}
radio: {channel: awgn}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("harq")
    (base / "cell.yaml").write_text(CELL)
    words = ["link", str(base / "cell.yaml"), "--snr=-4:4:8", "--harq", "--frames", "20"]
    done = CliRunner().invoke(cli.app, [*words, "--piece", "5", "--folder", str(base / "curve")])
    assert done.exit_code == 0, done.output
    assert "after 4" in done.output
    return base / "curve"


def test_each_transmission_lowers_the_curve(folder: Path) -> None:
    with (folder / "link.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["snr_db"] for row in rows] == ["-4.0", "0.0", "4.0", "8.0"]
    for row in rows:
        rates = [float(row[f"bler_{sent}"]) for sent in (1, 2, 3, 4)]
        assert rates == sorted(rates, reverse=True)
        assert float(row["bler_2_low"]) <= rates[1] <= float(row["bler_2_high"])
    assert float(rows[0]["bler_1"]) > 0.5 > float(rows[0]["bler_4"])
    assert float(rows[-1]["bler_1"]) == 0
    assert {"raw_errors", "iterations"}.isdisjoint(rows[0])  # these are not counted


def test_its_files_are_like_those_of_other_curves(folder: Path) -> None:
    tree = json.loads((folder / "link.json").read_text())
    assert tree["rules"]["harq"] is True
    assert tree["points"][0]["bler_4"] is not None
    assert (folder / "link.png").stat().st_size > 10_000


def test_a_curve_goes_on(tmp_path: Path) -> None:
    point = Point(3.0, pieces=2, frames=8, blocks=32, block_errors=9)
    point.block_errors_2, point.block_errors_3, point.block_errors_4 = 5, 3, 1
    write_csv(tmp_path / "link.csv", "key", [point], harq=True)
    assert read_csv(tmp_path / "link.csv", "key") == {3.0: point}


def test_a_point_is_done_by_its_last_transmission() -> None:
    rules = Rules(block_errors=10, most_frames=100, harq=True)
    point = Point(0.0, frames=50, blocks=200, block_errors=180, block_errors_4=9)
    assert not rules.done(point)
    point.block_errors_4 = 10
    assert rules.done(point)


@pytest.mark.parametrize("word", ["--direction=downlink", "--samples"])
def test_it_is_of_the_uplink(word: str) -> None:
    done = CliRunner().invoke(cli.app, ["link", "laptop-8x2", "--snr", "0", "--harq", word])
    assert done.exit_code == 2
    assert "is of the uplink" in done.output
