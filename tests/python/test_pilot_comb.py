"""What interpolation between a comb's pilots loses, against what the engine loses with it."""

from pathlib import Path
from typing import Any

import pytest
from carillon import cli, core
from carillon.config import Cell, Run, parse_cell, plan_text
from carillon.config.pilot_comb import excess, interpolation_loss_db
from carillon.statistics import decibels
from typer.testing import CliRunner


def text(comb: int, snr_db: float, spread_ns: float) -> str:
    pilots = f"pilots: {{kind: comb, comb: {comb}}}\n" if comb > 1 else ""
    return f"""
antennas: 16
users: 4
numerology: {{fft_size: 512, subcarriers: 300}}
schedule: {"P" * (4 // comb)}UUUUUU
symbols_per_slot: {4 // comb + 6}
combiner: {{group: 1}}
radio: {{taps: 8, delay_spread_ns: {spread_ns}, snr_db: {snr_db}}}
{pilots}"""


def cell_of(comb: int, snr_db: float = 30, spread_ns: float = 1000) -> Cell:
    return parse_cell(text(comb, snr_db, spread_ns), "cell.yaml").cell


def snr_after_db(cell: Cell, snr_db: float) -> float:
    counts: dict[str, Any] = core.Link(plan_text(cell, Run())).point(snr_db, 40, 1)
    after = decibels(counts["known_symbols"] / counts["known_error"])
    assert after is not None
    return after


@pytest.mark.parametrize("snr_db", [20, 30, 40])
def test_what_a_comb_loses_is_what_the_engine_loses(snr_db: float) -> None:
    best = snr_after_db(cell_of(1, snr_db), snr_db)
    for comb in (2, 4):
        cell = cell_of(comb, snr_db)
        assert best - snr_after_db(cell, snr_db) == pytest.approx(
            interpolation_loss_db(cell), abs=1
        )


def test_a_comb_that_is_too_wide_is_warned_of(tmp_path: Path) -> None:
    assert excess(cell_of(1, 50)) == excess(cell_of(4, 20, 100)) == excess(cell_of(2, 20)) == ""
    flat = cell_of(4).model_copy(update={"radio": cell_of(4).radio.model_copy(update={"taps": 1})})
    assert excess(flat) == ""
    file = tmp_path / "comb.yaml"
    file.write_text(text(4, 30, 1000))
    done = CliRunner().invoke(cli.app, ["config", "check", str(file)])
    assert done.exit_code == 0
    assert f"warning: {file}:9: pilots.comb is 4, too many subcarriers" in done.output
    assert "at 30 dB what lies between them costs" in done.output
    words = ["link", str(file), "--snr", "40", "--frames", "1", "--folder", str(tmp_path / "link")]
    done = CliRunner().invoke(cli.app, words)
    assert "pilots.comb is 4, too many subcarriers" in done.output
