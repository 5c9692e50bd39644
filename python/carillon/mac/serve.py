"""Brings a scheduler and both ports of a cell together."""

from __future__ import annotations

import select
from collections.abc import Callable, Sequence

from carillon.config.blocks import Direction
from carillon.mac.scheduler import Scheduler
from carillon.port import Block, Client, Frame, PortError, Refused, Work

_PATIENCE_S = 0.1  # between two looks at `ended`


def serve(
    ports: Sequence[Client], scheduler: Scheduler, ended: Callable[[], bool] = lambda: False
) -> None:
    """Until the cell ends or somebody says so. `ports`: the baseband unit's and the users'."""
    open_ports = list(ports)
    while open_ports and not ended():
        idle = True
        for port in tuple(open_ports):
            try:
                event = port.receive(0)
            except PortError:
                open_ports.remove(port)
                continue
            if event is not None:
                idle = False
                _react(ports, port, scheduler, event)
        if idle and open_ports:
            select.select(open_ports, [], [], _PATIENCE_S)


def _react(
    ports: Sequence[Client],
    port: Client,
    scheduler: Scheduler,
    event: Frame | Block | Refused | Work,
) -> None:
    gives: Direction = "uplink" if port.carrier.gives == "uplink" else "downlink"
    match event:
        case Frame(number=number):
            for frame, allocations in scheduler.begun(gives, number):
                for each in ports:
                    each.schedule(frame, allocations)
        case Work(frame=frame):
            for block, bits in scheduler.accepted(gives, event):
                port.send(frame, block, bits)
        case Block():
            scheduler.heard(gives, event)
        case Refused():
            scheduler.turned_down(gives, event)
