"""Several cells of one process: what is not their own in their files is given to them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from carillon import core
from carillon.config.errors import ConfigError
from carillon.config.fields import Path
from carillon.config.load import Loaded
from carillon.config.plan import Run, plan_text


def together(cells: Sequence[Loaded], run: Run) -> list[Loaded]:
    """The cells with ids, ports and names of shared memory of their own; raises ConfigError.

    The n-th cell's, from 0, are the defaults plus n where its file says nothing, and ports of the
    baseband unit follow those of the cells before; both sides of the fronthaul find each other when
    they name the cells in the same order.
    """
    receivers = [loaded.cell.fronthaul.receivers for loaded in cells]
    own = [_numbered(loaded, n, sum(receivers[:n])) for n, loaded in enumerate(cells)]
    texts = [plan_text(loaded.cell, cell_run(run, loaded)) for loaded in own]
    names = [f"{loaded.file} ({cell_folder(loaded)})" for loaded in own]
    clashes = core.validate_together(texts, names)
    if clashes:
        raise ConfigError(
            [
                own[place].located(found)
                for place, found in clashes
                if found.key != "run.telemetry"  # follows from the id
            ]
        )
    return own


def cell_folder(loaded: Loaded) -> str:
    """Of a cell's part of a run, in the run's folder."""
    return f"cell-{loaded.cell.cell_id}"


def cell_run(run: Run, loaded: Loaded) -> Run:
    """The run as the cell's plan has it, with its own telemetry."""
    return replace(run, telemetry=f"{cell_folder(loaded)}/telemetry.bin")


def _numbered(loaded: Loaded, place: int, ports: int) -> Loaded:
    cell, link = loaded.cell, loaded.cell.fronthaul

    def unless_given(path: Path, value: Any) -> dict[str, Any]:
        return {} if path in loaded.lines else {str(path[-1]): value}

    fronthaul = link.model_copy(
        update={
            **unless_given(("fronthaul", "bbu_port"), link.bbu_port + ports),
            **unless_given(("fronthaul", "radio_port"), link.radio_port + place),
            **unless_given(("fronthaul", "shm_name"), f"{link.shm_name}-{place}"),
        }
    )
    update = {**unless_given(("cell_id",), cell.cell_id + place), "fronthaul": fronthaul}
    return replace(loaded, cell=cell.model_copy(update=update))
