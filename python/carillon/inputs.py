"""Reading files that people name: what cannot be read is told, and nothing is waited for."""

import errno
import json
from pathlib import Path
from typing import Any

from carillon.errors import InputError


def read_input(file: Path, most: int = -1) -> bytes:
    """The file, or so many bytes of it; raises OSError, for a named pipe too.

    A pipe that a shell has opened (`<(...)`) has an end, and is read; a named one may never have.
    """
    file.stat()  # an OSError of links that go round in a circle, too
    if file.resolve().is_fifo():
        raise OSError(errno.EINVAL, "Is a named pipe; write what it would say to a file", str(file))
    with file.open("rb") as stream:
        return stream.read(most)


def read_text(file: Path, most: int) -> str:
    """The file, of so many bytes at most; InputError names it and what is wrong."""
    try:
        data = read_input(file, most + 1)
        if len(data) > most:
            raise InputError(f"{file}: has more than {most} bytes; make it shorter")
        return data.decode("utf-8")
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {(error.strerror or '').lower()}") from None
    except UnicodeDecodeError:
        raise InputError(f"{file}: is not UTF-8 text") from None


def parse_json(data: bytes) -> Any:
    """Raises ValueError for whatever is wrong with it."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def read_json(file: Path) -> Any:
    """Raises OSError and ValueError."""
    return parse_json(read_input(file))
