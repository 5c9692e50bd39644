"""Who gets how many of a slot's resource blocks. A policy knows nothing of radio or ports."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

_LEAST_BITS = 40  # of a transport block: with fewer, its check is most of it


@dataclass(frozen=True)
class Demand:
    """One user's, in a slot."""

    user: int
    waiting: int  # bytes
    bits_per_block: float  # that a resource block carries at this user's rate
    average: float = 0.0  # bits of a slot, so far

    def least(self, blocks: int) -> int:
        """The fewest resource blocks of a slot that are worth a transport block."""
        return min(blocks, math.ceil(_LEAST_BITS / self.bits_per_block))

    def needed(self, blocks: int) -> int:
        """Of a slot's resource blocks, those for all that waits; 0: nothing does."""
        if not self.waiting:
            return 0
        all_of_it = math.ceil(8 * self.waiting / self.bits_per_block)
        return min(blocks, max(self.least(blocks), all_of_it))


class Policy(Protocol):
    """Divides the slots of one direction, one after another."""

    def divide(self, demands: Sequence[Demand], blocks: int) -> dict[int, int]:
        """Resource blocks by user, `blocks` together at most; only of users who have something to
        send, and who get `least` or more."""


class RoundRobin:
    """Deals resource blocks like cards, one to each user in turn, until all have what they need or
    none are left; the next slot begins where this one ended, or with the first one for whom it was
    too small."""

    def __init__(self) -> None:
        self._next = 0  # user

    def divide(self, demands: Sequence[Demand], blocks: int) -> dict[int, int]:
        turn = sorted(demands, key=lambda each: (each.user < self._next, each.user))
        dealt: dict[int, int] = {}
        left, last = blocks, self._next - 1
        for each in turn:
            hand = min(each.least(blocks), each.needed(blocks))
            if 0 < hand <= left:
                dealt[each.user], last = hand, each.user
                left -= hand
        while hungry := _hungry(turn, dealt, blocks)[:left]:
            for each in hungry:
                dealt[each.user] += 1
                last = each.user
            left -= len(hungry)
        passed_over = [each.user for each in turn if each.waiting and each.user not in dealt]
        self._next = passed_over[0] if passed_over else last + 1
        return dealt


def _hungry(turn: Sequence[Demand], dealt: dict[int, int], blocks: int) -> list[Demand]:
    """Who has some, and needs more."""
    return [each for each in turn if 0 < dealt.get(each.user, 0) < each.needed(blocks)]


class ProportionalFair:
    """First who could have most for what he had: the users in the order of achievable rate over
    average throughput, each as many resource blocks as he needs."""

    def divide(self, demands: Sequence[Demand], blocks: int) -> dict[int, int]:
        dealt: dict[int, int] = {}
        left = blocks
        for each in sorted(demands, key=_metric, reverse=True):
            share = min(each.needed(blocks), left)
            if share and share >= each.least(blocks):
                dealt[each.user] = share
                left -= share
        return dealt


def _metric(demand: Demand) -> float:
    return demand.bits_per_block / max(demand.average, 1e-9)


def averaged(average: float, bits: float, window: float) -> float:
    """The average after one more slot, of so many in which what was falls to 1/e."""
    return average + (bits - average) / window


POLICIES: dict[str, Callable[[], Policy]] = {
    "round-robin": RoundRobin,
    "proportional-fair": ProportionalFair,
}
