"""Files that are written whole, and folders that Carillon may write over."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from carillon.errors import InputError

MARK = ".carillon"


def mark(folder: Path) -> None:
    """Makes it Carillon's."""
    text = "Made by carillon, which may write over what it left in this folder.\n"
    write_text(folder / MARK, text)


def require_plain(file: Path) -> None:
    """Raises InputError if there is something that is neither a file nor a folder.

    A link, a device or a pipe under a name of ours would have us write somewhere else.
    """
    try:
        mode = file.lstat().st_mode
    except OSError:
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise InputError(
            f"{file} is neither a file nor a folder, and is left as it is: remove it, or name "
            "another place"
        )


@contextmanager
def whole(file: Path) -> Iterator[Path]:
    """Another path to write to; then `file` is what was written there, or as it was before.

    Raises OSError with the file's name, which that of a full disk has not, and InputError of what
    is no file.
    """
    require_plain(file)
    partial = file.with_name(f".partial-{os.getpid()}-{file.name}")
    try:
        partial.unlink(missing_ok=True)  # a link that lies there is not followed
        yield partial
        partial.replace(file)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(file)) from error
    finally:
        partial.unlink(missing_ok=True)


def write_text(file: Path, text: str) -> None:
    """Whole or not at all."""
    with whole(file) as partial:
        partial.write_text(text, encoding="utf-8")


@contextmanager
def table(file: Path) -> Iterator[TextIO]:
    """A stream for csv to write to, whole or not at all."""
    with whole(file) as partial, partial.open("w", newline="", encoding="utf-8") as stream:
        yield stream
