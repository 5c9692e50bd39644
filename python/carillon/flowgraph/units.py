"""Times with their units, as people type them."""

from __future__ import annotations

import re

_SIZES = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}


def duration_ns(text: str) -> float:
    """ "5ms" in ns; ValueError with what would do."""
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*(ns|us|µs|ms|s)\s*", text)
    if found is None:
        raise ValueError(f"'{text}' is no time; write a number and ns, us, ms or s, as 5ms")
    value = float(found[1]) * _SIZES[found[2]]
    if not 0 < value <= 1e15:
        raise ValueError(f"'{text}' must be above 0 and at most 11 days")
    return value
