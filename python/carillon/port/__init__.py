"""A cell's data port, for programs that own a cell's bits: `Client` (docs/data-port.md)."""

from carillon.port.client import Block, Carrier, Client, Frame, PortError, Refused, TransportBlock

__all__ = ["Block", "Carrier", "Client", "Frame", "PortError", "Refused", "TransportBlock"]
