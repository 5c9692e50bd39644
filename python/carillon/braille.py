"""Scatter plots in a terminal: every character holds 2 × 4 dots."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

# Unicode's order of the dots of a braille character, [row][column].
_DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])


def scatter(x: npt.ArrayLike, y: npt.ArrayLike, columns: int, rows: int, limit: float) -> str:
    """Points within ±limit; lines of text, the largest y first."""
    across, up = np.asarray(x, float), np.asarray(y, float)
    inside = (np.abs(across) < limit) & (np.abs(up) < limit)
    i = ((across[inside] + limit) / (2 * limit) * columns * 2).astype(int)
    j = ((limit - up[inside]) / (2 * limit) * rows * 4).astype(int)
    i, j = np.minimum(i, columns * 2 - 1), np.minimum(j, rows * 4 - 1)
    cells = np.zeros((rows, columns), int)
    np.bitwise_or.at(cells, (j // 4, i // 2), _DOTS[j % 4, i % 2])
    return "\n".join("".join(chr(0x2800 + dots) for dots in row) for row in cells)
