"""The machine as files below a root, which tests replace. Nothing here fails on what it reads."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from carillon.doctor import ethtool

_MOST_CPUS = 8192  # Linux's own limit; a damaged list must not become a billion numbers
_MOST_BYTES = 1 << 20  # /proc/sys refuses to be read by 4 MiB at a time

CPU = "sys/devices/system/cpu"


def refused_fifo() -> str:
    """Why this process may not use SCHED_FIFO; empty when it may."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setscheduler(0, *before)
    except OSError as error:
        return error.strerror or str(error)
    return ""


@dataclass(frozen=True)
class Machine:
    """Where facts are read: files below `root`, a NIC's settings, and whether FIFO is granted."""

    root: Path = Path("/")
    nic: Callable[[str], ethtool.Settings] = ethtool.read
    refused_fifo: Callable[[], str] = refused_fifo

    def read(self, file: str) -> str | None:
        """A file's text without the space around it; None when it cannot be read."""
        try:
            with (self.root / file).open("rb") as stream:
                return stream.read(_MOST_BYTES).decode(errors="replace").strip()
        except (OSError, ValueError):
            return None

    def number(self, file: str) -> int | None:
        """A file that holds one whole number; None when it does not."""
        return whole(self.read(file) or "")

    def cpus(self, file: str) -> frozenset[int]:
        """A file that holds a list of CPUs; empty when it does not."""
        return parse_cpus(self.read(file) or "")

    def each_cpu(self, file: str) -> dict[str, str]:
        """The same file (a pattern may be given) of each CPU that has it: path → text."""
        return self.each(f"{CPU}/cpu[0-9]*/{file}")

    def each(self, pattern: str) -> dict[str, str]:
        """Files below the root by a pattern, those that say anything: path → text."""
        files = sorted(self.root.glob(pattern))
        texts = {str(file.relative_to(self.root)): self.read(str(file)) for file in files}
        return {file: text for file, text in texts.items() if text}

    def names(self, folder: str) -> list[str]:
        """What a folder holds; nothing when there is no such folder."""
        try:
            return sorted(entry.name for entry in (self.root / folder).iterdir())
        except OSError:
            return []

    def allowed(self) -> frozenset[int]:
        """The CPUs that this process may run on."""
        return parse_cpus(self.field("proc/self/status", "Cpus_allowed_list"))

    def field(self, file: str, name: str) -> str:
        """What a line "name: value" or "name=value" says; empty when there is none."""
        found = re.search(
            rf"^{re.escape(name)}[ \t]*[:=]?[ \t]*(.*)$", self.read(file) or "", re.MULTILINE
        )
        return found[1].strip() if found else ""

    def may(self, capability: int) -> bool:
        """Whether this process has a capability (linux/capability.h), as root has them all."""
        mask = self.field("proc/self/status", "CapEff")
        return bool(re.fullmatch(r"[0-9a-fA-F]{1,16}", mask)) and bool(
            int(mask, 16) >> capability & 1
        )


def whole(text: str) -> int | None:
    """A whole number as the kernel writes it, of at most 19 digits; else None."""
    return int(text) if re.fullmatch(r"-?[0-9]{1,19}", text) else None


def parse_cpus(text: str) -> frozenset[int]:
    """CPUs of a list as the kernel writes it: 0-3,8. What is no such list is empty."""
    cpus: set[int] = set()
    for part in filter(None, text.split(",")):
        found = re.fullmatch(r"([0-9]{1,4})(?:-([0-9]{1,4}))?", part.strip())
        if not found:
            return frozenset()
        cpus.update(range(int(found[1]), int(found[2] or found[1]) + 1))
    return frozenset(cpu for cpu in cpus if cpu < _MOST_CPUS)


def cpu_list(cpus: Iterable[int]) -> str:
    """CPUs as the kernel writes them: 0-3,8."""
    rows: list[list[int]] = []
    for cpu in sorted(cpus):
        if rows and rows[-1][-1] == cpu - 1:
            rows[-1].append(cpu)
        else:
            rows.append([cpu])
    return ",".join(f"{row[0]}-{row[-1]}" if row[1:] else str(row[0]) for row in rows)
