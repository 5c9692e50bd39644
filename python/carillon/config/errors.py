"""What is wrong with a configuration, where, and what would do."""

import difflib
import math
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from carillon.config.fields import Path, allowed, dotted, find, number, walk
from carillon.errors import InputError

_MOST_TOLD, _MOST_LETTERS = 100, 60
_MOST_EXACT = 2.0**53  # beyond it a float is not the whole number that was meant


@dataclass(frozen=True)
class Problem:
    """One mistake. `message` goes after the key: "is 500 but must be 512 or 1024"."""

    file: str  # empty: an option of the command is at fault
    line: int  # from 1; 0: the file as a whole
    key: str
    message: str

    def __str__(self) -> str:
        what = f"{self.key} {self.message}" if self.key else self.message
        if not self.file:
            return in_one_line(what)
        place = f"{self.file}:{self.line}" if self.line else self.file
        return in_one_line(f"{place}: {what}")


class ConfigError(InputError):
    """Configurations that cannot be used; all that is wrong with them, in the files' order."""

    prefix = ""  # it begins with the file

    def __init__(self, problems: list[Problem]) -> None:
        files = list(dict.fromkeys(problem.file for problem in problems))
        self.problems = sorted(problems, key=lambda p: (files.index(p.file), p.line))
        super().__init__("\n".join(map(str, self.problems)))


def in_one_line(text: str) -> str:
    """Line breaks and what else would not be seen as Python writes them."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shown(value: Any) -> str:
    """A value as YAML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "empty"
    if isinstance(value, str):
        return f"'{value}'" if len(value) <= _MOST_LETTERS else f"'{_cut(' '.join(value.split()))}'"
    if isinstance(value, float) and math.isfinite(value):
        return number(value)
    if isinstance(value, BaseModel):
        return "given"
    if isinstance(value, list | dict):
        return _cut(str(value))
    return str(value)


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 3] + "..."


def explain(model: type[BaseModel], error: ValidationError) -> list[tuple[Path, str]]:
    """Pydantic's first findings as (key, message), one for each key."""
    found: dict[Path, str] = {}
    items = error.errors()[:_MOST_TOLD]
    whole = {find(model, item["loc"])[0] for item in items if item["type"] == "int_type"}
    lacking = {find(model, item["loc"])[0] for item in items if item["type"] == "too_short"}
    for item in items:
        if item["type"] == "extra_forbidden":
            found[item["loc"]] = unknown_key(model, item["loc"])
            continue
        path, field = find(model, item["loc"])
        if path in found:
            continue
        expected = allowed(field) if field is not None else "a mapping of keys to values"
        if item["type"] == "missing":
            found[path] = f"is missing; it must be {expected}"
            continue
        value = item["input"]
        if path and isinstance(path[-1], int):
            expected = expected.rpartition("a list, each ")[2]
            expected = expected.replace("a list of sections", "a section")
        if path in whole and isinstance(value, float) and value.is_integer():
            found[path] = (
                f"is written with a point or an exponent but must be {expected}; {_as(value)}"
            )
            continue
        what = "is" if path else "the file is"
        must = "must not be empty: it is" if value == [] and path in lacking else "must be"
        found[path] = f"{what} {shown(value)} but {must} {expected}"
    # A union's findings name the list as well as the item that is wrong in it: the item says it.
    sections = {path[:depth] for path in found for depth in range(len(path))}
    return [(path, message) for path, message in found.items() if path not in sections]


def _as(value: float) -> str:
    """What to write instead."""
    return f"write {value:.0f}" if abs(value) < _MOST_EXACT else "write all its digits"


def unknown_key(model: type[BaseModel], loc: Path) -> str:
    """Why `loc` is no key, and which one may have been meant."""
    name = str(loc[-1])
    keys = {path: str(path[-1]) for path, _ in walk(model)}
    parent = tuple(part for part in loc[:-1] if isinstance(part, str))
    siblings = [key for path, key in keys.items() if path[:-1] == parent]
    # A slip of the finger, a key in the wrong section, or something only like a key.
    # Items of a list say something else by the same names.
    elsewhere = [
        path for path, key in keys.items() if key == name and path[:-1] != ("grants", "list")
    ]
    close = difflib.get_close_matches(name, siblings, n=1, cutoff=0.8 if elsewhere else 0.6)
    if close:
        return f"is not a key; did you mean {dotted((*parent, close[0]))}?"
    if elsewhere:
        return "is not a key here; did you mean " + " or ".join(map(dotted, elsewhere)) + "?"
    return "is not a key; the keys here are " + ", ".join(siblings)
