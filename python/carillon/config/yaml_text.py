"""YAML text as plain dicts, lists and scalars, with the line of every key.

Scalars are those of YAML 1.2's core schema (section 10.3.2), of which PyYAML knows the predecessor:
`on` is text, `1e3` a number. Numbers may have underscores, as in `10_000`; a mapping may be merged
into another with `<<`.
"""

import re
from typing import Any, ClassVar, NoReturn

import yaml
from yaml.constructor import ConstructorError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from carillon.config.fields import Path, dotted

MOST_BITS = 1023  # of a number that a float holds, and that can be printed
MOST_KEYS = 100_000

_TAG = "tag:yaml.org,2002:"
_MERGE = _TAG + "merge"
_DIGITS = "[0-9][0-9_]*"
_SCALARS = {  # tag: what a plain scalar matches, and the characters that it begins with
    "null": ("~|null|Null|NULL|", ["~", "n", "N", ""]),
    "bool": ("true|True|TRUE|false|False|FALSE", list("tTfF")),
    "int": (
        f"[-+]?(?:{_DIGITS}|0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+)",
        list("-+0123456789"),
    ),
    "float": (
        rf"[-+]?(?:\.{_DIGITS}|{_DIGITS}(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
    "merge": ("<<", ["<"]),
}


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}


for _tag, (_pattern, _first) in _SCALARS.items():
    _Loader.add_implicit_resolver(_TAG + _tag, re.compile(f"(?:{_pattern})$"), _first)


def parse(text: str) -> tuple[Any, dict[Path, int]]:
    """The tree, {} of an empty document, and where its keys and items are written.

    Keys are text. Those that a merge brings have no line. Raises yaml.YAMLError and ValueError, and
    RecursionError of text that is nested too deeply.
    """
    root = yaml.compose(text, Loader=_Loader)
    reader = _Reader()
    return ({} if root is None else reader.plain(root, ())), reader.lines


class _Reader:
    def __init__(self) -> None:
        self.lines: dict[Path, int] = {}
        self._values = 0
        self._known: dict[int, dict[str, Node]] = {}  # pairs of a mapping's node, by its id

    def plain(self, node: Node, path: Path) -> Any:
        self._values += 1
        if self._values > MOST_KEYS:  # aliases of aliases can stand for any number
            raise ValueError("it has too many keys, those that its aliases stand for among them")
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if not isinstance(node, SequenceNode):
            return _scalar(node, path)
        for index, item in enumerate(node.value):
            self.lines[*path, index] = item.start_mark.line + 1
        return [self.plain(item, (*path, index)) for index, item in enumerate(node.value)]

    def _mapping(self, node: MappingNode, path: Path) -> dict[str, Any]:
        pairs = self._pairs(node)
        for key, _ in node.value:
            if key.tag != _MERGE:
                self.lines[*path, key.value] = key.start_mark.line + 1
        return {name: self.plain(value, (*path, name)) for name, value in pairs.items()}

    def _pairs(self, node: MappingNode) -> dict[str, Node]:
        """Its own keys before those that it merges, of which earlier mappings count first."""
        if id(node) in self._known:
            return self._known[id(node)]
        own: dict[str, Node] = {}
        merged: dict[str, Node] = {}
        for key, value in node.value:
            if key.tag != _MERGE:
                name = _name(key)
                if name in own:
                    _refuse(key, f'found duplicate key "{name}"')
                own[name] = value
                continue
            for each in value.value if isinstance(value, SequenceNode) else [value]:
                if not isinstance(each, MappingNode):
                    _refuse(key, "`<<` merges a mapping, or a list of them")
                merged = self._pairs(each) | merged
        return self._known.setdefault(id(node), merged | own)


def _name(key: Node) -> str:
    if not isinstance(key, ScalarNode):
        _refuse(key, "a key is a list or a mapping, not a word")
    return str(key.value)


def _refuse(node: Node, problem: str) -> NoReturn:
    raise ConstructorError(None, None, problem, node.start_mark)


def _scalar(node: Node, path: Path) -> Any:
    text = str(node.value)
    match node.tag.removeprefix(_TAG):
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int":
            digits = text.replace("_", "")
            if len(digits) > MOST_BITS or (number := _whole(digits)).bit_length() > MOST_BITS:
                raise ValueError(f"{dotted(path)} has a whole number of too many digits")
            return number
        case "float":
            return float(re.sub(r"\.(inf|nan)", r"\1", text.replace("_", ""), flags=re.IGNORECASE))
    return text


def _whole(text: str) -> int:
    """Digits may begin with zeros."""
    return int(text, 10 if text.lstrip("+-").isdigit() else 0)
