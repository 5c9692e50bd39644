"""The kinds of transport blocks of a cell, and which redundancy versions are decoded alone."""

from collections import Counter
from pathlib import Path

import pytest
from carillon import cells, core
from carillon.cli import app
from carillon.config import Cell, Run, parse_cell, plan_text
from carillon.config.blocks import DIRECTIONS, decodes_alone, kinds
from carillon.config.warnings import warnings
from typer.testing import CliRunner

UNEVEN = """
users: 3
schedule: PPPUUUUUUUUUUUUUUUUUDDDDDGGG
uplink: {rate: 1/2, block: BLOCK}
grants:
  kind: list
  list:
    - {user: 0, blocks: 20}
    - {user: 0, slot: 1, blocks: 20}
    - {user: 1, blocks: 5}
    - {user: 2, blocks: 5}
    - {user: 2, slot: 1, first_block: 20, blocks: 5}
    - {user: 2, slot: 1, direction: downlink, blocks: 7}
"""


def cell(text: str) -> Cell:
    return parse_cell(text).cell


def assert_as_the_engine_counts(one: Cell) -> None:
    derived = core.describe(plan_text(one, Run()))
    for direction in DIRECTIONS:
        counted: Counter[tuple[int, int, int]] = Counter()
        for user in (derived[direction] or {"users": []})["users"]:
            lists = (user["block_bits"], user["coded_bits"], user["code_blocks"])
            counted.update(zip(*lists, strict=True))
        ours: Counter[tuple[int, int, int]] = Counter()
        for kind in kinds(one, direction):
            ours[(kind.bits, kind.coded_bits, kind.code_blocks)] += kind.count
        assert ours == counted


@pytest.mark.parametrize("name", [n for n in cells.names() if not n.startswith("pool/")])
def test_the_kinds_of_an_example_are_its_blocks(name: str) -> None:
    assert_as_the_engine_counts(cells.load(name).cell)


@pytest.mark.parametrize("block", ["symbol", "slot", "frame"])
@pytest.mark.parametrize("kind", ["list", "full", "round-robin"])
@pytest.mark.parametrize("subcarriers", [300, 290])
def test_the_kinds_of_uneven_grants_are_its_blocks(block: str, kind: str, subcarriers: int) -> None:
    text = UNEVEN.replace("BLOCK", block) + f"numerology: {{subcarriers: {subcarriers}}}\n"
    if kind != "list":
        text = text[: text.index("grants")] + f"grants: {{kind: {kind}}}\n"
    assert_as_the_engine_counts(cell(text))


def test_show_has_a_line_for_each_kind(tmp_path: Path) -> None:
    file = tmp_path / "uneven.yaml"
    file.write_text(UNEVEN.replace("BLOCK", "slot"))
    done = CliRunner().invoke(app, ["config", "show", str(file)])
    lines = [line.split() for line in done.stdout.splitlines()]
    head = lines.index("blocks bits coded bits code blocks version graph Z rate".split())
    shown = lines[head + 1 : head + 1 + len(kinds(cells.load(str(file)).cell, "uplink"))]
    numbers = [
        (one.count, one.bits, one.coded_bits, one.code_blocks, 0, one.base_graph, one.lifting)
        for one in kinds(cells.load(str(file)).cell, "uplink")
    ]
    assert [tuple(map(int, line[:-1])) for line in shown] == numbers
    assert len({line[1] for line in shown}) == len(shown) > 2


def failed(one: Cell, frames: int = 2) -> float:
    """Share of the uplink's blocks that fail almost without noise."""
    counts = core.Link(plan_text(one, Run())).point(80.0, frames, 1)
    return float(counts["block_errors"]) / float(counts["blocks"])


@pytest.mark.parametrize("rate", ["0.2", "1/3", "1/2", "0.65", "3/4", "0.88"])
@pytest.mark.parametrize("version", range(4))
def test_a_version_is_warned_of_just_where_its_blocks_fail(rate: str, version: int) -> None:
    text = f"uplink: {{rate: {rate}, redundancy_version: {version}, iterations: 100}}\n"
    loaded = parse_cell(text + "radio: {channel: awgn}\ncombiner: {precision: fp32}\n", "my.yaml")
    told = [str(one) for one in warnings(loaded)]
    (kind,) = kinds(loaded.cell, "uplink")
    assert decodes_alone(kind, 1.0, version) == (told == [])
    assert failed(loaded.cell) == (1.0 if told else 0.0)
    if told:
        assert told[0].startswith(f"my.yaml:1: uplink.redundancy_version is {version}, of which")
        assert told[0].endswith(" would do")


def test_check_warns_of_a_grants_version_and_lets_it_pass(tmp_path: Path) -> None:
    file = tmp_path / "my.yaml"
    text = UNEVEN.replace("BLOCK", "slot")
    file.write_text(
        text.replace("{user: 1, blocks: 5}", "{user: 1, blocks: 5, redundancy_version: 2}")
    )
    done = CliRunner().invoke(app, ["config", "check", str(file)])
    assert done.exit_code == 0
    assert f"warning: {file}:10: grants.list[2].redundancy_version is 2, of which" in done.stderr
    file.write_text(text)
    assert CliRunner().invoke(app, ["config", "check", str(file)]).stderr == ""
