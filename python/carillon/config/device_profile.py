"""A device profile, and the part of a benchmark's `kernels.json` that it is made of."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from carillon.config.pool import DeviceType
from carillon.config.units import Base, key

FORMAT: Literal[1] = 1
Source = Literal["measured", "synthetic"]

LEAST_GBYTES_PER_S, MOST_GBYTES_PER_S = 1e-3, 1e5  # of a bus, and the most of a memory
_MOST_CTAS = 2**31 - 1  # of a grid's x (CUDA C++ Programming Guide, "Compute Capabilities")
_MOST_SHARED = 227 << 10  # of a block, the most of any type (there)
_MOST_BYTES = 1e12  # more than any device has


class Kernel(Base):
    """What a kernel was launched with, and what the compiler gave it."""

    ctas: int = key(..., "Blocks of the launch.", ge=1, le=_MOST_CTAS)
    threads: int = key(..., "Of a block.", ge=1, le=1024)
    registers: int = key(..., "Of a thread.", ge=0, le=255)
    shared_bytes: int = key(..., "Of a block.", ge=0, le=_MOST_SHARED)
    us: float = key(..., "Alone, launches back to back.", "µs", ge=0, le=1e6)


class Opcode(Base):
    """An opcode of one symbol, of ZeroForce of the frame; a copy has no kernels."""

    opcode: str = key(..., "Its name.")
    us: float = key(..., "All its kernels alone, or the copy; 0: it failed.", "µs", ge=0, le=1e6)
    bytes: float = key(
        ..., "Of device memory, each once; of a copy, what it moves.", ge=0, le=_MOST_BYTES
    )
    kernels: list[Kernel] = key([], "In order.")
    full_ctas: int = key(
        0, "Of all symbols at once, of the longest kernel; 0: not known.", ge=0, le=_MOST_CTAS
    )
    full_us: float = key(0.0, "All kernels, of all symbols at once.", "µs", ge=0, le=1e6)


class FrameTimes(Base):
    """Whole frames one after the other, copies with them, by the host's clock."""

    frames: int = key(..., "How many.", ge=1)
    mean: float = key(..., "Of all.", "µs", ge=1e-3, le=1e6)
    p50: float = key(..., "The median.", "µs", ge=0, le=1e6)
    p99: float = key(..., "The 99th percentile.", "µs", ge=0, le=1e6)
    p9999: float | None = key(None, "99.99th; null below 20 000 frames.", "µs", ge=0, le=1e6)


class Host(Base):
    """What handing over a CUDA graph takes."""

    launch_us: float = key(..., "Of the call.", "µs", ge=0, le=1e6)
    notify_us: float = key(..., "From there until the end is known.", "µs", ge=0, le=1e6)


class ProfileCell(Base):
    """A cell's shape and what was measured in it."""

    format: dict[str, str] = key(..., "The cell's keys as the engine writes them.")
    opcodes: Annotated[list[Opcode], Field(min_length=1)] = key(..., "Each opcode of the cell.")
    frame_us: FrameTimes | None = key(None, "Whole frames, where they were measured.")


class Clocks(Base):
    """The most that they go, as the driver says."""

    sm_mhz: int = key(..., "Of the SMs.", "MHz", ge=1)
    memory_mhz: int = key(..., "Of the memory.", "MHz", ge=1)


class CopyRates(Base):
    """Of a symbol's samples, from and to pinned host memory."""

    to_device_gbytes_per_s: float = key(
        ..., "From the host.", "GB/s", ge=LEAST_GBYTES_PER_S, le=MOST_GBYTES_PER_S
    )
    from_device_gbytes_per_s: float = key(
        ..., "To the host.", "GB/s", ge=LEAST_GBYTES_PER_S, le=MOST_GBYTES_PER_S
    )


class DeviceProfile(Base):
    """What a simulated pool needs to know of a device; measured only if `source` says so."""

    kind: Literal["carillon-device-profile"] = key(..., "What the file is.")
    format: Literal[1] = key(..., "Its version.")
    source: Source = key(..., "Whether a device was measured, or somebody made it up.")
    date: str = key(..., "When.")
    device: str = key(..., "As the driver names it.")
    type: DeviceType = key(..., "What a pool calls it.")
    driver: str = key(..., "Its version.")
    clocks: Clocks = key(..., "Of the device.")
    sms: int = key(..., "Of the device.", ge=1, le=1024)
    memory_gbytes_per_s: float = key(
        ..., "Of a copy within it, read and write.", "GB/s", ge=1, le=MOST_GBYTES_PER_S
    )
    link: CopyRates | None = key(None, "Of its bus; null: no copy was measured.")
    host: Host = key(..., "What the host takes.")
    cells: Annotated[list[ProfileCell], Field(min_length=1)] = key(..., "What was measured in.")


class _Open(Base):
    """Of a benchmark's file, which has more."""

    model_config = ConfigDict(extra="ignore")


class BenchCell(_Open):
    """A cell in `kernels.json`; `format` has a `key = value` line for each key."""

    format: str = key(..., "The cell's keys.")
    opcodes: Annotated[list[Opcode], Field(min_length=1)] = key(..., "Each opcode of the cell.")
    frame_us: FrameTimes | None = key(None, "Whole frames, where they were measured.")


class BenchRow(_Open):
    """A kernel by itself, or frames without copies; `us` 0: it failed."""

    kernel: str = key(..., "Which.")
    shape: str = key(..., "Of what.")
    us: float = key(..., "Of a launch.", "µs", ge=0)
    peer: str = key("", "What it is held against.")
    peer_us: float = key(0.0, "Of that.", "µs", ge=0)


class Latency(_Open):
    """Times of one kind; of what has a goal, 9 of 10 are to be within it."""

    what: str = key(..., "What takes the time.")
    how: str = key(..., "In which way.")
    samples: int = key(..., "How many.", ge=0)
    p50_us: float = key(..., "The median.", "µs")
    p90_us: float = key(..., "The 90th percentile.", "µs")
    p99_us: float = key(..., "The 99th percentile.", "µs")
    error_us: float = key(0.0, "Of each, to either side: of the clocks.", "µs", ge=0)
    goal_us: float = key(0.0, "For the 90th percentile; 0: none.", "µs", ge=0)
    verdict: Literal["met", "missed", "too close to tell", ""] = key("", "Of the goal.")
    note: str = key("", "What else is to be said.")


class Completion(_Open):
    """How soon the host sees the end of a kernel, and what launches cost it."""

    rows: list[Latency] = key([], "Each way.")


class Goal(_Open):
    """What is aimed at on a GPU, or a figure that has no goal."""

    what: str = key(..., "Which.")
    value: float | None = key(None, "What was measured; null: `note` says why it was not.")
    unit: str = key(..., "Of value, error and goal.")
    error: float = key(0.0, "Of the value, to either side.", ge=0)
    goal: float = key(0.0, "0: none.", ge=0)
    at_least: bool = key(False, "The goal; else at most.")
    verdict: Literal["met", "missed", "too close to tell", "not measured", ""] = key(
        "", "Of the goal; of a figure nothing."
    )
    note: str = key("", "What else is to be said.")


class Bench(_Open):
    """`kernels.json` of `carillon-cuda-bench`."""

    source: Source = key(..., "Whether a device was measured, or somebody made it up.")
    date: str = key(..., "When.")
    device: str = key(..., "As the driver names it.")
    sms: int = key(..., "Of the device.", ge=1, le=1024)
    sm_mhz: int = key(..., "Clock of the SMs.", "MHz", ge=1)
    memory_mhz: int = key(..., "Clock of the memory.", "MHz", ge=1)
    driver: int = key(..., "13000: one for CUDA 13.0.", ge=1)
    measured_copy_gbytes_per_s: float = key(
        ..., "Within the device.", "GB/s", ge=1, le=MOST_GBYTES_PER_S
    )
    host: Host = key(..., "What the host takes.")
    cells: list[BenchCell] = key(..., "Each cell; none where it ended before.")
    rows: list[BenchRow] = key([], "Kernels by themselves, and frames without copies.")
    completion: Completion = key(Completion(), "Ends of kernels, and launches.")
    goals: list[Goal] = key([], "Goals and figures.")
