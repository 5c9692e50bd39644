"""What befalls a pool's devices and servers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from carillon.config.fields import Path as Key
from carillon.config.pool import Fault

Place = tuple[int, int | None]  # server, and the device there unless it is all of it


def places(fault: Fault, devices: Sequence[Place]) -> list[Place]:
    """Whom it befalls, of the devices by number; nobody if the file names none that there is."""
    if fault.server is not None:
        return [(fault.server, None)]
    if fault.device == "all":
        return list(devices)
    return [] if fault.device is None else list(devices[fault.device : fault.device + 1])


def check(faults: Sequence[Fault], devices: Sequence[Place]) -> Iterator[tuple[Key, str]]:
    """What no fault can be, and what none can be after those before it."""
    for number, fault in enumerate(faults):
        if (fault.device is None) == (fault.server is None):
            yield ("faults", number), "must name either a device or a server"
        elif fault.device is None and fault.event == "hung":
            yield ("faults", number, "event"), "is hung but only devices hang; a server is lost"
    down: set[Place] = set()
    for number, fault in sorted(enumerate(faults), key=lambda numbered: numbered[1].at_ms):
        own = set(places(fault, devices))
        if fault.event != "back":
            down |= own
            continue
        if own and not own & down:
            message = f"is back but {_not_away(fault)} at {fault.at_ms:g} ms"
            yield ("faults", number, "event"), message
        down -= own


def _not_away(fault: Fault) -> str:
    if fault.server is not None:
        return f"server {fault.server} is not lost"
    if fault.device == "all":
        return "no device is lost or hung"
    return f"device {fault.device} is not lost or hung"
