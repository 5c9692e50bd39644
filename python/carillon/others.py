"""What other programs take of a machine's cores while something is measured on it."""

from __future__ import annotations

import os
import time
from pathlib import Path

_BUSY = (0, 1, 2, 5, 6, 7)  # user, nice, system, irq, softirq, steal; guests are among the users


class Others:
    """Counts from when it is made. Not the programs that this one starts: they count as others."""

    def __init__(self, stat: Path = Path("/proc/stat")) -> None:
        self._stat = stat
        self._first = self._now()

    def cores(self) -> float | None:
        """That they took on average since then; None where Linux does not tell."""
        busy, own, at = self._now()
        first_busy, first_own, first_at = self._first
        if busy is None or first_busy is None or busy == first_busy or at == first_at:
            return None
        return max((busy - first_busy - own + first_own) / (at - first_at), 0.0)

    def _now(self) -> tuple[float | None, float, float]:
        """Seconds of all programs, of this one, and of the clock."""
        times = os.times()
        return self._busy(), times.user + times.system, time.monotonic()

    def _busy(self) -> float | None:
        try:
            name, *fields = self._stat.read_text().splitlines()[0].split()
            ticks = sum(int(fields[i]) for i in _BUSY)
        except (OSError, IndexError, ValueError):
            return None
        return ticks / os.sysconf("SC_CLK_TCK") if name == "cpu" else None
