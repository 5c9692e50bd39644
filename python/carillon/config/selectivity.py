"""The emulated channel over subcarriers, and what errors of its estimates come to.

A user's channel is known at its pilots, every `comb`-th subcarrier. Between them it is taken to
change in a straight line, and a combiner for a group of subcarriers is made of the mean over the
group. What a subcarrier has beside that is left in its equalized symbols: what is the same at all
antennas, like the slope of a delay, comes with the user's own symbol, and the rest is combined
like noise.
"""

import math

import numpy as np
from numpy.typing import NDArray

from carillon.config.models import Cell

Reals = NDArray[np.float64]
Complexes = NDArray[np.complex128]
Integers = NDArray[np.int64]


def at_snr(cell: Cell, snr_db: float | None) -> Cell:
    """The cell with this SNR for all users instead of `radio.snr_db`, unless None."""
    if snr_db is None:
        return cell
    return cell.model_copy(update={"radio": cell.radio.model_copy(update={"snr_db": snr_db})})


def in_words(cell: Cell) -> str:
    """The channel, and the best user's SNR, before what comes of them."""
    radio = cell.radio
    return (
        f"a channel of {radio.taps} taps and {radio.delay_spread_ns:g} ns: "
        f"at {max(_levels(cell)):g} dB"
    )


def loss_db(cell: Cell, comb: int, group: int) -> float:
    """What is lost of the SNR after zero-forcing, of the user with the best SNR, in dB.

    For noise of the estimates, for interpolation and for sharing a combiner; in the mean over
    Rayleigh channels with the profile of `radio.taps` and `radio.delay_spread_ns`.
    """
    errors = [_error(cell, comb, np.arange(first, first + group)) for first in range(comb)]
    apart, common, noise = (float(part) for part in np.mean(errors, axis=0))
    snrs = [10 ** (level / 10) for level in _levels(cell)]
    gain = max(cell.antennas - cell.users + 1, 1)
    left = apart * sum(snrs) + common * max(snrs) * gain + noise * cell.users
    return 10 * math.log10(1 + left)


def _error(cell: Cell, comb: int, group: Integers) -> tuple[float, float, float]:
    """Of channels of unit power at these subcarriers from the mean of their estimates: the variance
    that antennas do not share, that of the part along the mean, which they do, and the share of a
    pilot's noise that the mean has. Pilots are at 0, comb, 2·comb, …"""
    left = group // comb
    share = group / comb - left
    weights = np.zeros(int(left[-1]) + 2)
    np.add.at(weights, left, (1 - share) / group.size)
    np.add.at(weights, left + 1, share / group.size)
    noise = float(weights @ weights)
    if is_flat(cell):
        return 0.0, 0.0, noise
    pilots = comb * np.arange(weights.size)
    mean = float((weights @ _correlation(cell, pilots, pilots) @ weights).real)
    to_mean = _correlation(cell, group, pilots) @ weights
    along = np.abs(to_mean / mean - 1) ** 2
    whole = 1 + mean - 2 * to_mean.real
    return float((whole - along * mean).mean()), float(along.mean()), noise


def _correlation(cell: Cell, these: Integers, those: Integers) -> Complexes:
    """[these, those] Of the channel at two subcarriers."""
    powers, turns = taps_of(cell)
    apart: Complexes = 1j * np.subtract.outer(these, those)
    return np.exp(apart[..., None] * turns) @ powers.astype(np.complex128)


def is_flat(cell: Cell) -> bool:
    """Whether the emulated channel is the same at all subcarriers."""
    return cell.radio.channel != "rayleigh" or cell.radio.taps == 1


def taps_of(cell: Cell) -> tuple[Reals, Reals]:
    """Powers of the emulated channel's taps, which sum to 1, and by what angle each turns from one
    subcarrier to the next."""
    powers = np.exp(-np.arange(cell.radio.taps, dtype=float))
    powers /= powers.sum()
    places = np.arange(cell.radio.taps, dtype=float)
    rms = math.sqrt(powers @ places**2 - (powers @ places) ** 2)
    delays = places * cell.radio.delay_spread_ns / rms
    return powers, -2 * math.pi * cell.numerology.spacing_khz * 1e-6 * delays


def _levels(cell: Cell) -> list[float]:
    levels = cell.radio.snr_db
    return levels if isinstance(levels, list) else [levels] * cell.users
