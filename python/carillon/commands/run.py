"""`carillon run` and `carillon radio`: the two sides of a cell as two processes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

from carillon import cells, runfolder
from carillon.commands.demo import with_transport
from carillon.commands.start import Output, start
from carillon.config import Run
from carillon.daemon import Interrupts
from carillon.result import Result


def run_side(
    role: Literal["bbu", "radio"],
    cell: str,
    transport: Literal["shm", "udp"] | None,
    run: Run,
    folder: Path | None,
    output: Output,
) -> Result:
    """Runs one side; UDP unless the cell's file or the caller says otherwise."""
    runfolder.require_free(folder)
    loaded = cells.load(cell)
    if transport is None and ("fronthaul", "kind") not in loaded.lines:
        transport = "udp"
    loaded = with_transport(loaded, transport)
    path = folder or runfolder.new_path(Path("runs"), f"{loaded.cell.name}-{role}")
    with Interrupts() as interrupts:
        return start(loaded, replace(run, role=role), path, output, interrupts)
