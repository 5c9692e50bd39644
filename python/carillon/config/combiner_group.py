"""How many neighbouring subcarriers should share a combiner in the channel that is emulated.

A combiner for g subcarriers is made of their mean channel. The more there are, the less noise has
the mean, and the more has each of them beside it that is left in the equalized symbols. Of that,
what is the same at all antennas, like the slope of a delay, comes with the user's own symbol; the
rest is combined like noise.
"""

import math

import numpy as np

from carillon.config.models import Cell
from carillon.config.selectivity import at_snr, in_words, is_flat, over_noise, taps_of

MOST_SUBCARRIERS = 16
MOST_LOSS_DB = 0.1


def group_of(cell: Cell) -> int:
    """Subcarriers that share a combiner: `combiner.group`, or for `auto` widest_group()."""
    return widest_group(cell) if cell.combiner.group == "auto" else cell.combiner.group


def widest_group(cell: Cell) -> int:
    """The most subcarriers whose loss_db() is less than MOST_LOSS_DB above the least possible."""
    losses = {group: loss_db(cell, group) for group in range(1, MOST_SUBCARRIERS + 1)}
    enough = min(losses.values()) + MOST_LOSS_DB
    return max(group for group, loss in losses.items() if loss < enough)


def excess(cell: Cell, snr_db: float | None = None) -> str:
    """What a group that the cell's file gives loses too much, at `radio.snr_db` if at no other
    SNR; empty if it does not."""
    cell = at_snr(cell, snr_db)
    group, best = group_of(cell), widest_group(cell)
    lost = loss_db(cell, group) - loss_db(cell, best)
    if group <= best or lost < MOST_LOSS_DB:
        return ""
    return (
        f"is {group}, too many subcarriers for a combiner in {in_words(cell)} they lose "
        f"{lost:.1f} dB more than {best}, which `auto` takes"
    )


def loss_db(cell: Cell, group: int) -> float:
    """What is lost of the SNR after zero-forcing, of the user with the best SNR, in dB.

    For noise of the estimates and for sharing them; in the mean over Rayleigh channels with the
    profile of `radio.taps` and `radio.delay_spread_ns`.
    """
    of_noise = cell.users * min(1.0, cell.pilots.comb / group)
    return 10 * math.log10(1 + over_noise(cell, *_deviation(cell, group)) + of_noise)


def _deviation(cell: Cell, group: int) -> tuple[float, float]:
    """Of channels of unit power from their mean over a group: the variance that antennas do not
    share, and of the part along the mean, which they do."""
    if is_flat(cell):
        return 0.0, 0.0
    powers, turns = taps_of(cell)
    apart = np.subtract.outer(np.arange(group), np.arange(group))
    correlation = np.exp(1j * apart[..., None] * turns) @ powers
    to_mean = correlation.mean(axis=1)
    mean = float(to_mean.mean().real)
    along = np.abs(to_mean / mean - 1) ** 2
    whole = 1 + mean - 2 * to_mean.real
    return float((whole - along * mean).mean()), float(along.mean())
