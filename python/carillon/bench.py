"""Every kernel's benchmark: find or build carillon-bench, run it, read its rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import carillon

Row = dict[str, Any]
_TARGET = "carillon-bench"


class BenchError(Exception):
    """The program could not be built or failed."""


@dataclass(frozen=True)
class Wanted:
    """What to measure: rows whose "group kernel shape" matches, for some instruction sets."""

    only: str = ""
    isas: Sequence[str] = ()
    quick: bool = False
    plans: Sequence[tuple[str, Path]] = ()  # cells to run as whole frames: name, run plan

    def words(self) -> list[str]:
        """As carillon-bench takes them."""
        words = ["--filter", self.only] + (["--quick"] if self.quick else [])
        for isa in self.isas:
            words += ["--isa", isa]
        for name, file in self.plans:
            words += ["--plan", f"{name}={file}"]
        return words


def program(say: Callable[[str], None] = lambda text: None) -> Path:
    """The installed program, or one built from the source tree that the package runs from."""
    installed = Path(os.environ.get("CARILLON_BENCH") or carillon.carillond().parent / _TARGET)
    if installed.is_file():
        return installed
    tree = Path(__file__).parents[2]
    if not (tree / "bench" / "CMakeLists.txt").is_file():
        raise BenchError(f"{installed} is missing; benchmarks are built from the source tree")
    say("building the benchmarks")
    scripts = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{scripts}{os.pathsep}{os.environ.get('PATH', '')}"}
    for command in (
        ["cmake", "--preset", "release", "--log-level=WARNING"],
        ["cmake", "--build", "--preset", "release", "--target", _TARGET],
    ):
        try:
            done = subprocess.run(
                command, cwd=tree, env=environment, capture_output=True, text=True, check=False
            )
        except FileNotFoundError:
            raise BenchError("cmake is missing; ./carillon setup installs it") from None
        if done.returncode != 0:
            raise BenchError("the benchmarks do not build:\n" + (done.stdout + done.stderr)[-3000:])
    return tree / "build" / "release" / "bench" / _TARGET


def names(path: Path, wanted: Wanted) -> list[str]:
    """What would be measured, one line each."""
    return _run([path, "--list", *wanted.words()], lambda line: None)


def measure(path: Path, wanted: Wanted, on_row: Callable[[Row], None]) -> list[Row]:
    """Runs the program; each row is handed over as it comes."""
    rows: list[Row] = []

    def take(line: str) -> None:
        rows.append(json.loads(line))
        on_row(rows[-1])

    _run([path, "--json", *wanted.words()], take)
    return rows


def _run(command: Sequence[str | Path], on_line: Callable[[str], None]) -> list[str]:
    lines = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            on_line(lines[-1])
        words = process.stderr.read().strip()
    if process.returncode != 0:
        raise BenchError(f"{Path(command[0]).name} failed: {words[-1000:]}")
    return lines
