"""From a study's file to what the engine is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from carillon import core, examples, runfolder
from carillon.config import Cell, ConfigError, Problem, Run, load_cell, plan_text
from carillon.config.fields import Path as Key
from carillon.config.fields import dotted
from carillon.config.load import load_model
from carillon.config.pool import Background, Link, PoolStudy

MOST = 64  # devices, and cells, of the engine
_KINDS = ("cells/pool", "cells")  # of examples, in the order of search
_SM_REGISTERS, _REGISTER_UNIT, _WARP, _PARTITIONS = 65536, 8, 32, 4  # of every type

Finding = tuple[Key, str]


@dataclass(frozen=True)
class Served:
    """A kind of radio unit that the pool serves, and how many there are."""

    cell: Cell
    count: int

    @property
    def plan(self) -> str:
        return plan_text(self.cell, Run())

    @property
    def frame_ms(self) -> float:
        return float(runfolder.describe(self.cell)["frame_ms"])


@dataclass(frozen=True)
class Described:
    """A study's file, read and checked."""

    study: PoolStudy
    served: tuple[Served, ...]
    name: str

    @property
    def units(self) -> int:
        """Radio units in all."""
        return sum(served.count for served in self.served)

    def names(self) -> list[str]:
        """Of the devices, by number."""
        return [
            f"{group.type} {number}"
            for number, group in enumerate(
                group for group in self.study.devices for _ in range(group.count)
            )
        ]


@dataclass(frozen=True)
class Bound:
    """What the links that all radio units share can feed (MegaStation §5.4: S·RU/B < T).

    units: radio units stay below this number, of the kind that each entry names. load: what the
    study's own ask of those links.
    """

    gbytes_per_s: float
    units: dict[str, float]
    load: float


def load(file: Path, frames: int | None = None) -> Described:
    """Reads a study's file; raises ConfigError with all that is wrong in it."""
    study, lines = load_model(PoolStudy, file)
    if frames is not None:
        warm_up = min(study.warm_up, frames // 10)
        study = study.model_copy(update={"frames": frames, "warm_up": warm_up})
    cells, wrong = _cells(study, file)
    wrong += _check(study)
    if wrong:
        raise ConfigError([_problem(file, lines, key, message) for key, message in wrong])
    described = Described(study, cells, file.stem)
    if refusal := _refusal(described):
        raise ConfigError([_problem(file, lines, *refusal)])
    return described


def _refusal(described: Described) -> Finding | None:
    """What the engine says against it before the first frame."""
    first = described.study.policies[0]
    try:
        simulate(described, first, seed=1, frames=0)
    except ValueError as error:
        word, _, message = str(error).partition(" ")
        keys = {"deadline": "deadline_ms", "zero_force_parts": "zero_force_parts"}
        return ((keys[word],), message) if word in keys else ((), str(error))
    return None


def _problem(file: Path, lines: dict[Key, int], key: Key, message: str) -> Problem:
    place = key
    while place and place not in lines:
        place = place[:-1]
    return Problem(str(file), lines.get(place, 1), dotted(key), message)


def _cells(study: PoolStudy, file: Path) -> tuple[tuple[Served, ...], list[Finding]]:
    found: list[Served] = []
    wrong: list[Finding] = []
    for place, units in enumerate(study.cells):
        path = find_cell(units.cell, file.parent)
        if path is None:
            there = ", ".join(name for kind in _KINDS for name in examples.names(kind))
            message = f"is '{units.cell}', neither a file nor an example; the examples are {there}"
            wrong.append((("cells", place, "cell"), message))
        else:
            found.append(Served(load_cell(path).cell, units.count))
    return tuple(found), wrong


def find_cell(name: str, folder: Path) -> Path | None:
    """A cell's file below a folder, or an example's."""
    beside = folder / name
    if beside.is_file():
        return beside
    for kind in _KINDS:
        example = examples.folder(kind) / f"{name}.yaml"
        if example.is_file():
            return example
    return None


def _check(study: PoolStudy) -> list[Finding]:
    """What crosses keys."""
    return [*_check_counts(study), *_check_devices(study), *_check_places(study)]


def _check_counts(study: PoolStudy) -> Iterator[Finding]:
    totals = {
        "devices": sum(group.count for group in study.devices),
        "cells": sum(units.count for units in study.cells),
    }
    for name, total in totals.items():
        if not 1 <= total <= MOST:
            yield (name,), f"are {total} in all but must be between 1 and {MOST}"
    if not study.seeds:
        yield ("seeds",), "is empty but must have a seed"
    for name in ("policies", "seeds"):
        values = getattr(study, name)
        if len(set(values)) < len(values):
            yield (name,), "names one twice"
    if study.warm_up >= study.frames:
        yield ("warm_up",), f"is {study.warm_up} but must be less than frames, {study.frames}"
    if study.at_once > study.ring:
        yield ("at_once",), f"is {study.at_once} but must be at most ring, {study.ring}"


def _check_devices(study: PoolStudy) -> Iterator[Finding]:
    sms = {known["name"]: known["sms"] for known in core.device_types()}
    for place, group in enumerate(study.devices):
        if group.reserved_sms >= sms[group.type]:
            key: Key = ("devices", place, "reserved_sms")
            message = f"but must be less than the {sms[group.type]} SMs of a device, {group.type}"
            yield key, f"is {group.reserved_sms} {message}"


def _check_places(study: PoolStudy) -> Iterator[Finding]:
    devices = sum(group.count for group in study.devices)
    for name in ("faults", "background"):
        for place, one in enumerate(getattr(study, name)):
            if one.device >= devices:
                message = f"is {one.device} but the devices are 0 to {devices - 1}"
                yield (name, place, "device"), message
    for place, kernel in enumerate(study.background):
        if not _fits(kernel):
            most = _SM_REGISTERS // (kernel.warps * _WARP)
            message = f"is {kernel.registers}: {kernel.warps} warps with so many fit no SM; at most"
            yield ("background", place, "registers"), f"{message} {most // 8 * 8} would"


def _fits(kernel: Background) -> bool:
    """Whether an SM's registers, which all types here have as many of, hold a CTA."""
    rounded = -(-kernel.registers // _REGISTER_UNIT) * _REGISTER_UNIT
    per_partition = _SM_REGISTERS // _PARTITIONS // (rounded * _WARP)
    return per_partition * _PARTITIONS >= kernel.warps


def simulate(
    described: Described,
    policy: str,
    seed: int,
    *,
    progress: Callable[[int], bool] | None = None,
    **other: Any,
) -> dict[str, Any]:
    """What the engine makes of a study under one policy; `other` replaces what the file says."""
    asked = _arguments(described) | other
    return core.simulate_pool(
        _plans(described.served), policy=policy, seed=seed, progress=progress, **asked
    )


def _arguments(described: Described) -> dict[str, Any]:
    """What core.simulate_pool is told besides cells, policy and seed."""
    study = described.study
    nodes, devices = fabric(study)
    host, jitter = study.host, study.jitter
    costs = (host.decision_us, host.launch_us, host.notify_us, host.gap_us)
    return {
        "nodes": nodes,
        "devices": devices,
        "profile": study.profile,
        "frames": study.frames,
        "ring": study.ring,
        "at_once": study.at_once,
        "apart_ms": study.apart_ms,
        "late_us": jitter.late_us,
        "deadline_ms": study.deadline_ms,
        "zero_force_parts": study.zero_force_parts,
        "urgent_us": study.scoreboard.urgent_us,
        "degree": study.scoreboard.degree,
        "host_ns": [1e3 * cost for cost in costs],
        "jitter": (jitter.kernel, jitter.launch),
        "faults": [
            (fault.at_ms, fault.device, fault.event, fault.noticed_ms) for fault in study.faults
        ],
        "background": [_background(kernel) for kernel in study.background],
    }


def _plans(served: Sequence[Served]) -> list[str]:
    """A plan for each radio unit."""
    return [one.plan for one in served for _ in range(one.count)]


def _background(kernel: Background) -> tuple[int, int, list[int], float, float]:
    footprint = [kernel.ctas, kernel.warps, kernel.registers, kernel.shared_bytes]
    return kernel.device, kernel.kernels, footprint, kernel.mflop * 1e6, kernel.kbytes * 1e3


Node = tuple[str, int, float, float]
Device = tuple[str, int, int, int, int]


def fabric(study: PoolStudy) -> tuple[list[Node], list[Device]]:
    """Host, switch, chassis and devices as the engine has them: parents before children."""
    nodes: list[Node] = [("host", 0, 0.0, 0.0), ("switch", 0, *_rates(study.links.host))]
    chassis = {}
    for number in sorted({group.chassis for group in study.devices}):
        chassis[number] = len(nodes)
        nodes.append((f"chassis {number}", 1, *_rates(study.links.chassis)))
    devices: list[Device] = []
    for group in study.devices:
        for _ in range(group.count):
            memory = round(1e9 * (group.memory_gbytes or 0))
            devices.append((group.type, len(nodes), group.queues, group.reserved_sms, memory))
            name = f"device {len(devices) - 1}"
            nodes.append((name, chassis[group.chassis], *_rates(study.links.device)))
    return nodes, devices


def _rates(link: Link) -> tuple[float, float]:
    return link.gbytes_per_s * 1e9, link.latency_us * 1e3


def bound(described: Described) -> Bound:
    """Of the slowest link that all share."""
    study = described.study
    shared = [study.links.host.gbytes_per_s]
    if len({group.chassis for group in study.devices}) == 1:
        shared.append(study.links.chassis.gbytes_per_s)
    if sum(group.count for group in study.devices) == 1:
        shared.append(study.links.device.gbytes_per_s)
    slowest = min(shared)
    units, load = {}, {"Load": 0.0, "Store": 0.0}
    for served in described.served:
        graph = core.pool_graph(served.plan, profile=study.profile)
        moved = dict.fromkeys(load, 0.0)
        for each in graph:
            if each["opcode"] in moved:
                moved[each["opcode"]] += each["moved_bytes"]
        carried = slowest * served.frame_ms * 1e6  # bytes in a frame's time
        units[served.cell.name] = carried / max(moved.values())
        for way in load:
            load[way] += served.count * moved[way] / carried
    return Bound(slowest, units, max(load.values()))
