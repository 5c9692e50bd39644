"""What this process may use of the machine: cores and memory, and what limits them.

A container's control groups (cgroup v1 and v2) limit both, and neither the scheduler's affinity nor
the size of the machine's memory shows that. `root` is the file system's: `ROOT` where it is None.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/")

_GROUPS = "sys/fs/cgroup"
_UNLIMITED = 1 << 60  # bytes; v1 says as much where there is no limit


@dataclass(frozen=True)
class Limit:
    """The least of a resource that a control group grants, and the file that says so."""

    value: float
    file: str


@dataclass(frozen=True)
class Cores:
    """How many a process may keep busy. limited: by what, in words; empty where all are its own."""

    count: int
    limited: str = ""


@dataclass(frozen=True)
class Memory:
    """Bytes that a process may fill. limited: by what, in words; empty where all are its own."""

    bytes: int
    limited: str = ""


def cores(root: Path | None = None, allowed: int | None = None) -> Cores:
    """Whole cores of the `allowed` ones (None: of this process): a worker needs one of its own."""
    own = len(os.sched_getaffinity(0)) if allowed is None else allowed
    quota = cpu_quota(root)
    if quota is None or quota.value >= own:
        return Cores(own)
    return Cores(max(1, int(quota.value)), f"a CPU quota of {quota.value:g} cores ({quota.file})")


def memory(root: Path | None = None, installed: int | None = None) -> Memory:
    """Of the `installed` bytes (None: of this machine)."""
    own = installed or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit = memory_limit(root)
    if limit is None or limit.value >= own:
        return Memory(own)
    return Memory(int(limit.value), f"a memory limit of {limit.value / 1e6:.4g} MB ({limit.file})")


def cpu_quota(root: Path | None = None) -> Limit | None:
    """Cores' worth of time that this process' control groups grant it; None: no limit."""
    top = root or ROOT
    return _least([*_each(top, "", _quota_v2), *_each(top, "cpu", _quota_v1)])


def memory_limit(root: Path | None = None) -> Limit | None:
    """Bytes that this process' control groups grant it; None: no limit."""
    top = root or ROOT
    return _least([*_each(top, "", _memory_v2), *_each(top, "memory", _memory_v1)])


def _least(limits: list[Limit]) -> Limit | None:
    return min(limits, key=lambda limit: limit.value, default=None)


def _each(root: Path, controller: str, limit: Callable[[Path], Limit | None]) -> Iterator[Limit]:
    """Limits of this process' group and of all above it; controller "": of cgroup v2.

    In a container the path is often that of the host, of which only the mount is seen: its root.
    """
    for names, path in _memberships(root):
        if controller not in names:
            continue
        for mount in ("", ",".join(names), controller, "unified"):
            top = root / _GROUPS / mount
            group = top / path.lstrip("/")
            for folder in dict.fromkeys((group, *group.parents)):
                if folder.is_relative_to(top) and (found := limit(folder)) is not None:
                    yield Limit(found.value, f"/{Path(found.file).relative_to(root)}")


def _memberships(root: Path) -> Iterator[tuple[list[str], str]]:
    """Controllers ([""] of cgroup v2) and the group in their hierarchy."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        names, colon, path = rest.partition(":")
        if colon and ".." not in path.split("/"):
            yield names.split(","), path


def _quota_v2(folder: Path) -> Limit | None:
    quota, _, period = _text(folder / "cpu.max").partition(" ")
    return _share(quota, period, folder / "cpu.max")


def _quota_v1(folder: Path) -> Limit | None:
    period = _text(folder / "cpu.cfs_period_us")
    return _share(_text(folder / "cpu.cfs_quota_us"), period, folder / "cpu.cfs_quota_us")


def _share(quota: str, period: str, file: Path) -> Limit | None:
    if not (quota.isdecimal() and period.isdecimal() and int(quota) and int(period)):
        return None  # max, -1, or not there
    return Limit(int(quota) / int(period), str(file))


def _memory_v2(folder: Path) -> Limit | None:
    return _bytes(folder / "memory.max")


def _memory_v1(folder: Path) -> Limit | None:
    return _bytes(folder / "memory.limit_in_bytes")


def _bytes(file: Path) -> Limit | None:
    text = _text(file)
    known = text.isdecimal() and 0 < int(text) < _UNLIMITED
    return Limit(int(text), str(file)) if known else None


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")[:4096].strip()
    except OSError:
        return ""
