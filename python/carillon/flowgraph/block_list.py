"""`carillon flowgraph blocks`: what the engine declares."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict

from rich.console import Console

from carillon.commands.tables import new_table, print_table
from carillon.errors import InputError
from carillon.flowgraph.blocks import BlockType, Parameter, block_types, no_block


def tell(name: str | None, *, as_json: bool, as_page: bool = False) -> None:
    """All blocks in a table, or one with its parameters; InputError if there is none."""
    if as_page:
        print(page(), end="")
        return
    all_types = block_types()
    if name is not None and name not in all_types:
        raise InputError(no_block(name))
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
    return {"name": block.name, "group": block.group, "text": block.text, "parameters": parameters}


def page() -> str:
    """The reference in Markdown: docs/blocks.md."""
    lines = [
        "# Blocks",
        "",
        "What nodes of a [flowgraph](flowgraphs.md) may compute. Written from the blocks'",
        "declarations by `carillon flowgraph blocks --page`;",
        "`carillon flowgraph blocks NAME` shows one in the terminal. Parameters in *italics*",
        "[change while a graph runs](flowgraph-runs.md#change-parameters).",
        "`taps` may be a filter's bands instead of numbers:",
        "`{count: 115, pass_hz: 5000, stop_hz: 9000}`, a low pass; a high pass passes above what",
        "it stops; a band pass has two edges of each. SciPy's `remez` designs it for the rate that",
        "the graph has there; a resampler's for `interpolation` times that.",
    ]
    for group in dict.fromkeys(each.group for each in block_types().values()):
        lines += ["", f"## {group.capitalize()}"]
        for block in block_types().values():
            if block.group == group:
                lines += ["", f"### {block.name}", "", block.text]
                lines += _parameter_table(block)
    return "\n".join(lines) + "\n"


def _parameter_table(block: BlockType) -> Iterator[str]:
    if not block.parameters:
        return
    yield from ("", "| parameter | value | if not given | |", "|---|---|---|---|")
    for each in block.parameters.values():
        name = f"*`{each.name}`*" if each.changes else f"`{each.name}`"
        value = f"{spell_range(each)} {each.unit}".strip()
        yield f"| {name} | {value} | {spell_standard(each)} | {each.text} |"


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
