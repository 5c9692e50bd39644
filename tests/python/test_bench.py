"""`carillon bench`: the program, and what is made of its output."""

import csv
import json
from pathlib import Path

import pytest
from carillon import bench
from carillon.bench import BenchError, Choice, Row
from carillon.cli import app
from typer.testing import CliRunner

ROW = {
    "group": "phy/crc",
    "kernel": "crc24a",
    "shape": "256 bits",
    "isa": "any",
    "per": "call",
    "ns": 5.5,
    "median_ns": 6.0,
    "gflops": None,
    "mbps": 46500.0,
    "share": 0.5,
    "of": "fp32",
}
NOTHING = "no benchmark matches 'x'; --list names all"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands for carillon-bench: lists two rows and measures them."""
    path = tmp_path / "carillon-bench"
    row = json.dumps(ROW)
    path.write_text(
        f"#!/bin/sh\ncase $* in *--list) echo a; echo b ;; *) echo '{row}'; echo '{row}' ;; esac\n"
    )
    path.chmod(0o755)
    monkeypatch.setenv("CARILLON_BENCH", str(path))
    return path


def replace_script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")


def run(*words: str) -> str:
    result = CliRunner().invoke(app, ["bench", *words])
    if result.exception is not None:
        raise result.exception
    return result.stdout


def test_rows_come_as_they_are_measured(script: Path) -> None:
    assert list(bench.measure([str(script)])) == [Row(**ROW), Row(**ROW)]  # type: ignore[arg-type]


def test_what_is_chosen_reaches_the_program(script: Path) -> None:
    replace_script(script, 'echo "$@"')
    with bench.command(Choice("fft|crc", ("avx2",), ("laptop-8x2",), quick=True)) as words:
        plan = Path(words[-1].removeprefix("laptop-8x2="))
        assert "cell.antennas = 8" in plan.read_text()
        (line,) = bench.names(words)
    assert line == f"--filter fft|crc --quick --isa avx2 --plan laptop-8x2={plan} --list"
    assert not plan.exists()


@pytest.mark.parametrize("call", [bench.names, lambda words: list(bench.measure(words))])
def test_a_program_that_fails_is_told(script: Path, call: object) -> None:
    replace_script(script, "echo carillon-bench: no AVX here >&2; exit 3")
    assert callable(call)
    with pytest.raises(BenchError, match=r"^no AVX here"):
        call([str(script)])


def test_a_wrong_expression_is_told() -> None:
    with pytest.raises(BenchError, match="--filter '\\(' is no regular expression"):
        run("--filter", "(")


def test_the_table_shows_time_rate_and_share(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")  # which cuts no figure short
    shown = run()
    assert "kernels, any" in shown
    line = next(line for line in shown.splitlines() if "crc24a" in line)
    assert line.split() == "crc24a 256 bits 5.5 call 46500 Mb/s 50% fp32".split()


def test_json_and_csv_hold_every_row(script: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    rows = json.loads(run("--json", "--csv", str(file)))["rows"]
    assert [(row["kernel"], row["ns"]) for row in rows] == [("crc24a", 5.5)] * 2
    with file.open() as text:
        assert [(row["mbps"], row["gflops"]) for row in csv.DictReader(text)] == [
            ("46500.0", "")
        ] * 2


def test_a_file_that_cannot_be_written_is_told_before_measuring(script: Path) -> None:
    replace_script(script, "kill -9 $PPID")
    with pytest.raises(OSError, match="nowhere"):
        run("--csv", "/nowhere/rows.csv")


def test_nothing_that_matches_is_an_error(script: Path) -> None:
    replace_script(script, "true")
    with pytest.raises(BenchError, match=NOTHING):
        run("--only", "x", "--json")


def test_stopping_lists_what_was_measured(script: Path) -> None:
    row = json.dumps(ROW)
    interrupt = (
        f"case $* in *--list) echo a ;; *) echo '{row}'; sleep 2; kill -INT $PPID; sleep 9 ;; esac"
    )
    replace_script(script, interrupt)
    result = CliRunner().invoke(app, ["bench"])
    assert "crc24a" in result.stdout
    assert result.exit_code == 130


def test_the_installed_program_measures_every_kernel_and_whole_frames() -> None:
    words = ("--quick", "--json", "--cell", "laptop-8x2")
    rows = json.loads(run(*words, "--filter", "crc24a 256|zeroforce 8x8|laptop-8x2"))["rows"]
    by_kernel = {(row["kernel"], row["isa"]): row for row in rows}
    assert by_kernel["crc24a", "any"]["mbps"] > 0
    for (kernel, _isa), row in by_kernel.items():
        assert 0 < row["ns"] <= row["median_ns"]
        if kernel == "zeroforce":
            assert 0.01 < row["share"] < 2
    frames = [row for row in rows if row["kernel"] == "frame"]
    assert frames
    for frame in frames:
        opcodes = [r for r in rows if r["shape"] == "laptop-8x2" and r["isa"] == frame["isa"]]
        parts = sum(row["us_per_frame"] for row in opcodes) - frame["us_per_frame"]
        assert parts == pytest.approx(frame["us_per_frame"], rel=0.01)
        assert 0 < frame["core_ms_per_ms"] < 100


def test_peers_are_held_against_our_kernels() -> None:
    found = json.loads(run("--quick", "--json", "--filter", "crc24a 256", "--peers"))["peers"]
    assert [(peer["peer"], peer["kernel"]) for peer in found] == [
        ("numpy.fft.fft", "fft"),
        ("numpy.linalg.pinv", "zeroforce"),
    ]
    assert all(peer["ratio"] > 1 for peer in found)
