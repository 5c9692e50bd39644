"""`carillon flowgraph blocks`: what the engine declares."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict

from rich.console import Console

from carillon.commands.tables import new_table, print_table
from carillon.errors import InputError
from carillon.flowgraph.blocks import BlockType, Parameter, block_types


def tell(name: str | None, *, as_json: bool) -> None:
    """All blocks in a table, or one with its parameters; InputError if there is none."""
    all_types = block_types()
    if name is not None and name not in all_types:
        raise InputError(
            f"there is no block {name}; carillon flowgraph blocks lists those there are"
        )
    chosen = list(all_types.values()) if name is None else [all_types[name]]
    if as_json:
        print(json.dumps([as_tree(each) for each in chosen], indent=2, ensure_ascii=False))
        return
    console = Console(highlight=False, markup=False)
    if name is None:
        table = new_table(["block", "kind", "what it does"], [])
        for each in chosen:
            table.add_row(each.name, each.group, each.text)
        print_table(console, table)
        return
    console.print(f"{chosen[0].name}: {chosen[0].text}", soft_wrap=True)
    _tell_parameters(console, chosen[0].parameters.values())


def as_tree(block: BlockType) -> dict[str, object]:
    """For machines; a range without an end has no limit there."""
    parameters = [asdict(each) | {"range": spell_range(each)} for each in block.parameters.values()]
    for each in parameters:
        del each["least"], each["most"]
    return asdict(block) | {"parameters": parameters}


def _tell_parameters(console: Console, parameters: Iterable[Parameter]) -> None:
    table = new_table(["parameter", "value", "unit", "if not given", "what it is"], [])
    for each in parameters:
        text = each.text + (" Changes while it runs." if each.changes else "")
        table.add_row(each.name, spell_range(each), each.unit, spell_standard(each), text)
    print_table(console, table)


def spell_standard(parameter: Parameter) -> str:
    """What it is where a file does not say it."""
    if parameter.name == "rate_hz" and parameter.standard is None:
        return "the graph's"
    if parameter.standard is None:
        return "must be given"
    if isinstance(parameter.standard, bool):
        return str(parameter.standard).lower()
    if isinstance(parameter.standard, float):
        return f"{parameter.standard:g}"
    return str(parameter.standard)


def spell_range(parameter: Parameter) -> str:
    """What it may be."""
    if parameter.kind == "flag":
        return "true, false"
    if parameter.kind == "text":
        return ", ".join(parameter.choices) or "text"
    if parameter.kind == "numbers":
        return "numbers"
    unlimited = 1e300
    least = "" if parameter.least < -unlimited else f"{parameter.least:g}"
    most = "" if parameter.most > unlimited else f"{parameter.most:g}"
    if not least and not most:
        return "number"
    return f"{least} … {most}".strip()
