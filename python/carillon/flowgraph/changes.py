"""Changes of parameters while a graph runs: from a file, or from a prompt."""

from __future__ import annotations

import csv
import threading
from pathlib import Path
from typing import TextIO

from carillon.errors import InputError
from carillon.flowgraph.graph import Graph
from carillon.flowgraph.running import Change, Running, check_change
from carillon.inputs import read_text

_COLUMNS = ["node", "parameter", "value", "at"]
_MOST_BYTES = 1 << 20
_MOST_SAMPLES = 1 << 62
HELP = "NODE PARAMETER VALUE [at SAMPLE], or quit"


def read_changes(file: Path, graph: Graph) -> list[Change]:
    """A CSV file with the columns node, parameter, value and at (a sample of the node's input).

    InputError names the line, also of a change that the graph cannot make.
    """
    text = read_text(file, _MOST_BYTES)
    rows = csv.reader(text.splitlines())
    if next(rows, None) != _COLUMNS:
        raise InputError(f"{file}:1: the first line must be {','.join(_COLUMNS)}")
    try:
        return [_checked(row, graph) for row in rows if row]
    except (ValueError, InputError, csv.Error) as error:
        raise InputError(f"{file}:{rows.line_num}: {error}") from None


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
    except ValueError as error:
        raise ValueError(f"{error}; write {HELP}") from None


def _checked(row: list[str], graph: Graph) -> Change:
    if len(row) != len(_COLUMNS):
        raise ValueError(f"has {len(row)} cells, but must have {','.join(_COLUMNS)}")
    change = _change(*row)
    check_change(graph, change)
    return change


def _change(node: str, parameter: str, value: str, at: str) -> Change:
    """ValueError names the cell."""
    try:
        number = float(value)
    except ValueError:
        raise ValueError(f"value is {value!r}, but must be a number") from None
    try:
        sample = int(at)
    except ValueError:
        sample = -1
    if not 0 <= sample < _MOST_SAMPLES:
        raise ValueError(f"at is {at!r}, but must be a sample: a whole number, 0 or more")
    return Change(node, parameter, number, sample)


class Prompt:
    """Lines that change a graph at work, from another thread, until their stream ends."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self.ended = False  # somebody asked for the end

    def answer(self, line: str) -> str:
        """Does what a line says; whether it did, or why not."""
        if line.strip() in ("quit", "exit"):
            self.ended = True
            return "stopping"
        try:
            change = parse(line)
            made = self._running.change(change)
        except (ValueError, InputError) as error:
            return str(error)
        return "ok" if made else f"{change.node}: so many changes wait that there is no room"

    def read(self, stream: TextIO) -> None:
        """Answers each line on standard output."""

        def answer_all() -> None:
            for line in stream:
                if line.strip():
                    print(self.answer(line), flush=True)
                if self.ended:
                    return

        threading.Thread(target=answer_all, daemon=True).start()
