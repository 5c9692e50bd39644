"""What processes that we start owe us: to end with us, and to leave Ctrl-C to us."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def die_with_parent(number: int = signal.SIGKILL) -> None:
    """The kernel ends this process when the thread that started it ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, int(number))


def end_with_asker() -> None:
    """This process ends when the process that asked a fork server for it does."""
    asker = multiprocessing.parent_process()
    if asker is None:
        return

    def wait() -> None:
        asker.join()
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=wait, daemon=True).start()


@contextmanager
def deaf() -> Iterator[None]:
    """Threads and processes that start in the block hear no Ctrl-C: it is for who asks."""
    resource_tracker.ensure_running()  # or the first process starts it, which lifts the block
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
