"""The run plan: what carillond is told, as `key = value` lines (engine/base/fields.hpp)."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pydantic import BaseModel

from carillon.config.combiner_group import group_of
from carillon.config.models import Cell, Grant

_BESIDE_THE_FRAME = ("radio", "fronthaul", "runtime")
_FOR_PEOPLE = ("name", "description")
_ZERO_IS_AUTO = ("base_graph", "lifting")


@dataclass(frozen=True)
class Run:
    """What one run of a cell adds to it. 0 frames: until `seconds` or a signal."""

    role: Literal["bbu", "radio", "both"] = "both"
    frames: int = 0
    seconds: float = 0.0
    telemetry: str = "telemetry.bin"
    record_frames: int = 65536  # frame records kept: the newest


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
    lines += [f"run.{name} = {_text(value)}" for name, value in asdict(run).items()]
    return "\n".join(lines) + "\n"


def _lines(prefix: str, value: Any) -> Iterator[str]:
    if isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _lines(f"{prefix}.{name}", getattr(value, name))
    elif value == "auto" and prefix.rpartition(".")[2] in _ZERO_IS_AUTO:
        yield f"{prefix} = 0"
    else:
        yield f"{prefix} = {_text(value)}"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Grant):
        return " ".join(map(str, _seven(value)))
    if isinstance(value, list):
        return " ".join(map(_text, value))
    if isinstance(value, float):
        return f"{value:.17g}"
    return str(value)


def _seven(grant: Grant) -> tuple[int, ...]:
    return (
        grant.user,
        grant.slot,
        0 if grant.direction == "uplink" else 1,
        grant.first_block,
        grant.blocks,
        grant.redundancy_version,
        grant.harq_process,
    )
