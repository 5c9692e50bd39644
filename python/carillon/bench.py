"""Every kernel's benchmark, collected: build the programs of bench/, run them, read their rows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


class BenchError(Exception):
    """The programs could not be built or found."""


@dataclass(frozen=True)
class Row:
    """One kernel in one case: ns for one `per`, and a rate where the program knows its work."""

    program: str
    kernel: str
    case: str
    isa: str
    ns: float
    per: str
    gflops: float | None
    mbps: float | None
    peak_share: float | None = None


_KNOWN = {"kernel", "isa", "ns", "per", "gflops", "gbps", "mbps", "case"}


def source_tree() -> Path:
    """The tree that the package runs from; benchmarks are not installed."""
    tree = Path(__file__).parents[2]
    if not (tree / "bench" / "CMakeLists.txt").is_file():
        raise BenchError("the benchmarks are part of the source tree; run ./carillon bench there")
    return tree


def programs(tree: Path, pattern: str) -> list[str]:
    """Names of the programs whose name matches, as bench/CMakeLists.txt makes them."""
    names = []
    for file in sorted((tree / "bench").rglob("*_bench.cpp")):
        place = str(file.relative_to(tree / "bench")).removesuffix("_bench.cpp")
        names.append("bench-" + re.sub("[/_]", "-", place))
    return [name for name in names if re.search(pattern, name)]


def build(tree: Path, names: list[str]) -> Path:
    """Builds them with the release preset; returns their folder."""
    scripts = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{scripts}{os.pathsep}{os.environ.get('PATH', '')}"}
    for command in (
        ["cmake", "--preset", "release", "--log-level=WARNING"],
        ["cmake", "--build", "--preset", "release", "--target", *names],
    ):
        try:
            done = subprocess.run(
                command, cwd=tree, env=environment, capture_output=True, text=True, check=False
            )
        except FileNotFoundError:
            raise BenchError("cmake is missing; ./carillon setup installs it") from None
        if done.returncode != 0:
            raise BenchError("the benchmarks do not build:\n" + (done.stdout + done.stderr)[-3000:])
    return tree / "build" / "release" / "bench"


def measure(program: Path) -> list[Row]:
    """Runs one program and reads what it found."""
    done = subprocess.run([program, "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"{program.name} failed: {done.stderr.strip()[-500:]}")
    return list(parse(program.name, done.stdout))


def parse(program: str, text: str) -> Iterator[Row]:
    """Rows from a JSON list or from one object per line; lines that are neither are left out."""
    for item in _objects(text):
        if "kernel" not in item or "ns" not in item:
            continue
        case = [str(item["case"])] if "case" in item else []
        case += [f"{key} {value}" for key, value in item.items() if key not in _KNOWN]
        gbps = item.get("gbps")
        yield Row(
            program=program,
            kernel=str(item["kernel"]),
            case=", ".join(case),
            isa=str(item.get("isa", "any")),
            ns=float(item["ns"]),
            per=str(item.get("per", "call")),
            gflops=item.get("gflops"),
            mbps=gbps * 1e3 if gbps is not None else item.get("mbps"),
        )


def _objects(text: str) -> list[dict[str, Any]]:
    try:
        whole = json.loads(text)
    except ValueError:
        lines = (line.strip().rstrip(",") for line in text.splitlines())
        found = []
        for line in lines:
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
        whole = found
    items = whole if isinstance(whole, list) else [whole]
    return [item for item in items if isinstance(item, dict)]


def with_peak(rows: list[Row]) -> list[Row]:
    """Fills in each row's share of this core's measured peak, where the peak was measured."""
    peaks = {row.isa: row.gflops for row in rows if row.kernel == "peak" and row.gflops}
    return [
        Row(**(asdict(row) | {"peak_share": row.gflops / peaks[row.isa]}))
        if row.gflops and row.isa in peaks
        else row
        for row in rows
    ]
