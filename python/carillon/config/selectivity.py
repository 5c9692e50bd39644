"""The emulated channel over subcarriers, and what errors of its estimates come to."""

import math

import numpy as np
from numpy.typing import NDArray

from carillon.config.models import Cell

Reals = NDArray[np.float64]


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


def over_noise(cell: Cell, spread: float, common: float) -> float:
    """Over the noise after combining, what errors of channels come to: of their variance what
    antennas do not share, and what they do."""
    snrs = [10 ** (level / 10) for level in _levels(cell)]
    gain = max(cell.antennas - cell.users + 1, 1)
    return spread * sum(snrs) + common * max(snrs) * gain


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
