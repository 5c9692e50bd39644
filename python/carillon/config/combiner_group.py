"""How many neighbouring subcarriers should share a combiner in the channel that is emulated.

The more there are, the less noise has their mean, of which the combiner is made, and the more has
each of them beside it.
"""

from carillon.config.models import Cell
from carillon.config.selectivity import at_snr, in_words, loss_db

MOST_SUBCARRIERS = 16
MOST_LOSS_DB = 0.1


def group_of(cell: Cell) -> int:
    """Subcarriers that share a combiner: `combiner.group`, or for `auto` widest_group()."""
    return widest_group(cell) if cell.combiner.group == "auto" else cell.combiner.group


def widest_group(cell: Cell) -> int:
    """The most subcarriers whose loss_db() is less than MOST_LOSS_DB above the least possible."""
    comb = cell.pilots.comb
    losses = {group: loss_db(cell, comb, group) for group in range(1, MOST_SUBCARRIERS + 1)}
    enough = min(losses.values()) + MOST_LOSS_DB
    return max(group for group, loss in losses.items() if loss < enough)


def excess(cell: Cell, snr_db: float | None = None) -> str:
    """What a group that the cell's file gives loses too much, at `radio.snr_db` if at no other
    SNR; empty if it does not."""
    cell = at_snr(cell, snr_db)
    group, best = group_of(cell), widest_group(cell)
    comb = cell.pilots.comb
    lost = loss_db(cell, comb, group) - loss_db(cell, comb, best)
    if group <= best or lost < MOST_LOSS_DB:
        return ""
    return (
        f"is {group}, too many subcarriers for a combiner in {in_words(cell)} they lose "
        f"{lost:.1f} dB more than {best}, which `auto` takes"
    )
