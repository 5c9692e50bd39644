"""What delays frames, and how often they are late for it: F_P(T_BS, T_OS, T_f).

Malm, Ruttik and Tirkkonen, section 6. A frame is a cell's TTI. docs/late.md says how each delay is
measured, and its error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from carillon.statistics import Values, percentile
from carillon.telemetry import DISCARDED, REFUSED, Records

Counts = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# What became of a frame; each is in exactly one class.
CLASSES = ("whole", "filled", "too_late", "substituted", "discarded", "refused")
QUANTILES = (0.5, 0.9, 0.99)  # the bins' edges, above which is one bin more, up to the maximum


@dataclass(frozen=True)
class Delays:
    """Nanoseconds of each frame, NaN where it has no such delay; and whether it was late."""

    t_bs: Values  # time of its tasks on cores, summed over these
    t_os: Values  # for which threads stood still after its last received symbol, until it ended
    t_f: Values  # from the end of its last received symbol on air to its last packet
    lead: Values  # that its downlink had
    late: Mask

    @property
    def all_three(self) -> Mask:
        """Frames that have each delay."""
        known: Mask = np.isfinite(self.t_bs + self.t_os + self.t_f)
        return known


def delays(frames: Records, received_ns: float | None) -> Delays:
    """Of frame records, Telemetry.read("frames"). `received_ns`: received_by() of their cell.

    Frames that no core worked on have no T_BS, those of which no packet came no T_f, and those
    without downlink no lead.
    """
    t_bs, t_os, last, lead = (
        frames[name].astype(np.float64)
        for name in ("kernels", "stood_still", "last_packet", "lead")
    )
    from_symbol = last - (np.nan if received_ns is None else received_ns)
    return Delays(
        t_bs=np.where(t_bs == 0, np.nan, t_bs),
        t_os=t_os,
        t_f=np.where(last == 0, np.nan, from_symbol),
        lead=np.where(lead == 0, np.nan, lead),
        late=frames["late_cause"] != 0,
    )


def received_by(symbols: Sequence[Mapping[str, Any]]) -> float | None:
    """When a frame's last pilot or uplink symbol has been on air, in ns from the frame's start.

    None of a frame without any. `symbols`: as core.describe() has them.
    """
    ends = [symbol["end_ms"] * 1e6 for symbol in symbols if symbol["kind"] in "PU"]
    return max(ends, default=None)


def class_of(frames: Records) -> Counts:
    """Each frame's place in CLASSES."""
    late = frames["late_cause"] != 0
    replaced = (frames["substituted"] != 0) | (frames["downlink_late_symbols"] != 0)
    conditions = {
        "refused": frames["nack"] == REFUSED,
        "discarded": frames["nack"] == DISCARDED,
        "substituted": late & replaced,
        "too_late": late,
        "filled": frames["missing_packets"] != 0,
    }
    places = [CLASSES.index(name) for name in conditions]
    return np.select(list(conditions.values()), places, default=CLASSES.index("whole"))


@dataclass(frozen=True)
class Count:
    """Frames, and how many of them were late."""

    frames: int
    late: int


@dataclass(frozen=True)
class Bin(Count):
    """Frames whose delays lie between the same edges."""

    places: tuple[int, int, int]  # on the axes of T_BS, T_OS and T_f


@dataclass(frozen=True)
class LateFunction:
    """F_P, as it was counted. Place i of an axis holds what is above edge i - 1, up to edge i."""

    edges: tuple[Values, Values, Values]  # ns, ascending; the last one is the maximum
    bins: list[Bin]  # without those that no frame is in
    lacking: Count  # frames without one of the delays, which are in no bin


def late_function(of: Delays) -> LateFunction:
    """The share of late frames over T_BS, T_OS and T_f, each in bins between its quantiles."""
    known, late = of.all_three, of.late
    values = [delay[known] for delay in (of.t_bs, of.t_os, of.t_f)]
    edges = [_edges(delay) for delay in values]
    axes = np.array([np.searchsorted(e, v) for e, v in zip(edges, values, strict=True)])
    found, member, frames = np.unique(axes, axis=1, return_inverse=True, return_counts=True)
    late_ones = np.bincount(member.ravel()[late[known]], minlength=len(frames))
    bins = [
        Bin(int(n), int(k), (int(a), int(b), int(c)))
        for (a, b, c), n, k in zip(found.T, frames, late_ones, strict=True)
    ]
    lacking = Count(int(np.count_nonzero(~known)), int(np.count_nonzero(late & ~known)))
    return LateFunction((edges[0], edges[1], edges[2]), bins, lacking)


def _edges(delay: Values) -> Values:
    """Quantiles that the samples support, and the maximum; equal ones once."""
    if len(delay) == 0:
        return delay
    known = [percentile(delay, share) for share in QUANTILES]
    return np.unique([edge for edge in known if edge is not None] + [float(delay.max())])


@dataclass(frozen=True)
class MovingRatio:
    """Late frames of those that were on air within the averaging time before each frame's start."""

    seconds: Values  # of the frames' starts, from the first one's; ascending
    frames: Counts
    late: Counts
    full: Mask  # the run had lasted that long

    @property
    def ratio(self) -> Values:
        """Each frame counts in its own."""
        share: Values = self.late / self.frames
        return share


def moving_ratio(frames: Records, averaging_s: float) -> MovingRatio:
    """The ratio of late frames as it moves, over an averaging time above 0 up to each frame."""
    ordered = np.sort(frames, order="air_start")
    starts = ordered["air_start"].astype(np.float64)
    since = starts - starts[0] if len(starts) else starts
    first = np.searchsorted(since, since - averaging_s * 1e9, side="right")
    until = np.arange(1, len(since) + 1)
    late = np.concatenate([[0], np.cumsum(ordered["late_cause"] != 0)])
    full = since >= averaging_s * 1e9
    return MovingRatio(since / 1e9, until - first, late[until] - late[first], full)


def bursts(frames: Records) -> Counts:
    """Lengths of all sequences of late frames with consecutive numbers."""
    late = np.sort(frames["frame"][frames["late_cause"] != 0])
    ends = np.flatnonzero(np.diff(late) != 1)
    bounds = np.concatenate([[-1], ends, [len(late) - 1]])
    return np.diff(bounds) if len(late) else np.empty(0, np.int64)
