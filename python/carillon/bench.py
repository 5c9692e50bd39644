"""Every kernel and whole cells on one core, measured by the program `carillon-bench`."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from carillon import cells, core
from carillon.config import Cell, Run, plan_text
from carillon.config.combiner_group import group_of
from carillon.daemon import require_executable
from carillon.errors import CarillonError, InputError
from carillon.files import table

# Run as whole frames, from the smallest to the published ones.
CELLS = ("laptop-8x2", "lan-8x4", "thesis-16x8", "agora-64x16")


class BenchError(CarillonError):
    """The program failed, or is not there."""


@dataclass(frozen=True)
class Peer:
    """What another library takes for one of our kernels, measured in turn with it.

    ratio: its median over ours. recorded: not measured here, but scaled from what this says.
    """

    peer: str
    method: str
    ns: float
    median_ns: float
    ratio: float
    recorded: str | None = None


@dataclass(frozen=True)
class Row:
    """One kernel in one shape: time of one `per`, rates where the program knows the work.

    peak_ns and bound_ns are the least times that this core's widest arithmetic, and the tightest of
    all its limits, allow; peak and bound name them.
    """

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
    peak_ns: float | None = None
    peak: str | None = None
    bound_ns: float | None = None
    bound: str | None = None
    peers: tuple[Peer, ...] = ()
    us_per_frame: float | None = None
    core_ms_per_ms: float | None = None
    blocks: int | None = None
    blocks_failed: int | None = None


@dataclass(frozen=True)
class Choice:
    """What to measure."""

    pattern: str = ""  # searched for in "group kernel shape"
    isas: tuple[str, ...] = ()  # none: all that the machine has
    cells: tuple[str, ...] = CELLS  # whose whole frames run too
    quick: bool = False
    compare: bool = False  # only the kernels that have peers, beside them


def program() -> Path:
    """The compiled benchmarks, installed beside the compiled module; CARILLON_BENCH may differ."""
    installed = Path(core.__file__).parent / "bin" / "carillon-bench"
    path = Path(os.environ.get("CARILLON_BENCH") or installed)
    if not path.is_file():
        raise BenchError(f"{path} is missing; ./carillon setup builds it")
    require_executable(path)
    return path


def options(choice: Choice) -> list[str]:
    """The program's words without cells."""
    try:
        re.compile(choice.pattern)
    except re.error as error:
        raise InputError(f"--filter '{choice.pattern}' is no regular expression: {error}") from None
    for isa in choice.isas:
        if isa not in (have := core.available_isas()):
            raise InputError(f"--isa {isa} is not of this machine, which has {' '.join(have)}")
    words = [str(program()), "--filter", choice.pattern]
    words += ["--quick"] * choice.quick + ["--compare"] * choice.compare
    for isa in choice.isas:
        words += ["--isa", isa]
    return words


@contextmanager
def plans(whole: Iterable[Cell]) -> Iterator[list[str]]:
    """Further words: cells to run whole, their plans in files that last as long as this."""
    with tempfile.TemporaryDirectory(prefix="carillon-bench-") as folder:
        words = []
        for number, cell in enumerate(whole):
            file = Path(folder) / f"{number}.plan"
            file.write_text(plan_text(cell, Run()), encoding="utf-8")
            words += ["--plan", f"{cell.name}={file}"]
        yield words


@contextmanager
def command(choice: Choice) -> Iterator[list[str]]:
    """The program's words, which are good as long as the context lasts."""
    whole = () if choice.compare else (cells.load(name).cell for name in choice.cells)
    with plans(whole) as words:
        yield options(choice) + words


def names(words: Sequence[str]) -> list[str]:
    """One name for each row that the command would measure."""
    return _output([*words, "--list"]).splitlines()


def about() -> dict[str, Any]:
    """The `compiler`, and the `peers`: each `library`, the version `found` or how to `get` it."""
    found: dict[str, Any] = json.loads(_output([str(program()), "--about"]))
    return found


def _output(words: Sequence[str]) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=_environment())
    if done.returncode != 0:
        raise BenchError(done.stderr.strip().removeprefix("carillon-bench: "))
    return done.stdout


def _environment() -> dict[str, str]:
    """Libraries that pip installed are found as well as the system's."""
    path = f"{sys.prefix}/lib:{os.environ.get('LD_LIBRARY_PATH', '')}"
    return os.environ | {"LD_LIBRARY_PATH": path.rstrip(":")}


def measure(words: Sequence[str]) -> Iterator[Row]:
    """Runs the command; rows as they are measured. Stops the program when no longer wanted."""
    with subprocess.Popen(
        [*words, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=_environment(),
        process_group=0,  # a terminal's Ctrl-C reaches it through us alone
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
    values = {key: value for key, value in json.loads(line).items() if key in known}
    values["peers"] = tuple(Peer(**peer) for peer in values.get("peers", ()))
    return Row(**values)


def write_csv(rows: Sequence[Row], file: Path) -> None:
    """All rows with all their columns, peers left out; what a kernel has not is an empty field."""
    columns = [field.name for field in fields(Row) if field.name != "peers"]
    with table(file) as out:
        writer = csv.DictWriter(out, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


CELL_PATTERN = "^frame "  # whole frames only


# --- One cell -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CellChoice:
    """How a cell's frames are to be decoded while they are measured."""

    iterations: int = 5
    group: int | None = None  # subcarriers that share a combiner, instead of the cell's
    quick: bool = False


def variants(cell: Cell, choice: CellChoice) -> dict[bool, Cell]:
    """The cell as it is measured, without and with early stop, under names of their own."""

    def variant(early_stop: bool) -> Cell:
        coding = {"iterations": choice.iterations, "early_stop": early_stop}
        group = {} if choice.group is None else {"group": choice.group}
        return cell.model_copy(
            update={
                "name": f"{cell.name} {'early stop' if early_stop else 'fixed iterations'}",
                "uplink": cell.uplink.model_copy(update=coding),
                "downlink": cell.downlink.model_copy(update=coding),
                "combiner": cell.combiner.model_copy(update=group),
            }
        )

    return {early_stop: variant(early_stop) for early_stop in (False, True)}


@contextmanager
def cell_command(measured: Iterable[Cell], choice: CellChoice) -> Iterator[list[str]]:
    """The program's words for variants of a cell, in the instruction set that runs would use."""
    with plans(measured) as words:
        yield options(Choice(CELL_PATTERN, (core.active_isa(),), quick=choice.quick)) + words


def cell_result(cell: Cell, choice: CellChoice, rows: Sequence[Row]) -> dict[str, Any]:
    """What `carillon bench cell --json` prints of the rows of both variants.

    core_ms_per_ms, stages {opcode: …}, blocks and blocks_failed are those without early stop; those
    with it are under `with_early_stop`.
    """
    measured = variants(cell, choice)
    return {
        "cell": cell.name,
        "isa": rows[0].isa,
        "iterations": choice.iterations,
        "group": group_of(measured[False]),
        **_cost(measured[False].name, rows),
        "with_early_stop": _cost(measured[True].name, rows),
    }


def _cost(name: str, rows: Sequence[Row]) -> dict[str, Any]:
    own = [row for row in rows if row.shape == name]
    whole = next(row for row in own if row.kernel == "frame")
    stages = {
        row.kernel: {
            "core_ms_per_ms": row.core_ms_per_ms,
            "us_per_frame": row.us_per_frame,
            "chunk": row.per,
            "chunk_ns": row.median_ns,
        }
        for row in own
        if row is not whole
    }
    return {
        "core_ms_per_ms": whole.core_ms_per_ms,
        "us_per_frame": whole.us_per_frame,
        "stages": stages,
        "blocks": whole.blocks,
        "blocks_failed": whole.blocks_failed,
    }
