"""`carillon run` and `carillon radio`: the two sides of one or several cells as two processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from carillon import cells
from carillon.commands.demo import with_transport
from carillon.commands.start import Output, start_all
from carillon.config import Loaded, Run
from carillon.result import Result


def run_side(
    role: Literal["bbu", "radio"],
    names: Sequence[str],
    transport: Literal["shm", "udp"] | None,
    run: Run,
    folder: Path | None,
    output: Output,
    gpus: int | None = None,
) -> list[Result]:
    """Runs one side of each cell; UDP unless its file or the caller says otherwise.

    `gpus` counts instead of what the files say.
    """
    chosen = [_load(name, transport, gpus) for name in names]
    title = f"{cells.title(chosen)}-{role}"
    return start_all(chosen, replace(run, role=role), folder, title, output)


def _load(name: str, transport: Literal["shm", "udp"] | None, gpus: int | None) -> Loaded:
    loaded = cells.load(name, live=True)
    if gpus is not None:
        runtime = loaded.cell.runtime.model_copy(update={"gpus": gpus})
        loaded = replace(loaded, cell=loaded.cell.model_copy(update={"runtime": runtime}))
    if transport is None and ("fronthaul", "kind") not in loaded.lines:
        transport = "udp"
    return with_transport(loaded, transport)
