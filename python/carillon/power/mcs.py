"""Modulation and rate as a means to need less of a core (section 4).

A rung is a cell with another row of its MCS table in both directions, of all users or of some.
Rungs are run here, so that what one costs in goodput and saves in core time is measured with real
frames.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from carillon import core, results, runfolder
from carillon.config import Cell, ConfigError, Loaded, Run, plan_text
from carillon.daemon import Interrupts, RunError
from carillon.errors import InputError
from carillon.power.measured import ran_aside

Table = Literal["none", "64qam", "256qam", "low-se"]
_ROWS = 29  # of the longest table
_MOST_LATE = 0.05  # of a row's frames


@dataclass(frozen=True)
class Rung:
    """A cell at one row; rates of both directions, in Mbit/s."""

    cell: Cell
    mcs: str
    bits_per_element: int
    code_rate: float  # of the uplink
    ideal_mbps: float


@dataclass(frozen=True)
class Measured:
    """What a rung did in a run, or several."""

    mcs: str
    bits_per_element: int
    code_rate: float
    ideal_mbps: float
    goodput_mbps: float  # of blocks that were right
    bler: float | None  # of the uplink
    core_ms_per_ms: float
    frames: int
    late: int

    @property
    def overloaded(self) -> bool:
        """Whether so much was given up that the core time says little."""
        return self.late > _MOST_LATE * self.frames


def rungs(loaded: Loaded, step: int = 1, users: Collection[int] = ()) -> list[Rung]:
    """The cell as it is, then the rows of its table that carry less, every `step`-th, the highest
    first; of the 64QAM table where it names none. Rows with which its blocks cannot be are left
    out. `users`: whose rows are lowered; none: all. The others keep theirs or, where the cell names
    no table, have the row that carries most like it. InputError for a user that it does not have.
    """
    cell = loaded.cell
    if "U" not in cell.schedule:
        raise ConfigError([loaded.problem("schedule", "has no uplink symbols")])
    if missing := set(users) - set(range(cell.users)):
        raise InputError(f"{cell.name} has users 0 to {cell.users - 1}, and no user {min(missing)}")
    own = _rung(cell, "its own")
    table: Table = cell.uplink.mcs_table
    table = "64qam" if table == "none" else table
    known = {row: rung for row in range(_ROWS) if (rung := _at(cell, table, row)) is not None}
    if users:
        nearest = min(known, key=lambda row: abs(known[row].ideal_mbps - own.ideal_mbps))
        own_table = cell.uplink.mcs_table != "none"
        kept = [cell.uplink.mcs_of(u) if own_table else nearest for u in range(cell.users)]
        lowered = {
            row: [row if u in users else kept[u] for u in range(cell.users)] for row in known
        }
        found = [_lowered(cell, table, rows, known[row]) for row, rows in lowered.items()]
    else:
        found = list(known.values())
    below = [rung for rung in found if rung is not None and rung.ideal_mbps < own.ideal_mbps]
    below.sort(key=lambda rung: -rung.ideal_mbps)
    return [own, *below[step - 1 :: step]]


def _at(cell: Cell, table: Table, row: int) -> Rung | None:
    changed = _with_rows(cell, table, [row])
    return None if changed is None else _rung(changed, f"{table} {row}")


def _lowered(cell: Cell, table: Table, rows: list[int], of_all: Rung) -> Rung | None:
    """Some users at the row of a rung of all, which is the one that is named."""
    changed = _with_rows(cell, table, rows)
    if changed is None:
        return None
    return replace(of_all, cell=changed, ideal_mbps=_rung(changed, "").ideal_mbps)


def _with_rows(cell: Cell, table: Table, rows: list[int]) -> Cell | None:
    coding = {
        "mcs_table": table, "mcs_index": rows, "base_graph": "auto", "lifting": "auto",
        "modulation": type(cell.uplink).model_fields["modulation"].default,
        "rate": type(cell.uplink).model_fields["rate"].default,
    }  # fmt: skip
    changed = cell.model_copy(
        update={
            "uplink": cell.uplink.model_copy(update=coding),
            "downlink": cell.downlink.model_copy(update=coding),
        }
    )
    return None if core.validate(plan_text(changed, Run())) else changed


def _rung(cell: Cell, mcs: str) -> Rung:
    derived = runfolder.describe(cell)
    up, down = derived["uplink"], derived["downlink"]
    return Rung(
        cell, mcs, up["bits_per_element"], up["code_rate"],
        up["ideal_rate_mbps"] + (down["ideal_rate_mbps"] if down else 0.0),
    )  # fmt: skip


def run(rung: Rung, seconds: float, interrupts: Interrupts) -> Measured | None:
    """Both sides of the cell here; None when it was stopped, InputError of a run without any
    frame."""
    try:
        with ran_aside(rung.cell, Run(seconds=seconds), interrupts) as folder:
            if interrupts.count:
                return None
            result = results.build(folder, folder.telemetry(), [])
    except RunError:
        if interrupts.count:
            return None
        raise
    if result.core_ms_per_ms is None:
        raise InputError(f"{rung.cell.name}: no frame came within {seconds:g} s; run it longer")
    return Measured(
        rung.mcs, rung.bits_per_element, rung.code_rate, rung.ideal_mbps,
        result.uplink.rate_mbps + result.downlink.rate_mbps, result.uplink.bler,
        result.core_ms_per_ms, result.frames.seen, result.frames.seen - result.frames.completed,
    )  # fmt: skip


def together(turns: Sequence[Measured]) -> Measured:
    """Runs of one rung: the least core time, since what other programs cost comes on top; all
    frames; the mean of the rest."""
    blers = [own.bler for own in turns if own.bler is not None]
    return replace(
        turns[0],
        goodput_mbps=fmean(own.goodput_mbps for own in turns),
        bler=fmean(blers) if blers else None,
        core_ms_per_ms=min(own.core_ms_per_ms for own in turns),
        frames=sum(own.frames for own in turns),
        late=sum(own.late for own in turns),
    )


def choose(measured: Sequence[Measured], cores: float) -> Measured | None:
    """What brings the most goodput of all that need no more core time, in core-ms per ms, than is
    available: a core at half its clock has 0.5. None if even the least does not fit. Where many
    frames were late, work was given up, and what the row needs is not known: it is not chosen."""
    fit = [own for own in measured if own.core_ms_per_ms <= cores and not own.overloaded]
    return max(fit, key=lambda own: own.goodput_mbps, default=None)
