"""Standard streams that outlive their reader."""

from __future__ import annotations

import errno
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import TextIO

from typing_extensions import Buffer


class _Pipe(FileIO):
    """Drops what nobody reads any longer: after `| head`, or when the terminal was closed, the work
    goes on, and is no failure."""

    error: OSError | None = None  # of a write that was one

    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if error.errno not in (errno.EPIPE, errno.EIO):  # EIO: of a terminal
                self.error = error
            return memoryview(data).nbytes


def failure(stream: TextIO) -> OSError | None:
    """Why something that was written to a patient stream is not there: a full disk."""
    if not isinstance(stream, TextIOWrapper) or not isinstance(stream.buffer.raw, _Pipe):
        return None
    stream.flush()
    return stream.buffer.raw.error


def patient(stream: TextIO) -> TextIO:
    """The same stream; it replaces what a terminal does not know (× or …), and never breaks."""
    if not isinstance(stream, TextIOWrapper):
        return stream  # a test's, or None where it was closed
    stream.flush()
    return TextIOWrapper(
        BufferedWriter(_Pipe(stream.fileno(), "wb", closefd=False)),
        stream.encoding,
        errors="replace",
        line_buffering=stream.line_buffering or stream.write_through,
    )
