"""The run plan: what carillond is told, as `key = value` lines (engine/base/fields.hpp)."""

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from carillon import core
from carillon.config.combiner_group import group_of
from carillon.config.models import Cell, Grant, Grants
from carillon.config.sections import Data

_BESIDE_THE_FRAME = ("radio", "fronthaul", "data", "runtime")
_FOR_PEOPLE = ("name", "description")
_READ_HERE = ("cell.grants", "file")
_ZERO_IS_AUTO = ("base_graph", "lifting")
_MODULATIONS = ("cell", "qpsk", "16qam", "64qam", "256qam")
_RATE_UNITS = 10240


@dataclass(frozen=True)
class Governor:
    """How a clock is chosen; frames are a cell's TTIs."""

    outage: float = 1e-3  # P_out: of all frames, those that may be late
    margin: float = 2.0  # so many times the predicted ratio has to meet it
    hold: int = 100  # frames at the highest clock after one that was late
    settle: int = 20  # frames between two steps down


@dataclass(frozen=True)
class Power:
    """Clocks of a run, in MHz, ascending; emulated, the last is the machine as it is.

    fixed: one of them for the whole run. late: the ratio of late frames that a model predicts at
    each, by which they are governed. With neither the run is at the last one. sysfs: where cpufreq
    sets them; empty: they are emulated.
    """

    clocks: tuple[float, ...] = ()
    sysfs: str = ""
    fixed: float = 0.0
    late: tuple[float, ...] = ()
    governor: Governor = field(default_factory=Governor)

    @property
    def words(self) -> str:
        """Which clocks a run has; empty where they are left alone."""
        if not self.clocks:
            return ""
        kind = "clock" if self.sysfs else "emulated clock"
        if self.late:
            return f"governed {kind}, {self.clocks[0]:g} to {self.clocks[-1]:g} MHz"
        return f"{kind} of {self.fixed or self.clocks[-1]:g} MHz"


@dataclass(frozen=True)
class Run:
    """What one run of a cell adds to it. 0 frames: until `seconds` or a signal."""

    role: Literal["bbu", "radio", "both"] = "both"
    frames: int = 0
    seconds: float = 0.0
    telemetry: str = "telemetry.bin"
    record_frames: int = 65536  # frame records kept: the newest
    power: Power = field(default_factory=Power)
    # Over which the ratio of late frames is held against the governor's outage; for people.
    averaging_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 10.0


def aiming(run: Run, outage: float, averaging_s: float) -> Run:
    """The same run, whose late frames are held against a target over a time."""
    governor = replace(run.power.governor, outage=outage)
    return replace(run, power=replace(run.power, governor=governor), averaging_s=averaging_s)


def run_of(tree: dict[str, Any]) -> Run:
    """As asdict() made it, and JSON kept it; of an earlier Carillon without power. TypeError or
    ValueError if it is damaged."""
    power: dict[str, Any] = dict(tree.get("power", {}))
    lists: dict[str, Any] = {
        name: tuple(power[name]) for name in ("clocks", "late") if name in power
    }
    governor = Governor(**power.pop("governor", {}))
    return Run(**tree | {"power": Power(**power | lists | {"governor": governor})})


def slots_of(cell: Cell) -> int:
    """Slots of a frame."""
    return -(-len(cell.schedule) // cell.symbols_per_slot)


def references(cell: Cell) -> frozenset[int]:
    """D symbols that carry references and no data: the first of each precoder. Of a cell that is
    not valid, the first of all."""
    first = frozenset({cell.schedule.find("D")})
    if cell.pilots.occasions == 1:
        return first
    scheduled = cell.model_copy(update={"grants": Grants(kind="port")})
    try:
        return _references(plan_text(busiest(scheduled), Run()))
    except ValueError:
        return first


@functools.lru_cache
def _references(plan: str) -> frozenset[int]:
    symbols = core.describe(plan)["symbols"]
    return frozenset(place for place, symbol in enumerate(symbols) if symbol["references"])


def data_symbols(cell: Cell, grant: Grant) -> int:
    """Symbols of its slot that carry a grant's data."""
    letter = "U" if grant.direction == "uplink" else "D"
    without = references(cell)
    slot = grant.slot % slots_of(cell) * cell.symbols_per_slot
    first = slot + grant.first_symbol
    last = first + grant.symbols if grant.symbols else slot + cell.symbols_per_slot
    symbols = range(first, min(last, len(cell.schedule)))
    return sum(cell.schedule[n] == letter and n not in without for n in symbols)


def busiest(cell: Cell) -> Cell:
    """The same cell; where frames are scheduled while they come, with all that it has room for."""
    if not cell.grants.live:
        return cell
    kind: Literal["full", "round-robin"] = "full" if cell.users <= cell.antennas else "round-robin"
    return cell.model_copy(update={"grants": Grants(kind=kind), "data": Data()})


def plan_text(cell: Cell, run: Run) -> str:
    """The plan of one run."""
    lines: list[str] = []
    combiner = cell.combiner.model_copy(update={"group": group_of(cell)})
    cell = cell.model_copy(update={"combiner": combiner})
    for name in type(cell).model_fields:
        if name in _FOR_PEOPLE:
            continue
        prefix = name if name in _BESIDE_THE_FRAME else f"cell.{name}"
        lines += _lines(prefix, getattr(cell, name))
    told = asdict(run)
    del told["averaging_s"]
    power = told.pop("power")
    lines += [f"power.governor.{name} = {_text(it)}" for name, it in power.pop("governor").items()]
    lines += [f"power.{name} = {_text(value)}" for name, value in power.items()]
    lines += [f"run.{name} = {_text(value)}" for name, value in told.items()]
    return "\n".join(lines) + "\n"


def key_values(tree: Mapping[str, Any]) -> str:
    """A plan's lines, of sections and lists of sections by name: {"a": {"b": 1}, "c": [{"d": 2}]}
    has a.b = 1 and c.0.d = 2."""
    return "".join(f"{key} = {_text(value)}\n" for key, value in _leaves("", tree))


def _leaves(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    sections: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, Mapping):
        sections = value.items()
    elif isinstance(value, list) and all(isinstance(item, Mapping) for item in value):
        sections = enumerate(value)
    else:
        yield prefix, value
    for name, section in sections:
        yield from _leaves(f"{prefix}.{name}" if prefix else str(name), section)


def _lines(prefix: str, value: Any) -> Iterator[str]:
    if isinstance(value, BaseModel):
        for name in type(value).model_fields:
            if (prefix, name) != _READ_HERE:
                yield from _lines(f"{prefix}.{name}", getattr(value, name))
    elif value == "auto" and prefix.rpartition(".")[2] in _ZERO_IS_AUTO:
        yield f"{prefix} = 0"
    else:
        yield f"{prefix} = {_text(value)}"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "none"
    if isinstance(value, Grant):
        return " ".join(map(str, _numbers(value)))
    if isinstance(value, list | tuple):
        return " ".join(map(_text, value))
    if isinstance(value, float):
        return f"{value:.17g}"
    return str(value)


def _numbers(grant: Grant) -> tuple[int, ...]:
    """As engine/frame/format.hpp has them."""
    return (
        grant.user,
        grant.slot,
        0 if grant.direction == "uplink" else 1,
        grant.first_block,
        grant.blocks,
        grant.redundancy_version,
        grant.harq_process,
        grant.first_symbol,
        grant.symbols,
        _MODULATIONS.index(grant.modulation),
        0 if grant.mcs == "cell" else grant.mcs + 1,
        0 if grant.rate == "cell" else round(grant.rate * _RATE_UNITS),
        0,  # sent again only by a program at the port
    )
