"""Whether the pilots of a comb are close enough for the channel that is emulated.

Between a user's pilots its channel is taken to change in a straight line. What that leaves of it
comes with the user's own symbol where it is the same at all antennas; the rest is combined like
noise, as what a combiner's group leaves is.
"""

import math

import numpy as np

from carillon.config.models import Cell
from carillon.config.selectivity import at_snr, in_words, is_flat, over_noise, taps_of

MOST_LOSS_DB = 1.0


def excess(cell: Cell, snr_db: float | None = None) -> str:
    """What the cell's comb loses too much, at `radio.snr_db` if at no other SNR; empty if it does
    not."""
    cell = at_snr(cell, snr_db)
    lost = loss_db(cell)
    if lost < MOST_LOSS_DB:
        return ""
    return (
        f"is {cell.pilots.comb}, too many subcarriers from one pilot to the next in "
        f"{in_words(cell)} what lies between them costs {lost:.1f} dB; fewer users in each of more "
        "P symbols lose less"
    )


def loss_db(cell: Cell) -> float:
    """What interpolation loses of the SNR after zero-forcing, of the user with the best SNR."""
    if cell.pilots.comb == 1 or is_flat(cell):
        return 0.0
    of_noise = 1 + cell.users
    return 10 * math.log10(1 + over_noise(cell, *_error(cell)) / of_noise)


def _error(cell: Cell) -> tuple[float, float]:
    """Of channels of unit power between pilots: the error's variance that antennas do not share,
    and of the part along the channel, which they do."""
    powers, turns = taps_of(cell)
    comb = cell.pilots.comb
    places = np.arange(comb)[:, None]
    true = np.exp(1j * places * turns)
    error = true - (1 + places / comb * (np.exp(1j * comb * turns) - 1))
    along = np.abs((error * true.conj()) @ powers) ** 2
    whole = np.abs(error) ** 2 @ powers
    return float((whole - along).mean()), float(along.mean())
