"""What a check says, and what `--fix` would change."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from dataclasses import dataclass
from typing import Literal, Protocol

from carillon.doctor.machine import Machine

Level = Literal["pass", "warn", "fail", "skip"]
"""skip: this machine has no such thing, or does not say."""


class Change(Protocol):
    """A setting that can be changed and put back while the machine runs."""

    @property
    def command(self) -> str:
        """The shell's line that does it."""

    @property
    def undo(self) -> str:
        """The shell's line that puts the setting back."""

    def apply(self, machine: Machine) -> None:
        """Does it; raises OSError, saying why, when that fails."""


@dataclass(frozen=True)
class Write:
    """A file of /proc or /sys, below the root, and its new and present text."""

    file: str
    value: str
    before: str

    @property
    def command(self) -> str:
        return self._line(self.value)

    @property
    def undo(self) -> str:
        return self._line(self.before)

    def _line(self, value: str) -> str:
        return f"echo {shlex.quote(value)} > {shlex.quote('/' + self.file)}"

    def apply(self, machine: Machine) -> None:
        (machine.root / self.file).write_text(self.value, encoding="utf-8")


@dataclass(frozen=True)
class Ethtool:
    """Options of ethtool for an interface, and those that restore what is."""

    words: tuple[str, ...]
    before: tuple[str, ...]

    @property
    def command(self) -> str:
        return shlex.join(("ethtool", *self.words))

    @property
    def undo(self) -> str:
        return shlex.join(("ethtool", *self.before))

    def apply(self, machine: Machine) -> None:
        program = shutil.which("ethtool")
        if program is None:
            raise OSError("ethtool is not installed: apt install ethtool")
        done = subprocess.run([program, *self.words], capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(done.stderr.strip() or f"ethtool ended with status {done.returncode}")


@dataclass(frozen=True)
class Finding:
    """One fact. Where it is not as it should be: what that costs and how to mend it, as root."""

    topic: str
    level: Level
    fact: str
    cost: str = ""
    advice: str = ""
    command: str = ""
    changes: tuple[Change, ...] = ()  # what --fix does; empty where that would not be safe
