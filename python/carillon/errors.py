"""What a command tells in one line, without a traceback, and the status that it ends with."""

import errno
from enum import IntEnum


class Status(IntEnum):
    """Exit statuses of every command; docs/commands.md tells what they mean."""

    DONE = 0
    FAILED = 1
    WRONG_INPUT = 2
    TOO_SLOW = 3
    NO_DEVICE = 77  # as of tests and benchmarks that find none
    STOPPED = 130  # as of a shell whose command ended by SIGINT


class CarillonError(Exception):
    """Something that the user can mend; its text says what, where and how."""

    status = Status.FAILED
    prefix = "carillon: "  # of the line on standard error


class InputError(CarillonError):
    """What was given is wrong: a word of the command line, a file, a folder."""

    status = Status.WRONG_INPUT


class TooSlowError(CarillonError):
    """Nothing was in time."""

    status = Status.TOO_SLOW


class NoDeviceError(CarillonError):
    """What was asked for needs a GPU, and none is here or was measured; or it sets clocks, and this
    machine sets none."""

    status = Status.NO_DEVICE


_HINTS = {
    errno.EMFILE: "a process may have so few; `ulimit -n 1024` allows more",
    errno.ENFILE: "all processes together may have so few; `sysctl fs.file-max` shows the limit",
}


def of_system(error: OSError) -> str:
    """What the system refused: the file, why, and what helps where that is known."""
    words = [str(error.filename)] if error.filename else []
    words.append(error.strerror or str(error))
    if hint := _HINTS.get(error.errno or 0):
        words.append(hint)
    return ": ".join(words)
