"""Every kernel and whole cells on one core, measured by the program `carillon-bench`."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from carillon import cells, core
from carillon.config import Run, plan_text

# Run as whole frames, from the smallest to the published ones.
CELLS = ("laptop-8x2", "lan-8x4", "thesis-16x8", "agora-64x16")


class BenchError(Exception):
    """Nothing to measure, or the program failed."""


@dataclass(frozen=True)
class Row:
    """One kernel in one shape: time of one `per`, rates where the program knows the work."""

    group: str
    kernel: str
    shape: str
    isa: str
    per: str
    ns: float
    median_ns: float
    gflops: float | None = None
    gops: float | None = None
    gbytes: float | None = None
    mbps: float | None = None
    share: float | None = None
    of: str | None = None
    us_per_frame: float | None = None
    core_ms_per_ms: float | None = None


@dataclass(frozen=True)
class Peer:
    """What another library takes for the work of one of our kernels, and how many times ours."""

    peer: str
    ns: float
    kernel: str
    shape: str
    isa: str
    our_ns: float
    ratio: float


@dataclass(frozen=True)
class Choice:
    """What to measure."""

    pattern: str = ""  # searched for in "group kernel shape"
    isas: tuple[str, ...] = ()  # none: all that the machine has
    cells: tuple[str, ...] = CELLS  # whose whole frames run too
    quick: bool = False


def program() -> Path:
    """The compiled benchmarks, installed beside the compiled module; CARILLON_BENCH may differ."""
    installed = Path(core.__file__).parent / "bin" / "carillon-bench"
    path = Path(os.environ.get("CARILLON_BENCH") or installed)
    if not path.is_file():
        raise BenchError(f"{path} is missing; ./carillon setup builds it")
    return path


@contextmanager
def command(choice: Choice) -> Iterator[list[str]]:
    """The program's words, with the cells' plans in files that last as long as the context."""
    try:
        re.compile(choice.pattern)
    except re.error as error:
        raise BenchError(f"--filter '{choice.pattern}' is no regular expression: {error}") from None
    words = [str(program()), "--filter", choice.pattern]
    words += ["--quick"] * choice.quick
    for isa in choice.isas:
        words += ["--isa", isa]
    with tempfile.TemporaryDirectory(prefix="carillon-bench-") as folder:
        for place, name in enumerate(choice.cells):
            cell = cells.load(name).cell
            file = Path(folder) / f"{place}.plan"
            file.write_text(plan_text(cell, Run()), encoding="utf-8")
            words += ["--plan", f"{cell.name}={file}"]
        yield words


def names(words: Sequence[str]) -> list[str]:
    """One name for each row that the command would measure."""
    done = subprocess.run([*words, "--list"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(done.stderr.strip().removeprefix("carillon-bench: "))
    return done.stdout.splitlines()


def measure(words: Sequence[str]) -> Iterator[Row]:
    """Runs the command; rows as they are measured. Stops the program when no longer wanted."""
    with subprocess.Popen(
        [*words, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            for line in process.stdout:
                yield parse(line)
            problem = process.stderr.read()
        except BaseException:
            process.terminate()
            raise
    if process.returncode != 0:
        raise BenchError(problem.strip().removeprefix("carillon-bench: ") or "carillon-bench died")


def parse(line: str) -> Row:
    """A row from the program's JSON line."""
    known = {field.name for field in fields(Row)}
    return Row(**{key: value for key, value in json.loads(line).items() if key in known})


def write_csv(rows: Sequence[Row], file: Path) -> None:
    """All rows with all their columns; a rate that a kernel has not is an empty field."""
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, [field.name for field in fields(Row)])
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


# --- Peers ----------------------------------------------------------------------------------------

# Our kernels that NumPy has a counterpart of: (kernel, shape).
PEER_KERNELS = {"fft": "2048", "zeroforce": "16x8"}
PEER_FILTER = "^phy/(ofdm fft 2048|zeroforce zeroforce 16x8)$"


def peers(rows: Sequence[Row]) -> list[Peer]:
    """NumPy on the same core, against the fastest instruction set among the rows."""
    random = np.random.default_rng(1)

    def noise(*shape: int) -> NDArray[np.complex64]:
        return random.standard_normal((*shape, 2), dtype=np.float32).view(np.complex64)[..., 0]

    symbol, channels = noise(2048), noise(128, 16, 8)
    return [
        _against("numpy.fft.fft", _best_ns(lambda: np.fft.fft(symbol)), "fft", rows),
        _against(
            "numpy.linalg.pinv",
            _best_ns(lambda: np.linalg.pinv(channels)) / len(channels),
            "zeroforce",
            rows,
        ),
    ]


def _against(peer: str, ns: float, kernel: str, rows: Sequence[Row]) -> Peer:
    shape = PEER_KERNELS[kernel]
    ours = min(
        (row for row in rows if (row.kernel, row.shape) == (kernel, shape)), key=lambda row: row.ns
    )
    return Peer(peer, ns, kernel, shape, ours.isa, ours.ns, ns / ours.ns)


def _best_ns(call: Callable[[], object], seconds: float = 0.3) -> float:
    best = float("inf")
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter_ns()
        call()
        best = min(best, time.perf_counter_ns() - start)
    return best
