"""When a test gives a process up: for what never ends. No test says how fast anything is."""

import time
from collections.abc import Callable
from pathlib import Path

HANG_S = 1800


def wait_until(holds: Callable[[], bool]) -> None:
    """Looks now and then; AssertionError when it never does."""
    deadline = time.monotonic() + HANG_S
    while not holds():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.001)


def _command(process: str) -> bytes:
    """Nothing, of one that has just ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def children_of(process: int, what: bytes = b"") -> list[int]:
    """Those whose command says so, once there are some."""
    found: list[int] = []

    def are_there() -> bool:
        words = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        commands = {int(child): _command(child) for child in words}
        found[:] = [child for child, command in commands.items() if command and what in command]
        return bool(found)

    wait_until(are_there)
    return found


def cpu_ticks(pid: int) -> int:
    """That a process has computed so far, a hundredth of a second each (proc(5))."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
