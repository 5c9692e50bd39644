"""Round trips at a rate, and the highest rate that can be sustained."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from carillon import core
from carillon.net.links import MEASURING_CORE, Link
from carillon.net.point import Point, Way

HALVINGS = 7
_TRIES = 2  # of a rate: a machine that stands still for a moment is not the network's cost
_QUEUED_US = 10_000  # by which the last exchange may be late and on its way: else a queue grows
_WARM_UP = (1000.0, 100)  # exchanges a second, and how many: addresses are resolved, pages touched
_POLL_S = 0.02
_PATIENCE_S = 1.0
_QUANTILES = (0.5, 0.99, 0.999)


@dataclass(frozen=True)
class Trips:
    """What came of exchanges at one rate. Times in µs, from before the first packet is sent until
    the last has been received."""

    asked_per_s: float
    seconds: float  # of sending
    sent: int
    returned: int
    damaged: int  # packets
    behind_us: float  # by which the last was sent late
    most_behind_us: float
    mean_us: float | None
    std_us: float | None
    p50_us: float | None
    p99_us: float | None
    p999_us: float | None
    most_us: float | None
    last_us: float | None  # the last exchange's that came back
    echo_cores: float
    echo_bursts: int
    echo_packets: int
    notes: tuple[str, ...] = field(default=())

    @property
    def lost(self) -> int:
        return self.sent - self.returned

    @property
    def sustained(self) -> bool:
        """Nothing is lost, and no queue grows."""
        whole = self.sent > 0 and self.lost == 0 and self.damaged == 0
        return whole and self.behind_us + (self.last_us or 0.0) <= _QUEUED_US


class StoppedError(Exception):
    """The person does not want to wait any longer."""


@dataclass(frozen=True)
class Measure:
    """How measurements are made: over what, how long each, who may stop them, who hears of each."""

    link: Link
    seconds: float
    stopped: Callable[[], bool]
    progress: Callable[[str], None]

    def at(self, way: Way, point: Point, per_s: float, held_us: float = 0.0) -> Trips:
        """Round trips at a rate."""
        if self.stopped():
            raise StoppedError
        self.progress(f"{way.name}, MTU {point.mtu}: {per_s:.0f} exchanges/s")
        with self.link.open(way, point, held_us) as session:
            radio = session.radio
            before = radio.notes()
            _exchange(radio, point, *_WARM_UP, lambda: False)
            count = max(round(per_s * self.seconds), 1)
            told = _exchange(radio, point, per_s, count, self.stopped)
            echoed = session.stop()
            notes = [*before, *radio.findings(), *echoed["notes"]]
        if self.stopped():
            raise StoppedError
        trips = told.pop("trips_us")
        p50, p99, p999 = np.quantile(trips, _QUANTILES).tolist() if trips.size else 3 * [None]
        return Trips(
            asked_per_s=per_s,
            seconds=told["seconds"],
            sent=told["sent"],
            returned=told["returned"],
            damaged=told["damaged"],
            behind_us=told["behind_us"],
            most_behind_us=told["most_behind_us"],
            mean_us=float(trips.mean()) if trips.size else None,
            std_us=float(trips.std()) if trips.size else None,
            p50_us=p50,
            p99_us=p99,
            p999_us=p999,
            most_us=float(trips.max()) if trips.size else None,
            last_us=float(trips[-1]) if trips.size else None,
            echo_cores=echoed["cores"],
            echo_bursts=echoed["bursts"],
            echo_packets=echoed["packets"],
            notes=tuple(dict.fromkeys(notes)),
        )

    def best(self, way: Way, point: Point, per_s: float) -> Trips:
        """Round trips at a rate; once more if it was not sustained."""
        for _ in range(_TRIES):
            trips = self.at(way, point, per_s)
            if trips.sustained:
                break
        return trips

    def highest(self, way: Way, point: Point) -> tuple[Trips, Trips | None]:
        """At the point's rate, and at the highest rate that was sustained, found by halving what
        lies between it and the lowest that was not; None if none was."""
        asked = self.best(way, point, point.per_s)
        if asked.sustained:
            return asked, asked
        low, high, found = 0.0, point.per_s, None
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            trips = self.best(way, point, middle)
            if trips.sustained:
                low, found = middle, trips
            else:
                high = middle
        return asked, found


def _exchange(
    radio: core.NetEnd, point: Point, per_s: float, count: int, stopped: Callable[[], bool]
) -> dict[str, Any]:
    radio.start(per_s, count, point.samples, point.packet_samples, MEASURING_CORE, _PATIENCE_S)
    while radio.running:
        if stopped():
            radio.stop()
        time.sleep(_POLL_S)
    return radio.finish()
