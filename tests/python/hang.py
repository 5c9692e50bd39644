"""When a test gives a process up: for what never ends. No test says how fast anything is."""

import time
from pathlib import Path

HANG_S = 1800


def children_of(process: int, what: bytes = b"") -> list[int]:
    """Those whose command says so, once there are some."""
    file = Path(f"/proc/{process}/task/{process}/children")
    deadline = time.monotonic() + HANG_S
    while time.monotonic() < deadline:
        children = [int(child) for child in file.read_text().split()]
        found = [c for c in children if what in Path(f"/proc/{c}/cmdline").read_bytes()]
        if found:
            return found
        time.sleep(0.001)
    raise AssertionError("it started none")
