"""What a cell's stages cost on this machine: claims of I + N·Δ, timed in place and kept."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter, ValidationError
from scipy.optimize import nnls

from carillon import core, runfolder
from carillon.config import Cell, Run, plan_text

FORMAT: Literal[1] = 1
GRAINS = (1, 2, 4, 8, 16, 32, 64)  # chunks of a claim; and whole instructions
_WHOLE = 1 << 24
_RESAMPLED = 200
_MOST_RESAMPLED = 1000  # claims of a size: more would only narrow the interval
_LEAST_CLAIMS = 8  # of a size, for it to count


Nanoseconds = Annotated[float, Field(ge=0, lt=1e12, allow_inf_nan=False)]  # as core.simulate's


class CalibrationError(Exception):
    """A calibration that is not there, cannot be read, or was stopped before it knew anything."""


@dataclass(frozen=True)
class Size:
    """Claims of so many chunks; their times in ns."""

    chunks: int
    claims: int
    median_ns: Nanoseconds
    p99_ns: Nanoseconds


@dataclass(frozen=True)
class Stage:
    """An opcode's marginal cost: a claim of N chunks takes claim_ns + N·chunk_ns.

    The intervals are of the fit, 95 %, by resampling the claims. error: the largest relative
    distance of a size's median from the line; where it is large the cost is not a line, and `sizes`
    tells what it is.
    """

    claim_ns: Nanoseconds
    chunk_ns: Nanoseconds
    claim_interval_ns: tuple[Nanoseconds, Nanoseconds]
    chunk_interval_ns: tuple[Nanoseconds, Nanoseconds]
    error: float
    sizes: tuple[Size, ...]

    def ns(self, chunks: int) -> float:
        """Of one claim: between measured sizes on a line, beyond them by the fit."""
        known = self.sizes
        if not known or not known[0].chunks <= chunks <= known[-1].chunks:
            return self.claim_ns + chunks * self.chunk_ns
        return float(np.interp(chunks, [s.chunks for s in known], [s.median_ns for s in known]))


@dataclass(frozen=True)
class Calibration:
    """The costs of a cell's stages on one core of a machine."""

    cell: str
    key: str  # of all that the costs depend on in the cell
    stages: Annotated[Mapping[str, Stage], Field(min_length=1)]
    frames: int
    machine: Mapping[str, Any]
    build: str  # of the engine
    measured: str  # when
    format: Literal[1] = FORMAT

    def costs(self) -> tuple[list[float], list[float]]:
        """claim_ns and chunk_ns by opcode, for core.simulate."""
        known = [self.stages.get(op) for op in core.opcodes()]
        return (
            [0.0 if stage is None else stage.claim_ns for stage in known],
            [0.0 if stage is None else stage.chunk_ns for stage in known],
        )

    def stale(self) -> str | None:
        """Why it says nothing about this machine and this build; None when it does."""
        here = runfolder.machine()
        for name in ("cpu", "isa"):
            if self.machine.get(name) != here[name]:
                return f"its {name} is {self.machine.get(name)}, this machine's is {here[name]}"
        return None if self.build == build() else "the engine was built anew since"


def build() -> str:
    """Tells builds of the engine apart."""
    return hashlib.sha256(Path(core.__file__).read_bytes()).hexdigest()[:16]


def key_of(cell: Cell) -> str:
    """Tells cells apart whose stages may cost different times; threads make no difference."""
    text = plan_text(cell, Run())
    lines = [
        line for line in text.splitlines() if not line.startswith(("run.", "runtime.", "front"))
    ]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def file_of(cell: Cell) -> Path:
    """Where the cell's calibration is kept, one for each cell: below XDG_CACHE_HOME."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    name = f"{runfolder.file_name(cell.name)}-{key_of(cell)}.json"
    return cache / "carillon" / "calibration" / name


def save(calibration: Calibration, file: Path) -> None:
    """Writes it whole or not at all."""
    if file.is_dir():
        raise CalibrationError(f"{file} is a folder; name a file in it")
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(calibration), indent=2, ensure_ascii=False) + "\n"
    beside = file.with_name(f"{file.name}.{os.getpid()}")
    beside.write_text(text, encoding="utf-8")
    beside.replace(file)


def load(file: Path) -> Calibration:
    """Raises CalibrationError."""
    try:
        return _READER.validate_json(file.read_bytes())
    except OSError as error:
        raise CalibrationError(f"{file}: {(error.strerror or str(error)).lower()}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        what = f"{place}: {first['msg']}" if place else first["msg"]
        raise CalibrationError(f"{file} holds no calibration: {what}") from error


_READER = TypeAdapter(Calibration)


Claims = dict[str, dict[int, list[NDArray[np.uint32]]]]  # opcode → chunks → ns


def measure(
    cell: Cell,
    seconds: float,
    progress: Callable[[float], None] = lambda share: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Calibration:
    """Times the cell's stages for so long, every size of claim in turn.

    A stop is heeded after the first round; before it, it raises CalibrationError.
    """
    timer = core.Calibration(plan_text(cell, Run()))
    timer.time(_WHOLE, 2)  # fills memory and caches
    claims: Claims = {}
    frames = 0
    for number, share in enumerate(_rounds(seconds)):
        for grain in (*GRAINS, _WHOLE):
            _take(claims, timer.time(grain, 1))
            frames += 1
            if stopped() and number == 0:
                raise CalibrationError("stopped before every size of claim was timed once")
        progress(share)
        if stopped():
            break
    return Calibration(
        cell=cell.name,
        key=key_of(cell),
        stages={op: fit(sizes) for op, sizes in claims.items()},
        frames=frames,
        machine=runfolder.machine(),
        build=build(),
        measured=datetime.now(UTC).isoformat("T", "seconds"),
    )


def _rounds(seconds: float) -> Iterator[float]:
    """The share of the time that is over, at least three times."""
    begun = time.monotonic()
    count = 0
    while (share := (time.monotonic() - begun) / seconds) < 1 or count < 3:
        yield min(share, 1.0)
        count += 1


def _take(claims: Claims, timed: Mapping[str, NDArray[np.uint32]]) -> None:
    names = core.opcodes()
    pairs = np.stack([timed["opcode"], timed["chunks"]])
    for op, chunks in np.unique(pairs, axis=1).T.tolist():
        ns = timed["ns"][(timed["opcode"] == op) & (timed["chunks"] == chunks)]
        claims.setdefault(names[op], {}).setdefault(chunks, []).append(ns)


def fit(claims: Mapping[int, Sequence[NDArray[np.uint32]]]) -> Stage:
    """The line through the sizes' medians, each as far off as its share of the time."""
    times = {chunks: np.concatenate(ns).astype(float) for chunks, ns in sorted(claims.items())}
    enough = {n: ns for n, ns in times.items() if len(ns) >= _LEAST_CLAIMS}
    times = enough or times
    sizes = tuple(
        Size(n, len(ns), float(np.median(ns)), float(np.percentile(ns, 99)))
        for n, ns in times.items()
    )
    claim, chunk = _line({s.chunks: s.median_ns for s in sizes})
    random = np.random.default_rng(1)
    some = {n: random.permutation(ns)[:_MOST_RESAMPLED] for n, ns in times.items()}
    lines = np.array(
        [
            _line({n: float(np.median(random.choice(ns, len(ns)))) for n, ns in some.items()})
            for _ in range(_RESAMPLED)
        ]
    )
    low, high = np.percentile(lines, [2.5, 97.5], axis=0).tolist()
    error = max(abs(claim + s.chunks * chunk - s.median_ns) / s.median_ns for s in sizes)
    return Stage(claim, chunk, (low[0], high[0]), (low[1], high[1]), error, sizes)


def _line(medians: Mapping[int, float]) -> tuple[float, float]:
    """I and Δ, neither below 0, with the least relative squares."""
    chunks = np.array(list(medians), dtype=float)
    ns = np.maximum(np.array(list(medians.values())), 1.0)
    if len(medians) == 1:  # one size tells no line
        return 0.0, float(ns[0] / chunks[0])
    (claim, chunk), _ = nnls(np.stack([1 / ns, chunks / ns], axis=1), np.ones(len(ns)))
    return float(claim), float(chunk)
