"""A machine to plan for: this one, or one that is described."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from carillon import core, resources
from carillon.calibration import Calibration
from carillon.config import ConfigError, Problem
from carillon.config.fields import Path as Key
from carillon.config.load import load_model
from carillon.config.units import Base, key

# Time with AVX-512 over time with AVX2, medians over cells of one Zen 4 core, whose 512-bit
# operations take two passes (docs/measurements/2026-11-21-zen4-2-cores.json, group `frame`).
WIDER = {
    "PilotFft": 0.745,
    "UplinkFft": 0.918,
    "ZeroForce": 0.895,
    "EqualizeDemodulate": 0.828,
    "Decode": 0.920,
    "Encode": 0.869,
    "Modulate": 0.842,
    "Precode": 0.676,
    "Ifft": 0.807,
}
_LEAST_GHZ = 0.1


class Description(Base):
    """A machine's file: `carillon plan --machine`."""

    name: str = key("", "For the report; the file's name when empty.", allowed="text")
    cores: int = key(1, "For the baseband unit.", "cores", ge=1, le=128)
    isa: Literal["same", "avx2", "avx512"] = key(
        "same",
        "Instruction set, `same` as that of the calibration. Another one's times are scaled as "
        "they were measured on a Zen 4, stage by stage.",
    )
    clock_ghz: float = key(
        0.0,
        "Clock with all cores busy; 0: as where it was calibrated. Times shrink as it grows, which "
        "is too good where memory is what a stage waits for.",
        "GHz",
        ge=0,
        le=10,
    )
    speed: float = key(
        1.0,
        "Of a core besides clock and instruction set: another microarchitecture.",
        ge=0.01,
        le=100,
    )


@dataclass(frozen=True)
class Machine:
    """So many cores, and how long they take for each opcode, against those that were calibrated.

    basis: what the factors rest on, in words; none where they are 1.
    """

    name: str
    cores: int
    factors: Mapping[str, float] = field(default_factory=dict[str, float])  # 1 where not named
    scheduling: float = 1.0  # factor of all that is not in a kernel
    basis: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()  # of this machine, by control groups
    memory_bytes: int | None = None  # None: not known

    def factor(self, op: str) -> float:
        """Of the time that a claim takes."""
        return self.factors.get(op, self.scheduling)

    @classmethod
    def of_speed(cls, cores: int, speed: float = 1.0) -> Machine:
        """So many cores like the calibrated one, or faster by a factor."""
        name = f"{cores} core{'' if cores == 1 else 's'}"
        if speed == 1:
            return cls(name, cores)
        return cls(
            f"{name} of {speed:g} times the speed of the calibrated one",
            cores,
            scheduling=1 / speed,
            basis=(f"every time divided by {speed:g}",),
        )

    @classmethod
    def here(cls, speed: float = 1.0) -> Machine:
        """What this process may use of this machine."""
        cores, memory = resources.cores(), resources.memory()
        limits = tuple(each.limited for each in (cores, memory) if each.limited)
        made = cls.of_speed(cores.count, speed)
        return replace(made, limits=limits, memory_bytes=memory.bytes)


@dataclass(frozen=True)
class MachineFile:
    """A file that describes a machine, as it was read."""

    file: Path
    said: Description
    lines: dict[Key, int]

    @classmethod
    def load(cls, file: Path) -> MachineFile:
        """Raises ConfigError."""
        return cls(file, *load_model(Description, file))

    def machine(self, calibration: Calibration) -> Machine:
        """By what was calibrated. Raises ConfigError where that cannot be compared."""
        file, said, lines = self.file, self.said, self.lines
        basis = []

        def wrong(name: str, message: str) -> ConfigError:
            return ConfigError([Problem(str(file), lines.get((name,), 1), name, message)])

        slower = 1 / said.speed
        if said.speed != 1:
            basis.append(f"every time divided by {said.speed:g}, as its file says")
        if said.clock_ghz:
            if said.clock_ghz < _LEAST_GHZ:
                raise wrong(
                    "clock_ghz", f"is {said.clock_ghz:g} but must be 0 or {_LEAST_GHZ:g} to 10"
                )
            here = calibration.machine.get("clock_ghz")
            if not here:
                raise wrong(
                    "clock_ghz",
                    "cannot be compared: the calibration does not know its own clock; give speed",
                )
            slower *= here / said.clock_ghz
            basis.append(f"every time times {here:.3g}/{said.clock_ghz:.3g} GHz")
        isa = calibration.machine.get("isa")
        factors = dict.fromkeys(core.opcodes(), slower)
        if said.isa not in ("same", isa):
            if isa not in ("avx2", "avx512"):
                raise wrong(
                    "isa",
                    f"is '{said.isa}', and nothing is known of how that compares with "
                    f"{isa}; calibrate with CARILLON_ISA={said.isa}",
                )
            factors = {
                op: slower * (WIDER.get(op, 1.0) if isa == "avx2" else 1 / WIDER.get(op, 1.0))
                for op in factors
            }
            basis.append(f"{said.isa} against {isa} stage by stage, as measured on one Zen 4 core")
        name = said.name or file.stem
        return Machine(name, said.cores, factors, slower, tuple(basis))
