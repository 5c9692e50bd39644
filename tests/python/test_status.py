"""Every command ends with a status of docs/commands.md, and each of these means one thing."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from carillon import core
from carillon.errors import Status
from synthetic import Sections, quiet_run

PROGRAM = [sys.executable, "-m", "carillon"]
ROOT = Path(__file__).parents[2]


def call(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """In a folder of its own, so that files are named as a user names them."""
    return subprocess.run(
        [*PROGRAM, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        env=os.environ | environment,
        preexec_fn=_hear_hangups,
    )


def _hear_hangups() -> None:
    """These tests may themselves run under nohup, and what it ignores is inherited."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def stand_in(folder: Path, records: Sections, first: str = ":") -> str:
    """A carillond that leaves these records; `first` is what it does before."""
    records.write(folder / "records")
    program = folder / "carillond"
    program.write_text(f"#!/bin/sh\n{first}\ncp '{folder}/records' telemetry.bin\n")
    program.chmod(0o755)
    return str(program)


def none_in_time() -> Sections:
    records = quiet_run()
    records.rows["counters"][0]["frames_completed"] = 0
    return records


def test_the_page_lists_every_status() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (\d+) \| ([a-z ]+) \|", page, re.M)
    expected = [(str(int(one)), one.name.lower().replace("_", " ")) for one in Status]
    assert listed == expected


@pytest.mark.parametrize(
    "words",
    [
        "no-such-command",
        "demo --frames -3",
        "demo --cell no-such-cell",
        "demo --device cuda --seconds 0",
        "run no-such-cell",
        "radio no-such-cell",
        "run laptop-8x2 --folder a-run",
        "link laptop-8x2 --snr 0:0:1",
        "link laptop-8x2 --snr 20 --folder a-file",
        "calibrate",
        "calibrate --gpu no-such-file",
        "calibrate laptop-8x2 --output .",
        "plan no-such-cell",
        "plan laptop-8x2 --calibration no-such-file",
        "plan laptop-8x2 --calibration a-file",
        "plan laptop-8x2 --machine no-such-file",
        "validate no-such-cell",
        "report no-such-folder",
        "report .",
        "study no-such-study",
        "study rack --virtual",
        "study millipede-5.1 --costs a-file",
        "sweep no-such-sweep",
        "simulate no-such-study",
        "ingest bench --sizes 3",
        "bench --filter no-such-kernel",
        "bench --filter (",
        "bench --isa no-such-isa",
        "bench cell no-such-cell",
        "config check no-such-cell",
        "config show no-such-cell",
        "doctor --interface no-such0 --seconds 0",
    ],
)
def test_wrong_input(tmp_path: Path, words: str) -> None:
    (tmp_path / "a-file").write_text("not JSON")
    (tmp_path / "a-run").mkdir()
    (tmp_path / "a-run" / "run.json").write_text("{}")
    done = call(tmp_path, *words.split())
    assert done.returncode == Status.WRONG_INPUT, done.stderr
    assert "Traceback" not in done.stderr


def test_an_instruction_set_that_is_not_there_is_wrong_input(tmp_path: Path) -> None:
    done = call(tmp_path, "config", "show", "laptop-8x2", CARILLON_ISA="avx3")
    assert done.returncode == Status.WRONG_INPUT


@pytest.mark.parametrize("words", ["run laptop-8x2", "demo --cell laptop-8x2"])
def test_a_run_without_a_frame_in_time_is_too_slow(tmp_path: Path, words: str) -> None:
    daemon = stand_in(tmp_path, none_in_time())
    line = (*words.split(), "--seconds", "1", "--folder", "run")
    done = call(tmp_path, *line, CARILLOND=daemon)
    assert done.returncode == Status.TOO_SLOW, done.stderr
    assert (tmp_path / "run" / "report.html").is_file()


@pytest.mark.parametrize("words", ["run laptop-8x2", "radio laptop-8x2", "demo --cell laptop-8x2"])
@pytest.mark.parametrize("number", ["INT", "TERM", "HUP"])
def test_a_run_that_is_stopped_says_so_with_its_report(
    tmp_path: Path, words: str, number: str
) -> None:
    records = quiet_run()
    records.rows["counters"][0]["packets_sent"] = 1
    daemon = stand_in(tmp_path, records, f"kill -{number} $PPID")
    done = call(tmp_path, *words.split(), "--folder", "run", CARILLOND=daemon)
    told = "writing the report\ncarillon: stopped\n"
    assert (done.returncode, done.stderr) == (Status.STOPPED, told)
    assert (tmp_path / "run" / "report.html").is_file()


def test_a_run_under_nohup_outlives_its_terminal(tmp_path: Path) -> None:
    daemon = stand_in(tmp_path, quiet_run(), "kill -HUP $PPID")
    done = subprocess.run(
        ["nohup", *PROGRAM, "run", "laptop-8x2", "--seconds", "1", "--folder", "run"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=os.environ | {"CARILLOND": daemon},
    )
    assert done.returncode == Status.DONE


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("nosuch", "no such command 'nosuch'; `python -m carillon --help` tells more"),
        ("run", "missing argument 'CELL'; `python -m carillon run --help` tells more"),
        ("study", "invalid value for NAME: which study? carillon study --list names them"),
    ],
)
def test_a_wrong_word_is_told_in_a_line_as_all_mistakes_are(
    tmp_path: Path, words: str, said: str
) -> None:
    done = call(tmp_path, *words.split())
    assert (done.returncode, done.stdout) == (Status.WRONG_INPUT, "")
    assert done.stderr.startswith(f"carillon: {said}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("run loop", "loop: is a symbolic link that leads to no file, or round in a circle"),
        ("flowgraph plan nbfm --costs loop", "too many levels of symbolic links"),
        ("plan lan-8x4 --machine loop", "too many levels of symbolic links"),
    ],
)
def test_a_link_that_leads_round_in_a_circle_is_told(tmp_path: Path, words: str, said: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    done = call(tmp_path, *words.split())
    assert done.returncode == Status.WRONG_INPUT
    assert said in done.stderr and done.stderr.count("\n") == 1


def test_memory_that_is_not_there_is_a_sentence() -> None:
    program = """
from carillon import cli
def fill(**mode):
    raise MemoryError
cli.app = fill
raise SystemExit(cli.main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == Status.FAILED
    assert done.stderr == "carillon: no memory is left; see `ulimit -v` and `free`\n"


def test_too_few_files_are_a_sentence_that_says_what_helps(tmp_path: Path) -> None:
    program = """
import resource, sys
sys.argv = ["carillon", "demo", "--cell", "lan-8x4", "--frames", "10", "--folder", "out"]
resource.setrlimit(resource.RLIMIT_NOFILE, (7, 7))
from carillon import cli
sys.exit(cli.main())
"""
    own = [sys.executable, "-c", program]
    done = subprocess.run(own, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == Status.FAILED
    assert done.stderr.removeprefix("writing the report\n").startswith("carillon: ")
    assert "Too many open files: a process may have so few; `ulimit -n 1024`" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_run_that_breaks_has_failed(tmp_path: Path) -> None:
    daemon = stand_in(tmp_path, quiet_run(), "exit 4")
    done = call(tmp_path, "run", "laptop-8x2", "--folder", "run", CARILLOND=daemon)
    assert done.returncode == Status.FAILED


@pytest.mark.skipif(bool(core.cuda_machine()["devices"]), reason="there is a GPU")
@pytest.mark.parametrize(
    "words", ["run laptop-8x2 --gpus 1", "demo --device cuda", "study gpu-goals --from ."]
)
def test_without_a_gpu_there_is_no_device(tmp_path: Path, words: str) -> None:
    done = call(tmp_path, *words.split())
    assert done.returncode == Status.NO_DEVICE, done.stderr


def unread(folder: Path, *words: str, **environment: str) -> tuple[int, str]:
    """Status and complaints of a command whose reader has gone, as behind `| head`."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [*PROGRAM, *words],
            cwd=folder,
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | environment,
        )
    finally:
        os.close(writer)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "words", ["config reference", "config show laptop-8x2", "study --list", "--help", "--version"]
)
def test_a_reader_that_goes_away_is_no_failure(tmp_path: Path, words: str) -> None:
    assert unread(tmp_path, *words.split()) == (Status.DONE, "")


def test_a_run_goes_on_without_a_reader(tmp_path: Path) -> None:
    daemon = stand_in(tmp_path, quiet_run())
    words = ("run", "laptop-8x2", "--seconds", "1", "--folder", "run")
    told = "writing the report\n"
    assert unread(tmp_path, *words, CARILLOND=daemon) == (Status.DONE, told)
    assert (tmp_path / "run" / "report.html").is_file()


@pytest.mark.parametrize(
    "words",
    [
        "demo --cell laptop-8x2",
        "demo --cell laptop-8x2 --cell laptop-8x2",
        "demo --device cuda",
        "run laptop-8x2",
        "radio laptop-8x2",
        "link laptop-8x2 --snr 20",
        "plan laptop-8x2",
        "plan laptop-8x2 --search",
        "validate laptop-8x2",
        "study millipede-5.1",
        "study millipede-5.7",
        "study megastation-8",
        "study megastation-15",
        "study rack",
        "study gpu-goals",
        "sweep link-snr",
        "simulate four-a100",
        "ingest bench",
    ],
)
def test_a_folder_of_someone_else_is_left_alone(tmp_path: Path, words: str) -> None:
    (tmp_path / "home").mkdir()
    thesis = tmp_path / "home" / "thesis.tex"
    thesis.write_text("not Carillon's")
    done = call(tmp_path, *words.split(), "--folder", "home")
    assert done.returncode == Status.WRONG_INPUT
    assert done.stderr.endswith(
        "carillon: home holds files that are not Carillon's; name another --folder, a new or "
        "empty one\n"
    )
    assert list(tmp_path.rglob("*")) == [tmp_path / "home", thesis]


def test_a_folder_of_ours_is_used_again(tmp_path: Path) -> None:
    words = ("link", "laptop-8x2", "--snr", "20", "--frames", "1", "--piece", "1", "--folder")
    (tmp_path / "curve").mkdir()
    for _ in range(2):
        assert call(tmp_path, *words, "curve").returncode == Status.DONE


@pytest.mark.parametrize("words", ["", "--search"])
@pytest.mark.parametrize("option", ["--calibration", "--machine"])
def test_a_plan_that_fails_leaves_nothing(tmp_path: Path, words: str, option: str) -> None:
    (tmp_path / "given").write_text("cores: none")
    line = ("plan", "laptop-8x2", "--seconds", "0.1", *words.split(), option, "given")
    done = call(tmp_path, *line, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert done.returncode == Status.WRONG_INPUT, done.stderr
    assert not (tmp_path / "runs").exists()
