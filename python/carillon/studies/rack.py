"""Cells per rack against policy, in virtual time: how many radio units two servers can serve.

A rack serves so many units when at most one frame in a thousand is not done by its deadline: too
late, refused or lost. Asked of two servers, of the same after one was lost and its units have
moved, and of two with faster links. Power and price are assumed, see `economy` in docs/pool.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from carillon import examples
from carillon.config import load_cell
from carillon.config.pool import (
    POLICIES,
    Devices,
    Fault,
    Link,
    Links,
    Policy,
    PoolStudy,
    RadioUnits,
    Server,
    Switch,
    Trace,
)
from carillon.pool.economy import price
from carillon.pool.running import Outcome, Request
from carillon.pool.study import Described, Served
from carillon.pool.summary import Summary, summarize

NAME = "rack"
TITLE = "radio units of 128×64 that two servers can serve, power and price of each (simulated)"
CELL = "128x64-uplink"
SERVERS, DEVICES = 2, 4
PORT = 150.0  # GB/s: three of 400 Gb/s
FRAMES = 1000  # of each unit
MOST_MISSED = 1e-3
MOST_UNITS = 16
_AT_MS, _SETTLED = 20.4, 200  # when a server is lost; frames until its units have moved and settled


@dataclass(frozen=True)
class Rack:
    """What is asked: two servers, of which one may be lost, and how fast their links are."""

    lost: bool = False
    gbytes_per_s: float = 64.0  # between the devices' chassis and their host


RACKS = {
    "two servers": Rack(),
    "one of two lost": Rack(lost=True),
    "faster links": Rack(False, 256),
}


@dataclass(frozen=True)
class Point:
    """A policy with so many radio units on the rack. missed: share of frames that were not done.

    watts and price: of the rack, by unit.
    """

    rack: str
    policy: str
    units: int
    frames: int
    missed: float
    mean_ms: float | None
    moves: int
    sm_share: float
    watts: float
    price: float

    @property
    def served(self) -> bool:
        """Whether the rack serves them all."""
        return self.missed <= MOST_MISSED

    def row(self) -> dict[str, object]:
        """For JSON and CSV."""
        return {"source": "simulated"} | vars(self) | {"served": self.served}


def measure(
    frames: int, carry_out: Callable[[list[Request]], list[Outcome | None]]
) -> Iterator[list[Point]]:
    """One unit more at a time, until every policy has too many; ends where a run was stopped."""
    for name, rack in RACKS.items():
        left = POLICIES
        for units in range(1, MOST_UNITS + 1):
            asked = {policy: describe(policy, units, frames, rack) for policy in left}
            outcomes = carry_out([Request(whole, policy, 1) for policy, whole in asked.items()])
            points = []
            for whole, outcome in zip(asked.values(), outcomes, strict=True):
                if outcome is None:
                    return
                points.append(_point(name, whole, *summarize(whole, [outcome])))
            yield points
            left = tuple(policy for policy, point in zip(left, points, strict=True) if point.served)
            if not left:
                break


def describe(policy: Policy, units: int, frames: int, rack: Rack) -> Described:
    """A rack with so many radio units; the frames that count are the last ones."""
    before = _SETTLED if rack.lost else 20
    link = Link(gbytes_per_s=rack.gbytes_per_s)
    server = Server(
        devices=[Devices(type="a100", count=DEVICES)],
        links=Links(host=link, chassis=link),
        count=SERVERS,
    )
    study = PoolStudy(
        servers=[server],
        switch=Switch(gbytes_per_s=PORT),
        cells=[RadioUnits(cell=CELL, count=units)],
        policies=[policy],
        frames=before + frames,
        warm_up=before,
        faults=[Fault(at_ms=_AT_MS, server=0, event="lost", noticed_ms=1.0)] if rack.lost else [],
        trace=Trace(frames=0),
    )
    cell = load_cell(examples.resolve("cells/pool", CELL)).cell
    return Described(study, (Served(cell, units),), NAME)


def _point(rack: str, whole: Described, summary: Summary) -> Point:
    return Point(
        rack=rack,
        policy=summary.policy,
        units=whole.units,
        frames=summary.frames,
        missed=1 - summary.done / summary.frames,
        mean_ms=summary.mean_ms,
        moves=len(summary.moves),
        sm_share=summary.sm_share,
        watts=summary.watts / whole.units,
        price=price(whole.study) / whole.units,
    )


def most(points: Sequence[Point], rack: str, policy: str) -> Point | None:
    """With the most units that are served; None: not even one."""
    own = [point for point in points if (point.rack, point.policy) == (rack, policy)]
    return max((point for point in own if point.served), key=lambda one: one.units, default=None)
