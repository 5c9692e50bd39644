"""Ranges of numbers as a person writes them."""

from __future__ import annotations

import math

MOST_POINTS = 1000


def parse_numbers(text: str) -> list[float]:
    """start:step:stop, both ends included, or a list with commas; each number once."""
    try:
        numbers = [float(part) for part in text.split(":" if ":" in text else ",")]
    except ValueError:
        numbers = []
    if not numbers or (":" in text and len(numbers) != 3):
        raise ValueError(f"'{text}' is neither start:step:stop nor a list like 0,5,10")
    if ":" in text:
        start, step, stop = numbers
        if not (all(map(math.isfinite, numbers)) and step and (stop - start) / step >= 0):
            raise ValueError(f"'{text}' never reaches its stop")
        steps = (stop - start) / step + 1e-9
        if not steps < MOST_POINTS:
            raise ValueError(f"'{text}' has more than {MOST_POINTS} points")
        digits = 9 + max(0, -math.floor(math.log10(abs(step))))
        numbers = [round(start + i * step, digits) for i in range(int(steps) + 1)]
    return list(dict.fromkeys(numbers))
