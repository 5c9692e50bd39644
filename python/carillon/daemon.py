"""Running carillond: start it, watch it, pass Ctrl-C on, wait for it to drain."""

from __future__ import annotations

import functools
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

from carillon import core, resources
from carillon.errors import CarillonError
from carillon.runfolder import RunFolder
from carillon.telemetry import Telemetry, TelemetryError

_POLL = 0.1
_DRAIN_SECONDS = 15.0
_PATIENCE = 3  # interrupts
_ROUTINE = ("making the radio's frames", "stopped before the run began")
_SILENT = "nothing comes from its radio unit"
_THREAD = re.compile(r"(worker \d+( \+ radio)?|radio): ")


class RunError(CarillonError):
    """carillond could not do what it was asked; the message is its own."""


class Interrupts:
    """Counts Ctrl-C, SIGTERM and SIGHUP instead of dying of them, so that a report is written.

    From the fourth on they raise KeyboardInterrupt, whatever the program does.
    """

    def __init__(self) -> None:
        self.count = 0
        self._before: dict[int, signal.Handlers | Callable[..., object] | int | None] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                continue  # as nohup asks
            self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self.count > _PATIENCE:
            raise KeyboardInterrupt


def require_executable(program: Path) -> None:
    """Raises RunError of a program that is there and may not be run."""
    if not os.access(program, os.X_OK):
        raise RunError(
            f"{program} may not be executed; if its folder is mounted noexec, use one that is not, "
            "else run ./carillon setup to build it anew"
        )


def binary() -> Path:
    """carillond beside the compiled module, or what the environment variable CARILLOND names."""
    installed = Path(core.__file__).parent / "bin" / "carillond"
    path = Path(os.environ.get("CARILLOND") or installed)
    if not path.is_file():
        raise RunError(f"{path} is missing; run ./carillon setup to build it")
    require_executable(path)
    return path


def carry_out(
    folders: Sequence[RunFolder],
    interrupts: Interrupts,
    watch: Callable[[list[Telemetry]], None] | None = None,
) -> None:
    """Runs the plans of prepared folders to their end: the cells of one process.

    Several folders lie in one, which is what their plans' paths start from. Raises RunError when
    there is nothing to report. `watch` is called a few times a second while the run lasts. The
    first Ctrl-C asks carillond to drain; it is ended by force when that takes too long, or at the
    third.
    """
    base = folders[0].path if len(folders) == 1 else folders[0].path.parent
    with folders[0].log_file.open("wb") as log:
        process = subprocess.Popen(
            [binary().resolve(), *(folder.plan_file.relative_to(base) for folder in folders)],
            cwd=base,  # a plan cannot hold every path
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            process_group=0,  # a terminal's Ctrl-C reaches it through us alone
            preexec_fn=functools.partial(_begin, _cpus(folders)),
        )
        try:
            _attend(process, folders, interrupts, watch)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    for other in folders[1:]:
        shutil.copyfile(folders[0].log_file, other.log_file)
    if process.returncode == 0:
        return
    if not all(map(_has_frames, folders)):
        raise RunError(_last_words(folders[0], process.returncode))


def _begin(cpus: set[int]) -> None:
    """Until carillond listens for SIGINT itself, one must not kill it: it owes us a report."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.sched_setaffinity(0, cpus)


def _cpus(folders: Sequence[RunFolder]) -> set[int]:
    """As many as a CPU quota carries: a core that spins uses one up. All where cells name some."""
    here = sorted(os.sched_getaffinity(0))
    named = any(folder.cell.runtime.cores for folder in folders)
    return set(here if named else here[: resources.cores().count])


def _attend(
    process: subprocess.Popen[bytes],
    folders: Sequence[RunFolder],
    interrupts: Interrupts,
    watch: Callable[[list[Telemetry]], None] | None,
) -> None:
    telemetries: list[Telemetry] = []
    drain_until: float | None = None
    while process.poll() is None:
        if interrupts.count:
            process.send_signal(signal.SIGINT)  # again and again: the first may come too early
            drain_until = drain_until or time.monotonic() + _DRAIN_SECONDS
        if drain_until is not None and (
            interrupts.count >= _PATIENCE or time.monotonic() > drain_until
        ):
            return
        if not telemetries:
            opened = [telemetry for folder in folders if (telemetry := _open(folder)) is not None]
            telemetries = opened if len(opened) == len(folders) else []
        if telemetries and watch is not None:
            watch(telemetries)
        try:
            process.wait(_POLL)
        except subprocess.TimeoutExpired:
            continue


def _open(folder: RunFolder) -> Telemetry | None:
    try:
        telemetry = folder.telemetry()
        telemetry.counters()
    except TelemetryError:
        return None  # not written yet
    return telemetry


def _has_frames(folder: RunFolder) -> bool:
    telemetry = _open(folder)
    return telemetry is not None and telemetry.written("frames") > 0


def notes(folder: RunFolder) -> list[str]:
    """What carillond found wrong with this machine; once what it says of several threads."""
    said = (_THREAD.sub("", line, count=1) for line in _said(folder))
    return [
        note
        for note in dict.fromkeys(said)
        if not note.startswith(_ROUTINE) and _SILENT not in note
    ]


def silent(folder: RunFolder) -> list[str]:
    """The cells that carillond did not wait for any longer, or never heard of."""
    return [line for line in _said(folder) if _SILENT in line]


def _said(folder: RunFolder) -> list[str]:
    try:
        lines = folder.log_file.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        return []
    return [line.removeprefix("carillond: ") for line in lines]


def _last_words(folder: RunFolder, code: int) -> str:
    lines = _said(folder)
    if code < 0:
        lines.append(f"carillond was ended by {signal.Signals(-code).name}")
    elif not lines:
        lines.append(f"carillond ended with status {code} and said nothing")
    return "\n".join([*lines[-5:], f"its plan is {folder.plan_file}, its log {folder.log_file}"])
