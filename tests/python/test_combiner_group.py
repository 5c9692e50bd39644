"""How many subcarriers share a combiner, against what the engine loses with them."""

from pathlib import Path
from typing import Any

import pytest
from carillon import cli, core
from carillon.config import Cell, Run, parse_cell, plan_text
from carillon.config.combiner_group import excess, group_of, widest_group
from carillon.config.selectivity import loss_db
from carillon.statistics import decibels
from typer.testing import CliRunner

CELL = """
antennas: 16
users: 4
numerology: {fft_size: 512, subcarriers: 300}
schedule: PPPPUUUUUU
symbols_per_slot: 10
"""


def selective(
    snr_db: float, spread_ns: float = 300, group: int | str = "auto", comb: int = 1
) -> Cell:
    radio = f"radio: {{taps: 8, delay_spread_ns: {spread_ns}, snr_db: {snr_db}}}\n"
    pilots = f"pilots: {{kind: comb, comb: {comb}}}\n" if comb > 1 else ""
    text = f"{CELL}{radio}{pilots}combiner: {{group: {group}}}\n"
    return parse_cell(text.replace("PPPP", "P" * (4 // comb), 1), "cell.yaml").cell


def snr_after_db(cell: Cell, snr_db: float) -> float:
    counts: dict[str, Any] = core.Link(plan_text(cell, Run())).point(snr_db, 20, 1)
    after = decibels(counts["known_symbols"] / counts["known_error"])
    assert after is not None
    return after


@pytest.mark.parametrize("snr_db", [10, 20])
@pytest.mark.parametrize("comb", [1, 2, 4])
def test_what_a_group_loses_is_what_the_engine_loses(snr_db: float, comb: int) -> None:
    # What would be left without any loss, by each group.
    whole = []
    for group in (1, 2, 4, 8, 16):
        cell = selective(snr_db, group=group, comb=comb)
        whole.append(snr_after_db(cell, snr_db) + loss_db(cell, comb, group))
    assert max(whole) - min(whole) < 0.6


@pytest.mark.parametrize(
    ("snr_db", "spread_ns", "group"),
    [(0, 100, 16), (10, 100, 16), (20, 100, 8), (10, 300, 8), (20, 300, 3), (30, 1000, 1)],
)
def test_auto_takes_the_most_that_cost_less_than_a_tenth_of_a_db(
    snr_db: float, spread_ns: float, group: int
) -> None:
    cell = selective(snr_db, spread_ns)
    assert group_of(cell) == widest_group(cell) == group
    assert f"cell.combiner.group = {group}\n" in plan_text(cell, Run())
    least = min(loss_db(cell, 1, other) for other in range(1, 17))
    assert loss_db(cell, 1, group) < least + 0.1
    assert all(loss_db(cell, 1, wider) >= least + 0.1 for wider in range(group + 1, 17))


@pytest.mark.parametrize(("comb", "group"), [(1, 3), (2, 4), (4, 2)])
def test_auto_weighs_what_interpolation_leaves(comb: int, group: int) -> None:
    # Pilots four apart lose more by what lies between them than a group's mean gains.
    assert widest_group(selective(20, comb=comb)) == group


def test_in_a_flat_channel_auto_takes_sixteen() -> None:
    assert group_of(parse_cell(CELL, "cell.yaml").cell) == 16
    awgn = parse_cell(f"{CELL}radio: {{channel: awgn, taps: 8}}\n", "cell.yaml").cell
    assert group_of(awgn) == 16


def test_a_group_that_is_too_wide_is_warned_of(tmp_path: Path) -> None:
    assert excess(selective(20, group=3)) == excess(selective(20, group=1)) == ""
    assert excess(selective(20)) == ""
    file = tmp_path / "wide.yaml"
    file.write_text(
        f"{CELL}radio: {{taps: 8, delay_spread_ns: 300, snr_db: 20}}\ncombiner:\n  group: 16\n"
    )
    done = CliRunner().invoke(cli.app, ["config", "check", str(file)])
    assert done.exit_code == 0
    assert f"warning: {file}:9: combiner.group is 16, too many subcarriers" in done.output
    assert "at 20 dB they lose 7.3 dB more than 3, which `auto` takes" in done.output
    words = ["link", str(file), "--snr", "30", "--frames", "1", "--folder", str(tmp_path / "link")]
    done = CliRunner().invoke(cli.app, words)
    assert "combiner.group is 16, too many subcarriers" in done.output
    assert "at 30 dB they lose" in done.output
