"""The example cells, by name."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from carillon import examples
from carillon.config import Loaded, busiest, load_cell

# From the smallest to the largest that a machine is tried with when it may choose.
DEMO_LADDER = ("laptop-8x2", "lan-8x4", "agora-64x16", "hydra-128x32")


def folder() -> Path:
    """Where the examples lie."""
    return examples.folder("cells")


def names() -> list[str]:
    """Names of all example cells."""
    return examples.names("cells")


def resolve(text: str) -> Path:
    """A cell's file: a path, or the name of an example."""
    return examples.resolve("cells", text)


def title(chosen: Sequence[Loaded]) -> str:
    """A name for cells that run together."""
    return "+".join(loaded.cell.name for loaded in chosen)


def load(text: str, *, check: bool = True, live: bool = False) -> Loaded:
    """Reads and checks a cell by path or example name; warns of allocations that were refused.

    live: it runs, with who owns its bits. Else a cell whose frames a program schedules does all
    that it has room for.
    """
    loaded = load_cell(resolve(text), check=check)
    if not live:
        loaded = replace(loaded, cell=busiest(loaded.cell))
    for problem in loaded.slots.refused if loaded.slots else ():
        print(f"warning: {problem}; it is left out", file=sys.stderr)
    return loaded
