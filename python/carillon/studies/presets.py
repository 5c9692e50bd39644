"""Whose costs a study asks with: the thesis's, or those measured of our own kernels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from carillon.config import Cell
from carillon.inputs import read_json
from carillon.models import CostError, Costs, Workload, thesis
from carillon.models.allocation import Goal
from carillon.models.costs import costs_of, what_is_wrong

RECORDED = "zen3-2-cores.json"


@dataclass(frozen=True)
class Preset:
    """A system on the thesis's cells: by antennas and direction, a cell and its costs."""

    label: str
    cells: Mapping[tuple[int, Goal], Cell]
    costs: Mapping[tuple[int, Goal], Costs]
    link_gbps: float = math.inf

    def work(self, antennas: int, direction: Goal) -> Workload:
        """Of a frame."""
        return Workload.of(self.cells[antennas, direction])


def thesis_preset(antennas: tuple[int, ...], *, ideal: bool) -> Preset:
    """Millipede's own costs; ideal: as its equations have them, else with its contention."""
    cells = _cells(antennas, group=1)
    costs = {key: thesis.costs(key[0]) for key in cells}
    if ideal:
        costs = {key: known.ideal() for key, known in costs.items()}
    label = "Millipede, eq. 3.1–3.4" if ideal else "Millipede, with contention"
    return Preset(label, cells, costs, thesis.LINK_GBPS)


def read_preset(file: Path | None = None, *, coded: bool = True) -> Preset:
    """Measured costs from a file like examples/costs/zen3-2-cores.json; None: that one.

    coded: with LDPC, which the thesis had not. Raises CostError.
    """
    file = file or recorded()
    try:
        text = read_json(file)
        antennas = tuple(sorted(int(number) for number in text["antennas"]))
        cells = _cells(antennas, group=16)
        costs = {}
        for (number, direction), cell in cells.items():
            own = text["antennas"][str(number)][direction]
            everywhere = {key: value for key, value in text.items() if key != "antennas"}
            found = costs_of(everywhere | own, Workload.of(cell), file.stem)
            costs[number, direction] = found if coded else found.without("Decode", "Encode")
    except OSError as error:
        raise CostError(f"{file}: {(error.strerror or str(error)).lower()}") from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CostError(
            f"{file} holds no costs of the thesis's cells: {what_is_wrong(error)}"
        ) from error
    label = f"{text.get('name', file.stem)}, {'with' if coded else 'without'} LDPC"
    return Preset(label, cells, costs, thesis.LINK_GBPS)


def recorded() -> Path:
    """The costs that come with Carillon: in the package, or in the source tree it runs from."""
    package = Path(__file__).parents[1]
    installed = package / "costs" / RECORDED
    return installed if installed.exists() else package.parents[1] / "examples/costs" / RECORDED


def _cells(antennas: tuple[int, ...], group: int) -> dict[tuple[int, Goal], Cell]:
    cells: dict[tuple[int, Goal], Cell] = {}
    for number in antennas:
        cells[number, "uplink"] = _grouped(thesis.uplink_cell(number), group)
        cells[number, "downlink"] = _grouped(thesis.downlink_cell(number), group)
    return cells


def _grouped(cell: Cell, group: int) -> Cell:
    return cell.model_copy(update={"combiner": cell.combiner.model_copy(update={"group": group})})
