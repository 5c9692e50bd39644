"""A run folder: everything about one run, enough to rebuild its report anywhere."""

from __future__ import annotations

import errno
import json
import math
import platform
import re
import tempfile
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from carillon import core, files, resources
from carillon.config import Cell, Run, busiest, plan_text
from carillon.config.plan import run_of
from carillon.errors import InputError
from carillon.files import MARK, mark, write_text
from carillon.inputs import read_json
from carillon.telemetry import Telemetry

FORMAT = 1


class RunFolderError(InputError):
    """A folder that holds no run, or can hold none."""


@dataclass(frozen=True)
class RunFolder:
    """What is known about a run besides its telemetry."""

    path: Path
    cell: Cell
    run: Run
    derived: dict[str, Any]
    machine: dict[str, Any]
    started: str
    version: str

    @property
    def plan_file(self) -> Path:
        return self.path / "plan.txt"

    @property
    def log_file(self) -> Path:
        return self.path / "carillond.log"

    @property
    def telemetry_file(self) -> Path:
        return self.path / "telemetry.bin"

    def telemetry(self) -> Telemetry:
        return Telemetry(self.telemetry_file)


def describe(cell: Cell) -> dict[str, Any]:
    """Every derived figure of a cell, from the engine; where frames are scheduled while they come,
    of all that there is room for."""
    figures = core.describe(plan_text(busiest(cell), Run()))
    if cell.grants.live:
        figures["memory_bytes"] = core.describe(plan_text(cell, Run()))["memory_bytes"]
    return figures


def require_own(path: Path) -> Path:
    """The same path, if results may be written there; makes nothing.

    Raises RunFolderError when it is a file, or holds what Carillon did not write, and InputError
    when it holds links, devices or pipes.
    """
    try:
        foreign = any(path.iterdir()) and not (path / MARK).exists()
    except FileNotFoundError:
        return path
    except OSError as error:
        raise _unfit(path, error) from error
    if foreign:
        raise RunFolderError(
            f"{path} holds files that are not Carillon's; name another --folder, a new or empty one"
        )
    require_plain(path)
    return path


def made(path: Path) -> Path:
    """A folder for results, made if it is not there; to be called before there are any.

    Raises RunFolderError as require_own() does, and when it cannot be made or written.
    """
    require_own(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            mark(path)
            return path
    except OSError as error:
        raise _unfit(path, error) from error


def _unfit(path: Path, error: OSError) -> RunFolderError:
    is_file = error.errno in (errno.ENOTDIR, errno.EEXIST) and path.is_file()
    reason = "it is a file" if is_file else (error.strerror or str(error)).lower()
    return RunFolderError(f"{path} cannot hold results: {reason}; name another --folder")


def require_plain(path: Path) -> None:
    """Raises InputError if a folder of ours holds anything but files and folders."""
    for inside in ("*", "plots/*", "tasks/*", "tasks/*/*"):
        for entry in path.glob(inside):
            files.require_plain(entry)


def create(path: Path, cell: Cell, run: Run) -> RunFolder:
    """Makes the folder and writes what is known before the run."""
    made(path)
    text = plan_text(cell, run)
    folder = RunFolder(
        path,
        cell,
        run,
        describe(cell),
        machine(),
        datetime.now(UTC).isoformat("T", "seconds"),
        core.version,
    )
    folder.telemetry_file.unlink(missing_ok=True)
    write_text(folder.plan_file, text)
    write_about(folder)
    return folder


def write_about(folder: RunFolder) -> None:
    """run.json: all that open_folder() needs."""
    about = {
        "format": FORMAT,
        "version": folder.version,
        "started": folder.started,
        "run": asdict(folder.run),
        "machine": folder.machine,
        "derived": folder.derived,
        "configuration": folder.cell.model_dump(mode="json"),
    }
    text = json.dumps(about, indent=2, ensure_ascii=False) + "\n"
    write_text(folder.path / "run.json", text)


def open_folder(path: Path) -> RunFolder:
    """A folder that an earlier run left."""
    try:
        about = read_json(path / "run.json")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        if (path / "cells.json").exists():
            reason += "; it is of several cells, each in a folder of its own there"
        raise RunFolderError(f"{path} holds no run: run.json: {reason}") from error
    except ValueError as error:
        raise RunFolderError(f"{path} holds no run: run.json is not JSON: {error}") from error
    version = about.get("format") if isinstance(about, dict) else None
    if version != FORMAT:
        raise RunFolderError(f"{path} has run format {version}, this Carillon reads {FORMAT}")
    try:
        folder = RunFolder(
            path,
            Cell.model_validate(about["configuration"]),
            run_of(about["run"]),
            about["derived"],
            about["machine"],
            about["started"],
            about["version"],
        )
        _require_sizes(folder.derived)
        return folder
    except (KeyError, TypeError, ValueError) as error:
        raise RunFolderError(f"{path}: run.json is damaged: {error!r}") from error


# Of a cell; others may be zero.
_POSITIVE = frozenset(("frame_ms", "sample_rate_mhz", "samples_per_frame", "tiles", "blocks"))


def _require_sizes(value: object, key: str = "derived") -> None:
    """Raises ValueError unless what was derived from a cell are numbers that a cell can have."""
    if isinstance(value, dict):
        for name, each in value.items():
            _require_sizes(each, f"{key}.{name}")
    elif isinstance(value, list):
        for place, each in enumerate(value):
            _require_sizes(each, f"{key}.{place}")
    elif isinstance(value, float | int):
        above = value > 0 if key.rpartition(".")[2] in _POSITIVE else value >= 0
        if not (above and math.isfinite(value)):
            raise ValueError(f"{key} is {value}")


def file_name(name: str) -> str:
    """A cell's name as part of a file's, for a name of at most 255 bytes: it may hold anything."""
    return re.sub(r"[^\w.+-]+", "-", name)[:48].strip(".-") or "cell"


def require_free(path: Path | None) -> None:
    """Raises RunFolderError if the folder holds a run, which is not written over, or is foreign."""
    if path is None:
        return
    if any((path / name).exists() for name in ("run.json", "cells.json")):
        raise RunFolderError(f"{path} holds a run already; name another folder, or remove it")
    require_own(path)


def new_path(base: Path, name: str) -> Path:
    """A folder name that is free: NAME-DATE-TIME."""
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    stem = f"{file_name(name)}-{stamp}"
    path, again = base / stem, 1
    while path.exists():
        again += 1
        path = base / f"{stem}-{again}"
    return path


def machine() -> dict[str, Any]:
    """The machine, in a few facts: what of it this process may use."""
    cores, memory = resources.cores(), resources.memory()
    return {
        "cpu": cpu_model(),
        "cores": cores.count,
        "isa": core.active_isa(),
        "memory_gb": round(memory.bytes / 1e9, 1),
        "limits": [each.limited for each in (cores, memory) if each.limited],
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def cpu_model() -> str:
    """As the processor names itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return "unknown"
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "unknown")
