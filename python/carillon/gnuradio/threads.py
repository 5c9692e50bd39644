"""Threads of blocks: which is whose, what they use, and how the kernel schedules them."""

from __future__ import annotations

import ctypes
import os
import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from carillon.gnuradio.flow import FlowError

_COMM = 15  # bytes of a thread's name that the kernel keeps
_APPEAR_SECONDS = 5.0
_ENDED = "a block ended while it was measured: it failed, or its samples came to an end"
_WATCHING = 90  # a priority
_SCHED_DEADLINE = 6
_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274, "riscv64": 274}
_libc = ctypes.CDLL(None, use_errno=True)


class _Attributes(ctypes.Structure):
    """struct sched_attr (sched_setattr(2))."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime", ctypes.c_uint64),
        ("deadline", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
    )


def cpu_ns(thread: int) -> int:
    """CPU time of a thread of this process, to the nanosecond, while it runs too.

    Raises FlowError if it has ended.
    """
    try:
        return time.clock_gettime_ns((~thread << 3) | 6)  # CPUCLOCK_PERTHREAD_MASK, CPUCLOCK_SCHED
    except OSError:
        raise FlowError(_ENDED) from None


def wake_ups(thread: int) -> int:
    """How often it has begun to wait, and so been woken; FlowError if it has ended."""
    try:
        status = Path(f"/proc/self/task/{thread}/status").read_text(encoding="ascii")
    except OSError:
        raise FlowError(_ENDED) from None
    return int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])


def find(blocks: Mapping[str, Any]) -> dict[str, int]:
    """The thread of each block.

    Where several have the same name, each of their blocks moves its own to one core for a moment.
    """
    wanted: dict[str, list[str]] = {}
    for name, block in blocks.items():
        wanted.setdefault(_comm(block), []).append(name)
    there = _named(wanted)
    found = {}
    for comm, names in wanted.items():
        threads = there[comm]
        for name in names:
            alike = len(names) > 1
            found[name] = _answering(blocks[name], threads) if alike else threads[0]
            threads.remove(found[name])
    return found


def _comm(block: Any) -> str:
    """Its thread's name: the block's, cut so that its number would still fit into 16 letters, of
    which the kernel keeps 15."""
    number = str(block.unique_id())
    name: str = block.name()
    return (name[: _COMM + 1 - len(number)] + number)[:_COMM]


def _named(wanted: Mapping[str, list[str]]) -> dict[str, list[int]]:
    """Threads by name, when all have appeared."""
    end = time.monotonic() + _APPEAR_SECONDS
    while True:
        there: dict[str, list[int]] = {}
        for task in Path("/proc/self/task").iterdir():
            comm = (task / "comm").read_bytes().rstrip(b"\n").decode(errors="replace")
            there.setdefault(comm, []).append(int(task.name))
        missing = [
            names[-1] for comm, names in wanted.items() if len(there.get(comm, [])) < len(names)
        ]
        if not missing:
            return there
        if time.monotonic() > end:
            raise FlowError(f"block {missing[0]} has no thread: it has ended, or never began")
        time.sleep(0.01)


def _answering(block: Any, threads: list[int]) -> int:
    """The one that moves when its block is asked to."""
    if len(threads) == 1:
        return threads[0]
    before = {thread: os.sched_getaffinity(thread) for thread in threads}
    core = _core_other_than(before[threads[0]])
    block.set_processor_affinity([core])
    moved = [
        thread for thread in threads if os.sched_getaffinity(thread) == {core} != before[thread]
    ]
    block.unset_processor_affinity()
    for thread, cores in before.items():
        os.sched_setaffinity(thread, cores)
    if len(moved) != 1:
        raise FlowError(
            f"the thread of block {block.symbol_name()} cannot be told from others of that name: "
            "there is a single core"
        )
    return moved[0]


def _core_other_than(cores: set[int]) -> int:
    """One of several, or another than the only one."""
    there = range(os.cpu_count() or 1)
    return min(cores) if len(cores) > 1 else next((each for each in there if each not in cores), 0)


def set_fifo(name: str, thread: int, priority: int) -> None:
    """SCHED_FIFO. GNU Radio's own set_thread_priority keeps the policy that a thread has: to one
    without a real-time policy it does nothing, and does not say so."""
    try:
        os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(priority))
    except OSError as error:
        raise FlowError(
            f"the kernel refuses block {name} a real-time priority: "
            f"{(error.strerror or '').lower()}; run as root, or allow them (rtprio in "
            "/etc/security/limits.conf)"
        ) from None


@contextmanager
def watching() -> Iterator[None]:
    """In the block this thread comes before all threads of blocks, where the kernel allows that."""
    policy, param = os.sched_getscheduler(0), os.sched_getparam(0)
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_WATCHING))
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, param)


def set_deadline(name: str, thread: int, runtime_ns: int, period_ns: int) -> None:
    """SCHED_DEADLINE: so much in each period, earliest deadline first."""
    number = _SCHED_SETATTR.get(platform.machine())
    if number is None:
        raise FlowError(f"deadlines of threads cannot be set on {platform.machine()}")
    attributes = _Attributes(
        size=ctypes.sizeof(_Attributes),
        policy=_SCHED_DEADLINE,
        runtime=runtime_ns,
        deadline=period_ns,
        period=period_ns,
    )
    if _libc.syscall(number, thread, ctypes.byref(attributes), 0) != 0:
        reason = os.strerror(ctypes.get_errno()).lower()
        raise FlowError(
            f"the kernel refuses block {name} {runtime_ns} ns in each {period_ns} ns: {reason}; "
            "deadlines need root, all cores of the machine, and room beside those of others"
        )
