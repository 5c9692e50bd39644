"""Changes of parameters while a graph runs: from a file, or from a prompt."""

from __future__ import annotations

import csv
import threading
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from carillon.errors import InputError
from carillon.flowgraph.running import Change, Running
from carillon.inputs import read_input

_COLUMNS = ["node", "parameter", "value", "at"]
_MOST_BYTES = 1 << 20
HELP = "NODE PARAMETER VALUE [at SAMPLE], or quit"


def read_changes(file: Path) -> list[Change]:
    """A CSV file with the columns node, parameter, value and at (a sample of the node's input).

    InputError names the line.
    """
    try:
        text = read_input(file, _MOST_BYTES).decode("utf-8")
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {(error.strerror or '').lower()}") from None
    except UnicodeDecodeError:
        raise InputError(f"{file}: is not UTF-8 text") from None
    rows = csv.DictReader(text.splitlines())
    if rows.fieldnames != _COLUMNS:
        raise InputError(f"{file}:1: the first line must be {','.join(_COLUMNS)}")
    found = []
    for row in rows:
        try:
            found.append(_change(row["node"], row["parameter"], row["value"], row["at"]))
        except (TypeError, ValueError, AttributeError):
            raise InputError(
                f"{file}:{rows.line_num}: needs a node, a parameter, a number, and a sample"
            ) from None
    return found


def parse(line: str) -> Change:
    """A line of the prompt; ValueError says how one is."""
    words = line.split()
    if len(words) == 5 and words[3] == "at":
        words[3:] = words[4:]
    elif len(words) == 3:
        words.append("0")
    else:
        raise ValueError(HELP)
    try:
        return _change(*words)
    except ValueError:
        raise ValueError(HELP) from None


def _change(node: str, parameter: str, value: str, at: str) -> Change:
    sample = int(at)
    if not 0 <= sample < 1 << 62:
        raise ValueError(at)
    return Change(node, parameter, float(value), sample)


class Changes:
    """Those that wait for their samples, in order; made by `step`, one of each node at a time."""

    def __init__(self, running: Running, changes: Iterable[Change]) -> None:
        """InputError of one that cannot be made."""
        self._running = running
        self._waiting = deque(changes)
        self._made = 0
        self.ended = False  # somebody asked for the end
        for change in self._waiting:
            running.check(change)

    def add(self, line: str) -> str:
        """A line of the prompt; what to answer."""
        if line.strip() in ("quit", "exit"):
            self.ended = True
            return "stopping"
        try:
            change = parse(line)
            self._running.check(change)
        except (ValueError, InputError) as error:
            return str(error)
        self._waiting.append(change)
        return "ok"

    def step(self) -> None:
        """Hands the engine the next ones, as far as their nodes are free."""
        while self._waiting and self._running.change(self._waiting[0]):
            self._waiting.popleft()
            self._made += 1

    def told(self) -> list[str]:
        """What became of them, at the end."""
        if not self._waiting:
            return []
        return [f"{len(self._waiting)} changes were not made: it ended before their turn"]


def read_prompt(changes: Changes, stream: TextIO) -> None:
    """Reads lines from another thread until the stream ends; answers each on standard output."""

    def read() -> None:
        for line in stream:
            if line.strip():
                print(changes.add(line), flush=True)
            if changes.ended:
                return

    threading.Thread(target=read, daemon=True).start()
