"""What `carillon bench` makes of its program's output."""

import json
from pathlib import Path
from typing import Any

import pytest
from carillon import bench
from carillon.bench import BenchError, Wanted
from carillon.commands.bench import bench as run_bench

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


def program(folder: Path, script: str) -> Path:
    path = folder / "carillon-bench"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_rows_are_handed_over_as_they_come(tmp_path: Path) -> None:
    path = program(tmp_path, f"echo '{json.dumps(ROW)}'; echo '{json.dumps(ROW)}'")
    seen: list[dict[str, Any]] = []
    assert bench.measure(path, Wanted(), seen.append) == seen == [ROW, ROW]


def test_what_is_wanted_reaches_the_program(tmp_path: Path) -> None:
    path = program(tmp_path, 'echo "$@"')
    wanted = Wanted("fft|crc", ["avx2"], quick=True, plans=[("cell", Path("p.txt"))])
    assert bench.names(path, wanted) == [
        "--list --filter fft|crc --quick --isa avx2 --plan cell=p.txt"
    ]


def test_a_program_that_fails_is_told(tmp_path: Path) -> None:
    path = program(tmp_path, "echo no AVX here >&2; exit 3")
    with pytest.raises(BenchError, match="carillon-bench failed: no AVX here"):
        bench.measure(path, Wanted(), lambda row: None)


def test_the_table_shows_time_rate_and_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = program(tmp_path, f"echo '{json.dumps(ROW)}'")
    monkeypatch.setenv("CARILLON_BENCH", str(path))
    monkeypatch.setenv("COLUMNS", "120")
    run_bench(Wanted(), [], as_json=False, list_only=False)
    line = next(line for line in capsys.readouterr().out.splitlines() if "crc24a" in line)
    assert line.split() == "crc24a 256 bits any 5.5 6 call 46500 50% fp32".split()


def test_nothing_that_matches_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARILLON_BENCH", str(program(tmp_path, "true")))
    with pytest.raises(BenchError, match="no benchmark matches 'x'"):
        run_bench(Wanted("x"), [], as_json=True, list_only=False)
