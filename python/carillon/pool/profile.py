"""Device profiles: from a benchmark's file, to what the engine is asked, and what they foretell."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from carillon import core
from carillon.config import ConfigError, Problem
from carillon.config.device_profile import (
    FORMAT,
    LEAST_GBYTES_PER_S,
    MOST_GBYTES_PER_S,
    Bench,
    Clocks,
    CopyRates,
    DeviceProfile,
    Kernel,
    Opcode,
    ProfileCell,
)
from carillon.config.errors import explain
from carillon.config.fields import dotted
from carillon.config.plan import key_values
from carillon.config.pool import DeviceType, HostCosts, Link, Links, PoolStudy
from carillon.files import write_text
from carillon.inputs import parse_json, read_input

BASE = "roofline"  # which says how large a symbol is between our kernels
NEAR = 0.1  # of the measured latency, that the simulated one may be off
_COPIES = ("Load", "Store")
_WARP = 32
_ENDLESS_MS = 1e4
_LEAST_US = 1e-3  # the engine counts in ns
# What takes the same whatever the value is, and what the other direction has.
_INDIFFERENT = ("cell.cell_id", "cell.ring", "cell.deadlines.", "cell.pilots.root")
_MOST_BYTES = 1 << 24
_MOST_TOLD = 4  # of what is wrong in a file

M = TypeVar("M", bound=BaseModel)
Finding = tuple[str, str]  # key and message


def few(problems: list[Problem]) -> list[Problem]:
    """The first ones, and how many there are: files of programs are wrong in every line."""
    more = len(problems) - _MOST_TOLD
    if more <= 0:
        return problems
    rest = Problem(problems[0].file, 0, "", f"{more} more keys are wrong")
    return [*problems[:_MOST_TOLD], rest]


def read(model: type[M], file: Path) -> M:
    """Reads and checks a JSON file; raises ConfigError with the file and the key at fault."""
    try:
        data = read_input(file, _MOST_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError([Problem(str(file), 0, "", f"cannot be read: {reason}")]) from error
    if len(data) > _MOST_BYTES:
        raise ConfigError([Problem(str(file), 0, "", f"is larger than {_MOST_BYTES >> 20} MiB")])
    try:
        tree = parse_json(data)
    except ValueError as error:
        raise ConfigError([Problem(str(file), 0, "", f"is not JSON: {error}")]) from error
    try:
        return model.model_validate(tree)
    except ValidationError as error:
        found = [Problem(str(file), 0, dotted(path), what) for path, what in explain(model, error)]
        raise ConfigError(few(found)) from None


def load(file: Path) -> DeviceProfile:
    """A device profile; raises ConfigError, and FileNotFoundError where there is no file."""
    if not file.exists() or file.is_dir():
        raise FileNotFoundError(file)
    try:
        profile = read(DeviceProfile, file)
    except ConfigError as error:
        if any(problem.key == "kind" for problem in error.problems):
            message = "is no device profile; `carillon calibrate --gpu kernels.json` makes one"
            raise ConfigError([Problem(str(file), 0, "", message)]) from None
        raise
    _check(profile, file)
    return profile


def save(profile: DeviceProfile, file: Path) -> None:
    """Writes it whole or not at all."""
    text = json.dumps(profile.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n"
    write_text(file, text)


def of_bench(file: Path) -> DeviceProfile:
    """The profile that a benchmark's kernels.json amounts to; raises ConfigError."""
    try:
        bench = read(Bench, file)
    except ConfigError:
        if _is_profile(file):
            message = "is a device profile already; name it in a pool's `profile`"
            raise ConfigError([Problem(str(file), 0, "", message)]) from None
        raise
    if not bench.cells:
        message = "is empty: the benchmark ended before it had measured a cell"
        raise ConfigError([Problem(str(file), 0, "cells", message)])
    device_type = next((t for t in get_args(DeviceType) if t.upper() in bench.device.upper()), None)
    if device_type is None:
        known = ", ".join(get_args(DeviceType))
        message = f"is '{bench.device}' but the devices that a pool can have are {known}"
        raise ConfigError([Problem(str(file), 0, "device", message)])
    profile = DeviceProfile(
        kind="carillon-device-profile",
        format=FORMAT,
        source=bench.source,
        date=bench.date,
        device=bench.device,
        type=device_type,
        driver=f"CUDA {bench.driver // 1000}.{bench.driver % 1000 // 10}",
        clocks=Clocks(sm_mhz=bench.sm_mhz, memory_mhz=bench.memory_mhz),
        sms=bench.sms,
        memory_gbytes_per_s=bench.measured_copy_gbytes_per_s,
        link=_link(bench, file),
        host=bench.host,
        cells=[
            ProfileCell(format=keys_of(cell.format), opcodes=cell.opcodes, frame_us=cell.frame_us)
            for cell in bench.cells
        ],
    )
    _check(profile, file)
    return profile


def _link(bench: Bench, file: Path) -> CopyRates | None:
    """Of the largest copy each way: of small ones most is the time to begin."""
    rates = []
    for name in _COPIES:
        own = [
            (opcode, f"cells[{place}].opcodes[{number}].bytes")
            for place, cell in enumerate(bench.cells)
            for number, opcode in enumerate(cell.opcodes)
            if opcode.opcode == name and opcode.us
        ]
        if not own:
            return None
        most, key = max(own, key=lambda found: found[0].bytes)
        rates.append(most.bytes / most.us / 1e3)
        if not LEAST_GBYTES_PER_S <= rates[-1] <= MOST_GBYTES_PER_S:
            message = f"is {most.bytes:g} in {most.us:g} µs, {rates[-1]:g} GB/s, but a bus has "
            message += f"between {LEAST_GBYTES_PER_S:g} and {MOST_GBYTES_PER_S:g}"
            raise ConfigError([Problem(str(file), 0, key, message)])
    return CopyRates(to_device_gbytes_per_s=rates[0], from_device_gbytes_per_s=rates[1])


def _is_profile(file: Path) -> bool:
    try:
        read(DeviceProfile, file)
    except ConfigError:
        return False
    return True


def _check(profile: DeviceProfile, file: Path) -> None:
    """What crosses keys; raises ConfigError."""
    wrong = [Problem(str(file), 0, key, message) for key, message in _findings(profile)]
    if wrong:
        raise ConfigError(few(wrong))


def _findings(profile: DeviceProfile) -> Iterator[Finding]:
    known = {kind["name"]: kind["sms"] for kind in core.device_types()}
    if profile.sms != known[profile.type]:
        yield "sms", f"is {profile.sms} but a pool's {profile.type} has {known[profile.type]}"
    try:
        date.fromisoformat(profile.date)
    except ValueError:
        yield "date", f"is '{profile.date}' but must be a day, such as 2026-01-31"
    for place, cell in enumerate(profile.cells):
        before: set[str] = set()
        for number, opcode in enumerate(cell.opcodes):
            at = f"cells[{place}].opcodes[{number}]"
            yield from _of_opcode(opcode, at, before)
            yield from _of_kernels(opcode.kernels, at, profile.type)
            before.add(opcode.opcode)


def _of_opcode(opcode: Opcode, at: str, before: Set[str]) -> Iterator[Finding]:
    if opcode.opcode not in core.opcodes():
        yield f"{at}.opcode", f"is '{opcode.opcode}', which is no opcode"
    elif opcode.opcode in before:
        yield f"{at}.opcode", f"is '{opcode.opcode}' again; have each opcode once"
    elif opcode.us == 0:
        yield f"{at}.us", f"is 0: {opcode.opcode} failed on the device"
    elif opcode.us < _LEAST_US:
        yield f"{at}.us", f"is {opcode.us:g} but must be at least {_LEAST_US:g}, a nanosecond"
    elif opcode.opcode not in _COPIES and not opcode.kernels:
        yield f"{at}.kernels", f"is empty but {opcode.opcode} is no copy"


def _of_kernels(kernels: Sequence[Kernel], at: str, device: str) -> Iterator[Finding]:
    """Those that cannot have run on such a device."""
    for number, kernel in enumerate(kernels):
        warps = -(-kernel.threads // _WARP)
        if core.ctas_per_sm(device, warps, kernel.registers, kernel.shared_bytes):
            continue
        key = f"{at}.kernels[{number}]"
        if core.ctas_per_sm(device, warps, kernel.registers, 0):
            message = f"is {kernel.shared_bytes}: a block with so much fits no SM of type {device}"
            yield f"{key}.shared_bytes", message
        else:
            message = f"is {kernel.registers}: a block of {kernel.threads} threads with so many"
            yield f"{key}.registers", f"{message} fits no SM of type {device}"


def keys_of(text: str) -> dict[str, str]:
    """A cell's keys, of lines as the engine writes them."""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def cell_of(profile: DeviceProfile, plan: str) -> ProfileCell | None:
    """The cell that was measured in the shape that an engine's plan has; None: there is none."""
    wanted = _shape(keys_of(plan))
    return next((cell for cell in profile.cells if _shape(cell.format) == wanted), None)


def differences(cell: ProfileCell, plan: str) -> list[str]:
    """The keys in which the plan's shape is another."""
    own, wanted = _shape(cell.format), _shape(keys_of(plan))
    return sorted(
        name.removeprefix("cell.")
        for name in own.keys() | wanted.keys()
        if own.get(name) != wanted.get(name)
    )


def _shape(keys: Mapping[str, str]) -> dict[str, float | str]:
    """What kernels' times depend on."""
    schedule = keys.get("cell.schedule", "")
    other = [
        f"cell.{way}link." for way, kind in (("up", "U"), ("down", "D")) if kind not in schedule
    ]
    ignored = (*_INDIFFERENT, *other)
    return {
        name: _value(value)
        for name, value in keys.items()
        if name.startswith("cell.") and not name.startswith(ignored)
    }


def _value(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def measured(profile: DeviceProfile, cell: ProfileCell) -> dict[str, Any]:
    """What the engine needs of a cell's opcodes: MeasuredPlan in engine/rack/pool_plan.hpp.

    An opcode of several kernels is one with the footprint of the longest. Bytes are so many that
    a device with the type's published bandwidth is as busy with them as the real one was.
    """
    published = {kind["name"]: float(kind["memory_bytes_per_s"]) for kind in core.device_types()}
    scale = published[profile.type] / (profile.memory_gbytes_per_s * 1e9)
    kernels = [_kernel(opcode, scale) for opcode in cell.opcodes if opcode.kernels]
    return {"device": profile.type, "kernels": kernels}


def _kernel(opcode: Opcode, scale: float) -> dict[str, Any]:
    longest = max(opcode.kernels, key=lambda kernel: kernel.us)
    return {
        "opcode": opcode.opcode,
        "ctas": longest.ctas,
        "warps": -(-longest.threads // _WARP),
        "registers": longest.registers,
        "shared_bytes": longest.shared_bytes,
        "us": opcode.us,
        "bytes": opcode.bytes * scale,
        "full_ctas": opcode.full_ctas,
        "full_us": opcode.full_us,
    }


def with_costs(study: PoolStudy, profile: DeviceProfile) -> PoolStudy:
    """With what the profile knows of the bus and the host, where the file does not say it.

    Opcodes' times have the gaps between launches in them.
    """
    changed: dict[str, Any] = {}
    if "host" not in study.model_fields_set:
        costs = profile.host
        changed["host"] = HostCosts(
            launch_us=costs.launch_us, notify_us=costs.notify_us, gap_us=0.0
        )
    if profile.link is not None:
        rates = profile.link
        slower = min(rates.to_device_gbytes_per_s, rates.from_device_gbytes_per_s)
        links = Links(device=Link(gbytes_per_s=slower))
        if "links" not in study.model_fields_set:
            changed["links"] = links
        changed["servers"] = [
            one if "links" in one.model_fields_set else one.model_copy(update={"links": links})
            for one in study.servers
        ]
    return study.model_copy(update=changed)


def label(profile: DeviceProfile) -> str:
    """What outputs say of their kernel times."""
    if profile.source == "measured":
        return f"kernel times measured on {profile.device}, {profile.date}"
    return f"kernel times synthetic (of no device, called {profile.device}): nothing is measured"


@dataclass(frozen=True)
class Forecast:
    """A frame alone on the device, samples in host memory: simulated, and as measured. µs."""

    name: str
    simulated: float
    frames: int
    mean: float | None
    p9999: float | None

    @property
    def error(self) -> float | None:
        """Of the simulated latency, as a share of the measured mean."""
        return None if self.mean is None else self.simulated / self.mean - 1

    @property
    def near(self) -> bool | None:
        """Whether that is at most a tenth."""
        return None if self.error is None else abs(self.error) <= NEAR


def forecasts(profile: DeviceProfile, file: Path) -> list[Forecast]:
    """Of every cell, by a frame that has the simulated device for itself; raises ConfigError.

    Opcodes' times have the gaps between launches in them, and the frame that was measured is one
    launch: so it costs the host one launch and one notice.
    """
    found = []
    for place, cell in enumerate(profile.cells):
        try:
            found.append(_forecast(profile, cell))
        except ValueError as error:  # a cell that is none, or has not all its opcodes
            message = f"cannot be simulated: {error}"
            raise ConfigError([Problem(str(file), 0, f"cells[{place}]", message)]) from None
    return found


def _forecast(profile: DeviceProfile, cell: ProfileCell) -> Forecast:
    simulated = frame_us(profile, cell) + profile.host.launch_us + profile.host.notify_us
    times = cell.frame_us
    return Forecast(
        name=name_of(cell.format),
        simulated=simulated,
        frames=times.frames if times else 0,
        mean=times.mean if times else None,
        p9999=times.p9999 if times else None,
    )


def frame_us(profile: DeviceProfile, cell: ProfileCell) -> float:
    """A frame alone, nothing of it the host's."""
    plan = "".join(f"{name} = {value}\n" for name, value in cell.format.items())
    copies = [opcode for opcode in cell.opcodes if not opcode.kernels and opcode.bytes]
    most = max(copies, key=lambda opcode: opcode.bytes, default=None)
    rate = most.bytes / most.us * 1e6 if most else 1e15
    asked = {
        "policy": "symbol-level",
        "profile": BASE,
        "servers": [
            {
                "nodes": [{"name": "host"}, {"name": "device", "bytes_per_s": rate}],
                "devices": [{"type": profile.type, "node": 1}],
            }
        ],
        "cells": [{"measured": measured(profile, cell)}],
        "frames": 2,
        "at_once": 1,
        "deadline_ms": _ENDLESS_MS,
        "host": dict.fromkeys(("decision_ns", "launch_ns", "notify_ns", "gap_ns"), 0.0),
    }
    run = core.simulate_pool([plan], key_values(asked))
    return 1e3 * float(run["latency"][-1])


def name_of(keys: Mapping[str, str]) -> str:
    """Of a cell's keys: 64×16 uplink."""
    schedule = keys.get("cell.schedule", "")
    ways = [word for word, kind in (("uplink", "U"), ("downlink", "D")) if kind in schedule]
    shape = f"{keys.get('cell.antennas', '?')}×{keys.get('cell.users', '?')}"
    return f"{shape} {' and '.join(ways)}"


def described(profile: DeviceProfile) -> dict[str, Any]:
    """For result files: all but the cells."""
    return profile.model_dump(mode="json", exclude={"cells"})
