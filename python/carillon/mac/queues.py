"""Bytes that wait for a user in one direction, and where they come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

PACKET = 1500  # bytes


class Arrivals(Protocol):
    """A source of bytes."""

    def after(self, seconds: float, waiting: int) -> int:
        """How many have come in that time, while so many still wait."""


@dataclass
class Constant:
    """As many each second; fractions of a byte are kept for later."""

    bytes_per_s: float
    _rest: float = 0.0

    def after(self, seconds: float, waiting: int) -> int:
        self._rest += self.bytes_per_s * seconds
        whole = int(self._rest)
        self._rest -= whole
        return whole


class Poisson:
    """Packets at random times, as many each second in the mean; the same seed, the same packets."""

    def __init__(self, bytes_per_s: float, *seed: int, packet: int = PACKET) -> None:
        self._packets_per_s = bytes_per_s / packet
        self._packet = packet
        self._random = np.random.default_rng(seed)

    def after(self, seconds: float, waiting: int) -> int:
        return self._packet * int(self._random.poisson(self._packets_per_s * seconds))


@dataclass
class Full:
    """Always more than can be sent: so many wait again after each frame."""

    level: int

    def after(self, seconds: float, waiting: int) -> int:
        return max(0, self.level - waiting)


@dataclass
class Queue:
    """Each byte that arrived is in one class: delivered, waiting, under way or dropped."""

    limit: int  # bytes; what comes to a full queue is dropped
    arrived: int = 0
    delivered: int = 0
    waiting: int = 0
    under_way: int = 0
    dropped: int = 0

    def arrive(self, count: int) -> None:
        kept = min(count, max(0, self.limit - self.waiting))
        self.arrived += count
        self.waiting += kept
        self.dropped += count - kept

    def take(self, most: int) -> int:
        """Sends on their way as many as there are, at most so many; says how many."""
        taken = min(most, self.waiting)
        self.waiting -= taken
        self.under_way += taken
        return taken

    def deliver(self, count: int) -> None:
        self.under_way -= count
        self.delivered += count

    def give_back(self, count: int) -> None:
        """They wait again, also beyond the limit: what was accepted is not dropped."""
        self.under_way -= count
        self.waiting += count
