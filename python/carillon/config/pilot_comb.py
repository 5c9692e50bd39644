"""Whether the pilots of a comb are close enough for the channel that is emulated."""

from carillon.config.models import Cell
from carillon.config.selectivity import at_snr, in_words, loss_db

MOST_LOSS_DB = 1.0


def excess(cell: Cell, snr_db: float | None = None) -> str:
    """What the cell's comb loses too much, at `radio.snr_db` if at no other SNR; empty if it does
    not."""
    cell = at_snr(cell, snr_db)
    lost = interpolation_loss_db(cell)
    if lost < MOST_LOSS_DB:
        return ""
    return (
        f"is {cell.pilots.comb}, too many subcarriers from one pilot to the next in "
        f"{in_words(cell)} what lies between them costs {lost:.1f} dB; fewer users in each of more "
        "P symbols lose less"
    )


def interpolation_loss_db(cell: Cell) -> float:
    """What pilots a comb apart lose of the SNR after zero-forcing compared with pilots at every
    subcarrier, of the user with the best SNR, with a combiner for each subcarrier."""
    return loss_db(cell, cell.pilots.comb, 1) - loss_db(cell, 1, 1)
