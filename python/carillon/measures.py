"""What a run measured, by the definitions of Millipede (thesis, eq. 2.1 to 2.3 and 3.1 to 3.3).

All instants of a frame are milliseconds from its start on air.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from carillon.statistics import Values
from carillon.telemetry import Records

Mask = npt.NDArray[np.bool_]


def achievable_rate(ideal: float, frame_ms: float, downlink_ms: float) -> float:
    """Eq. 2.1: what is left of the ideal downlink rate when the air waits for the first symbol."""
    return (frame_ms - _within(downlink_ms, frame_ms)) / frame_ms * ideal


def achievable_rate_whole_symbols(
    ideal: float, frame_ms: float, downlink_ms: float, symbols: int, data_symbols: int
) -> float:
    """Eq. 2.1 in symbols that are whole: a symbol whose start was missed is not sent."""
    left = (frame_ms - _within(downlink_ms, frame_ms)) / frame_ms * symbols
    usable = min(math.floor(round(left, 9)), data_symbols)
    return usable / data_symbols * ideal if data_symbols else 0.0


def _within(downlink_ms: float, frame_ms: float) -> float:
    """Eq. 3.3: D_DL is at most the frame; nothing is gained by being ready before it starts."""
    return min(max(downlink_ms, 0.0), frame_ms)


@dataclass(frozen=True)
class FrameTimes:
    """Milliseconds of the frames that have them; one array for each measure."""

    uplink: Values  # D_UL: first packet → last bits (eq. 2.2)
    uplink_extra: Values  # D_UL - T (eq. 2.3)
    downlink: Values  # D_DL: frame start → first downlink symbol is ready (eq. 3.3)
    start: Values  # D_start: first packet → first task
    pilot: Values  # first packet → all pilots processed (eq. 3.1)
    zeroforce: Values  # pilots processed → combiner ready
    data: Values  # combiner ready → last bits


def frame_times(frames: Records, frame_ms: float) -> FrameTimes:
    """The milestones of all frames that have them: not of those refused, discarded or silent.

    Pilots that were given up before the first packet came are no time since that packet.
    """
    kept = frames[frames["nack"] == 0]
    heard = kept[kept["first_packet"] != 0]
    up = frames[has_uplink(frames)]
    uplink = _ms(up, "uplink_done") - _ms(up, "first_packet")
    pilots = heard[heard["pilots_done"] != 0]
    sounded = pilots[pilots["pilots_done"] >= pilots["first_packet"]]
    combined = pilots[pilots["combiner_done"] != 0]
    data = up[up["combiner_done"] != 0]
    started = heard[heard["started"] >= heard["first_packet"]]
    down = frames[has_downlink(frames)]
    return FrameTimes(
        uplink=uplink,
        uplink_extra=uplink - frame_ms,
        downlink=np.clip(_ms(down, "downlink_first"), 0.0, frame_ms),
        start=_ms(started, "started") - _ms(started, "first_packet"),
        pilot=_ms(sounded, "pilots_done") - _ms(sounded, "first_packet"),
        zeroforce=_ms(combined, "combiner_done") - _ms(combined, "pilots_done"),
        data=_ms(data, "uplink_done") - _ms(data, "combiner_done"),
    )


def has_uplink(frames: Records) -> Mask:
    """Frames that have a D_UL: all packets came, so that the first one is the frame's, and all of
    them were worked on."""
    known: Mask = (
        (frames["nack"] == 0)
        & (frames["first_packet"] != 0)
        & (frames["missing_packets"] == 0)
        & (frames["uplink_done"] != 0)
    )
    return known


def lacks_packets(frames: Records) -> Mask:
    """Frames that were in time without some of their packets."""
    lacking: Mask = (frames["completed"] != 0) & (frames["missing_packets"] != 0)
    return lacking


def has_downlink(frames: Records) -> Mask:
    """Frames that have a D_DL: a downlink symbol was ready in time."""
    known: Mask = (frames["nack"] == 0) & (frames["downlink_done"] != 0)
    return known


def _ms(frames: Records, name: str) -> Values:
    return frames[name].astype(np.float64) / 1e6


def pacing(counters: dict[str, int]) -> tuple[float, float] | None:
    """Mean and deviation of the emulated radio's frame starts, in µs."""
    count = counters["pacing_frames"]
    if count == 0:
        return None
    mean = counters["pacing_error_sum"] / count
    square = counters["pacing_error_square"] / count
    return mean / 1e3, math.sqrt(max(0.0, square - mean * mean)) / 1e3
