"""The `carillon` program: ready for Ctrl-C before it imports anything that takes time."""

import os
import signal
import sys
from types import FrameType


def main() -> None:
    """Ends with a status of docs/commands.md."""
    signal.signal(signal.SIGINT, _stop)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # ./carillon holds it back so far
    from carillon import cli

    status = cli.main()
    if status != _STOPPED:
        # Python takes its handlers down before the process ends: done is done.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.exit(status)
    try:
        sys.stdout.flush()
    finally:
        os._exit(status)  # without waiting for threads that still compute


_STOPPED = 130


def _stop(number: int, frame: FrameType | None) -> None:
    """Ends at once, in an import too; what has something to put away listens for itself."""
    try:
        os.write(2, b"carillon: stopped\n")
    finally:
        os._exit(_STOPPED)


if __name__ == "__main__":
    main()
