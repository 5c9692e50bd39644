"""Measures one CPU: how late it wakes, and how long it stands still. Run by stalls.py as a program.

Usage: spin.py CPU SECONDS. It naps and spins in turns as a worker does, under SCHED_FIFO where
that is granted, and prints one JSON object. It imports nothing of Carillon, so as to start at once.
"""

import contextlib
import gc
import json
import os
import sys
import time
from pathlib import Path

NAP_NS = 500_000  # of 5 ms: more than real-time throttling takes
SPIN_NS = 4_500_000
GAP_NS = 10_000  # this loop reads the clock every 0.2 µs; it cannot make such a gap by itself
STALL_NS = 200_000  # kStall of engine/app/loop.hpp
PRIORITY = 50  # kPriority of engine/app/loop.cpp


def run_delay() -> int:
    """How long this thread was ready and did not run, in ns, by the kernel's account; -1: none."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return -1


def measure(seconds: float, fifo: bool) -> dict[str, object]:
    """Naps and spins for so long, or until its parent has gone."""
    now, parent = time.perf_counter_ns, os.getppid()
    wakeups: list[int] = []
    gaps: list[int] = []
    stalls: list[tuple[int, bool]] = []
    start = last = now()
    end = start + int(seconds * 1e9)
    while last < end and os.getppid() == parent:
        due = now() + NAP_NS
        time.sleep(NAP_NS / 1e9)
        last = now()
        wakeups.append(last - due)
        waited = run_delay()
        last = now()
        until = last + SPIN_NS
        while last < until:
            instant = now()
            gap = instant - last
            if gap >= GAP_NS:
                gaps.append(gap)
                if gap >= STALL_NS:
                    before, waited = waited, run_delay()
                    system = not fifo or waited < 0 or waited - before >= gap // 2
                    stalls.append((gap, system))
                    instant = now()
            last = instant
    return {
        "fifo": fifo,
        "seconds": (last - start) / 1e9,
        "wakeups_ns": wakeups,
        "gaps_ns": gaps,
        "stalls": stalls,
    }


def main() -> None:
    cpu, seconds = int(sys.argv[1]), float(sys.argv[2])
    os.sched_setaffinity(0, {cpu})
    fifo = False
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
        fifo = True
    gc.disable()
    print(json.dumps(measure(seconds, fifo)))


if __name__ == "__main__":
    main()
