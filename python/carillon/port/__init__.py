"""A cell's data port, for programs that own a cell's bits: `Client` (docs/data-port.md)."""

from carillon.port.client import Client
from carillon.port.errors import PortError
from carillon.port.events import Block, Carrier, Frame, Refused, TransportBlock, Work
from carillon.port.grants import Allocation

__all__ = [
    "Allocation",
    "Block",
    "Carrier",
    "Client",
    "Frame",
    "PortError",
    "Refused",
    "TransportBlock",
    "Work",
]
