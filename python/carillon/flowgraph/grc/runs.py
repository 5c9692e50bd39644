"""Runs a flowgraph in the Python that has GNU Radio, and takes down what it did."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from carillon.children import die_with_parent
from carillon.errors import CarillonError, InputError
from carillon.flowgraph.profile import gnuradio_python

_PACKAGES = Path(__file__).parents[3]  # where carillon.gnuradio is imported from
_POLL_S = 0.1
_PATIENCE_S = 60.0  # beyond what was asked for: a flowgraph starts, and stops
_LAST_LINES = 3


class GnuRadioError(CarillonError):
    """A flowgraph did not run."""


@cache
def python() -> str:
    """The Python that has GNU Radio; InputError if there is none."""
    found = gnuradio_python()
    if found is None:
        raise InputError(
            "GNU Radio 3.10 is not installed here: apt install gnuradio (Debian's; Carillon finds "
            "the system's Python by itself)"
        )
    return found


def compiled(file: Path, folder: Path) -> Path:
    """A flowgraph as a Python program: a .grc by grcc, a program as it is. Raises InputError."""
    if not file.is_file():
        raise InputError(f"{file}: there is no such file")
    if file.suffix == ".py":
        return file.resolve()
    if file.suffix != ".grc":
        raise InputError(f"{file}: must be a flowgraph of GNU Radio: .grc, or .py with a top block")
    grcc = shutil.which("grcc") or shutil.which("grcc", path="/usr/bin")
    if grcc is None:
        raise InputError("grcc is not installed here: apt install gnuradio")
    done = subprocess.run(
        [python(), grcc, "--output", str(folder), str(file.resolve())],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_PATIENCE_S,
        check=False,
        process_group=0,  # a terminal's Ctrl-C reaches us alone
    )
    made = sorted(folder.glob("*.py"))
    if done.returncode != 0 or not made:
        raise InputError(f"{file}: grcc does not compile it: {_last(done.stdout + done.stderr)}")
    return made[-1]


def run(program: Path, request: Mapping[str, Any], stopped: Callable[[], bool]) -> dict[str, Any]:
    """What carillon.gnuradio.measure found of a flowgraph in a process of its own.

    KeyboardInterrupt as soon as `stopped`. Raises GnuRadioError of what the flowgraph says.
    """
    asked = json.dumps({"file": str(program), **request})
    with subprocess.Popen(
        [python(), "-m", "carillon.gnuradio.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=os.environ | {"PYTHONPATH": str(_PACKAGES)},
        process_group=0,  # a terminal's Ctrl-C reaches it through us alone
        preexec_fn=die_with_parent,
    ) as process:
        try:
            out, err = _answer(process, asked, float(request["seconds"]) + _PATIENCE_S, stopped)
        finally:
            with suppress(ProcessLookupError):
                process.kill()
    try:
        found: dict[str, Any] = json.loads(out)
    except ValueError:
        raise GnuRadioError(
            f"{program.name}: its process ended ({process.returncode}): {_last(err)}"
        ) from None
    if "error" in found:
        raise GnuRadioError(f"{program.name}: {found['error']}")
    return found


def _answer(
    process: subprocess.Popen[str], asked: str, patience_s: float, stopped: Callable[[], bool]
) -> tuple[str, str]:
    given: str | None = asked + "\n"
    for _ in range(round(patience_s / _POLL_S)):
        try:
            return process.communicate(given, timeout=_POLL_S)
        except subprocess.TimeoutExpired:
            given = None
        if stopped():
            raise KeyboardInterrupt
    raise GnuRadioError(f"the flowgraph did not end in {patience_s:.0f} s")


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " / ".join(lines[-_LAST_LINES:]) or "it says nothing"
