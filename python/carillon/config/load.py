"""From YAML text to a checked cell; every mistake is told with its file and line."""

from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from carillon import core
from carillon.config.errors import ConfigError, Problem, explain
from carillon.config.fields import Path, dotted
from carillon.config.models import Cell
from carillon.config.plan import Run, plan_text


@dataclass(frozen=True)
class Loaded:
    """A cell and where each of its keys was written."""

    cell: Cell
    file: str
    lines: dict[Path, int] = field(default_factory=dict)

    def line(self, path: Path) -> int:
        """The line of a key, or of the nearest section that holds it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def check(self, run: Run | None = None) -> None:
        """Asks the engine about everything that crosses keys; raises ConfigError."""
        problems = core.validate(plan_text(self.cell, run or Run()))
        if problems:
            raise ConfigError([self.problem(key, message) for key, message in problems])

    def problem(self, key: str, message: str) -> Problem:
        """A mistake of a key, where the file says it."""
        path: Path = tuple(
            int(part) if part.isdigit() else part for part in key.removeprefix("cell.").split(".")
        )
        return Problem(self.file, self.line(path), dotted(path), message)


def load_cell(file: FilePath, *, check: bool = True) -> Loaded:
    """Reads a cell's YAML file."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError([Problem(str(file), 1, "", f"cannot be read: {reason}")]) from error
    except UnicodeDecodeError as error:
        raise ConfigError([Problem(str(file), 1, "", "is not UTF-8 text")]) from error
    return parse_cell(text, str(file), check=check)


def parse_cell(text: str, file: str = "cell.yaml", *, check: bool = True) -> Loaded:
    """Reads a cell from YAML text; `file` is only for messages and for a missing name."""
    tree, lines = _parse(text, file)
    if isinstance(tree, dict) and not tree.get("name"):
        tree["name"] = FilePath(file).stem
    try:
        cell = Cell.model_validate(tree)
    except ValidationError as error:
        where = Loaded(Cell(), file, lines)
        raise ConfigError(
            [
                Problem(file, where.line(path), dotted(path), message)
                for path, message in explain(Cell, error)
            ]
        ) from None
    loaded = Loaded(cell, file, lines)
    if check:
        loaded.check()
    return loaded


def _parse(text: str, file: str) -> tuple[Any, dict[Path, int]]:
    try:
        tree = YAML(typ="rt").load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None else 1
        reason = (error.problem or "is not YAML").split("\n")[0]
        raise ConfigError([Problem(file, line, "", f"is not valid YAML: {reason}")]) from None
    except YAMLError as error:
        reason = str(error).split("\n")[0]
        raise ConfigError([Problem(file, 1, "", f"is not valid YAML: {reason}")]) from None
    lines: dict[Path, int] = {}
    plain = _plain({} if tree is None else tree, (), lines)
    return plain, lines


def _plain(node: Any, path: Path, lines: dict[Path, int]) -> Any:
    """Ordinary dicts, lists and numbers; notes where each was."""
    if isinstance(node, CommentedMap):
        for name in node:
            _note(node, name, (*path, str(name)), lines)
        return {str(name): _plain(value, (*path, str(name)), lines) for name, value in node.items()}
    if isinstance(node, CommentedSeq):
        for index in range(len(node)):
            _note(node, index, (*path, index), lines)
        return [_plain(value, (*path, index), lines) for index, value in enumerate(node)]
    for plain in (bool, int, float, str):
        if isinstance(node, plain):
            return plain(node)
    return node


def _note(node: CommentedMap | CommentedSeq, key: Any, path: Path, lines: dict[Path, int]) -> None:
    """Keys that a merge (`<<`) brought, and nodes with a tag, have no place of their own."""
    places = node.lc.data or {}
    if key in places:
        lines[path] = places[key][0] + 1
