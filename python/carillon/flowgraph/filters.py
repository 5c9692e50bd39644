"""Filters by their bands in Hz, designed by SciPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MOST_TAPS = 8192
_KEYS = ("pass_hz", "stop_hz", "count", "gain")


def design(bands: Mapping[str, Any], rate_hz: float | None) -> list[float]:
    """Taps of linear phase and least greatest error (Parks and McClellan: scipy.signal.remez).

    bands: `pass_hz` and `stop_hz`, of a low pass or a high pass the edge of each; of a band pass
    two edges each, those of the pass band between those of the stop bands. `count`: taps. `gain`:
    in the pass band, 1 if not given. ValueError names what is wrong.
    """
    from scipy import signal

    if rate_hz is None:
        raise ValueError("taps: bands in Hz need the rate of a graph")
    for name in bands:
        if name not in _KEYS:
            raise ValueError(f"taps.{name}: no such key; there are {', '.join(_KEYS)}")
    count, gain = bands.get("count"), _number(bands, "gain", 1.0)
    if not isinstance(count, int) or isinstance(count, bool) or not 3 <= count <= MOST_TAPS:
        raise ValueError(f"taps.count: must be a whole number from 3 to {MOST_TAPS}")
    passed, stopped = _edges(bands, "pass_hz"), _edges(bands, "stop_hz")
    if len(passed) != len(stopped):
        raise ValueError("taps: pass_hz and stop_hz have as many edges as each other")
    half = rate_hz / 2
    edges, wanted = _band_edges(passed, stopped, half)
    if sorted(set(edges)) != edges or edges[0] != 0 or edges[-1] != half:
        raise ValueError(
            f"taps: edges must rise between 0 and half the rate, {half:g} Hz, and not touch"
        )
    if count % 2 == 0 and wanted[-1]:
        raise ValueError("taps.count: must be odd where half the rate is passed")
    try:
        taps = signal.remez(count, edges, [gain * each for each in wanted], fs=rate_hz, maxiter=200)
    except ValueError:  # it does not converge
        raise ValueError(
            "taps: no filter was found; take fewer taps (count), or put pass_hz and stop_hz "
            "further apart"
        ) from None
    return [float(tap) for tap in taps]


def _band_edges(
    passed: list[float], stopped: list[float], half: float
) -> tuple[list[float], list[float]]:
    """Edges of bands from 0 to half the rate, and what each band passes."""
    if len(passed) == 2:
        return [0.0, stopped[0], *passed, stopped[1], half], [0, 1, 0]
    if passed[0] < stopped[0]:
        return [0.0, passed[0], stopped[0], half], [1, 0]
    return [0.0, stopped[0], passed[0], half], [0, 1]


def _number(bands: Mapping[str, Any], name: str, standard: float) -> float:
    value = bands.get(name, standard)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"taps.{name}: must be a number")
    return float(value)


def _edges(bands: Mapping[str, Any], name: str) -> list[float]:
    value = bands.get(name)
    found: list[Any] = list(value) if isinstance(value, list | tuple) else [value]
    if len(found) not in (1, 2) or any(
        isinstance(each, bool) or not isinstance(each, int | float) for each in found
    ):
        raise ValueError(f"taps.{name}: must be an edge in Hz, or two of a band pass")
    return [float(each) for each in found]
