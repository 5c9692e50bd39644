"""Several cells of one process: what is theirs by default, and what they may not share."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from carillon import cells
from carillon.config import ConfigError, Loaded, Run, parse_cell, together
from carillon.telemetry import CAUSES
from hang import HANG_S


def loaded(text: str, file: str) -> Loaded:
    return parse_cell(text, file)


def test_cells_of_one_file_are_numbered() -> None:
    example = cells.load("laptop-8x2")
    first, second, third = together([example] * 3, Run(role="bbu"))
    assert [one.cell.cell_id for one in (first, second, third)] == [0, 1, 2]
    assert [one.cell.fronthaul.bbu_port for one in (first, second, third)] == [8000, 8001, 8002]
    assert [one.cell.fronthaul.radio_port for one in (first, second, third)] == [9000, 9001, 9002]
    assert len({one.cell.fronthaul.shm_name for one in (first, second, third)}) == 3


def test_receivers_have_ports_of_their_own() -> None:
    text = "fronthaul: {kind: udp, receivers: 3}\n"
    cells = together([loaded(text, "a.yaml"), loaded(text, "b.yaml")], Run())
    assert [one.cell.fronthaul.bbu_port for one in cells] == [8000, 8003]
    fewer = "fronthaul: {kind: udp}\n"
    cells = together([loaded(text, "a.yaml"), loaded(fewer, "b.yaml")], Run())
    assert [one.cell.fronthaul.bbu_port for one in cells] == [8000, 8003]


def test_what_a_file_says_stays() -> None:
    given = loaded("cell_id: 7\nfronthaul: {bbu_port: 8100}\n", "b.yaml")
    _, second = together([cells.load("laptop-8x2"), given], Run())
    assert (second.cell.cell_id, second.cell.fronthaul.bbu_port) == (7, 8100)


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ("cell_id: 0\n", "cell_id", "is 0, and so it is in a.yaml (cell-0)"),
        ("fronthaul: {kind: udp, bbu_port: 8000}\n", "fronthaul.bbu_port", "a.yaml (cell-0)"),
        ("runtime: {workers: 1}\n", "runtime.workers", "is 1 but 0 in a.yaml (cell-0)"),
    ],
)
def test_a_collision_names_files_and_key(text: str, key: str, words: str) -> None:
    first = loaded("fronthaul: {kind: udp}\n", "a.yaml")
    with pytest.raises(ConfigError) as caught:
        together([first, loaded(text, "b.yaml")], Run())
    (message,) = str(caught.value).splitlines()
    assert message.startswith(f"b.yaml:1: {key} ")
    assert words in message


@pytest.mark.realtime
def test_each_cell_of_a_run_has_its_folder(tmp_path: Path) -> None:
    words = ["demo", "--cell", "laptop-8x2", "--cell", "laptop-8x2", "--frames", "300", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "carillon", *words, "--folder", str(tmp_path / "run")],
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [row["cell_id"] for row in rows] == [0, 1]
    assert json.loads((tmp_path / "run" / "cells.json").read_text(encoding="utf-8")) == rows
    for row in rows:
        folder = tmp_path / "run" / row["folder"]
        for name in ("result.json", "report.html", "telemetry.bin", "carillond.log"):
            assert (folder / name).is_file(), name
        assert row["frames"] == row["completed"] + row["late"] > 100
        assert row["late"] == sum(row[cause] for cause in CAUSES) >= row["nacked"]
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        assert result["packets"]["rejected_cell"] == 0
        assert result["frames"]["seen"] == row["frames"]


@pytest.mark.slow
@pytest.mark.realtime
def test_a_cell_whose_radio_never_comes_ends_the_run_and_is_named(tmp_path: Path) -> None:
    port = 20000 + os.getpid() % 10000
    files = []
    for number in range(2):
        file = tmp_path / f"{number}.yaml"
        file.write_text(
            "users: 2\nschedule: PPUUUUUUGDDDDD\ndeadlines: {downlink_lead_ms: 0.25}\n"
            f"cell_id: {number}\nfronthaul: {{bbu_port: {port + number}, "
            f"radio_port: {port + 20 + number}}}\n"
        )
        files.append(str(file))
    program = [sys.executable, "-m", "carillon"]
    bbu = subprocess.Popen(
        [*program, "run", *files, "--frames", "100", "--folder", str(tmp_path / "bbu")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with bbu:
        try:
            words = ["radio", files[0], "--seconds", "2", "--folder", str(tmp_path / "radio")]
            subprocess.run([*program, *words], capture_output=True, timeout=HANG_S, check=False)
            _, err = bbu.communicate(timeout=HANG_S)
        finally:
            bbu.kill()
    assert bbu.returncode == 1
    assert "cell-1: nothing comes from its radio unit; frames over: 0\n" in err
    assert "cell-0: nothing" not in err
    assert "Is `carillon radio` running with the same cells" in err
    assert (tmp_path / "bbu" / "cell-0" / "report.html").is_file()
