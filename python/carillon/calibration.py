"""What a cell's stages cost on this machine: claims of I + N·Δ, timed in place and kept."""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter, ValidationError

from carillon import core, memory_run, resources, runfolder
from carillon.config import Cell, Run, plan_text
from carillon.errors import InputError
from carillon.files import require_plain, write_text
from carillon.inputs import read_input
from carillon.models.allocation import STAGES

FORMAT: Literal[2] = 2
GRAINS = (1, 2, 4, 8, 16, 32, 64)  # chunks of a claim; and whole instructions
_WHOLE = 1 << 24
_RESAMPLED = 200
_MOST_RESAMPLED = 300  # claims of a size: more would only narrow the interval
_LEAST_CLAIMS = 8  # of a size, for it to count
_PRIORITY = 50
_FRAMES = 30  # of a run from memory
_SHARING_CORES, _SHARING_ROUNDS = 8, 5
_SHARES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 0.99999, 1.0)


Nanoseconds = Annotated[float, Field(ge=0, lt=1e12, allow_inf_nan=False)]  # as core.simulate's


class CalibrationError(InputError):
    """A calibration that is not there, or cannot be read."""


@dataclass(frozen=True)
class Size:
    """Claims of so many chunks; their times in ns."""

    chunks: Annotated[int, Field(ge=1)]
    claims: Annotated[int, Field(ge=1)]
    median_ns: Nanoseconds
    p99_ns: Nanoseconds


@dataclass(frozen=True)
class Stage:
    """An opcode's marginal cost: a claim of N chunks takes claim_ns + N·chunk_ns.

    The intervals are of the fit, 95 %, by resampling the claims. error: the largest relative
    distance of a size's median from the line; where it is large the cost is not a line, and `sizes`
    tells what it is. spread: how claims' times are distributed, as (share of the claims, at most
    so many times the median of their size).
    """

    claim_ns: Nanoseconds
    chunk_ns: Nanoseconds
    claim_interval_ns: tuple[Nanoseconds, Nanoseconds]
    chunk_interval_ns: tuple[Nanoseconds, Nanoseconds]
    error: float
    sizes: tuple[Size, ...]
    spread: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        if self.claim_ns == self.chunk_ns == 0:
            raise ValueError("claim_ns and chunk_ns are both 0, and nothing is done in no time")
        for values in zip(*self.spread, strict=True):
            if not all(map(math.isfinite, values)) or list(values) != sorted(values):
                raise ValueError("spread must be of finite numbers that rise, or stay")

    def ns(self, chunks: int) -> float:
        """Of one claim: between measured sizes on a line, beyond them by the fit."""
        known = self.sizes
        if not known or not known[0].chunks <= chunks <= known[-1].chunks:
            return self.claim_ns + chunks * self.chunk_ns
        return float(np.interp(chunks, [s.chunks for s in known], [s.median_ns for s in known]))


@dataclass(frozen=True)
class Scheduling:
    """What the runtime takes beside the kernels: for each instruction, and for each claim."""

    instruction_ns: Nanoseconds
    claim_ns: Nanoseconds


@dataclass(frozen=True)
class Calibration:
    """The costs of a cell's stages on one core of a machine.

    decode: of Decode where code blocks are packed as for at least so many cores. With more cores
    there are fewer blocks in a pack, which is the chunk. sharing: by how much longer an opcode
    takes when all that it works on lies in another core's caches, as a share of its time; on n
    cores that is so for n-1 chunks of n.
    """

    cell: str
    key: str  # of all that the costs depend on in the cell
    stages: Annotated[Mapping[str, Stage], Field(min_length=1)]
    decode: Mapping[int, Stage]
    scheduling: Scheduling
    sharing: Mapping[str, Annotated[float, Field(ge=0, lt=1e3, allow_inf_nan=False)]]
    sharing_cores: int  # on which that was measured; 1: it was not
    frames: int
    machine: Mapping[str, Any]
    build: str  # of the engine
    measured: str  # when
    format: Literal[2] = FORMAT

    def stage(self, op: str, cores: int) -> Stage | None:
        """What an opcode costs where there are so many cores."""
        if op == "Decode" and (packed := [n for n in self.decode if n <= cores]):
            return self.decode[max(packed)]
        return self.stages.get(op)

    def shared(self, op: str, cores: int) -> float:
        """How many times as long an opcode takes on so many cores that share its data."""
        return 1 + self.sharing.get(op, 0.0) * (cores - 1) / cores

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


def check_writable(file: Path) -> None:
    """Raises InputError or OSError where `save` would, before anything is measured."""
    if file.is_dir():
        raise InputError(f"{file} is a folder; name a file in it")
    require_plain(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f"{file.name}.{os.getpid()}")
    beside.touch()
    beside.unlink()


def save(calibration: Calibration, file: Path) -> None:
    """Writes it whole or not at all."""
    check_writable(file)
    text = json.dumps(asdict(calibration), indent=2, ensure_ascii=False) + "\n"
    write_text(file, text)


def load(file: Path) -> Calibration:
    """Raises CalibrationError."""
    try:
        return _READER.validate_json(read_input(file))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise CalibrationError(
            f"{file}: {reason}; `carillon calibrate --output` writes one"
        ) from error
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
    packings = _packings(cell)
    alone = memory_run.MemoryRun(cell, 1, at_once=True)
    scheduling = _scheduling(alone, cell)
    sharing_cores = min(resources.cores().count, _SHARING_CORES)
    sharing = _sharing(alone, cell, sharing_cores)
    del alone  # its memory
    others = len(packings) - 1
    shares = [0.6, *[0.4 / others] * others] if others else [1.0]
    timed: dict[int, Claims] = {}
    frames = 0
    for packing, share in zip(packings, shares, strict=True):
        grains = (1, _WHOLE) if timed else (*GRAINS, _WHOLE)  # all but the first for Decode alone
        before = sum(shares[: len(timed)])

        def tell(part: float, before: float = before, share: float = share) -> None:
            progress(before + share * part)

        with _realtime():
            timed[packing], count = _time(cell, packing, grains, seconds * share, tell, stopped)
        frames += count if packing == 1 else 0
    decode = {n: claims["Decode"] for n, claims in timed.items() if "Decode" in claims}
    return Calibration(
        cell=cell.name,
        key=key_of(cell),
        stages={op: fit(sizes) for op, sizes in timed[1].items()},
        decode={n: fit(sizes) for n, sizes in decode.items()},
        scheduling=scheduling,
        sharing=sharing,
        sharing_cores=sharing_cores,
        frames=frames,
        machine=runfolder.machine() | {"clock_ghz": clock_ghz()},
        build=build(),
        measured=datetime.now(UTC).isoformat("T", "seconds"),
    )


def _packings(cell: Cell) -> list[int]:
    """The numbers of cores, powers of two, from which on code blocks are packed in another way."""
    found: dict[int, list[int]] = {}
    for cores in (1, 2, 4, 8, 16, 32, 64, 128):
        packs = sorted(core.work(plan_text(cell, Run()), cores)["packs"])
        if packs not in found.values():
            found[cores] = packs
    return list(found)


def _time(
    cell: Cell,
    cores: int,
    grains: Sequence[int],
    seconds: float,
    progress: Callable[[float], None],
    stopped: Callable[[], bool],
) -> tuple[Claims, int]:
    """Every claim of whole frames, and how many frames there were."""
    timer = core.Calibration(plan_text(cell, Run()), cores)
    timer.time(_WHOLE, 2)  # fills memory and caches
    claims: Claims = {}
    frames = 0
    begun = time.monotonic()
    for number, share in enumerate(_rounds(seconds)):
        for grain in grains:
            _take(claims, timer.time(grain, 1))
            frames += 1
            if stopped() and number == 0:
                raise KeyboardInterrupt  # nothing to keep: some size of claim was never timed
        progress(share)
        if stopped():
            break
        time.sleep(memory_run.ASLEEP * (time.monotonic() - begun))
        begun = time.monotonic()
    return claims, frames


@contextmanager
def _realtime() -> Iterator[None]:
    """As workers run, where that is allowed: whoever else has work here does not come between."""
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, parameters)


def _scheduling(run: memory_run.MemoryRun, cell: Cell) -> Scheduling:
    """What is left of a frame's time on one worker when its kernels are taken off, by least squares
    over small claims and large ones."""
    from scipy.optimize import nnls  # which takes its time

    counts, left = [], []
    for grain in (1, 128, 1, 128):
        got = run.frames(memory_run.with_grain(cell, dict.fromkeys(STAGES, grain)), _FRAMES)
        counts.append((got.instructions, got.claims))
        left.append(1e6 * float(np.nanmedian(got.whole - got.busy.sum(axis=1))))
    (instruction, claim), _ = nnls(np.array(counts, dtype=float), np.array(left))
    return Scheduling(float(instruction), float(claim))


def _sharing(alone: memory_run.MemoryRun, cell: Cell, cores: int) -> dict[str, float]:
    """Frames on one worker and on several, in turn: what their kernels take more there."""
    if cores < 2:
        return {}
    sized = memory_run.with_grain(cell, dict.fromkeys(STAGES, 128))
    runs = (alone, memory_run.MemoryRun(cell, cores, at_once=True))
    rounds = [[run.frames(sized, _FRAMES).busy for run in runs] for _ in range(_SHARING_ROUNDS)]
    own, shared = (
        np.median([np.median(busy, axis=0) for busy in each], axis=0)
        for each in zip(*rounds, strict=True)
    )
    return {
        op: max(0.0, (together / by_itself - 1) * cores / (cores - 1))
        for op, by_itself, together in zip(
            core.opcodes(), own.tolist(), shared.tolist(), strict=True
        )
        if by_itself > 0
    }


def clock_ghz() -> float | None:
    """Of this machine's cores, as Linux tells it now; None where it does not."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    clocks = [float(line.partition(":")[2]) for line in lines if line.startswith("cpu MHz")]
    return max(clocks) / 1e3 if clocks else None


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
    medians = {
        n: np.median(random.choice(ns, (_RESAMPLED, len(ns))), axis=1).tolist()
        for n, ns in some.items()
    }
    lines = np.array([_line({n: ms[i] for n, ms in medians.items()}) for i in range(_RESAMPLED)])
    low, high = np.percentile(lines, [2.5, 97.5], axis=0).tolist()
    error = max(abs(claim + s.chunks * chunk - s.median_ns) / max(s.median_ns, 1.0) for s in sizes)
    relative = np.concatenate([ns / max(float(np.median(ns)), 1.0) for ns in times.values()])
    spread = zip(_SHARES, np.quantile(relative, _SHARES).tolist(), strict=True)
    return Stage(claim, chunk, (low[0], high[0]), (low[1], high[1]), error, sizes, tuple(spread))


def _line(medians: Mapping[int, float]) -> tuple[float, float]:
    """I and Δ, neither below 0, with the least relative squares."""
    from scipy.optimize import nnls

    chunks = np.array(list(medians), dtype=float)
    ns = np.maximum(np.array(list(medians.values())), 1.0)
    if len(medians) == 1:  # one size tells no line
        return 0.0, float(ns[0] / chunks[0])
    (claim, chunk), _ = nnls(np.stack([1 / ns, chunks / ns], axis=1), np.ones(len(ns)))
    return float(claim), float(chunk)
