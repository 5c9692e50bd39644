"""Reading the models: walking to a key, and saying in words what it may hold."""

import types
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Le
from pydantic import BaseModel
from pydantic.fields import FieldInfo

Path = tuple[str | int, ...]


def dotted(path: Path) -> str:
    """('grants', 'list', 0, 'user') as a person reads it: grants.list[0].user."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else ("." if text else "") + part
    return text


def section_model(annotation: Any) -> type[BaseModel] | None:
    """The model behind a key that is a section, or a list of sections, or may be missing."""
    if get_origin(annotation) is list:
        return section_model(get_args(annotation)[0])
    if get_origin(annotation) in (types.UnionType, Union):
        inner = [each for each in get_args(annotation) if each is not type(None)]
        return section_model(inner[0]) if len(inner) == 1 else None
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return None


def keys_of(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """A section's keys as a file writes them: `from` is `from_` in Python."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def walk(model: type[BaseModel], prefix: Path = ()) -> Iterator[tuple[Path, FieldInfo]]:
    """Every key of the tree, sections before what they hold."""
    for name, field in keys_of(model).items():
        path = (*prefix, name)
        yield path, field
        inner = section_model(field.annotation)
        if inner is not None:
            yield from walk(inner, path)


def find(model: type[BaseModel], loc: Path) -> tuple[Path, FieldInfo | None]:
    """The longest part of a pydantic location that names keys, and the last key's field.

    Pydantic inserts the names of union branches, which are no keys; they are left out.
    """
    path: list[str | int] = []
    field: FieldInfo | None = None
    current: type[BaseModel] | None = model
    for part in loc:
        if isinstance(part, int):
            path.append(part)
        elif current is not None and part in keys_of(current):
            field = keys_of(current)[part]
            current = section_model(field.annotation)
            path.append(part)
    return tuple(path), field


def number(value: float) -> str:
    """A number as a person writes it, which reads back the same: 3, 0.25, 1/3."""
    if value.is_integer() and abs(value) < 2**63:
        return str(int(value))
    fraction = Fraction(value).limit_denominator(99)
    periodic = len(repr(value)) > 12
    return str(fraction) if periodic and float(fraction) == value else repr(value)


def spans(numbers: Iterable[int]) -> str:
    """Whole numbers with those in a row drawn together: 0 to 3, 8."""
    rows: list[list[int]] = []
    for value in sorted(numbers):
        if rows and rows[-1][-1] == value - 1:
            rows[-1].append(value)
        else:
            rows.append([value])
    return ", ".join(f"{row[0]} to {row[-1]}" if row[1:] else str(row[0]) for row in rows)


def extra(field: FieldInfo, name: str) -> str:
    """What config.units.key was told besides: "unit", "allowed" or "only_with"; else ""."""
    told = field.json_schema_extra
    return str(told.get(name, "")) if isinstance(told, dict) else ""


def allowed(field: FieldInfo) -> str:
    """What a key may hold: "a whole number between 1 and 256"."""
    return extra(field, "allowed") or _allowed(field.annotation, field.metadata)


def _allowed(annotation: Any, metadata: list[Any]) -> str:
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        constraints = [c for m in args[1:] for c in getattr(m, "metadata", [m])]
        return _allowed(args[0], constraints)
    if origin is Literal:
        return " or ".join(", ".join(map(str, args)).rsplit(", ", 1))
    if origin in (Union, types.UnionType):
        return " or ".join(_allowed(branch, metadata) for branch in args)
    if annotation is types.NoneType:
        return "null"
    if section_model(annotation) is not None:
        model = section_model(annotation)
        assert model is not None
        keys = ", ".join(keys_of(model))
        return (
            f"a list of sections with the keys {keys}"
            if origin is list
            else (f"a section with the keys {keys}")
        )
    if origin is list:
        return "a list, each " + _allowed(args[0], [])
    if origin is dict:
        return "a section, each " + _allowed(args[1], [])
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    return names[annotation] + _range(metadata)


def _range(metadata: list[Any]) -> str:
    low = next((number(float(str(m.ge))) for m in metadata if isinstance(m, Ge)), None)
    high = next((number(float(str(m.le))) for m in metadata if isinstance(m, Le)), None)
    if low is not None and high is not None:
        return f" between {low} and {high}"
    return f" from {low}" if low is not None else ""
