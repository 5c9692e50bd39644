"""Is this machine fit for real time? Each check reads facts and says what would be better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from carillon.doctor import gpu, network, processor, stalls, system
from carillon.doctor.finding import Change, Finding, Level
from carillon.doctor.machine import CPU, Machine
from carillon.doctor.stalls import CpuStalls

__all__ = ["Change", "Done", "Finding", "Level", "Machine", "examine", "fix", "judge", "to_measure"]


@dataclass(frozen=True)
class Done:
    """A change that was made, or tried: `error` says why it was not."""

    change: Change
    error: str = ""


def examine(machine: Machine, interfaces: Sequence[str]) -> list[Finding]:
    """What can be read at once, in the order in which a report lists it."""
    found = [check(machine) for check in [*processor.CHECKS, *system.CHECKS, *gpu.CHECKS]]
    for name in interfaces:
        own = network.LOOPBACK_CHECKS if network.is_loopback(machine, name) else network.CHECKS
        found += [check(machine, name) for check in own]
    return [*found, network.socket_limits(machine)]


def judge(measured: Sequence[CpuStalls]) -> list[Finding]:
    """What was measured over some seconds."""
    return [stalls.wakeups(measured), stalls.stalls(measured)]


def to_measure(machine: Machine) -> frozenset[int]:
    """The CPUs that a cell may use: those allowed and those set aside for it.

    None while a cell runs on this machine: measuring would take its cores.
    """
    if "carillond" in machine.each("proc/[0-9]*/comm").values():
        return frozenset()
    return machine.allowed() | machine.cpus(f"{CPU}/isolated")


def fix(machine: Machine, findings: Sequence[Finding]) -> list[Done]:
    """Makes every safe change that the findings know, going on where one cannot be made."""
    done = []
    for change in [change for finding in findings for change in finding.changes]:
        try:
            change.apply(machine)
        except OSError as error:
            done.append(Done(change, error.strerror or str(error)))
        else:
            done.append(Done(change))
    return done
