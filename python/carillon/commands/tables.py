"""Tables of figures in a terminal of any width."""

from collections.abc import Sequence

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

_ANY_WIDTH = 1000


def new_table(words: Sequence[str], numbers: Sequence[str]) -> Table:
    """Columns of words, then of numbers."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in words:
        table.add_column(name)
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def print_table(console: Console, table: Table) -> None:
    """In a narrow terminal lines fold, since a figure cut short is none."""
    width = console.width
    natural = Measurement.get(console, console.options.update(max_width=_ANY_WIDTH), table)
    console.width = max(width, natural.maximum)
    console.print(table)
    console.width = width
