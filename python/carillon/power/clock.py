"""What clocks a machine offers, as the engine reads its sysfs, and one setting of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from carillon import core
from carillon.doctor.machine import cpu_list
from carillon.errors import CarillonError, InputError, NoDeviceError

SYSFS = Path("/sys")
NONE = (
    "this machine sets no clocks: {}/devices/system/cpu/cpufreq has no policy. In a virtual "
    "machine the host sets them; elsewhere the firmware may, or a driver is missing (`dmesg | grep "
    "pstate`). `carillon power learn` and `govern` emulate clocks, which needs none of that"
)
_READ_EVERY_S = 5.0


class ClockError(CarillonError):
    """A clock that cannot be set or put back; the message is the engine's."""


@contextmanager
def refusals() -> Iterator[None]:
    """What the engine refuses in the block, as ClockError."""
    try:
        yield
    except RuntimeError as error:
        raise ClockError(str(error)) from None


@dataclass(frozen=True)
class Domain:
    """Cores that share one clock; clocks are in kHz."""

    policy: int
    cores: list[int]
    driver: str
    governor: str
    governors: list[str]
    hardware_khz: tuple[int, int]
    limits_khz: tuple[int, int]
    clocks_khz: list[int]  # ascending; empty: any clock that the hardware has
    now_khz: int  # 0: not known
    preference: str  # between energy and performance; empty: has none
    preferences: list[str]

    @property
    def alike(self) -> tuple[object, ...]:
        """Domains for which this is equal differ in cores and in their clock of the moment."""
        own = vars(self) | {"policy": 0, "cores": len(self.cores), "now_khz": 0}
        return tuple(str(value) for value in own.values())


@dataclass(frozen=True)
class Zone:
    """A count of energy: of a package, or of a part of it."""

    zone: str
    name: str
    microjoules: int
    wraps_at: int
    problem: str  # why it cannot be read


@dataclass(frozen=True)
class Clocks:
    """A machine."""

    sysfs: Path
    domains: list[Domain]
    online: list[int]  # cores
    mode: str  # of intel_pstate and amd-pstate
    turbo: bool | None
    problems: list[str]
    idle_states: list[dict[str, Any]]  # of the first core: name, latency_us, disabled
    energy: list[Zone]

    def domains_of(self, cores: Set[int]) -> list[Domain]:
        """The domains of some cores; InputError for one whose clock cannot be set."""
        able = {core for domain in self.domains for core in domain.cores}
        if missing := cores - able:
            raise InputError(
                f"--cores {cpu_list(missing)}: no clock of theirs can be set; "
                f"that of {cpu_list(able)} can"
            )
        return [domain for domain in self.domains if cores & set(domain.cores)]


def read_clocks(sysfs: Path) -> Clocks:
    """InputError where there is no such folder."""
    if not sysfs.is_dir():
        raise InputError(f"--sysfs {sysfs}: there is no such folder")
    found = core.read_clocks(str(sysfs))
    domains = [Domain(**domain) for domain in found.pop("domains")]
    states = core.idle_states(str(sysfs), min(found["online"], default=0))
    return Clocks(sysfs, domains, **found, idle_states=states, energy=read_energy(sysfs))


def require_clocks(sysfs: Path) -> Clocks:
    """As read_clocks; NoDeviceError of a machine that sets none."""
    clocks = read_clocks(sysfs)
    if not clocks.domains:
        raise NoDeviceError("; ".join(clocks.problems) or NONE.format(sysfs))
    return clocks


def read_energy(sysfs: Path) -> list[Zone]:
    """Counts of energy as they are now."""
    return [Zone(*row) for row in core.read_energy(str(sysfs))]


def joules(before: list[Zone], after: list[Zone]) -> dict[str, float]:
    """Between two readings, of the zones that could be read both times, by name."""
    later = {zone.zone: zone for zone in after}
    return {
        zone.name: core.joules_between(
            zone.microjoules, later[zone.zone].microjoules, zone.wraps_at
        )
        for zone in before
        if zone.zone in later and not zone.problem and not later[zone.zone].problem
    }


class Meter:
    """Energy since it was made. Counters begin anew after minutes: it is to be read often."""

    def __init__(self, sysfs: Path) -> None:
        self._sysfs = sysfs
        self._last = read_energy(sysfs)
        self._sums: dict[str, float] = {}

    def read(self) -> dict[str, float]:
        """Joules by name, of the zones that could be read."""
        now = read_energy(self._sysfs)
        for name, energy in joules(self._last, now).items():
            self._sums[name] = self._sums.get(name, 0.0) + energy
        self._last = now
        return dict(self._sums)


@contextmanager
def metered(sysfs: Path | None) -> Iterator[Callable[[], dict[str, float]]]:
    """Yields what tells the energy since the block began, in joules by name; of no sysfs nothing.

    A thread reads often enough for counters that begin anew.
    """
    if sysfs is None:
        yield dict
        return
    meter, over = Meter(sysfs), threading.Event()

    def read() -> None:
        while not over.wait(_READ_EVERY_S):
            meter.read()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()

    def so_far() -> dict[str, float]:
        over.set()
        reader.join()
        return meter.read()

    try:
        yield so_far
    finally:
        over.set()


@dataclass(frozen=True)
class Setting:
    """What to set on which cores; None leaves it as it is."""

    khz: int | None = None
    governor: str | None = None
    limits_khz: tuple[int, int] | None = None  # between which the governor chooses
    preference: str | None = None
    turbo: bool | None = None
    wake_us: int | None = None
    cores: frozenset[int] | None = None  # None: all

    @property
    def needs_clocks(self) -> bool:
        of_clocks = (self.khz, self.governor, self.limits_khz, self.preference, self.turbo)
        return any(each is not None for each in of_clocks)

    @property
    def is_empty(self) -> bool:
        return not self.needs_clocks and self.wake_us is None

    def apply(self, control: core.ClockControl, clocks: Clocks) -> list[Domain]:
        """The domains whose clock it set. InputError for cores that are not there; RuntimeError of
        the engine."""
        cores = frozenset(clocks.online) if self.cores is None else self.cores
        if missing := cores - set(clocks.online):
            raise InputError(
                f"--cores {cpu_list(missing)}: only {cpu_list(clocks.online)} are online"
            )
        if self.turbo is not None:
            control.set_turbo(self.turbo)
        domains = clocks.domains_of(cores) if self.needs_clocks else []
        for domain in domains:
            if self.khz is not None:
                control.set_clock(domain.policy, self.khz)
            if self.limits_khz is not None:
                control.set_limits(domain.policy, *self.limits_khz)
            if self.governor is not None:
                control.set_governor(domain.policy, self.governor)
            if self.preference is not None:
                control.set_preference(domain.policy, self.preference)
        if self.wake_us is not None:
            for number in cores:
                control.set_resume_latency(number, self.wake_us)
        return domains
