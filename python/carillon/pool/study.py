"""From a study's file to what the engine is asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from carillon import core, examples, runfolder
from carillon.config import Cell, ConfigError, Problem, Run, load_cell, plan_text
from carillon.config.device_profile import DeviceProfile
from carillon.config.fields import Path as Key
from carillon.config.fields import dotted
from carillon.config.load import load_model
from carillon.config.plan import key_values
from carillon.config.pool import PROFILES, Background, Devices, PoolStudy, Server
from carillon.pool import faults
from carillon.pool import profile as profiles
from carillon.pool.degree import Degree
from carillon.pool.degree import degrees as degrees_of
from carillon.pool.plan import devices, hardware, places, pool_plan

MOST = 64  # devices, and cells, of the engine
_OVERLOAD = {"nacks", "window", "hold_ms"}  # of the switch's keys: of one server's reserve, too
_MOST_NAMED = 4  # keys in which a cell differs
_KINDS = ("cells/pool", "cells")  # of examples, in the order of search
_SM_REGISTERS, _REGISTER_UNIT, _WARP, _PARTITIONS = 65536, 8, 32, 4  # of every type
_LEAST_MFLOP, _LEAST_KBYTES = 0.01, 1.0  # of a background CTA: else its kernels are endless

WARNING = "simulated in virtual time, kernel times assumed (profile {profile}): nothing is measured"

Finding = tuple[Key, str]


@dataclass(frozen=True)
class Served:
    """A kind of radio unit that the pool serves, how many there are, and on which server first."""

    cell: Cell
    count: int
    home: int | None = None

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
    profile: DeviceProfile | None = None  # that study.profile names
    asked_warm_up: int = 0  # what the file gives; few frames leave less, study.warm_up

    @property
    def about(self) -> str:
        """What is simulated here, and where its kernels' times are from."""
        if self.profile is None:
            return WARNING.format(profile=self.study.profile)
        return f"simulated in virtual time, {profiles.label(self.profile)}"

    @property
    def kernel_times(self) -> str:
        """Where they are from, in a word: assumed, measured or synthetic."""
        return "assumed" if self.profile is None else self.profile.source

    @property
    def base(self) -> str:
        """Which of the engine's profiles goes with it."""
        return self.study.profile if self.profile is None else profiles.BASE

    def measured(self, served: Served) -> dict[str, Any]:
        """What the device profile has of a cell; empty: times are assumed."""
        if self.profile is None:
            return {}
        cell = profiles.cell_of(self.profile, served.plan)
        if cell is None:
            raise ValueError(f"{self.study.profile} has nothing of {served.cell.name}")
        return profiles.measured(self.profile, cell)

    def graph(self, served: Served, *, zero_force_parts: int = 1) -> list[dict[str, Any]]:
        """A frame's instructions, see core.pool_graph."""
        asked: dict[str, Any] = {"profile": self.base, "zero_force_parts": zero_force_parts}
        if self.profile is not None:
            asked |= {"device": self.profile.type, "measured": self.measured(served)}
        return core.pool_graph(served.plan, key_values(asked))

    @property
    def units(self) -> int:
        """Radio units in all."""
        return sum(served.count for served in self.served)

    def names(self) -> list[str]:
        """Of the devices, by number."""
        several = len(self.study.rack()) > 1
        return [
            f"{kind} {number}" + (f" of server {server}" if several else "")
            for number, (server, kind) in enumerate(hardware(self.study))
        ]


@dataclass(frozen=True)
class Bound:
    """What the links that all radio units share can feed (MegaStation §5.4: S·RU/B < T).

    gbytes_per_s: of all servers together, to the slowest of what leads to each one's devices.
    units: radio units stay below this number, of the kind that each entry names. load: what the
    study's own ask of those links.
    """

    gbytes_per_s: float
    units: dict[str, float]
    load: float


def load(file: Path, frames: int | None = None) -> Described:
    """Reads a study's file; raises ConfigError with all that is wrong in it.

    `frames`, instead of the file's, has a warm-up of at most a tenth of it.
    """
    study, lines = load_model(PoolStudy, file)
    asked_warm_up = study.warm_up
    if frames is not None:
        warm_up = min(study.warm_up, frames // 10)
        study = study.model_copy(update={"frames": frames, "warm_up": warm_up})
    cells, wrong = _cells(study, file)
    wrong += _check(study)
    profile = None
    if study.profile not in PROFILES:
        try:
            profile = profiles.load(file.parent / study.profile)
        except FileNotFoundError:
            kinds = " nor ".join(PROFILES)
            message = (
                f"is '{study.profile}', neither {kinds} nor a file; "
                "`carillon calibrate --gpu` writes one"
            )
            wrong.append((("profile",), message))
        else:
            wrong += _check_profile(study, cells, profile)
            study = profiles.with_costs(study, profile)
    if wrong:
        raise ConfigError([_problem(file, lines, key, message) for key, message in wrong])
    described = Described(study, cells, file.stem, profile, asked_warm_up)
    problems = core.validate_pool(_plans(cells), key_values(pool_plan(described)))
    if problems:
        found = [_refusal(described, file, lines, one) for one in problems]
        raise ConfigError(list(dict.fromkeys(found)))
    return described


def _check_profile(
    study: PoolStudy, served: Sequence[Served], profile: DeviceProfile
) -> Iterator[Finding]:
    """Whether the profile is of the pool's devices and cells."""
    for key, groups in _groups(study):
        for place, group in enumerate(groups):
            if group.type != profile.type:
                message = f"is {group.type} but {study.profile} is of a {profile.type}"
                yield (*key, place, "type"), message
    for place, one in enumerate(served):
        if profiles.cell_of(profile, one.plan) is None:
            nearest = min(profile.cells, key=lambda cell: len(profiles.differences(cell, one.plan)))
            message = f"is in no shape that {study.profile} has; of its {len(profile.cells)}, "
            message += f"{profiles.name_of(nearest.format)} differs in "
            message += ", ".join(profiles.differences(nearest, one.plan)[:_MOST_NAMED])
            yield ("cells", place, "cell"), message


def _refusal(
    described: Described, file: Path, lines: dict[Key, int], found: core.Problem
) -> Problem:
    """What the engine says against its plan, where the file says it."""
    path: Key = tuple(int(part) if part.isdigit() else part for part in found.key.split("."))
    message = found.message
    match path:
        case ("cells", int(place), *_) if found.code == "unmeasured":
            opcode = core.opcodes()[int(found.numbers[0])]
            return _unmeasured(described, file, described.served[place], opcode)
        case ("cells", int(place), *rest):
            path = ("cells", place, "cell", *rest)
        case ("servers", int(server), "devices", int(device), "memory_bytes"):
            path = (*_device_keys(described.study)[server][device], "memory_gbytes")
        case ("servers", *_):
            return _problem(file, lines, (), f"{dotted(path)} {message}")
    return _problem(file, lines, path, message)


def _device_keys(study: PoolStudy) -> list[list[Key]]:
    """Of each server's devices, where the file has them; the host's cores are the last."""
    counts = [server.count for server in study.servers] or [1]
    found = []
    for (key, groups), count in zip(_groups(study), counts, strict=True):
        own: list[Key] = [
            (*key, place) for place, group in enumerate(groups) for _ in range(group.count)
        ]
        found += [[*own, ("fallback_cores",)]] * count
    return found


def _unmeasured(described: Described, file: Path, served: Served, opcode: str) -> Problem:
    """Of a device profile that has a cell, and not all that is done in it."""
    profile = described.profile
    assert profile is not None
    cell = profiles.cell_of(profile, served.plan)
    assert cell is not None
    key = f"cells[{profile.cells.index(cell)}].opcodes"
    message = f"has no {opcode}, which {served.cell.name} needs"
    where = str(file.parent / described.study.profile)
    return Problem(where, 0, key, f"{message}; `carillon calibrate --gpu` measures all")


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
            found.append(Served(load_cell(path).cell, units.count, units.server))
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
    return [
        *_check_counts(study),
        *_check_servers(study),
        *_check_switch(study),
        *_check_devices(study),
        *_check_reserve(study),
        *_check_places(study),
        *faults.check(study.faults, places(study)),
        *_check_use(study),
    ]


def _check_use(study: PoolStudy) -> Iterator[Finding]:
    """What nothing in the study would use."""
    types = {device.type for _, _, device in devices(study)}
    for kind, share in study.scoreboard.degree.model_dump().items():
        if share is not None and kind not in types:
            message = f"is given but the devices are {', '.join(sorted(types))}; delete it"
            yield ("scoreboard", "degree", kind), message
    shown = study.trace.policy
    if shown is not None and shown not in study.policies:
        message = f"is {shown} but must be one of policies, {', '.join(study.policies)}"
        yield ("trace", "policy"), message


def _check_counts(study: PoolStudy) -> Iterator[Finding]:
    cells = sum(units.count for units in study.cells)
    if not 1 <= cells <= MOST:
        yield ("cells",), f"are {cells} in all but must be between 1 and {MOST}"
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


def _check_servers(study: PoolStudy) -> Iterator[Finding]:
    count = len(study.rack())
    if study.servers and study.model_fields_set & {"devices", "links"}:
        yield ("servers",), "stand beside devices or links of one server; only one may be given"
    if count > MOST:
        yield ("servers",), f"are {count} in all but must be at most {MOST}"
    if study.at_once and count > 1:
        yield ("at_once",), "is for one server alone: several meet at the pace of the air"
    for place, units in enumerate(study.cells):
        if units.server is not None and units.server >= count:
            message = f"is {units.server} but the servers are 0 to {count - 1}"
            yield ("cells", place, "server"), message
    for place, fault in enumerate(study.faults):
        if study.at_once and fault.server is not None:
            message = f"is {fault.server} but a server is lost only at the pace of the air, "
            yield ("faults", place, "server"), message + f"and at_once is {study.at_once}"
        if study.at_once and fault.device == "all":
            message = "is all but all devices are lost only at the pace of the air, "
            yield ("faults", place, "device"), message + f"and at_once is {study.at_once}"


def _check_switch(study: PoolStudy) -> Iterator[Finding]:
    if study.switch.nacks > study.switch.window:
        message = f"must be at most window, {study.switch.window}"
        yield ("switch", "nacks"), f"is {study.switch.nacks} but {message}"
    if study.servers or "switch" not in study.model_fields_set:
        return
    if not has_reserve(study):
        yield ("switch",), "is between servers, but the file has none"
        return
    for name in sorted(study.switch.model_fields_set - _OVERLOAD):
        yield ("switch", name), "is between servers, but the file has none"


def has_reserve(study: PoolStudy) -> bool:
    """Whether any server has devices that are idle until an overload asks for them."""
    return any(device.reserve for _, _, device in devices(study))


def _check_reserve(study: PoolStudy) -> Iterator[Finding]:
    for key, groups in _groups(study):
        if groups and all(group.reserve for group in groups):
            yield key, "are all in reserve but a server must have a device that is not"
        for place, group in enumerate(groups):
            if group.reserve and study.at_once:
                message = "is true but a reserve joins only at the pace of the air, "
                yield (*key, place, "reserve"), message + f"and at_once is {study.at_once}"


def _groups(study: PoolStudy) -> list[tuple[Key, list[Devices]]]:
    """Where the file has devices of a server, and which."""
    if not study.servers:
        return [(("devices",), study.devices)]
    return [(("servers", place, "devices"), one.devices) for place, one in enumerate(study.servers)]


def _check_devices(study: PoolStudy) -> Iterator[Finding]:
    sms = {known["name"]: known["sms"] for known in core.device_types()}
    for key, groups in _groups(study):
        total = sum(group.count for group in groups)
        most = MOST - bool(study.fallback_cores)
        if not 1 <= total <= most:
            yield key, f"are {total} in all but must be between 1 and {most}"
        for place, group in enumerate(groups):
            if group.reserved_sms >= sms[group.type]:
                message = f"must be less than the {sms[group.type]} SMs of a device, {group.type}"
                yield (*key, place, "reserved_sms"), f"is {group.reserved_sms} but {message}"


def _check_places(study: PoolStudy) -> Iterator[Finding]:
    most = {"device": len(devices(study)) - 1, "server": len(study.rack()) - 1}
    for name in ("faults", "background"):
        for place, one in enumerate(getattr(study, name)):
            for what, last in most.items():
                number = getattr(one, what, None)
                if isinstance(number, int) and number > last:
                    message = f"is {number} but the {what}s are 0 to {last}"
                    yield (name, place, what), message
    for place, kernel in enumerate(study.background):
        if kernel.mflop < _LEAST_MFLOP and kernel.kbytes < _LEAST_KBYTES:
            message = (
                f"is {kernel.mflop:g} but a kernel must do something: at least {_LEAST_MFLOP:g}"
            )
            yield ("background", place, "mflop"), f"{message}, or kbytes at least {_LEAST_KBYTES:g}"
        if not _fits(kernel):
            registers = _SM_REGISTERS // (kernel.warps * _WARP) // 8 * 8
            message = f"is {kernel.registers}: {kernel.warps} warps with so many fit no SM; at most"
            yield ("background", place, "registers"), f"{message} {registers} would"


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
    """What the engine makes of a study under one policy; `other` replaces keys of the plan."""
    if policy == "scoreboard":
        described = with_degrees(described)
    plan = pool_plan(described) | {"policy": policy, "seed": seed} | other
    return core.simulate_pool(_plans(described.served), key_values(plan), progress=progress)


def _plans(served: Sequence[Served]) -> list[str]:
    """A plan for each kind of radio unit."""
    return [one.plan for one in served]


def degrees(described: Described) -> dict[str, Degree]:
    """α of each type of device that the study has."""
    return degrees_of(described, simulate)


def with_degrees(described: Described) -> Described:
    """With numbers where the file has null, so that other processes need not find them."""
    shares = {kind: degree.share for kind, degree in degrees(described).items()}
    scoreboard = described.study.scoreboard
    filled = scoreboard.model_copy(update={"degree": scoreboard.degree.model_copy(update=shares)})
    return replace(described, study=described.study.model_copy(update={"scoreboard": filled}))


def bound(described: Described) -> Bound:
    """Of the slowest link that all of a server's radio units share."""
    study = described.study
    port = study.switch.gbytes_per_s if study.servers else math.inf
    rates = [_shared(server) for server in study.rack()]
    carried = {"Load": sum(min(rate, port) for rate in rates), "Store": sum(rates)}
    units, load = {}, dict.fromkeys(carried, 0.0)
    for served in described.served:
        moved = dict.fromkeys(carried, 0.0)
        for each in described.graph(served):
            if each["opcode"] in moved:
                moved[each["opcode"]] += each["moved_bytes"]
        of_frame = {way: rate * served.frame_ms * 1e6 for way, rate in carried.items()}  # bytes
        units[served.cell.name] = min(of_frame[way] / moved[way] for way in moved if moved[way])
        for way in load:
            load[way] += served.count * moved[way] / of_frame[way]
    return Bound(min(carried.values()), units, max(load.values()))


def _shared(server: Server) -> float:
    """GB/s of the slowest link on the way to every one of a server's devices."""
    links = [server.links.host]
    if len({group.chassis for group in server.devices}) == 1:
        links.append(server.links.chassis)
    if sum(group.count for group in server.devices) == 1:
        links.append(server.links.device)
    return min(link.gbytes_per_s for link in links)
