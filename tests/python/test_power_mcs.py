"""Lower modulation and rate: which rows are tried, what they cost, and which one is chosen."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from carillon import cells, cli
from carillon.config import ConfigError, Loaded, parse_cell
from carillon.errors import InputError
from carillon.power.mcs import Measured, choose, rungs, together
from typer.testing import CliRunner

TABLE = """
antennas: 4
users: 2
schedule: PPUUUUUUUUUUUU
uplink: {mcs_table: 256qam, mcs_index: 10}
"""


def row(mcs: str, goodput: float, cores: float, late: int = 0) -> Measured:
    return Measured(mcs, 4, 0.5, goodput, goodput, 0.0, cores, 100, late)


def test_rows_that_carry_less_come_after_the_cells_own() -> None:
    own, *below = rungs(cells.load("laptop-8x2"))
    assert (own.mcs, own.bits_per_element) == ("its own", 4)
    # Rows 9 (QPSK, 679 of 1024) and 10 (16QAM, 340 of 1024) carry the same but for rounding.
    assert {rung.mcs for rung in below} == {f"64qam {n}" for n in range(14)}
    rates = [own.ideal_mbps, *(rung.ideal_mbps for rung in below)]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] > rates[1]
    fifth = rungs(cells.load("laptop-8x2"), step=5)
    assert fifth[1:] == below[4::5]


def test_a_cell_keeps_its_table() -> None:
    loaded: Loaded = parse_cell(TABLE)
    own, *below = rungs(loaded)
    assert [rung.mcs for rung in below] == [f"256qam {n}" for n in range(9, -1, -1)]
    # TS 38.214 table 5.1.3.1-2: row 9 is 16QAM at 616 of 1024, row 4 QPSK at 602.
    for rung, bits, rate in ((below[0], 4, 616 / 1024), (below[5], 2, 602 / 1024)):
        assert rung.bits_per_element == bits
        assert rung.code_rate == pytest.approx(rate, abs=0.02)
    assert below[0].cell.downlink.mcs_index == [9]
    assert own.cell == loaded.cell


def test_single_users_are_lowered_alone() -> None:
    own, *below = rungs(parse_cell(TABLE), users={1})
    assert [rung.mcs for rung in below] == [f"256qam {n}" for n in range(9, -1, -1)]
    assert below[-1].cell.uplink.mcs_index == below[-1].cell.downlink.mcs_index == [10, 0]
    _, *all_users = rungs(parse_cell(TABLE))
    # Half of what both together lose, but for what rounds to whole bytes.
    assert own.ideal_mbps - below[-1].ideal_mbps == pytest.approx(
        (own.ideal_mbps - all_users[-1].ideal_mbps) / 2, rel=0.01
    )


def test_users_without_a_table_have_the_row_most_like_theirs() -> None:
    own, *below = rungs(cells.load("laptop-8x2"), users={0})
    assert below[-1].cell.uplink.mcs_index == [0, 13]  # 16QAM at 490 of 1024; theirs is at 0.5
    assert 0.4 * own.ideal_mbps < below[-1].ideal_mbps < 0.7 * own.ideal_mbps


def test_a_user_that_there_is_not_is_told() -> None:
    with pytest.raises(InputError, match="users 0 to 1, and no user 7"):
        rungs(parse_cell(TABLE), users={0, 7})


def test_a_cell_that_only_sends_is_refused() -> None:
    text = "antennas: 4\nusers: 2\nschedule: PPGGDDDDDDDDDD\ndeadlines: {downlink_lead_ms: 0.1}\n"
    loaded = parse_cell(text)
    with pytest.raises(ConfigError, match="has no uplink symbols"):
        rungs(loaded)


def test_the_most_goodput_within_the_core_time_is_chosen() -> None:
    tried = [row("a", 100, 1.0), row("b", 80, 0.8), row("c", 85, 0.7), row("d", 10, 0.2)]
    names = [(found := choose(tried, cores)) and found.mcs for cores in (1, 0.9, 0.7, 0.5, 0.1)]
    assert names == ["a", "c", "c", "d", None]


def test_where_work_was_given_up_core_time_says_nothing() -> None:
    tried = [row("a", 100, 0.5, late=6), row("b", 80, 0.5, late=5)]
    found = choose(tried, 1)
    assert found is not None and found.mcs == "b"
    assert choose(tried[:1], 1) is None


def test_of_several_runs_the_least_core_time_counts() -> None:
    found = together([row("a", 10, 0.5, late=1), row("a", 12, 0.3, late=2)])
    assert found == Measured("a", 4, 0.5, 10, 11, 0.0, 0.3, 200, 3)


def test_a_cells_rows_are_run_and_compared(tmp_path: Path) -> None:
    words = ["power", "mcs", "laptop-8x2", "--step", "13", "--seconds", "0.5", "--turns", "2",
             "--cores", "100"]  # fmt: skip
    done = CliRunner().invoke(cli.app, [*words, "--folder", str(tmp_path / "out"), "--json"],
                              catch_exceptions=False)  # fmt: skip
    assert done.exit_code == 0, done.output
    tree = json.loads((tmp_path / "out" / "mcs.json").read_text())
    with (tmp_path / "out" / "mcs.csv").open() as stream:
        own, lowest = csv.DictReader(stream)
    assert (own["mcs"], lowest["mcs"]) == ("its own", "64qam 1")
    assert float(own["core_time_saved"]) == 0
    for given in (own, lowest):
        assert int(given["frames"]) > 0
        assert float(given["core_ms_per_ms"]) > 0
        assert 0 < float(given["goodput_mbps"]) <= float(given["ideal_mbps"]) * 1.001
    fit = [row for row in tree["rows"] if row["late"] <= 0.05 * row["frames"]]
    best = max(fit, key=lambda row: row["goodput_mbps"], default={"mcs": None})
    assert tree["chosen"] == best["mcs"]
    assert (tmp_path / "out" / "mcs.svg").exists()
