"""Files of slots: what each is to do, what is refused, and that it arrives."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from carillon import cells, core
from carillon.cli import app
from carillon.config import Cell, ConfigError, Loaded, Run, load_cell, plan_text
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

EXAMPLE = "slots/six-users"
CELL = """
antennas: 4
users: 2
numerology: {fft_size: 128, subcarriers: 72}
schedule: PPUUUUUUUGGDDD
deadlines: {downlink_lead_ms: 0.1}
grants: {kind: file, file: slots.jsonl}
"""


def write(folder: Path, slots: Sequence[Any], cell: str = CELL) -> Path:
    lines = [slot if isinstance(slot, str) else json.dumps(slot) for slot in slots]
    (folder / "slots.jsonl").write_text("".join(line + "\n" for line in lines))
    (folder / "cell.yaml").write_text(cell)
    return folder / "cell.yaml"


def slot(number: int, *allocations: Any) -> dict[str, Any]:
    return {"slot": number, "allocations": list(allocations)}


def refused(loaded: Loaded) -> list[str]:
    assert loaded.slots
    return [str(problem) for problem in loaded.slots.refused]


def test_slots_become_grants_of_as_many_frames(tmp_path: Path) -> None:
    given = [
        slot(0, {"blocks": 6}),
        slot(3, {"user": 1, "first_block": 2, "direction": "downlink"}),
    ]
    loaded = load_cell(write(tmp_path, given))
    grants = loaded.cell.grants
    assert (grants.kind, grants.frames) == ("list", 4)
    assert Cell.model_validate(loaded.cell.model_dump()) == loaded.cell
    assert [(g.user, g.slot, g.first_block, g.blocks) for g in grants.list] == [
        (0, 0, 0, 6),
        (1, 3, 2, 1),
    ]
    assert loaded.cell.radio.frames % 4 == 0
    assert core.validate(plan_text(loaded.cell, Run())) == []


def test_a_frame_of_several_slots_takes_as_many_lines(tmp_path: Path) -> None:
    cell = CELL.replace("schedule", "symbols_per_slot: 7\nschedule")
    loaded = load_cell(write(tmp_path, [slot(0, {}), slot(2, {"blocks": 2}), slot(4)], cell))
    assert loaded.cell.grants.frames == 3  # of two slots each


def test_every_key_of_an_allocation_reaches_the_engine(tmp_path: Path) -> None:
    whole = {
        "user": 1, "direction": "downlink", "first_block": 1, "blocks": 2, "redundancy_version": 0,
        "harq_process": 7, "first_symbol": 12, "symbols": 2, "modulation": "64qam", "rate": "1/2",
    }  # fmt: skip
    loaded = load_cell(write(tmp_path, [slot(0, whole)]))
    assert "cell.grants.list = 1 0 1 1 2 0 7 12 2 3 0 5120 0\n" in plan_text(loaded.cell, Run())
    by_row = CELL + "uplink: {mcs_table: 64qam, mcs_index: 3}\n"
    loaded = load_cell(write(tmp_path, [slot(0, {"mcs": 9})], by_row))
    assert "cell.grants.list = 0 0 0 0 1 0 0 0 0 0 10 0 0\n" in plan_text(loaded.cell, Run())


@pytest.mark.parametrize(
    ("allocation", "why"),
    [
        ({"user": 2}, "user is 2 but must be between 0 and 1"),
        ({"user": -1}, "user is -1 but must be a whole number between 0 and 127"),
        ({"first_block": 5, "blocks": 2}, "blocks is 2 but must be between 1 and 1"),
        ({"blocks": "6"}, "blocks is '6' but must be a whole number between 1 and 342"),
        ({"block": 6}, "block is not a key; did you mean blocks?"),
        ({"mcs": 3}, "mcs names a row of the MCS table, but the direction's mcs_table is none"),
        ({"symbols": 15}, "symbols is 15 but must be between 0 and 14"),
        ({"symbols": 2}, "symbols have no U in their slot"),
        ({"slot": 0}, "slot is no key of an allocation"),
        (
            {
                "user": 1,
                "first_block": 3,
                "first_symbol": 2,
                "symbols": 1,
                "modulation": "qpsk",
                "rate": 0.95,
            },
            "rate cannot be coded",
        ),
        (7, "allocations[1] is 7 but must be a mapping of keys to values"),
    ],
)
def test_what_does_not_fit_is_left_out_and_named(tmp_path: Path, allocation: Any, why: str) -> None:
    good = {"first_block": 0, "blocks": 1, "symbols": 4}
    file = write(tmp_path, [slot(0, good), slot(2, {"blocks": 3}, allocation, {"user": 1})])
    loaded = load_cell(file)
    (told,) = refused(loaded)
    where = f"{tmp_path / 'slots.jsonl'}:2: slot 2, allocations[1]"
    assert told.startswith(where)
    assert why in told
    assert [(g.user, g.slot) for g in loaded.cell.grants.list] == [(0, 0), (0, 2), (1, 2)]
    assert core.validate(plan_text(loaded.cell, Run())) == []
    done = CliRunner().invoke(app, ["config", "check", str(file)])
    assert isinstance(done.exception, ConfigError)
    assert str(done.exception).startswith(where)


def test_what_is_left_out_takes_no_other_with_it(tmp_path: Path) -> None:
    told = refused(load_cell(write(tmp_path, [slot(0, {"blocks": 30}, {"blocks": 5})])))
    assert len(told) == 1
    chain = [{"blocks": 2}, {"first_block": 1, "blocks": 2}, {"first_block": 2, "blocks": 2}]
    (one,) = refused(load_cell(write(tmp_path, [slot(0, *chain)])))
    assert "allocations[1] shares" in one


@pytest.mark.parametrize("more", ["frames: 4", "list: [{user: 0}]"])
def test_a_file_is_not_given_beside_what_it_says(tmp_path: Path, more: str) -> None:
    cell = CELL.replace("kind: file,", f"kind: file, {more},")
    with pytest.raises(ConfigError, match=r"grants\.kind is file"):
        load_cell(write(tmp_path, [slot(0, {})], cell))


def test_retransmissions_are_of_frames_that_are_alike() -> None:
    done = CliRunner().invoke(app, ["link", EXAMPLE, "--harq", "--snr", "10", "--frames", "4"])
    assert isinstance(done.exception, ConfigError)
    assert "grants.frames is 10, but --harq sends the same blocks again" in str(done.exception)


def test_the_later_of_two_that_share_elements_is_left_out(tmp_path: Path) -> None:
    file = write(tmp_path, [slot(0, {"blocks": 3}, {"first_block": 2, "blocks": 2})])
    (told,) = refused(load_cell(file))
    assert "allocations[1] shares resource elements with slot 0, allocations[0] of" in told


def test_one_block_of_a_frame_has_one_coding_and_is_told_beside_which(tmp_path: Path) -> None:
    again = {"redundancy_version": 2}
    cell = CELL + "symbols_per_slot: 7\nuplink: {block: frame}\n"
    first, second = refused(load_cell(write(tmp_path, [slot(0, {}, {}), slot(1, again)], cell)))
    assert "slot 0, allocations[1] is for the same user, slot and direction as slot 0" in first
    assert "coding than slot 0, allocations[0], with which it shares a transport block" in second


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["{"], "slots.jsonl:1: is not JSON"),
        (["", "[]"], 'slots.jsonl:2: must be {"slot": …, "allocations": […]}'),
        ([slot(0), {"slot": 1, "allocation": []}], "slots.jsonl:2: must be"),
        ([slot(1), slot(1)], "slots.jsonl:2: slot is 1 but must be above 1"),
        ([{"slot": -1}], "slot is -1 but must be a whole number between 0 and"),
        ([{"slot": True}], "slot is true but must be a whole number between 0 and"),
        ([{"slot": 0, "allocations": {}}], "allocations is {} but must be a list"),
        ([slot(0, 7, {"blocks": 90})], "slots.jsonl:1: slot 0, allocations[0] is 7"),
        ([slot(0)], "cell.yaml:7: grants.file is "),
        ([], "which has no allocation in any slot"),
        ([slot(4096, {"first_symbol": 2})], "grants.frames is 4097 but must be between 1 and 4096"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(
    tmp_path: Path, lines: Sequence[Any], why: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load_cell(write(tmp_path, lines))
    assert why in str(caught.value)


def test_the_file_must_be_named_and_be_there(tmp_path: Path) -> None:
    file = write(tmp_path, [], CELL.replace(", file: slots.jsonl", ""))
    with pytest.raises(ConfigError, match=r"grants\.file is empty but grants\.kind is file"):
        load_cell(file)
    file.write_text(CELL.replace("kind: file", "kind: full"))
    with pytest.raises(ConfigError, match=r"counts only with grants\.kind: file"):
        load_cell(file)
    file.write_text(CELL.replace("slots.jsonl", "none.jsonl"))
    why = r"cell\.yaml:7: grants\.file cannot be used: .*none\.jsonl: cannot be read: no such file"
    with pytest.raises(ConfigError, match=why):
        load_cell(file)


def test_all_blocks_of_the_example_arrive() -> None:
    loaded = cells.load(EXAMPLE)
    assert refused(loaded) == []
    counts = core.Link(plan_text(loaded.cell, Run())).point(45.0, 20, 1)
    assert counts["block_errors"] == 0 == counts["downlink"]["block_errors"]
    sent = sum(g.direction == "uplink" for g in loaded.cell.grants.list)
    assert counts["blocks"] == 2 * sent


numbers = st.integers(-3, 20) | st.sampled_from([2**31, 2**32, 2**64]) | st.floats()
values = numbers | st.text(max_size=5) | st.none() | st.booleans() | st.lists(numbers, max_size=2)
keys = st.sampled_from(
    ["user", "direction", "first_block", "blocks", "redundancy_version", "harq_process", "rate",
     "first_symbol", "symbols", "modulation", "mcs", "slot", "x"]
)  # fmt: skip
words = st.sampled_from(["uplink", "downlink", "qpsk", "256qam", "cell", "1/3"])
allocations = st.dictionaries(keys, values | words, max_size=6) | values


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(allocations, max_size=4), max_size=4))
def test_whatever_a_file_says_what_is_left_runs(
    tmp_path_factory: pytest.TempPathFactory, slots: list[list[Any]]
) -> None:
    folder = tmp_path_factory.mktemp("slots")
    lines = [slot(0, {"blocks": 6}), *(slot(n, *items) for n, items in enumerate(slots, 1))]
    loaded = load_cell(write(folder, lines))
    assert loaded.slots
    kept = len(loaded.cell.grants.list)
    said = {problem.key.partition("]")[0] for problem in loaded.slots.refused}
    assert kept + len(said) == 1 + sum(map(len, slots))
    assert core.validate(plan_text(loaded.cell, Run())) == []
