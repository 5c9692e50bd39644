"""One run of a command, in a folder of its own. Workers import this and little else."""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from carillon.children import die_with_parent
from carillon.files import mark

Scalar = str | int | float | bool
State = Literal["ok", "failed", "timeout", "lost", "stopped"]

_GRACE = 5.0  # seconds between SIGTERM and SIGKILL
_POLL = 0.2
_LAST_BYTES = 4096


@dataclass(frozen=True)
class Task:
    """What to run, and where.

    key: of all that its result depends on. result: the file with it, from the folder. accept: exit
    statuses that are no failure. stop: a file; while it exists, nothing runs.
    """

    folder: Path
    key: str
    parameters: Mapping[str, Scalar]
    command: tuple[str, ...]
    files: Mapping[str, str]
    result: str
    accept: tuple[int, ...]
    timeout_s: float
    stop: Path


@dataclass(frozen=True)
class Outcome:
    """How a task ended. status: the command's exit status, negative for a signal."""

    state: State
    error: str = ""
    status: int | None = None
    seconds: float = 0.0
    host: str = ""


def perform(task: Task) -> Outcome:
    """Runs a task in an empty folder of its own, and writes there how it ended.

    One that has ended already is not run again: its worker was lost before it could tell. One
    whose folder cannot be emptied or written has failed.
    """
    try:
        return recorded(task) or _perform(task)
    except OSError as error:
        about = f"{error.filename or task.folder}: {(error.strerror or str(error)).lower()}"
        return Outcome("failed", about, None, 0.0, platform.node())


def _perform(task: Task) -> Outcome:
    if task.folder.exists():
        shutil.rmtree(task.folder)
    task.folder.mkdir(parents=True)
    mark(task.folder)  # for a command with --folder .
    for name, text in task.files.items():
        (task.folder / name).write_text(text, encoding="utf-8")
    begin = time.monotonic()
    try:
        state, status = _run(task)
    except (OSError, ValueError) as error:  # ValueError: no word may hold a null byte
        reason = getattr(error, "strerror", None) or str(error)
        text = f"{task.command[0]}: {reason.lower()}"
        outcome = Outcome("failed", text, None, 0.0, platform.node())
    else:
        error_text = _error(task, state, status)
        if state == "ok" and error_text:
            state = "failed"
        seconds = round(time.monotonic() - begin, 3)
        outcome = Outcome(state, error_text, status, seconds, platform.node())
    if outcome.state != "stopped":
        record(task, outcome)
    return outcome


def record(task: Task, outcome: Outcome) -> None:
    """task.json, whole or not at all: what a sweep that goes on reads."""
    task.folder.mkdir(parents=True, exist_ok=True)
    about = {
        "key": task.key,
        "parameters": dict(task.parameters),
        "command": list(task.command),
        "outcome": asdict(outcome),
    }
    partial = task.folder / "task.json.partial"
    partial.write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(task.folder / "task.json")


def recorded(task: Task) -> Outcome | None:
    """How the task ended; None when it did not, or when it was another one."""
    try:
        about = json.loads((task.folder / "task.json").read_text(encoding="utf-8"))
        return Outcome(**about["outcome"]) if about["key"] == task.key else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_result(task: Task) -> Any:
    """What the command wrote as JSON; raises OSError or ValueError."""
    return json.loads((task.folder / task.result).read_text(encoding="utf-8"))


def _begin() -> None:
    """In the command's process, the same whoever started it."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _run(task: Task) -> tuple[State, int]:
    words = list(task.command)
    if words[0] == "carillon":
        words[:1] = [sys.executable, "-m", "carillon"]
    with (
        (task.folder / "stdout").open("wb") as out,
        (task.folder / "stderr").open("wb") as err,
        subprocess.Popen(
            words,
            cwd=task.folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            process_group=0,  # is ended as a whole, and hears no Ctrl-C of the terminal
            preexec_fn=_begin,
        ) as process,
    ):
        return _attend(process, task)


def _attend(process: subprocess.Popen[bytes], task: Task) -> tuple[State, int]:
    until = time.monotonic() + task.timeout_s if task.timeout_s else float("inf")
    while True:
        try:
            status = process.wait(_POLL)
            return ("ok" if status in task.accept else "failed"), status
        except subprocess.TimeoutExpired:
            if task.stop.exists():
                return "stopped", _end(process)
            if time.monotonic() > until:
                return "timeout", _end(process)


def _end(process: subprocess.Popen[bytes]) -> int:
    """Ends the command and all that it started."""
    os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait()


def _error(task: Task, state: State, status: int) -> str:
    """Why there is no result; empty when there is one."""
    if state == "timeout":
        return f"took longer than {task.timeout_s:g} s"
    if state == "failed":
        said = _last_line(task.folder / "stderr") or _last_line(task.folder / "stdout")
        ended = f"ended by {_signal_name(-status)}" if status < 0 else f"status {status}"
        return f"{ended}: {said}" if said else ended
    if state == "ok":
        try:
            read_result(task)
        except OSError as error:
            return f"{task.result}: {(error.strerror or str(error)).lower()}"
        except ValueError as error:
            return f"{task.result} is not JSON: {error}"
    return ""


def _signal_name(number: int) -> str:
    """SIGKILL of 9; most real-time signals have no name."""
    named = {int(each): each.name for each in signal.Signals}
    return named.get(number, f"signal {number}")


def _last_line(file: Path) -> str:
    with file.open("rb") as stream:
        stream.seek(max(0, file.stat().st_size - _LAST_BYTES))
        lines = stream.read().decode("utf-8", errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
