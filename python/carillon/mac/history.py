"""How flows fared over time, in a bounded number of points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from carillon.mac.flow import Flow

_MOST = 32


@dataclass(frozen=True)
class Point:
    """Sums since the start, of each flow."""

    frame: int
    delivered: tuple[int, ...]  # bytes
    decoded: tuple[int, ...]  # blocks
    failed: tuple[int, ...]


class History:
    """Looks every `stride` frames; when there are too many points, every other one goes."""

    def __init__(self, stride: int = 10) -> None:
        self.stride = stride
        self.points: list[Point] = []

    def look(self, frame: int, flows: Sequence[Flow]) -> None:
        if self.points and frame < self.points[-1].frame + self.stride:
            return
        self.points.append(_point(frame, flows))
        if len(self.points) > _MOST:
            self.points = self.points[::2]
            self.stride *= 2


@dataclass(frozen=True)
class Span:
    """Of one flow, between two points."""

    seconds: float  # from the first point to the middle
    mbps: float
    bler: float | None


def spans(points: Sequence[Point], flow: int, frame_s: float) -> list[Span]:
    """By the flow's place."""
    found = []
    for before, after in pairwise(points):
        seconds = (after.frame - before.frame) * frame_s
        decoded = after.decoded[flow] - before.decoded[flow]
        failed = after.failed[flow] - before.failed[flow]
        delivered = after.delivered[flow] - before.delivered[flow]
        middle = (before.frame + after.frame) / 2 - points[0].frame
        found.append(
            Span(
                middle * frame_s,
                8e-6 * delivered / seconds,
                failed / decoded if decoded else None,
            )
        )
    return found


def _point(frame: int, flows: Sequence[Flow]) -> Point:
    return Point(
        frame,
        tuple(flow.queue.delivered for flow in flows),
        tuple(flow.blocks.good + flow.blocks.failed - flow.blocks.again for flow in flows),
        tuple(flow.blocks.failed - flow.blocks.failed_again for flow in flows),
    )
