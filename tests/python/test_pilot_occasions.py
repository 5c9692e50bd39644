"""Cells with several pilot occasions: what is said of them, what is planned, and that they work."""

import json
import math
from pathlib import Path

import pytest
from carillon import cells, core, runfolder
from carillon.cli import app
from carillon.config import Cell, ConfigError, Run, load_cell, parse_cell, plan_text
from carillon.config.plan import references
from carillon.config.warnings import warnings
from carillon.mac.scheduler import parts_of
from carillon.models import Costs, Group, StageCost, Workload, latency
from carillon.models.workload import CHAINS
from carillon.search import variant
from typer.testing import CliRunner

TWO_SLOTS = """
antennas: 6
users: 2
numerology: {fft_size: 128, subcarriers: 72}
symbols_per_slot: 7
schedule: PPUUGDDPPUUGDD
pilots: {occasions: 2}
deadlines: {downlink_lead_ms: 0.1}
"""


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as error:
        parse_cell(text, "my.yaml")
    return [str(problem) for problem in error.value.problems]


def test_mistakes_say_what_to_do() -> None:
    assert problems(TWO_SLOTS.replace("occasions: 2", "occasions: 3")) == [
        "my.yaml:7: pilots.occasions is 3 but must divide the 4 P of the schedule, of which each "
        "occasion has as many; add P, or set it to 1"
    ]
    assert problems(TWO_SLOTS.replace("users: 2", "users: 3")) == [
        "my.yaml:3: users is 3 but 2 pilot symbols of each occasion with comb 1 separate only 2 "
        "users; add P to the schedule, widen pilots.comb, or have fewer users or pilots.occasions"
    ]
    assert problems(TWO_SLOTS + "runtime: {gpus: 1}\n") == [
        "my.yaml:7: pilots.occasions is 2, but devices make one combiner of all pilots of a "
        "frame; set runtime.gpus to 0"
    ]
    assert problems("radio: {doppler_hz: 200}") == [
        "my.yaml:1: radio.doppler_hz is 200 but must be between 0 and 150, a hundredth of "
        "numerology.spacing_khz, so that the channel stands still within a symbol"
    ]
    assert problems("radio: {doppler_hz: 20, channel: awgn}") == [
        "my.yaml:1: radio.doppler_hz is 20 but must be 0 with radio.channel awgn, which stands "
        "still"
    ]


def test_symbols_have_the_occasion_before_them() -> None:
    symbols = runfolder.describe(parse_cell(TWO_SLOTS).cell)["symbols"]
    assert [s["occasion"] for s in symbols if s["kind"] in "PUD"] == [0] * 6 + [1] * 6
    assert [n for n, s in enumerate(symbols) if s["references"]] == [5, 12]
    # 72 µs before it leaves, the second one has not ended yet.
    early = TWO_SLOTS.replace("PPUUGDDPPUUGDD", "PPUUGDDPPDDUUU")
    symbols = runfolder.describe(parse_cell(early).cell)["symbols"]
    assert [s["occasion"] for s in symbols if s["kind"] == "D"] == [0, 0, 0, 0]


def test_show_and_check_say_what_has_which(tmp_path: Path) -> None:
    idle = TWO_SLOTS.replace("PPUUGDDPPUUGDD", "PPUUGDDUUGDDPP")
    (tmp_path / "cell.yaml").write_text(idle)
    shown = CliRunner().invoke(app, ["config", "show", str(tmp_path / "cell.yaml")])
    assert "2, used by 8, 0 U and D symbols" in shown.stdout
    loaded = load_cell(tmp_path / "cell.yaml")
    assert [str(problem) for problem in warnings(loaded)] == [
        f"{tmp_path / 'cell.yaml'}:7: pilots.occasions is 2, but nothing uses the one of the P at "
        "[12, 13] in the schedule: U and D use the last one that ended before them, D before its "
        "samples leave; move P, or have fewer occasions"
    ]
    assert not warnings(parse_cell(TWO_SLOTS))
    assert not warnings(cells.load("moving-8x2"))


def test_slots_that_hold_references_alone_take_no_grant(tmp_path: Path) -> None:
    lone = TWO_SLOTS.replace("PPUUGDDPPUUGDD", "PPUUGDDPPUUUGD")
    assert references(parse_cell(lone).cell) == {5, 13}
    (tmp_path / "cell.yaml").write_text(lone + "grants: {kind: file, file: slots.jsonl}\n")
    down = {"direction": "downlink", "blocks": 6}
    slots = [{"slot": n, "allocations": [down, {"user": 1, "blocks": 6}]} for n in range(4)]
    (tmp_path / "slots.jsonl").write_text("".join(json.dumps(slot) + "\n" for slot in slots))
    loaded = load_cell(tmp_path / "cell.yaml")
    assert loaded.slots
    assert [str(problem).partition("jsonl:")[2] for problem in loaded.slots.refused] == [
        f"{n + 1}: slot {n}, allocations[0].symbols have no D with data in their slot"
        for n in (1, 3)
    ]
    counts = core.Link(plan_text(loaded.cell, Run())).point(40.0, 4, 1)
    assert (counts["blocks"], counts["block_errors"]) == (8, 0)
    assert (counts["downlink"]["blocks"], counts["downlink"]["block_errors"]) == (4, 0)


def test_a_scheduler_has_no_downlink_where_references_are_alone() -> None:
    lone = TWO_SLOTS.replace("PPUUGDDPPUUGDD", "PPUUGDDPPUUUGD")
    parts = [(part.slot, part.direction) for part in parts_of(parse_cell(lone).cell)]
    assert parts == [(0, "uplink"), (0, "downlink"), (1, "uplink")]


def lost(cell: Cell, direction: str) -> float:
    counts = core.Link(plan_text(cell, Run())).point(30.0, 20, 1)
    side = counts if direction == "uplink" else counts["downlink"]
    return float(side["block_errors"]) / float(side["blocks"])


@pytest.mark.parametrize("direction", ["uplink", "downlink"])
def test_pilots_in_each_slot_serve_users_that_move(direction: str) -> None:
    several = cells.load("moving-8x2").cell
    first, *rest = (several.schedule[n : n + 14] for n in range(0, 70, 14))
    one = several.model_copy(
        update={
            "schedule": first + "".join(rest).replace("P", "G"),
            "pilots": several.pilots.model_copy(update={"occasions": 1}),
        }
    )
    assert lost(several, direction) <= 0.01
    assert lost(one, direction) > 0.4


def test_a_plan_counts_the_combiners_of_each() -> None:
    cell = cells.load("moving-8x2").cell
    work = Workload.of(cell)
    assert work.chunks("ZeroForce") == 5 * work.zero_force
    assert work.instructions().count(("ZeroForce", work.zero_force)) == 5
    one = StageCost(1000.0, 0.0, 1.0)
    ops = (*(op for chain in CHAINS.values() for op in chain), "ZeroForce")
    costs = Costs("equal", dict.fromkeys(ops, one), 0.0)
    found = latency(work, costs, [Group(ops, 4)])
    assert found is not None
    assert 4.0 < found.pilots_done < found.combiner_done < 4.2  # in the last slot
    assert found.downlink_first < 1.0  # with the first slot's
    assert not math.isnan(found.uplink_done)


def test_a_search_keeps_the_occasions() -> None:
    cell = cells.load("moving-8x2").cell
    more = variant(cell, 8, 300, 512, "qpsk")
    assert more is not None
    assert (more.pilots.occasions, more.pilots.comb) == (5, 8)
