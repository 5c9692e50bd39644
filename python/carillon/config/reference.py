"""The configuration reference, the annotated example and the schema, all made from the models."""

import json
import textwrap
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from carillon.config.fields import Path, allowed, dotted, extra, number, section_model
from carillon.config.models import Cell

_INTRODUCTION = """\
# Configuration

*Generated from the configuration models by `carillon config reference`; do not edit.*

A cell is one YAML file. Every key has a default, so that a file names only what is special about
its cell; an unknown key, a value out of range or a contradiction is an error that names file, line,
key, value and what would do.

```sh
mkdir -p runs
carillon config example > runs/my-cell.yaml
carillon config check runs/my-cell.yaml
carillon config show runs/my-cell.yaml
```

`config schema` prints the same as a JSON Schema, for editors that complete and check YAML.
`examples/cells/` holds cells from a laptop's 8×2 to 256×128, its `pool/` MegaStation's for pools of
devices.
"""


def schema() -> str:
    """The JSON Schema of a cell's file."""
    tree = Cell.model_json_schema()
    tree["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(tree, indent=2, ensure_ascii=False)


def markdown() -> str:
    """docs/configuration.md."""
    parts = [_INTRODUCTION, *_section(Cell, (), "Top level")]
    return "\n".join(parts) + "\n"


def _section(model: type[BaseModel], path: Path, title: str) -> Iterator[str]:
    yield f"## {title}\n"
    if path:
        yield _summary(model) + "\n"
    yield "| key | default | range | meaning |\n|---|---|---|---|"
    sections = []
    for name, field in model.model_fields.items():
        inner = section_model(field.annotation)
        if inner is not None:
            sections.append((inner, (*path, name)))
        if inner is None or not _is_mapping(field):
            yield _row(name, field, inner)
    yield ""
    shown: dict[type[BaseModel], Path] = {}
    for inner, inner_path in sections:
        if inner in shown:
            yield f"## `{dotted(inner_path)}`\n\nThe same keys as `{dotted(shown[inner])}`.\n"
            continue
        shown[inner] = inner_path
        yield from _section(inner, inner_path, f"`{dotted(inner_path)}`")


def _summary(model: type[BaseModel]) -> str:
    return (model.__doc__ or "").split("\n")[0]


def _is_mapping(field: FieldInfo) -> bool:
    return isinstance(field.annotation, type)


def _row(name: str, field: FieldInfo, inner: type[BaseModel] | None) -> str:
    bounds = "a list of mappings, see below" if inner is not None else allowed(field)
    text = (field.description or "").replace("|", "\\|")
    return f"| `{name}` | {_default(field)} | {bounds}{_of(field)} | {text} |"


def _of(field: FieldInfo) -> str:
    unit = extra(field, "unit")
    return f", in {unit}" if unit else ""


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    if value is PydanticUndefined:
        return ""
    return f"`{_yaml(value)}`" if value != "" else "empty"


def _yaml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return number(value) if isinstance(value, float) else str(value)


def example() -> str:
    """A cell with every key at its default, each explained; what would not count is a comment."""
    lines = [
        "# A cell with every key at its default. Keep what you change; delete the rest.",
        "# `carillon config show FILE` prints what follows from it.",
    ]
    return "\n".join([*lines, *_example(Cell, 0)]) + "\n"


def _example(model: type[BaseModel], depth: int) -> Iterator[str]:
    pad = "  " * depth
    for name, field in model.model_fields.items():
        inner = section_model(field.annotation)
        if inner is not None and _is_mapping(field):
            yield f"\n{pad}# {_summary(inner)}\n{pad}{name}:"
            yield from _example(inner, depth + 1)
            continue
        bounds = "" if inner is not None else f" [{_short(allowed(field))}{_of(field)}]"
        yield from textwrap.wrap(
            (field.description or "") + bounds,
            98,
            initial_indent=f"{pad}# ",
            subsequent_indent=f"{pad}#   ",
            break_on_hyphens=False,
        )
        value = field.get_default(call_default_factory=True)
        mark = "" if _counts(model, field) else "# "
        yield f"{pad}{mark}{name}: " + ('""' if value == "" else _yaml(value))


def _counts(model: type[BaseModel], field: FieldInfo) -> bool:
    """Whether a key may be given when all others are at their defaults."""
    needed = extra(field, "only_with")
    name, _, wanted = needed.partition(": ")
    return not needed or model.model_fields[name].default == wanted


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:60].rsplit(", ", 1)[0] + ", …"
