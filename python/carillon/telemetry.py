"""Reading what carillond leaves in telemetry.bin, while it runs or afterwards.

The file describes itself: 16 bytes ("CARILLON", version, header size), a JSON header, then sections
of fixed-size records (engine/telemetry/records.hpp). A section that is fuller than its capacity
keeps its newest records.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from carillon.errors import InputError
from carillon.inputs import parse_json

Records = npt.NDArray[Any]

MAGIC = b"CARILLON"
VERSION = 5
PACKET_EVENT = 0xFFFF
REFUSED, DISCARDED = 1, 2  # FrameRecord.nack
OVERLOAD = 1  # NackRecord.kind; 2 is harq
CAUSES = ("lost", "fronthaul", "processing", "operating_system", "machine_stall")
PHASES = ("starting", "running", "draining", "done")
ROLES = {1: "worker", 2: "receiver", 4: "sender", 8: "radio", 16: "users", 32: "accelerator"}


class TelemetryError(InputError):
    """A file that is not telemetry, or not yet."""


@dataclass(frozen=True)
class _Section:
    offset: int
    capacity: int
    count_offset: int
    dtype: np.dtype[Any]

    @property
    def end(self) -> int:
        """Of all that it has in the file."""
        return max(self.offset + self.capacity * self.dtype.itemsize, self.count_offset + 8)


class Telemetry:
    """A view of telemetry.bin. `read` copies, so that a section stays as it was when asked for."""

    def __init__(self, file: Path) -> None:
        self.file = file
        try:
            self._bytes = np.memmap(file, dtype=np.uint8, mode="r")
        except (OSError, ValueError) as error:
            raise TelemetryError(f"{file} cannot be read: {error}") from error
        header = _header(file, self._bytes)
        try:
            self.opcodes: list[str] = header["opcodes"]
            self.threads: list[str] = header["threads"]
            self._sections = {name: _section(s) for name, s in header["sections"].items()}
            end = max(s.end for s in self._sections.values())
        except (KeyError, TypeError, ValueError) as error:
            raise TelemetryError(f"{file} has a damaged header: {error!r}") from error
        if end > self._bytes.size:
            raise TelemetryError(f"{file} is cut short: {self._bytes.size} of {end} bytes")

    def has(self, name: str) -> bool:
        """Whether there is such a section: an earlier Carillon wrote fewer."""
        return name in self._sections

    def written(self, name: str) -> int:
        """How many records a section ever got, of which it keeps the newest `capacity`."""
        section = self._sections[name]
        at = self._bytes[section.count_offset : section.count_offset + 8]
        return int(at.view("<u8")[0])

    def read(self, name: str, newest: int | None = None) -> Records:
        """A section's records, oldest first; at most the `newest` ones."""
        section = self._sections[name]
        written = self.written(name)
        wanted = min(written, section.capacity, newest if newest is not None else written)
        size = section.dtype.itemsize
        data = self._bytes[section.offset : section.offset + section.capacity * size]
        table = data.view(section.dtype)
        capacity = max(section.capacity, 1)
        oldest = (written - wanted) % capacity  # a damaged count may be any number of 64 bits
        return np.array(table[(oldest + np.arange(wanted)) % capacity])

    def counters(self) -> dict[str, int]:
        """The run's counters."""
        record = self.read("counters")
        if len(record) == 0:
            raise TelemetryError(f"{self.file} has no counters yet")
        return {name: int(record[name][0]) for name in record.dtype.names or ()}

    def phase(self) -> str:
        """How far the run is: starting, running, draining, done."""
        phase = self.counters()["phase"]
        return PHASES[phase] if phase < len(PHASES) else f"phase {phase}"


def cause_name(cause: int) -> str:
    """Name of a LateCause; 0 is none."""
    return CAUSES[cause - 1] if 1 <= cause <= len(CAUSES) else "none"


def thread_name(threads: list[str], index: int) -> str:
    """A thread's name, or its number where it has none."""
    return threads[index] if index < len(threads) else f"thread {index}"


def _header(file: Path, data: Records) -> dict[str, Any]:
    if data.size < 16 or bytes(data[:8]) != MAGIC:
        raise TelemetryError(f"{file} is not a Carillon telemetry file")
    version, size = struct.unpack("<II", bytes(data[8:16]))
    if version != VERSION:
        raise TelemetryError(
            f"{file} has telemetry version {version}, this Carillon reads {VERSION}"
        )
    text = bytes(data[16:size]).rstrip(b"\0")
    try:
        header: dict[str, Any] = parse_json(text)
    except ValueError as error:
        raise TelemetryError(f"{file} has a damaged header: {error}") from error
    return header


def _section(entry: dict[str, Any]) -> _Section:
    dtype = np.dtype([(name, kind) for name, kind in entry["dtype"]])
    if dtype.itemsize != entry["record_bytes"]:
        dtype = np.dtype(
            {
                "names": [name for name, _ in entry["dtype"]],
                "formats": [kind for _, kind in entry["dtype"]],
                "itemsize": entry["record_bytes"],
            }
        )
    offset, capacity, count_offset = entry["offset"], entry["capacity"], entry["count_offset"]
    if min(offset, capacity, count_offset) < 0:
        raise ValueError("a section lies before the file")
    return _Section(offset, capacity, count_offset, dtype)
