"""A command at a clock: set, run, put back, whatever ends it."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType

from carillon import core
from carillon.children import die_with_parent
from carillon.daemon import Interrupts
from carillon.errors import InputError
from carillon.power.clock import Clocks, Domain, Meter, Setting, refusals

_LOOK_S = 1.0  # between looks whether clocks are as they were set
_PATIENCE = 3  # signals, after which the command is killed


@dataclass
class Outcome:
    """Of a command that ran."""

    command: list[str]
    domains: list[Domain]
    status: int = 0  # the command's; 128 + its number for a signal
    stopped: bool = False  # by Ctrl-C, SIGTERM or SIGHUP
    seconds: float = 0.0
    joules: dict[str, float] = field(default_factory=dict)
    changed: list[tuple[str, str, str]] = field(default_factory=list)  # path, set, found
    unrestored: list[str] = field(default_factory=list)


class _Signals(Interrupts):
    """Ends the command by what is to end us, who have clocks to put back first."""

    process: subprocess.Popen[bytes] | None = None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self.process is None:
            return
        if self.count >= _PATIENCE:
            self.process.kill()
        elif self.count > 1 or number != signal.SIGINT or not _in_foreground():
            self.process.send_signal(number)


def _in_foreground() -> bool:
    """Whether a terminal's Ctrl-C reaches the command without us."""
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError, AttributeError):
        return False


def run(
    command: list[str],
    setting: Setting,
    clocks: Clocks,
    note: Callable[[str], None],
    begun: Callable[[list[Domain]], None],
) -> Outcome:
    """Sets clocks, runs the command, puts clocks back.

    Calls `note` with what is odd meanwhile, and `begun` with the domains that are set. Raises
    ClockError if they cannot be set; then they are as they were.
    """
    with _Signals() as signals, refusals():
        control = core.ClockControl(str(clocks.sysfs))
        for text in restored_words(*control.left):
            note(text)
        outcome = Outcome(command, [])
        try:
            outcome.domains = setting.apply(control, clocks)
            begun(outcome.domains)
            _attend(outcome, signals, control, clocks, note)
        finally:
            outcome.unrestored = control.restore()[1]
            for text in outcome.unrestored:
                note(f"not as it was: {text}")
    return outcome


def restored_words(files: int, failed: list[str]) -> list[str]:
    """What was put back of a process that ended, and what was not."""
    if not files:
        return []
    first = f"restored {files - len(failed)} of {files} files of a process that had ended"
    return [first, *(f"not as it was: {text}" for text in failed)]


def _attend(
    outcome: Outcome,
    signals: _Signals,
    control: core.ClockControl,
    clocks: Clocks,
    note: Callable[[str], None],
) -> None:
    meter, start = Meter(clocks.sysfs), time.monotonic()
    if signals.count == 0:
        signals.process = _start(outcome.command)
        if signals.count:  # meanwhile
            signals.process.terminate()
        while _runs(signals.process):
            _look(outcome, control, note)
            meter.read()
        code = signals.process.returncode
        outcome.status = code if code >= 0 else 128 - code
    outcome.seconds = time.monotonic() - start
    outcome.joules = meter.read()
    outcome.stopped = signals.count > 0
    _look(outcome, control, note)


def _start(command: list[str]) -> subprocess.Popen[bytes]:
    """It ends with us: what goes on at another clock than it was asked for misleads."""
    try:
        return subprocess.Popen(
            command, preexec_fn=functools.partial(die_with_parent, signal.SIGTERM)
        )
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"{command[0]} cannot be run: {reason}") from None


def _runs(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(_LOOK_S)
    except subprocess.TimeoutExpired:
        return True
    return False


def _look(outcome: Outcome, control: core.ClockControl, note: Callable[[str], None]) -> None:
    """Each change of a file once."""
    for path, wanted, found in control.differences():
        if all(path != known for known, _, _ in outcome.changed):
            outcome.changed.append((path, wanted, found))
            now = f"says {found}" if found else "cannot be read"
            note(f"{path} was set to {wanted} and {now}: another program changed it")
