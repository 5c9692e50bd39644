"""MegaStation's α of a type of device: the least share of its SMs that costs little (§4.4).

As the paper has it, it is found for each architecture from figure 4's experiment, under frames,
symbols and tasks as units, in both directions, and may cost 10 %. Here the cost is latency's, of a
frame alone on a device with so many free SMs, the mean over units and directions. It is simulated.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from carillon import core, examples
from carillon.config import Cell, load_cell
from carillon.config.pool import Devices, Jitter, PoolStudy, RadioUnits, Trace
from carillon.pool import profile as profiles

if TYPE_CHECKING:
    from carillon.pool.study import Described, Served

GRANULARITIES = ("frame-level", "symbol-level", "task-level")
CELLS = ("128x32-uplink", "128x32-downlink")  # of figure 4
MARGINAL = 0.1  # of performance
_FRAMES = 3  # without jitter, one takes what another does
_ENDLESS_MS = 1e4
_DIGITS = 4

Simulate = Callable[..., dict[str, Any]]  # as study.simulate


@dataclass(frozen=True)
class Degree:
    """α of a type of device. cells: those it was found with; none: the file gives it."""

    share: float
    cells: tuple[str, ...] = ()

    def row(self) -> dict[str, object]:
        """For JSON."""
        return {"share": self.share, "by": "procedure" if self.cells else "file"} | (
            {"cells": list(self.cells)} if self.cells else {}
        )


_found: dict[tuple[str, ...], Degree] = {}


def degrees(described: Described, simulate: Simulate) -> dict[str, Degree]:
    """Of each type of device that a study has: the file's, else by the procedure."""
    given = described.study.scoreboard.degree.model_dump()
    types = sorted({group.type for server in described.study.rack() for group in server.devices})
    return {
        kind: degree_of(kind, described, simulate) if given[kind] is None else Degree(given[kind])
        for kind in types
    }


def sentence(found: Mapping[str, Degree]) -> str:
    """Each type's α and where it is from, in a sentence."""
    own = [f"{kind} {one.share:g}" for kind, one in found.items() if not one.cells]
    by_cells: dict[tuple[str, ...], list[str]] = {}
    for kind, one in found.items():
        if one.cells:
            by_cells.setdefault(one.cells, []).append(f"{kind} {one.share:g}")
    texts = [
        f"by MegaStation's procedure ({', '.join(cells)}): {', '.join(of_types)}"
        for cells, of_types in by_cells.items()
    ]
    texts += [f"as the file has it: {', '.join(own)}"] if own else []
    return f"scoreboard's α {'; '.join(texts)}"


def by_type(found: Mapping[str, Degree]) -> dict[str, object]:
    """Of each type, for JSON."""
    return {kind: one.row() for kind, one in found.items()}


def degree_of(kind: str, described: Described, simulate: Simulate) -> Degree:
    """By the procedure, under the profile of a study. Found once for a type and a profile.

    With the cells of figure 4. A device profile without them has been measured with others, of
    which the study's own are taken.
    """
    served = _cells(described)
    profile = described.profile.model_dump_json() if described.profile else described.base
    key = (kind, profile, *(one.plan for one in served))
    if key not in _found:
        sms, drop = _sms(kind), drops(kind, described, simulate)
        least = bisect_left(range(1, sms), True, key=lambda free: drop(free) <= MARGINAL) + 1
        _found[key] = Degree(_share(least, sms), tuple(one.cell.name for one in served))
    return _found[key]


def drops(kind: str, described: Described, simulate: Simulate) -> Callable[[int], float]:
    """By which share latency grows when no more SMs are free than it is asked with."""
    alone = [replace(described, served=(one,)) for one in _cells(described)]

    def latencies(free: int) -> list[float]:
        return [
            _latency(kind, _sms(kind) - free, one, policy, simulate)
            for one in alone
            for policy in GRANULARITIES
        ]

    whole = latencies(_sms(kind))

    def drop(free: int) -> float:
        ratios = [part / full for part, full in zip(latencies(free), whole, strict=True)]
        return sum(ratios) / len(ratios) - 1

    return drop


def _sms(kind: str) -> int:
    return next(int(known["sms"]) for known in core.device_types() if known["name"] == kind)


def _latency(
    kind: str, reserved: int, described: Described, policy: str, simulate: Simulate
) -> float:
    """Of one frame at a time, whose samples are there when it begins, in ms."""
    study = PoolStudy(
        devices=[Devices(type=kind, reserved_sms=reserved)],  # type: ignore[arg-type]
        cells=[RadioUnits(cell=described.served[0].cell.name)],
        profile=described.study.profile,
        at_once=1,
        deadline_ms=_ENDLESS_MS,
        frames=_FRAMES,
        warm_up=0,
        jitter=Jitter(kernel=0, launch=0),
        trace=Trace(frames=0),
    )
    if described.profile is not None:
        study = profiles.with_costs(study, described.profile)
    run = simulate(replace(described, study=study), policy, 1)
    return float(run["latency"].mean())


def _share(least: int, sms: int) -> float:
    """Rounded up, and by less than an SM: the engine rounds down to whole ones."""
    scale: int = 10**_DIGITS
    return -(-scale * least // sms) / scale


def _cells(described: Described) -> list[Served]:
    """Those of figure 4, unless a device profile lacks one; else the study's own."""
    model = described.served[0]
    published = [replace(model, cell=_cell(name), count=1, home=None) for name in CELLS]
    if all(_known(described, one) for one in published):
        return published
    own = {one.plan: replace(one, count=1, home=None) for one in described.served}
    return list(own.values())


def _known(described: Described, served: Served) -> bool:
    """Whether the profile has all of its kernels."""
    try:
        return bool(described.graph(served))
    except ValueError:
        return False


@cache
def _cell(name: str) -> Cell:
    return load_cell(examples.resolve("cells/pool", name)).cell
