"""The command line as a person meets it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import cast

import pytest
from carillon import core
from carillon.cli import app
from carillon.commands.start import _Notes
from carillon.doctor.examination import Examination
from carillon.telemetry import Telemetry
from hang import HANG_S
from synthetic import Sections, quiet_run, run_folder
from typer.main import get_command

PROGRAM = [sys.executable, "-m", "carillon"]
COMMANDS = sorted(get_command(app).commands)  # type: ignore[attr-defined]
ROOT = Path(__file__).parents[2]
CONFIG_COMMANDS = sorted(get_command(app).commands["config"].commands)  # type: ignore[attr-defined]


def call(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *words],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"COLUMNS": "100"} | environment,
    )


def test_the_commands_are_all_there() -> None:
    expected = (
        "bench calibrate config demo doctor flowgraph ingest link mac net plan power radio report "
    )
    expected += "run simulate study sweep validate"
    assert expected.split() == COMMANDS
    assert CONFIG_COMMANDS == ["check", "example", "reference", "schema", "show"]


def test_the_readme_names_every_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme.split("## Where to go")[1]
    assert not [command for command in COMMANDS if f"`{command}`" not in table]


@pytest.mark.parametrize(
    "words", [[c] for c in COMMANDS if c != "config"] + [["config", c] for c in CONFIG_COMMANDS]
)
def test_every_command_has_help_with_an_example(words: list[str]) -> None:
    done = call(*words, "--help")
    assert done.returncode == 0
    _, _, shown = done.stdout.partition("Example")
    lines = [line.strip() for line in shown.splitlines()]
    assert lines[0] in (":", "s:")
    assert any(line.startswith(f"carillon {' '.join(words)}") for line in lines[1:])
    assert not [line for line in lines if line.count("carillon") > 2 or "      " in line]


def test_the_version_is_the_engines() -> None:
    assert call("--version").stdout == f"carillon {core.version}\n"


def test_wrong_usage_is_status_2_and_says_what_to_do() -> None:
    assert call("demo", "--frames", "-3").returncode == 2
    done = call("link", "rayleigh-16x4", "--snr", "0:0:1")
    assert done.returncode == 2
    assert "never reaches its stop" in done.stderr


def test_a_wrong_cell_is_status_2_with_file_and_line_on_standard_error(tmp_path: Path) -> None:
    cell = tmp_path / "my.yaml"
    cell.write_text("antennas: 8\nuser: 3\n")
    for words in (["config", "check"], ["demo", "--cell"], ["run"]):
        done = call(*words, cell)
        assert done.returncode == 2
        assert done.stdout == ""
        assert done.stderr == f"{cell}:2: user is not a key; did you mean users?\n"


def test_an_example_written_to_a_file_passes_the_check(tmp_path: Path) -> None:
    cell = tmp_path / "my-cell.yaml"
    cell.write_text(call("config", "example").stdout)
    done = call("config", "check", cell)
    assert (done.returncode, done.stdout) == (0, f"{cell}: my-cell is a valid cell\n")


def test_check_tells_of_every_file(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").touch()
    (tmp_path / "bad.yaml").write_text("\n\nusers: 0\nring: 1\n")
    (tmp_path / "other.yaml").write_text("ring: 1\n")
    done = call(
        "config", "check", *(tmp_path / f for f in ("bad.yaml", "empty.yaml", "other.yaml"))
    )
    assert done.returncode == 2
    valid = "empty is a valid cell, with every key at its default"
    assert done.stdout == f"{tmp_path / 'empty.yaml'}: {valid}\n"
    places = [line.removeprefix(f"{tmp_path}/").split(" ")[:2] for line in done.stderr.splitlines()]
    assert places == [["bad.yaml:3:", "users"], ["bad.yaml:4:", "ring"], ["other.yaml:1:", "ring"]]


def test_show_prints_every_derived_figure() -> None:
    done = call("config", "show", "laptop-8x2")
    for word in ("sample rate", "Gb/s", "uplink deadline", "memory", "transport blocks", "Mb/s"):
        assert word in done.stdout
    derived = json.loads(call("config", "show", "laptop-8x2", "--json").stdout)["derived"]
    assert derived["frame_ms"] == 1.0
    bits = derived["uplink"]["payload_bits"]
    assert derived["uplink"]["ideal_rate_mbps"] == pytest.approx(bits / 1e3)


def test_what_looks_like_markup_is_only_text(tmp_path: Path) -> None:
    cell = tmp_path / "cell.yaml"
    cell.write_text('name: "[/] [red]x"\ndescription: "a [b] in [/brackets]"\n')
    done = call("config", "show", cell)
    assert done.stdout.startswith("[/] [red]x: 8 antennas, 2 users")
    assert "a [b] in [/brackets]" in done.stdout


def test_a_terminal_that_knows_only_ascii_gets_all_the_same(tmp_path: Path) -> None:
    done = call("config", "example", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "cell.yaml").write_text(done.stdout)
    assert call("config", "check", tmp_path / "cell.yaml").returncode == 0
    assert call("doctor", "--seconds", "0.2", PYTHONIOENCODING="ascii").stderr == ""


def test_the_schema_is_json() -> None:
    assert json.loads(call("config", "schema").stdout)["title"] == "Carillon cell"


def test_report_prints_json_alone(tmp_path: Path) -> None:
    run_folder(tmp_path / "run", quiet_run())
    done = call("report", tmp_path / "run", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["frames"]["completed"] == 50
    assert done.stdout == (tmp_path / "run" / "result.json").read_text(encoding="utf-8")


def test_closed_standard_output_is_no_crash(tmp_path: Path) -> None:
    run_folder(tmp_path / "run", quiet_run())
    words = [*PROGRAM, "report", str(tmp_path / "run"), "--json"]
    line = ["sh", "-c", 'exec "$@" >&-', "sh", *words]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "writing the report\n")


def test_a_folder_without_a_run_is_wrong_input(tmp_path: Path) -> None:
    done = call("report", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"carillon: {tmp_path} holds no run")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "holds no run: run.json is not JSON: "),
        ("[" * 100_000, "holds no run: run.json is not JSON: is nested too deeply"),
        ("[]", "has run format None, this Carillon reads 1"),
        ('{"format": 1}', "run.json is damaged: KeyError('configuration')"),
        ('{"format": 1, "configuration": {}, "run": {"x": 1}}', "run.json is damaged: TypeError("),
    ],
)
def test_a_folder_with_a_damaged_run_is_wrong_input(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "run.json").write_text(text)
    done = call("report", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"carillon: {tmp_path}")
    assert words in done.stderr


def test_a_folder_that_cannot_be_made_is_wrong_input_and_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    words = ("link", "laptop-8x2", "--snr", "20", "--frames", "1", "--piece", "1")
    done = call(*words, "--folder", file / "curve")
    assert done.returncode == 2
    curve = file / "curve"
    assert done.stderr == (
        f"carillon: {curve} cannot hold results: not a directory; name another --folder\n"
    )


def test_an_instruction_set_that_is_not_there_is_told() -> None:
    done = call("link", "laptop-8x2", "--snr", "20", CARILLON_ISA="avx3")
    assert done.returncode == 2
    assert done.stderr.startswith("carillon: CARILLON_ISA=avx3 is not available on this machine")


def test_a_missing_daemon_is_told(tmp_path: Path) -> None:
    done = call(
        "demo", "--cell", "laptop-8x2", "--folder", tmp_path, CARILLOND="/nowhere/carillond"
    )
    assert done.returncode == 1
    assert "/nowhere/carillond is missing; run ./carillon setup" in done.stderr


@pytest.mark.parametrize("words", [["run", "laptop-8x2"], ["demo", "--cell", "laptop-8x2"]])
def test_a_daemon_that_may_not_be_executed_is_told(tmp_path: Path, words: list[str]) -> None:
    daemon = tmp_path / "carillond"
    daemon.touch(0o644)
    done = call(*words, "--folder", tmp_path / "run", CARILLOND=str(daemon))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"carillon: {daemon} may not be executed; ")
    assert not (tmp_path / "run").exists()


def stand_in(folder: Path, records: Sections, *says: str) -> str:
    """A carillond that says these lines and leaves these records."""
    records.write(folder / "records")
    (folder / "said").write_text("".join(f"carillond: {line}\n" for line in says))
    program = folder / "carillond"
    program.write_text(f"#!/bin/sh\ncat '{folder}/said' >&2\ncp '{folder}/records' telemetry.bin\n")
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize("words", [["demo", "--cell", "laptop-8x2"], ["radio", "laptop-8x2"]])
def test_a_run_whose_frames_were_all_skipped_is_status_1(tmp_path: Path, words: list[str]) -> None:
    records = quiet_run(frames=0)
    records.rows["counters"][0]["frames_skipped"] = 12
    daemon = stand_in(tmp_path, records)
    done = call(*words, "--seconds", "1", "--folder", tmp_path / "run", CARILLOND=daemon)
    told = (
        "writing the report\n"
        "carillon: the radio's thread did not run: it skipped all 12 frames; "
        "`carillon doctor` tells who had its core\n"
    )
    assert (done.returncode, done.stderr) == (1, told)
    assert (tmp_path / "run" / "report.html").is_file()


def test_a_radio_whose_packets_cannot_leave_is_status_1(tmp_path: Path) -> None:
    records = quiet_run()
    records.rows["counters"][0]["packets_sent"] = 0
    daemon = stand_in(tmp_path, records, "there is no route to 203.0.113.7: nothing can be sent")
    line = ("radio", "laptop-8x2", "--frames", "50", "--folder", tmp_path / "run")
    done = call(*line, CARILLOND=daemon)
    assert done.returncode == 1
    assert "carillon: not one packet of 50 frames could be sent; `ip route get` with" in done.stderr
    assert (tmp_path / "run" / "report.html").is_file()


def test_a_run_that_carillond_did_not_finish_is_status_1_with_its_report(tmp_path: Path) -> None:
    records = quiet_run()
    records.rows["counters"][0]["phase"] = 1
    words = ("demo", "--cell", "laptop-8x2", "--seconds", "1", "--folder", tmp_path / "run")
    done = call(*words, CARILLOND=stand_in(tmp_path, records))
    assert done.returncode == 1
    assert "carillon: carillond ended before the run did; its log is" in done.stderr
    assert (tmp_path / "run" / "report.html").is_file()


def test_what_is_wrong_with_the_machine_is_told_once_on_standard_error(tmp_path: Path) -> None:
    daemon = stand_in(
        tmp_path,
        quiet_run(),
        "datagrams of 4400 bytes do not fit the MTU of 1500",
        "making the radio's frames: 0 of 16",
        "cannot lock memory: refused",
        *(f"{name}: cannot use SCHED_FIFO: refused" for name in ("worker 0", "worker 1 + radio")),
    )
    words = ("demo", "--cell", "laptop-8x2", "--seconds", "1", "--json", "--folder")
    done = call(*words, tmp_path / "run", CARILLOND=daemon)
    assert json.loads(done.stdout)["frames"]["completed"] == 50
    assert done.returncode == 0
    said = done.stderr.splitlines()
    assert [line for line in said if line.startswith("carillon: ")] == [
        "carillon: note: datagrams of 4400 bytes do not fit the MTU of 1500",
        "carillon: note: cannot lock memory: refused",
        "carillon: note: cannot use SCHED_FIFO: refused",
    ]
    assert "making" not in done.stderr


class _Phased:
    """Telemetry of which only the phase is looked at."""

    def __init__(self, phase: str) -> None:
        self._phase = phase

    def phase(self) -> str:
        return self._phase


def test_what_is_found_while_it_runs_is_told_when_it_is_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_folder(tmp_path, quiet_run())
    notes = _Notes(folder)

    def watch_and_tell(*said: str) -> list[str]:
        folder.log_file.write_text("".join(f"carillond: {line}\n" for line in said))
        notes.watch([cast("Telemetry", _Phased("running"))])
        notes.tell()
        return capsys.readouterr().err.splitlines()

    assert watch_and_tell("cannot lock memory") == ["carillon: note: cannot lock memory"]
    assert watch_and_tell("cannot lock memory", "who else knocked") == [
        "carillon: note: who else knocked"
    ]


@pytest.mark.parametrize("milliseconds", [*range(0, 240, 20), 300, 400, 600])
def test_ctrl_c_ends_it_without_a_word_of_python(milliseconds: int) -> None:
    """Held back as ./carillon does it, while the interpreter starts."""
    process = subprocess.Popen(
        ["env", "--block-signal=INT", *PROGRAM, "config", "show", "laptop-8x2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(milliseconds / 1e3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=HANG_S)
    if process.returncode == -signal.SIGINT:  # before env could hold it back
        assert milliseconds < 100
        assert err == ""
    elif process.returncode == 0:  # it had done its work
        assert out
        assert err == ""
    else:
        assert (process.returncode, err) == (130, "carillon: stopped\n")


def test_ctrl_c_after_the_work_changes_nothing() -> None:
    """From when Python begins to end, in which it takes its handlers down."""
    program = """
import atexit, os, signal, sys
atexit.register(os.kill, os.getpid(), signal.SIGINT)
sys.argv = ["carillon", "config", "show", "laptop-8x2"]
from carillon.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == call("config", "show", "laptop-8x2").stdout.split()


def test_doctor_speaks_json_and_its_status_is_the_verdict() -> None:
    done = call("doctor", "--json", "--seconds", "0.2")
    told = Examination.model_validate_json(done.stdout)
    assert (done.returncode, done.stderr) == (told.verdict == "fail", "")
