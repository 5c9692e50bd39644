"""`carillon config`: schema, example, check, show, reference."""

from __future__ import annotations

import json
import sys

from rich.console import Console

from carillon import cells, runfolder
from carillon.config import ConfigError, Problem, load_cell, reference
from carillon.config.show import derived_tables
from carillon.config.warnings import warnings


def check(names: list[str]) -> None:
    """Checks all cells; the mistakes of all are raised as one ConfigError, after warnings."""
    problems: list[Problem] = []
    for name in names:
        try:
            loaded = load_cell(cells.resolve(name))
        except ConfigError as error:
            problems += error.problems
            continue
        if loaded.slots and loaded.slots.refused:
            problems += loaded.slots.refused
            continue
        defaults = "" if loaded.lines else ", with every key at its default"
        print(f"{loaded.file}: {loaded.cell.name} is a valid cell{defaults}")
        for warning in warnings(loaded):
            print(f"warning: {warning}", file=sys.stderr)
    if problems:
        raise ConfigError(problems)


def show(name: str, *, as_json: bool) -> None:
    """Prints every derived figure of a cell."""
    loaded = cells.load(name, live=True)
    derived = runfolder.describe(loaded.cell)
    if as_json:
        whole = {"configuration": loaded.cell.model_dump(mode="json"), "derived": derived}
        print(json.dumps(whole, indent=2, ensure_ascii=False))
    else:
        Console(highlight=False, markup=False).print(derived_tables(loaded.cell, derived))


def write(what: str) -> None:
    """Prints one of the texts that are made from the models."""
    texts = {
        "schema": lambda: reference.schema() + "\n",
        "example": reference.example,
        "reference": reference.markdown,
    }
    print(texts[what](), end="")
