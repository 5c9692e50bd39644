"""From a sweep's file to its tasks: every combination of parameters, in a fixed order."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from carillon import core
from carillon.config import ConfigError, Problem
from carillon.config.errors import shown
from carillon.config.fields import Path as Key
from carillon.config.fields import dotted
from carillon.config.load import load_model
from carillon.config.sweep import Plot, Sweep
from carillon.ranges import parse_numbers
from carillon.runfolder import file_name
from carillon.sweep.task import Scalar, Task

MOST_TASKS = 100_000
_NAME = re.compile(r"[A-Za-z_]\w*")
_PLACE = re.compile(r"\{\{[A-Za-z_]\w*\}\}|\{([A-Za-z_]\w*)\}")
_RANGE = re.compile(r"[^:\s]+:[^:\s]+:[^:\s]+")
_LONGEST_NAME = 255  # bytes
_OURS = ("here", "seed")  # placeholders that are no parameters of the grid


@dataclass(frozen=True)
class Axis:
    """Parameters that vary together, and their values."""

    names: tuple[str, ...]
    values: tuple[tuple[Scalar, ...], ...]


@dataclass(frozen=True)
class Described:
    """A sweep's file, read and checked."""

    sweep: Sweep
    file: Path
    axes: tuple[Axis, ...]
    lines: dict[Key, int] = field(default_factory=dict[Key, int])

    @property
    def parameters(self) -> list[str]:
        """Names, in the grid's order; the seed is the last where it is one."""
        return [name for axis in self.axes for name in axis.names]

    def problem(self, key: Key, message: str) -> Problem:
        """A mistake of a key, where the file says it."""
        place = key
        while place and place not in self.lines:
            place = place[:-1]
        return Problem(str(self.file), self.lines.get(place, 1), dotted(key), message)


def load(file: Path) -> Described:
    """Reads a sweep's file; raises ConfigError with all that is wrong in it."""
    sweep, lines = load_model(Sweep, file)
    axes, wrong = _axes(sweep)
    described = Described(sweep, file, axes, lines)
    wrong += _check(sweep, axes)
    if wrong:
        raise ConfigError([described.problem(key, message) for key, message in wrong])
    return described


def tasks(described: Described, folder: Path) -> list[Task]:
    """Every run, in the grid's order, each in its own folder below `folder`."""
    combinations = itertools.product(*(axis.values for axis in described.axes))
    return [
        _task(
            described,
            folder,
            dict(zip(described.parameters, itertools.chain(*chosen), strict=True)),
        )
        for chosen in combinations
    ]


def text(value: Scalar) -> str:
    """A value as a word of a command: 5 for 5.0, true for True."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _task(described: Described, folder: Path, parameters: Mapping[str, Scalar]) -> Task:
    sweep = described.sweep
    known = {name: text(value) for name, value in parameters.items()}
    known.setdefault("seed", str(sweep.seed))
    here = str(described.file.resolve().parent)

    words, result = [text(word) for word in sweep.command], _fill(sweep.result, known)
    # {here} stays as it is: what lies elsewhere is the same result. So does {{here}}.
    content = {
        "version": core.version,
        "command": [_fill(word, known) for word in words],
        "files": {name: _fill(body, known) for name, body in sweep.files.items()},
        "result": result,
        "accept": sorted(sweep.accept),
        "parameters": dict(parameters),
    }
    key = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
    named = "-".join(f"{name}-{text(value)}" for name, value in parameters.items())
    stem = file_name(named or "task")
    whole = known | {"here": here}
    return Task(
        folder / "tasks" / f"{stem}-{key[:8]}",
        key,
        parameters,
        tuple(_literal(word, whole) for word in words),
        {name: _literal(body, whole) for name, body in sweep.files.items()},
        _literal(sweep.result, known),
        tuple(sweep.accept),
        sweep.timeout_s,
        folder / "stop",
    )


def _fill(what: str, values: Mapping[str, str]) -> str:
    """With values for the placeholders that have one."""
    return _PLACE.sub(lambda place: values.get(place[1], place[0]), what)


def _literal(what: str, values: Mapping[str, str]) -> str:
    """The same, and a literal `{word}` for each `{{word}}`."""
    return _PLACE.sub(
        lambda place: values.get(place[1], place[0]) if place[1] else place[0][1:-1], what
    )


def _axes(sweep: Sweep) -> tuple[tuple[Axis, ...], list[tuple[Key, str]]]:
    axes: list[Axis] = []
    wrong: list[tuple[Key, str]] = []
    for name, value in sweep.grid.items():
        try:
            axes.append(_axis(name, value))
        except ValueError as error:
            wrong.append((("grid", name), str(error)))
    if sweep.repeats > 1 or "seed" in _places(sweep):
        seeds = tuple((sweep.seed + repeat,) for repeat in range(sweep.repeats))
        axes.append(Axis(("seed",), seeds))
    return tuple(axes), wrong


def _axis(key: str, value: Any) -> Axis:
    names = tuple(name.strip() for name in key.split(","))
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError("is no name of a parameter: letters, digits and underscores")
        if name in _OURS:
            raise ValueError(f"is a name that the sweep itself gives: {', '.join(_OURS)}")
    if isinstance(value, str) and _RANGE.fullmatch(value) and len(names) == 1:
        numbers = [int(n) if n.is_integer() else n for n in parse_numbers(value)]
        return Axis(names, tuple((number,) for number in numbers))
    listed = value if isinstance(value, list) else [value]
    rows = [row if len(names) > 1 else [row] for row in listed]
    for row in rows:
        if not isinstance(row, list) or len(row) != len(names):
            raise ValueError(f"has {shown(row)} but must have lists of {len(names)} values")
        for one in row:
            if not isinstance(one, Scalar):
                raise ValueError(f"has {shown(one)} but must have numbers or texts")
    if not rows:
        raise ValueError("is empty but must have a value")
    if len({tuple(map(text, row)) for row in rows}) < len(rows):
        raise ValueError("has a value twice")
    return Axis(names, tuple(tuple(row) for row in rows))


def _places(sweep: Sweep) -> dict[str, Key]:
    """Every placeholder, and where it is first used."""
    texts: list[tuple[Key, str]] = [
        *((("command", at), text(word)) for at, word in enumerate(sweep.command)),
        *((("files", name), body) for name, body in sweep.files.items()),
        (("result",), sweep.result),
    ]
    found: dict[str, Key] = {}
    for key, what in texts:
        for name in filter(None, _PLACE.findall(what)):
            found.setdefault(name, key)
    return found


def _check(sweep: Sweep, axes: tuple[Axis, ...]) -> list[tuple[Key, str]]:
    """What no single key tells."""
    names = [name.strip() for key in sweep.grid for name in key.split(",")]
    wrong = [*_check_names(sweep, names), *_check_plot(sweep, axes)]
    count = 1
    for axis in axes:
        count *= len(axis.values)
    if count > MOST_TASKS:
        wrong.append((("grid",), f"has {count} combinations but must have at most {MOST_TASKS}"))
    if not sweep.command:
        wrong.append((("command",), "is empty but must name a program"))
    for name in sweep.files:
        if not _is_name(name) or name in ("stdout", "stderr", "task.json"):
            wrong.append((("files", name), "must be a file's name, without a folder, not ours"))
    if any(_leads_out(each) for each in [sweep.result, *_values_in(sweep.result, axes)]):
        wrong.append(
            (("result",), f"is {shown(sweep.result)} but must be a file in the run's own folder")
        )
    return wrong


def _is_name(name: str) -> bool:
    """Of a file, on any system that Carillon runs on."""
    ours = Path(name).name == name and name not in ("", "..")
    return ours and name.isprintable() and len(name.encode()) <= _LONGEST_NAME


def _leads_out(path: str) -> bool:
    return Path(path).is_absolute() or ".." in Path(path).parts or path in ("", ".")


def _values_in(what: str, axes: tuple[Axis, ...]) -> Iterator[str]:
    """Values of the parameters that a text has places for."""
    names = _PLACE.findall(what)
    for axis in axes:
        for row in axis.values:
            yield from (
                text(one) for name, one in zip(axis.names, row, strict=True) if name in names
            )


def _check_names(sweep: Sweep, names: list[str]) -> Iterator[tuple[Key, str]]:
    used = _places(sweep)
    for name, key in used.items():
        if name not in names and name not in _OURS:
            there = ", ".join([*names, *_OURS])
            yield (
                key,
                f"has {{{name}}}, which is no parameter; there are {there}; "
                f"{{{{{name}}}}} is a literal one",
            )
    for axis in sweep.grid:
        unused = [name.strip() for name in axis.split(",") if name.strip() not in used]
        if unused:
            places = " and ".join(f"{{{name}}}" for name in unused)
            yield ("grid", axis), f"varies, but {places} is nowhere in the command or its files"
    if len(names) > len(set(names)):
        yield ("grid",), "has a parameter twice"


def _check_plot(sweep: Sweep, axes: tuple[Axis, ...]) -> Iterator[tuple[Key, str]]:
    plot = sweep.plot
    if plot == Plot():
        return
    varying = {name: axis for axis in axes for name in axis.names if len(axis.values) > 1}
    names = [name for axis in axes for name in axis.names]
    for key, name in (("x", plot.x), ("lines", plot.lines), ("panels", plot.panels)):
        if name not in names and (name or key == "x"):
            yield ("plot", key), f"is {shown(name)} but must be a parameter: {', '.join(names)}"
    if not plot.y or (sweep.columns and plot.y not in sweep.columns):
        among = ", ".join(sweep.columns) or "a value of the result"
        yield ("plot", "y"), f"is {shown(plot.y)} but must be a column: {among}"
    shown_axes = [varying.get(name) for name in (plot.x, plot.lines, plot.panels)]
    hidden = [n for n, axis in varying.items() if axis not in shown_axes and n != "seed"]
    if hidden:
        also = ", ".join(hidden)
        yield (
            ("plot",),
            f"says nothing of {also}, which varies too: name it as `lines` or `panels`, or "
            "leave it out of the grid",
        )
