"""Progress bars of long commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


def steps_bar(console: Console) -> Progress:
    """Counts steps, in a terminal only, and is gone when they are done."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """Says on standard error what takes a while: a line, or in a terminal something that moves.

    There it is gone at the end, and the function that is given changes the words.
    """
    console = Console(stderr=True, highlight=False, markup=False)
    if console.is_interactive:
        with console.status(what) as status:
            yield status.update
    else:
        console.print(what, soft_wrap=True)
        yield lambda other: None
