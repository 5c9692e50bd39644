"""How late each CPU wakes and how long it stands still: spin.py on all of them at once."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from carillon.doctor.finding import Finding, Level
from carillon.percent import percent

_SPIN = Path(__file__).with_name("spin.py")
_POLL = 0.1
_GRACE = 10.0  # a busy machine may be slow to start and end the programs
_FRAME_NS = 1_000_000
_LATE_US, _HOPELESS_US = 100.0, 1000.0
_MOST_STALLED = 0.01
_NOT_MEASURED = "not measured: --seconds 0, or a cell is running here"


@dataclass(frozen=True)
class CpuStalls:
    """One CPU as measured, times in ns."""

    cpu: int
    fifo: bool
    seconds: float
    wakeups_ns: list[int]  # how late each nap of 500 µs ended
    gaps_ns: list[int]  # of 10 µs or more between two readings of the clock
    stalls: list[tuple[int, bool]]  # gaps of 200 µs or more; whether others had the core

    @property
    def stalled(self) -> float:
        """Share of the time in stalls."""
        return sum(length for length, _ in self.stalls) / 1e9 / self.seconds

    @property
    def longest_us(self) -> float:
        """The longest gap; 0 where none reached 10 µs."""
        return max(self.gaps_ns, default=0) / 1e3

    def wakeup_us(self, percentile: float) -> float:
        return float(np.percentile(self.wakeups_ns, percentile)) / 1e3


def measure(
    cpus: Iterable[int], seconds: float, watch: Callable[[float], bool] = lambda _: True
) -> list[CpuStalls]:
    """Measures CPUs at once for so many seconds; those that could not be measured are left out.

    `watch` hears the seconds that have passed, ten times a second; when it says False, all ends.
    """
    found = []
    with tempfile.TemporaryDirectory() as folder:
        outputs = {cpu: Path(folder) / str(cpu) for cpu in sorted(cpus)}
        running = []
        try:
            running += [_start(cpu, seconds, output) for cpu, output in outputs.items()]
            _attend(running, seconds, watch)
        finally:
            for process in running:
                process.kill()
                process.wait()
        for cpu, output in outputs.items():
            try:
                told = json.loads(output.read_bytes())
            except ValueError:  # it ended before it had measured
                continue
            if told["wakeups_ns"]:
                found.append(CpuStalls(cpu, **told))
    return found


def _start(cpu: int, seconds: float, output: Path) -> subprocess.Popen[bytes]:
    with output.open("wb") as stream:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(_SPIN), str(cpu), str(seconds)],
            stdout=stream,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the parent
        )


def _attend(
    running: Sequence[subprocess.Popen[bytes]], seconds: float, watch: Callable[[float], bool]
) -> None:
    start = time.monotonic()
    while any(process.poll() is None for process in running):
        passed = time.monotonic() - start
        if not watch(passed) or passed > seconds + _GRACE:
            return
        time.sleep(_POLL)


def wakeups(measured: Sequence[CpuStalls]) -> Finding:
    """How late a core begins its work after a pause."""
    topic = "wake-up"
    if not measured:
        return Finding(topic, "skip", _NOT_MEASURED)
    worst = max(measured, key=lambda m: m.wakeup_us(99))
    median, late = worst.wakeup_us(50), worst.wakeup_us(99)
    fact = (
        f"p50 {median:.0f} µs, p99 {late:.0f} µs, at most {worst.wakeup_us(100):.0f} µs late "
        f"on CPU {worst.cpu}" + ("" if worst.fifo else ", without SCHED_FIFO")
    )
    if late <= _LATE_US:
        return Finding(topic, "pass", fact)
    cost = f"one pause in a hundred ends so late: {late / 1e3:.2g} ms of a frame's deadline"
    advice = "see idle states, SCHED_FIFO and stalls; a virtual machine depends on its host"
    return Finding(topic, "fail" if late > _HOPELESS_US else "warn", fact, cost, advice)


def stalls(measured: Sequence[CpuStalls]) -> Finding:
    """How often and how long a spinning core stands still, and who had it."""
    topic = "stalls"
    if not measured:
        return Finding(topic, "skip", _NOT_MEASURED)
    worst = max(measured, key=lambda m: m.stalled)
    lengths = [stall for one in measured for stall in one.stalls]
    longest = max(one.longest_us for one in measured)
    fact = f"the longest gap of {len(measured)} CPUs in {worst.seconds:.1f} s: {longest:.0f} µs"
    if not lengths:
        return Finding(topic, "pass", fact)
    system = sum(length for length, of_system in lengths if of_system)
    total = sum(length for length, _ in lengths)
    fact += (
        f"; {len(lengths)} of 200 µs or more, {percent(worst.stalled, 2)} of CPU {worst.cpu}'s "
        f"time; others had the core for {percent(system / total)} of it, else the machine stood "
        "still"
    )
    hit = min(1.0, sum(length + _FRAME_NS for length, _ in lengths) / 1e9 / worst.seconds)
    cost = f"of frames of 1 ms on all these cores {percent(hit, 1)} meet one"
    advice = (
        "end or isolate the others; where the machine stood still it is the host (ask for "
        "dedicated cores), firmware or interrupts"
    )
    level: Level = "fail" if worst.stalled > _MOST_STALLED else "warn"
    return Finding(topic, level, fact, cost, advice)
