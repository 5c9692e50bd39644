"""`carillon bench`: the program, and what is made of its output."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from ctypes.util import find_library
from pathlib import Path
from typing import Any

import pytest
from carillon import bench, cells, core
from carillon.bench import BenchError, CellChoice, Choice, Peer
from carillon.cli import app
from carillon.errors import InputError
from hang import HANG_S
from typer.testing import CliRunner

ROW = {
    "group": "phy/crc",
    "kernel": "crc24a",
    "shape": "256 bits",
    "isa": "any",
    "per": "call",
    "ns": 5.0,
    "median_ns": 10.0,
    "gflops": None,
    "mbps": 46500.0,
    "peak_ns": 1.0,
    "peak": "fp32",
    "bound_ns": 2.5,
    "bound": "L2",
    "peers": [
        {"peer": "Eigen 3.4.0", "method": "LLT", "ns": 40.0, "median_ns": 42.0, "ratio": 4.2},
        {
            "peer": "srsRAN",
            "method": "recorded",
            "ns": 90.0,
            "median_ns": 90.0,
            "ratio": 9.0,
            "recorded": "51 Mb/s at 3.6 GHz",
        },
    ],
}
ABOUT = {
    "compiler": "GCC 12.2.0",
    "peers": [
        {"library": "Eigen", "found": "Eigen 3.4.0", "get": "apt install libeigen3-dev"},
        {"library": "MKL", "found": "", "get": "pip install mkl"},
    ],
}


def frame_row(shape: str, kernel: str, core_ms: float, failed: int) -> dict[str, Any]:
    return ROW | {
        "group": "frame",
        "kernel": kernel,
        "shape": shape,
        "isa": "avx2",
        "us_per_frame": 1000 * core_ms,
        "core_ms_per_ms": core_ms,
        "blocks": 24,
        "blocks_failed": failed,
    }


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands for carillon-bench: lists two rows and measures them."""
    path = tmp_path / "carillon-bench"
    write_script(path, ROW, ROW)
    path.chmod(0o755)
    monkeypatch.setenv("CARILLON_BENCH", str(path))
    monkeypatch.setenv("COLUMNS", "140")
    return path


def write_script(path: Path, *rows: dict[str, Any], then: str = "") -> None:
    lines = "\n".join(json.dumps(row) for row in rows)
    path.write_text(
        f"#!/bin/sh\ncase $* in\n--about) echo '{json.dumps(ABOUT)}' ;;\n"
        f"*--list) echo '{lines}' ;;\n*) echo '{lines}'; {then or ':'} ;;\nesac\n"
    )


def replace_script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")


def run(*words: str) -> str:
    result = CliRunner().invoke(app, ["bench", *words])
    if result.exception is not None:
        raise result.exception
    return result.stdout


def test_rows_come_as_they_are_measured(script: Path) -> None:
    row, same = bench.measure([str(script)])
    assert row == same
    assert (row.kernel, row.median_ns, row.bound) == ("crc24a", 10.0, "L2")
    assert row.peers[0] == Peer("Eigen 3.4.0", "LLT", 40.0, 42.0, 4.2)
    assert row.peers[1].recorded == "51 Mb/s at 3.6 GHz"


def test_what_is_chosen_reaches_the_program(script: Path) -> None:
    replace_script(script, 'echo "$@"')
    choice = Choice("fft|crc", ("avx2",), ("laptop-8x2",), quick=True)
    with bench.command(choice) as words:
        plan = Path(words[-1].removeprefix("laptop-8x2="))
        assert "cell.antennas = 8" in plan.read_text()
        (line,) = bench.names(words)
    assert line == f"--filter fft|crc --quick --isa avx2 --plan laptop-8x2={plan} --list"
    assert not plan.exists()


def test_a_comparison_leaves_whole_frames_out(script: Path) -> None:
    replace_script(script, 'echo "$@"')
    with bench.command(Choice("fft", compare=True)) as words:
        assert bench.names(words) == ["--filter fft --compare --list"]


@pytest.mark.parametrize("call", [bench.names, lambda words: list(bench.measure(words))])
def test_a_program_that_fails_is_told(script: Path, call: object) -> None:
    replace_script(script, "echo carillon-bench: no AVX here >&2; exit 3")
    assert callable(call)
    with pytest.raises(BenchError, match=r"^no AVX here"):
        call([str(script)])


def test_a_wrong_expression_is_told(script: Path) -> None:
    with pytest.raises(InputError, match="--filter '\\(' is no regular expression"):
        run("--filter", "(")


def test_the_table_shows_time_rate_and_share(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")  # which cuts no figure short
    shown = run()
    assert "kernels, any" in shown
    line = next(line for line in shown.splitlines() if "crc24a" in line)
    assert line.split() == "crc24a 256 bits 5 call 46500 Mb/s 50 % L2".split()


def test_the_comparison_shows_medians_ratios_and_shares(script: Path) -> None:
    ours, eigen, recorded, *_ = run("--compare").splitlines()[3:]
    assert ours.split() == "crc24a 256 bits any 10 call 23250 Mb/s 10 % fp32 25 % L2".split()
    assert eigen.split() == "Eigen 3.4.0, LLT 42 4.2".split()
    assert recorded.split() == "srsRAN, recorded 90 51 Mb/s at 3.6 GHz 9".split()


def test_the_comparison_says_which_peers_are_missing_and_how_to_get_them(script: Path) -> None:
    shown = run("--compare")
    assert "MKL is not here: pip install mkl" in shown
    assert "Eigen is not here" not in shown


def test_json_and_csv_hold_every_row(script: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    found = json.loads(run("--json", "--csv", str(file)))
    assert [(row["kernel"], row["ns"]) for row in found["rows"]] == [("crc24a", 5.0)] * 2
    assert found["rows"][0]["peers"][0]["ratio"] == 4.2
    assert found["compiler"] == "GCC 12.2.0"
    assert found["load"][0] >= 0
    with file.open() as text:
        assert [(row["mbps"], row["gflops"]) for row in csv.DictReader(text)] == [
            ("46500.0", "")
        ] * 2


def test_a_file_that_cannot_be_written_is_told_before_measuring(script: Path) -> None:
    replace_script(script, "kill -9 $PPID")
    with pytest.raises(OSError, match="nowhere"):
        run("--csv", "/nowhere/rows.csv")


def test_nothing_that_matches_is_an_error(script: Path) -> None:
    replace_script(script, f"case $* in --about) echo '{json.dumps(ABOUT)}' ;; esac")
    with pytest.raises(
        InputError, match="no benchmark matches --filter 'nothing'; --list names all"
    ):
        run("--filter", "nothing")


@pytest.mark.parametrize("words", [[], ["--compare"]])
def test_stopping_lists_what_was_measured(script: Path, words: list[str]) -> None:
    write_script(script, ROW, then="sleep 0.2; kill -INT $PPID")
    result = CliRunner().invoke(app, ["bench", *words])
    assert "crc24a" in result.stdout
    assert result.exit_code == 130


# --- One cell -------------------------------------------------------------------------------------


def test_both_ways_to_stop_are_measured_from_one_cell() -> None:
    cell = cells.load("laptop-8x2").cell
    fixed, early = bench.variants(cell, CellChoice(iterations=3, group=1)).values()
    assert (fixed.uplink.iterations, fixed.uplink.early_stop) == (3, False)
    assert (early.downlink.iterations, early.downlink.early_stop) == (3, True)
    assert fixed.combiner.group == early.combiner.group == 1
    assert (cell.uplink.iterations, cell.uplink.early_stop) == (8, True)


def cell_rows(failed: int = 0) -> list[dict[str, Any]]:
    rows = []
    for way, cost in (("fixed iterations", 2.0), ("early stop", 1.5)):
        shape = f"laptop-8x2 {way}"
        rows += [
            frame_row(shape, "Decode", cost - 1, 0),
            frame_row(shape, "UplinkFft", 1.0, 0),
            frame_row(shape, "frame", cost, failed),
        ]
    return rows


def test_a_cells_result_has_the_fixed_iterations_first(script: Path) -> None:
    write_script(script, *cell_rows())
    result = json.loads(run("cell", "laptop-8x2", "--json"))
    assert result["core_ms_per_ms"] == 2.0
    assert result["stages"]["Decode"]["core_ms_per_ms"] == 1.0
    assert result["with_early_stop"]["core_ms_per_ms"] == 1.5
    assert (result["blocks"], result["blocks_failed"], result["iterations"]) == (24, 0, 5)
    table = run("cell", "laptop-8x2")
    assert "5 iterations" in table
    assert ["all", "2.000", "1.500"] in [line.split() for line in table.splitlines()]


def test_a_wrong_block_is_exit_status_1(script: Path) -> None:
    write_script(script, *cell_rows(failed=1))
    result = CliRunner().invoke(app, ["bench", "cell", "laptop-8x2"])
    assert result.exit_code == 1
    assert "1 of 24" in result.stdout


# --- The program itself ---------------------------------------------------------------------------


def test_the_installed_program_measures_every_kernel_and_whole_frames() -> None:
    words = ("--quick", "--json", "--cell", "laptop-8x2")
    rows = json.loads(run(*words, "--filter", "crc24a 256|zeroforce 8x8|laptop-8x2"))["rows"]
    by_kernel = {(row["kernel"], row["isa"]): row for row in rows}
    assert by_kernel["crc24a", "any"]["mbps"] > 0
    for (kernel, _isa), row in by_kernel.items():
        assert 0 < row["ns"] <= row["median_ns"]
        if kernel == "zeroforce":
            assert 0.01 < row["bound_ns"] / row["ns"] < 1.5
    frames = [row for row in rows if row["kernel"] == "frame"]
    assert frames
    for frame in frames:
        opcodes = [r for r in rows if r["shape"] == "laptop-8x2" and r["isa"] == frame["isa"]]
        parts = sum(row["us_per_frame"] for row in opcodes) - frame["us_per_frame"]
        assert parts == pytest.approx(frame["us_per_frame"], rel=0.01)
        assert 0 < frame["core_ms_per_ms"] < 100


def test_the_peaks_of_a_core_are_consistent() -> None:
    rows = json.loads(run("--quick", "--json", "--filter", "^peaks"))["rows"]
    rate = {(row["kernel"], row["shape"], row["isa"]): 1 / row["ns"] for row in rows}
    clock = rate["clock", "integer", "any"]
    assert 0.5 < clock < 8  # GHz
    for isa, lanes in (("avx2", 8), ("avx512", 16), ("avx512fp16", 16)):
        if ("peak", "fp32", isa) in rate:
            per_cycle = rate["peak", "fp32", isa] / (2 * lanes) / clock
            assert 0.9 < per_cycle < 2.3  # multiply-adds: one pipe or two
            assert rate["peak", "int8", isa] / (4 * lanes) / clock > 0.9
            assert 0.9 < rate["peak", "int16", isa] / (4 * lanes) / clock < 2.3
            # An edge is eleven operations, of which no core does more than four in a cycle.
            assert 11 / 4 * 0.9 < clock * 4 * lanes / rate["peak", "LDPC edge", isa] < 15
    caches = [rate["read", level, "any"] for level in ("L1", "L2", "L3", "memory")]
    assert caches[0] > caches[1] > caches[3]


def test_work_is_counted_as_the_documentation_derives_it() -> None:
    pattern = "^peaks peak|zeroforce 16x8|fft 1024|decode 5 .*BG1 Z=384|equalize 16x8$"
    rows = json.loads(run("--quick", "--json", "--isa", "avx2", "--filter", pattern))["rows"]
    found = {f"{row['kernel']} {row['shape']}": row for row in rows}
    flop, byte, edge = (found[f"peak {of}"]["ns"] for of in ("fp32", "int8", "LDPC edge"))
    for name, operations in {
        "zeroforce 16x8": 8 * (16 * 8 * 9 / 2 + 8**3 / 6 + 16 * 8**2),
        "fft 1024": 5 * 1024 * 10,
        "equalize 16x8": 16 * 8 * 16 * 8,
    }.items():
        assert found[name]["peak_ns"] / flop == pytest.approx(operations, rel=1e-3)
    # Rows of base graph 1 that touch the columns sent: all 46, and the first 4.
    for rate, edges in {"1/3": 316, "0.92": 76}.items():
        bound = found[f"decode 5 iterations BG1 Z=384 R={rate}"]["bound_ns"]
        assert bound == pytest.approx(max(edge, 11 * byte) * edges * 384 * 5, rel=1e-3)


def peers_here() -> set[str]:
    program = bench.about()["peers"]
    return {peer["library"] for peer in program if peer["found"]}


def test_each_peer_that_is_installed_takes_its_turn() -> None:
    half = "equalize in fp16" if core.active_isa() == "avx512fp16" else "equalize from fp16"
    pattern = (
        "^peaks|ofdm fft (to fp16 )?512|zeroforce zeroforce 8x8|equalize (.*(fp16|int16) )?16x8"
        "|ldpc decode 5 .*0.92"
    )
    rows = json.loads(run("--compare", "--quick", "--json", "--filter", pattern))["rows"]
    by_kernel = {row["kernel"]: row for row in rows}
    products = {"equalize", half, "equalize in int16"}
    kernels = {"fft", "fft to fp16", "zeroforce", "decode 5 iterations"} | products
    assert set(by_kernel) == kernels
    here = peers_here()
    matrices = {"Armadillo", "Eigen", "MKL"}
    for kernel, libraries in {
        "fft": {"FFTW", "MKL"},
        "fft to fp16": {"FFTW", "MKL"},
        "zeroforce": matrices,
        **dict.fromkeys(products, matrices),
    }.items():
        peers = by_kernel[kernel]["peers"]
        names = {library for library in libraries if any(library in p["peer"] for p in peers)}
        assert names == libraries & here
        for peer in peers:
            assert peer["recorded"] is None
            assert 0 < peer["ns"] <= peer["median_ns"]
            assert peer["ratio"] == pytest.approx(
                peer["median_ns"] / by_kernel[kernel]["median_ns"], rel=1e-3
            )
    (recorded,) = by_kernel["decode 5 iterations"]["peers"]
    assert "255 Mb/s" in recorded["recorded"]


def test_a_library_of_the_system_is_found_when_it_is_there() -> None:
    assert ("FFTW" in peers_here()) == (find_library("fftw3f") is not None)


def test_without_its_modules_the_comparison_still_runs(tmp_path: Path) -> None:
    """A copy of the program has no modules beside it."""
    program = tmp_path / "carillon-bench"
    program.write_bytes(bench.program().read_bytes())
    program.chmod(0o755)
    words = ["--compare", "--quick", "--json", "--filter", "zeroforce zeroforce 8x8"]
    done = subprocess.run(
        [program, *words], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    (row,) = [bench.parse(line) for line in done.stdout.splitlines()]
    assert not [peer for peer in row.peers if peer.peer.startswith(("Armadillo", "Eigen"))]


def program_cell(cell: str) -> subprocess.CompletedProcess[str]:
    words = ["bench", "cell", cell, "--quick", "--json"]
    return subprocess.run(
        [sys.executable, "-m", "carillon", *words],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", ["laptop-8x2", "lan-8x4"])
def test_a_cells_blocks_are_verified_in_both_directions(name: str) -> None:
    done = program_cell(name)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["blocks"] > 0 == result["blocks_failed"]
    for one in (result, result["with_early_stop"]):
        parts = sum(stage["core_ms_per_ms"] for stage in one["stages"].values())
        assert parts == pytest.approx(one["core_ms_per_ms"], rel=0.01)
    decode, early = (one["stages"]["Decode"] for one in (result, result["with_early_stop"]))
    assert early["core_ms_per_ms"] < decode["core_ms_per_ms"]
    assert {"PilotFft", "Decode", "Encode", "Ifft"} <= set(result["stages"])


def test_frames_too_noisy_to_decode_are_exit_status_1(tmp_path: Path) -> None:
    cell = tmp_path / "noisy.yaml"
    text = (cells.folder() / "laptop-8x2.yaml").read_text()
    assert "snr_db: 25" in text
    cell.write_text(text.replace("snr_db: 25", "snr_db: -10"))
    done = program_cell(str(cell))
    assert done.returncode == 1
    assert json.loads(done.stdout)["blocks_failed"] > 0


@pytest.mark.slow
def test_ctrl_c_lists_what_was_measured(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    words = ["bench", "--filter", "^phy/(crc|demap|equalize)", "--csv", str(rows)]
    with subprocess.Popen(
        [sys.executable, "-m", "carillon", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        while not rows.exists():
            assert run.poll() is None
            time.sleep(0.1)
        run.send_signal(signal.SIGINT)
        out, errors = run.communicate(timeout=HANG_S)
    assert run.returncode == 130
    assert errors.strip() == "carillon: stopped"
    assert "crc24a" in out
    assert "equalize half cold 256x128" not in out
