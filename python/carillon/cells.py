"""The example cells, by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from carillon.config import ConfigError, Loaded, Problem, load_cell

# From the smallest to the largest that a machine is tried with when it may choose.
DEMO_LADDER = ("laptop-8x2", "lan-8x4", "agora-64x16", "hydra-128x32")


def folder() -> Path:
    """Where the examples lie: in the package, or in the source tree it runs from."""
    package = Path(__file__).parent
    installed = package / "cells"
    return installed if installed.is_dir() else package.parents[1] / "examples" / "cells"


def names() -> list[str]:
    """Names of all example cells."""
    return sorted(file.stem for file in folder().glob("*.yaml"))


def resolve(text: str) -> Path:
    """A cell's file: a path, or the name of an example."""
    text = text or "''"
    path = Path(text)
    example = folder() / f"{path.name.removesuffix('.yaml')}.yaml"
    if path.is_dir():
        hint = "is a folder, not a cell's file"
    elif path.exists():
        return path
    elif path.parent == Path() and example.is_file():
        return example
    else:
        hint = f"no such file, nor an example of that name; the examples are {', '.join(names())}"
    raise ConfigError([Problem(text, 0, "", hint)])


def title(chosen: Sequence[Loaded]) -> str:
    """A name for cells that run together."""
    return "+".join(loaded.cell.name for loaded in chosen)


def load(text: str, *, check: bool = True) -> Loaded:
    """Reads and checks a cell by path or example name."""
    return load_cell(resolve(text), check=check)
