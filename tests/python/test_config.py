"""Cells in YAML: what is accepted, what is said about mistakes, what carillond is told."""

import itertools
import os
from fractions import Fraction
from pathlib import Path

import pytest
from carillon import cells, core
from carillon.config import Cell, ConfigError, Run, load_cell, parse_cell, plan_text, reference
from carillon.config.fields import number, section_model, spans, walk
from carillon.config.models import LIFTING_SIZES
from hypothesis import given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).parents[2]


pairs = itertools.pairwise("abcdefg")


def problems(text: str, *, check: bool = False) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_cell(text, "my.yaml", check=check)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "users: 2\nantennas: 300",
            "my.yaml:2: antennas is 300 but must be a whole number between 1 and 256",
        ),
        (
            "numerology:\n  fft_size: 500",
            "my.yaml:2: numerology.fft_size is 500 but must be 128, 256, 512, 1024, 2048 or 4096",
        ),
        (
            'antennas: "8"',
            "my.yaml:1: antennas is '8' but must be a whole number between 1 and 256",
        ),
        (
            "\nantennas: 8.0",
            "my.yaml:2: antennas is written with a point or an exponent but must be a whole number "
            "between 1 and 256; write 8",
        ),
        (
            "radio: {seed: 1e3}",
            "my.yaml:1: radio.seed is written with a point or an exponent but must be a whole "
            "number between 0 and 9007199254740992; write 1000",
        ),
        (
            "radio: {seed: 1e300}",
            "my.yaml:1: radio.seed is written with a point or an exponent but must be a whole "
            "number between 0 and 9007199254740992; write all its digits",
        ),
        ("uplink: {lifting: 64.0}", "my.yaml:1: uplink.lifting is written with a point or an"),
        ("ring: 2.5", "my.yaml:1: ring is 2.5 but must be a whole number between 2 and 64"),
        (
            "radio: {snr_db: .nan}",
            "my.yaml:1: radio.snr_db is nan but must be a number between -60",
        ),
        (
            "radio:\n  snr_db:\n    - 20\n    - x",
            "my.yaml:4: radio.snr_db[1] is 'x' but must be a number",
        ),
        (
            "uplink: {modulation: qam16}",
            "my.yaml:1: uplink.modulation is 'qam16' but must be qpsk, 16qam, 64qam or 256qam",
        ),
        ("uplink: {lifting: 17}", "my.yaml:1: uplink.lifting is 17 but must be `auto` or 2, 3,"),
        (
            'description: "\\ud800"',
            "my.yaml:1: is not valid YAML: found invalid Unicode character escape code",
        ),
        ('name: "a\\tb"', "my.yaml:1: name is 'a\\tb' but must be one line of plain text"),
        ('name: "a\\nb"', "my.yaml:1: name is 'a\\nb' but must be one line of plain text"),
        ("uplink: {crc: 1}", "my.yaml:1: uplink.crc is 1 but must be true or false"),
        (
            "pilots:",
            "my.yaml:1: pilots is empty but must be a section with the keys kind, comb, root",
        ),
        (
            "fronthaul: {bbu_address: here}",
            "my.yaml:1: fronthaul.bbu_address is 'here' but must be",
        ),
        (
            "fronthaul: {shm_name: ../cell}",
            "my.yaml:1: fronthaul.shm_name is '../cell' but must be a name of at most 64 letters",
        ),
        (
            "grants:\n  kind: list\n  list:\n    - {user: 0}\n    - {user: -1}",
            "my.yaml:5: grants.list[1].user is -1 but must be a whole number between 0 and 127",
        ),
        ("- 3", "my.yaml:1: the file is [3] but must be a mapping of keys to values"),
        ("!tagged [3]", "my.yaml:1: the file is [3] but must be a mapping of keys to values"),
        (
            "radio: {snr_db: []}",
            "my.yaml:1: radio.snr_db is [] but must not be empty: it is a number between -60 and",
        ),
        (
            "uplink: &up {rate: 2}\ndownlink:\n  <<: *up",
            "my.yaml:1: uplink.rate is 2 but must be a number between 0.01 and 0.95",
        ),
        ('schedule: "PPUU #D"', "my.yaml:1: schedule is 'PPUU #D' but must be text: one word of"),
        ('schedule: "PU\\nU"', "my.yaml:1: schedule is 'PU"),
        ("grants: {list: [5]}", "my.yaml:1: grants.list[0] is 5 but must be a section with"),
        ("uplink: {rate: 4/3}", "my.yaml:1: uplink.rate is 4/3 but must be a number between 0.01"),
        ("uplink: {rate: 1/0}", "my.yaml:1: uplink.rate is '1/0' but must be a number between"),
        ("users: !!int many", "my.yaml: is not valid YAML: invalid literal for int()"),
        (
            "a: &a [1, 1]\n" + "".join(f"{b}: &{b} [{f'*{a},' * 20}]\n" for a, b in pairs),
            "my.yaml: is not valid YAML: it has too many keys, those that its aliases stand for",
        ),
        (f"antennas: 0x{'f' * 5000}", "my.yaml: is not valid YAML: antennas has a whole number of"),
        ("a: b: c", "my.yaml:1: is not valid YAML: mapping values are not allowed in this"),
        ("users: 2\nusers: 3", 'my.yaml:2: is not valid YAML: found duplicate key "users"'),
    ],
)
def test_a_mistake_is_told_with_file_line_key_value_and_range(text: str, message: str) -> None:
    assert problems(text)[0].startswith(message)


def test_a_section_may_be_merged_into_another() -> None:
    text = "uplink: &up\n  rate: 0.5\n  block: frame\ndownlink:\n  <<: *up\n  rate: 0.25"
    cell = parse_cell(text, check=False).cell
    assert (cell.downlink.block, cell.downlink.rate, cell.uplink.rate) == ("frame", 0.25, 0.5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "numerology: {fftsize: 512}",
            "numerology.fftsize is not a key; did you mean numerology.fft_size?",
        ),
        ("antenas: 8", "antenas is not a key; did you mean antennas?"),
        ("comb: 2", "comb is not a key here; did you mean pilots.comb?"),
        (
            "rate: 0.5",
            "rate is not a key here; did you mean uplink.rate or downlink.rate?",
        ),
        (
            "pilots: {xyz: 1}",
            "pilots.xyz is not a key; the keys here are kind, comb, root, occasions",
        ),
        (
            "grants: {kind: list, list: [{usr: 1}]}",
            "grants.list[0].usr is not a key; did you mean grants.list.user?",
        ),
    ],
)
def test_an_unknown_key_is_an_error_that_suggests_the_right_one(text: str, message: str) -> None:
    assert problems(text) == [f"my.yaml:1: {message}"]


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file() -> None:
    lines = problems("ring: 1\nusers: 0\nantennas: -1\nhello: 1")
    assert [line.split(":")[1] for line in lines] == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ("antennas: 8\nusers: 4\nschedule: PPUUU", 2, "users"),
        ("antennas: 2\nusers: 3\nschedule: PPPU", 2, "users"),
        ("numerology:\n  fft_size: 256\n  subcarriers: 300", 3, "numerology.subcarriers"),
        ("schedule: PPUXU", 1, "schedule"),
        ("schedule: PPGGD\nusers: 2", 1, "schedule"),
        ("uplink:\n  block: symbol\n  lifting: 384\n  base_graph: 1", 3, "uplink.lifting"),
        (
            "grants:\n  kind: list\n  list:\n    - {user: 0}\n    - {user: 1, blocks: 99}",
            5,
            "grants.list[1].blocks",
        ),
        ("radio:\n  snr_db: [1, 2, 3]", 2, "radio.snr_db"),
        ("radio:\n  snr_db:\n    - 1\n    - 99", 4, "radio.snr_db[1]"),
        ("pilots:\n  kind: time\n  comb: 4", 3, "pilots.comb"),
        ("uplink:\n  mcs_index: 5", 2, "uplink.mcs_index"),
        ("grants:\n  kind: list\n  list: []", 3, "grants.list"),
        ("grants:\n  kind: list", 1, "grants.list"),
        ("grants:\n  kind: round-robin\n  list:\n    - {user: 0}", 3, "grants.list"),
        ("fronthaul:\n  receivers: 4\n  radio_port: 8003", 3, "fronthaul.radio_port"),
        ("runtime:\n  cores:\n    - 1\n    - 0\n    - 1", 5, "runtime.cores[2]"),
        ("runtime:\n  cores: [0]\n  workers: 2", 3, "runtime.workers"),
    ],
)
def test_a_contradiction_found_by_the_engine_is_told_with_its_line(
    text: str, line: int, key: str
) -> None:
    assert any(p.startswith(f"my.yaml:{line}: {key} ") for p in problems(text, check=True))


@pytest.mark.parametrize("where", ["host", "gpu", "auto"])
def test_samples_may_be_received_anywhere(where: str) -> None:
    text = f"fronthaul: {{kind: udp, receive: {where}}}\nruntime: {{gpus: 1}}"
    assert parse_cell(text, "my.yaml", check=True).cell.fronthaul.receive == where


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "numerology:\n  prefix_samples: 36",
            "my.yaml:2: numerology.prefix_samples is 36 but counts only with "
            "numerology.prefix: constant, and that is 'nr-normal'; delete it, or change "
            "numerology.prefix",
        ),
        (
            "runtime:\n  policy: static\n  groups: {fft: 1}",
            "my.yaml:3: runtime.groups is given but counts only with runtime.policy: core-groups, "
            "and that is 'static'; delete it, or change runtime.policy",
        ),
        (
            "runtime:\n  policy: core-groups\n  workers: 3\n  groups: {fft: 1, decode: 1}",
            "my.yaml:4: runtime.groups has 2 cores in all but must have 3, as many as there are "
            "workers",
        ),
        (
            "downlink:\n  mcs_table: 64qam\n  mcs_index: 9\n  rate: 1/2",
            "my.yaml:4: downlink.rate is 0.5 but counts only with downlink.mcs_table: none, and "
            "that is '64qam'; delete it, or change downlink.mcs_table",
        ),
        (
            "uplink:\n  mcs_table: 64qam\n  modulation: 16qam",
            "my.yaml:3: uplink.modulation is '16qam' but counts only with uplink.mcs_table: none, "
            "and that is '64qam'; delete it, or change uplink.mcs_table",
        ),
    ],
)
def test_a_key_that_would_count_for_nothing_is_a_contradiction(text: str, message: str) -> None:
    assert problems(text, check=True) == [message]


def test_a_key_that_counts_or_that_a_merge_brought_is_none() -> None:
    parse_cell("numerology: {prefix: constant, prefix_samples: 36}")
    parse_cell("uplink: {mcs_table: none, modulation: qpsk, rate: 0.5}")
    parse_cell("uplink: &up {rate: 0.5}\ndownlink: {<<: *up, mcs_table: 64qam, mcs_index: 4}")


def test_a_rate_may_be_a_fraction() -> None:
    assert not parse_cell("uplink: {crc: none}").cell.uplink.crc
    assert parse_cell("uplink: {rate: 1/3}").cell.uplink.rate == 1 / 3


def test_cores_that_this_machine_lacks_are_told_when_a_run_starts_not_before() -> None:
    here = os.sched_getaffinity(0)
    loaded = parse_cell(f"runtime:\n  cores: [{min(here)}, 4000]", "my.yaml")
    with pytest.raises(ConfigError) as caught:
        loaded.check_cores()
    assert str(caught.value).startswith("my.yaml:2: runtime.cores[1] is 4000 but must be one of")
    parse_cell(f"runtime: {{cores: [{min(here)}]}}").check_cores()


def test_a_file_of_a_key_is_found_from_the_cells_own_and_looked_at_when_a_run_starts(
    tmp_path: Path,
) -> None:
    (tmp_path / "cells").mkdir()
    cell, key = tmp_path / "cells" / "my.yaml", tmp_path / "cells" / "my.key"
    cell.write_text("fronthaul:\n  kind: udp\n  key_file: my.key\n")
    loaded = load_cell(cell)  # which may be meant for another machine
    assert loaded.cell.fronthaul.key_file == str(key)

    def told() -> str:
        with pytest.raises(ConfigError) as caught:
            loaded.check_key()
        return str(caught.value)

    assert told().startswith(f"{cell}:3: fronthaul.key_file is '{key}' but that cannot be read: No")
    key.write_text(32 * "0")
    key.chmod(0o644)
    assert told().endswith(f"its owner alone may have access to it; chmod 600 {key}")
    key.chmod(0o600)
    if "apt install libsodium23" not in core.key_problem(str(key)):
        loaded.check_key()
    parse_cell("fronthaul: {kind: udp}").check_key()
    loaded = load_cell((tmp_path / "cells").rename(tmp_path / "#1") / cell.name)
    assert told().endswith("is not one line of plain text without #")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "fronthaul: {key_file: my.key}",
            "my.yaml:1: fronthaul.key_file is 'my.key' but counts only with fronthaul.kind: udp, "
            "and that is 'shm'; delete it, or change fronthaul.kind",
        ),
        (
            "fronthaul:\n  kind: udp\n  receive: gpu\n  key_file: my.key\nruntime: {gpus: 1}",
            "my.yaml:4: fronthaul.key_file is 'my.key' but cannot be with fronthaul.receive gpu: "
            "cores, which check each packet with its key, must not read what a card wrote into a "
            "GPU",
        ),
        (
            'fronthaul: {kind: udp, key_file: "a\\nb"}',
            "my.yaml:1: fronthaul.key_file is 'a\\nb' but must be a file's name, without `#`",
        ),
    ],
)
def test_a_key_is_for_packets_that_cores_receive(text: str, message: str) -> None:
    assert problems(text, check=True) == [message]


@pytest.mark.parametrize(
    ("numbers", "text"), [([], ""), ([3], "3"), ([2, 0, 1, 7], "0 to 2, 7"), ([4, 6], "4, 6")]
)
def test_whole_numbers_in_a_row_are_drawn_together(numbers: list[int], text: str) -> None:
    assert spans(numbers) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_printed_number_reads_back_the_same(value: float) -> None:
    assert float(Fraction(number(value))) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [(1 / 3, "1/3"), (2.0**53, "9007199254740992"), (0.95, "0.95"), (-4.0, "-4"), (0.125, "0.125")],
)
def test_a_number_is_printed_as_a_person_writes_it(value: float, text: str) -> None:
    assert number(value) == text


def test_a_mistake_in_an_option_is_told_by_the_option() -> None:
    with pytest.raises(ConfigError, match=r"^--seconds is nan but must be between 0 and 10000000$"):
        parse_cell("").check(Run(seconds=float("nan")))


def test_a_file_that_cannot_be_read_is_told_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"missing\.yaml: cannot be read: no such file"):
        load_cell(tmp_path / "missing.yaml")
    (tmp_path / "large.yaml").write_text("#" * (1 << 18) + "#")
    with pytest.raises(ConfigError, match="is larger than 256 KiB"):
        load_cell(tmp_path / "large.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        load_cell(tmp_path / "binary.yaml")
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(ConfigError, match="is a named pipe"):
        load_cell(tmp_path / "pipe.yaml")


def test_a_file_whose_name_is_no_text_is_read_all_the_same() -> None:
    assert parse_cell("antennas: 8", "a\udcff\nb.yaml").cell.name == "a??b"


@given(st.text(max_size=200))
@settings(max_examples=200, deadline=None)
def test_no_text_makes_the_reader_fail_otherwise(text: str) -> None:
    try:
        parse_cell(text, check=False)
    except ConfigError as error:
        assert error.problems


@pytest.mark.parametrize("name", cells.names())
def test_every_example_cell_is_valid(name: str) -> None:
    loaded = cells.load(name)
    assert loaded.cell.name == name
    assert loaded.cell.description


@pytest.mark.parametrize(
    "file", sorted((ROOT / "examples/cells/pool").glob("*.yaml")), ids=lambda file: file.stem
)
def test_every_example_cell_for_a_pool_is_what_its_name_says(file: Path) -> None:
    cell = load_cell(file).cell
    shape, direction = file.stem.split("-")
    assert cell.name == f"pool-{file.stem}"
    assert f"{cell.antennas}x{cell.users}" == shape
    derived = core.describe(plan_text(cell, Run()))
    assert derived["frame_ms"] == 1.0
    pilots = -(-cell.users // cell.pilots.comb)
    half, rest = ("uplink", "downlink") if direction == "mixed" else (direction, direction)
    letters = half[0].upper() * ((14 - pilots) // 2)
    assert cell.schedule == "P" * pilots + letters + rest[0].upper() * (14 - pilots - len(letters))
    assert cell.combiner.group == 16
    for side in {half, rest}:
        # The first D symbol carries references only.
        carrying = cell.schedule.count(side[0].upper()) - (side == "downlink")
        assert derived[side]["code_blocks"] == derived[side]["blocks"] == cell.users * carrying


def test_an_example_of_a_family_has_a_name_too() -> None:
    assert cells.load("pool/128x32-uplink").cell.name == "pool-128x32-uplink"
    with pytest.raises(ConfigError, match=r"the examples are .*, pool/"):
        cells.load("pool/labtop")


def test_the_thesis_cell_is_the_published_case() -> None:
    cell = cells.load("thesis-16x8").cell
    derived = core.describe(plan_text(cell, Run()))
    assert (cell.antennas, cell.users, derived["frame_ms"]) == (16, 8, 5.0)
    assert (cell.schedule.count("P"), cell.schedule.count("U"), len(cell.schedule)) == (8, 62, 70)
    side = derived["uplink"]
    # The largest lifting size whose 22·Z information bits fit a symbol at rate 1/3.
    fitting = [z for z in LIFTING_SIZES if 22 * z <= side["bits_per_symbol"] / 3]
    assert side["lifting"] == max(fitting)
    assert side["code_blocks"] == side["blocks"] == 62 * 8


def test_an_example_is_found_by_name_and_a_wrong_name_lists_the_examples() -> None:
    assert cells.resolve("laptop-8x2") == cells.resolve("laptop-8x2.yaml")
    with pytest.raises(ConfigError, match="the examples are 256x128, agora-64x16"):
        cells.resolve("labtop")


def test_a_folder_is_told_from_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        cells.resolve(str(tmp_path))
    assert str(caught.value) == f"{tmp_path}: is a folder, not a cell's file"
    with pytest.raises(ConfigError, match=r"^labtop: no such file, nor an example of that name"):
        cells.resolve("labtop")


def test_the_printed_example_has_every_key_at_its_default() -> None:
    text = reference.example()
    assert parse_cell(text).cell == parse_cell("").cell
    for path, _ in walk(Cell):
        if "list" not in path[:-1]:
            assert f"{path[-1]}:" in text


def test_the_configuration_page_is_current() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert page == reference.markdown(), "run: carillon config reference > docs/configuration.md"


def test_every_key_is_documented() -> None:
    for path, field in walk(Cell):
        assert field.description or field.annotation.__doc__, path


def test_the_plan_holds_every_key_that_the_engine_reads() -> None:
    text = plan_text(Cell(), Run())
    assert core.validate(text) == []  # it knows them all
    keys = {line.split(" = ")[0].removeprefix("cell.") for line in text.splitlines()}
    for path, field in walk(Cell):
        inside_a_list = path[:2] == ("grants", "list") and len(path) > 2
        for_people = path[0] in ("name", "description") or path == ("grants", "file")
        is_section = section_model(field.annotation) is not None and path != ("grants", "list")
        if not (inside_a_list or for_people or is_section):
            assert ".".join(map(str, path)) in keys


def test_listed_grants_become_thirteen_numbers_each() -> None:
    text = """
    grants:
      kind: list
      list:
        - {user: 0, slot: 0, first_block: 0, blocks: 10}
        - {user: 1, direction: downlink, first_block: 5, blocks: 3, redundancy_version: 2,
           harq_process: 7, first_symbol: 3, symbols: 4, modulation: qpsk, rate: 1/4}
    """
    plan = plan_text(parse_cell(text, check=False).cell, Run())
    assert "cell.grants.list = 0 0 0 0 10 0 0 0 0 0 0 0 0 1 0 1 5 3 2 7 3 4 1 0 2560 0\n" in plan


def test_auto_is_zero_in_the_plan_and_numbers_survive_exactly() -> None:
    plan = plan_text(parse_cell("radio: {snr_db: [0.1, 30]}").cell, Run(role="bbu", frames=7))
    assert "cell.uplink.base_graph = 0\n" in plan
    assert "run.role = bbu\n" in plan
    assert "run.frames = 7\n" in plan
    values = next(line for line in plan.splitlines() if line.startswith("radio.snr_db = "))
    assert [float(v) for v in values.split(" = ")[1].split()] == [0.1, 30.0]


@given(
    antennas=st.integers(1, 64),
    users=st.integers(1, 16),
    group=st.integers(1, 16),
    modulation=st.sampled_from(["qpsk", "16qam", "64qam", "256qam"]),
    rate=st.floats(0.2, 0.85),  # what a lone symbol of the last slot can carry with its CRC
    snr=st.floats(-20, 60),
)
@settings(max_examples=50, deadline=None)
def test_the_engine_reads_every_plan_and_agrees_on_what_is_possible(
    antennas: int, users: int, group: int, modulation: str, rate: float, snr: float
) -> None:
    tree = {
        "antennas": antennas,
        "users": users,
        "schedule": "P" * users + "UUUU",
        "combiner": {"group": group},
        "uplink": {"modulation": modulation, "rate": rate},
        "radio": {"snr_db": snr},
    }
    found = core.validate(plan_text(Cell.model_validate(tree), Run()))
    keys = [problem.key.removeprefix("cell.") for problem in found]
    assert keys == (["users"] if users > antennas else [])


def test_a_cell_with_an_mcs_is_told_of_its_row_and_not_of_a_rate(tmp_path: Path) -> None:
    small = "numerology: {fft_size: 128, subcarriers: 12}\nschedule: PPU\n"
    (told,) = problems(
        small + "uplink:\n  block: symbol\n  mcs_table: low-se\n  mcs_index: 0\n", check=True
    )
    assert told == (
        "my.yaml:6: uplink.mcs_index names a row with which 24 payload bits make 40 information "
        "bits with their CRCs, but 24 coded bits leave parity for at most 22 (rate 0.95); take a "
        "lower rate or allot more resource elements"
    )
    (told,) = problems(
        small + "uplink: {block: symbol, modulation: qpsk, rate: 0.03}\n", check=True
    )
    assert told.startswith("my.yaml:3: uplink.rate ")
