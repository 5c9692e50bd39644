"""Blocks of a graph: what the engine declares of them, and how a graph's file asks for one."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from carillon import core
from carillon.errors import InputError
from carillon.flowgraph.filters import MOST_TAPS, design

_ANY_RATES = (1.0, 1e6, 1e9)


@dataclass(frozen=True)
class Parameter:
    """Of a block: what a file may say of it."""

    name: str
    text: str
    kind: str  # flag, whole, number, text or numbers
    standard: Any  # nothing: it must be given
    unit: str
    least: float
    most: float
    choices: list[str]
    changes: bool  # while it runs


Values = Mapping[str, Any]


@dataclass(frozen=True)
class BlockType:
    """A block of the engine, or one of its blocks whose files Python reads and writes beside it."""

    name: str
    group: str
    text: str
    parameters: dict[str, Parameter]
    make: Callable[[Values, float | None], core.Block] | None = None  # None: by its name
    finish: Callable[[Values, float], None] | None = None  # when a run has ended


@cache
def block_types() -> dict[str, BlockType]:
    """All there are, by names."""
    found = {}
    for row in core.block_types():
        parameters = {each["name"]: Parameter(**each) for each in row["parameters"]}
        found[row["name"]] = BlockType(row["name"], row["group"], row["text"], parameters)
    from carillon.flowgraph.sigmf import TYPES  # which needs these classes

    return found | {each.name: each for each in TYPES}


def load_plugin(file: str | Path) -> list[str]:
    """Adds the blocks of a shared library (docs/own-blocks.md), and returns their names; none of
    one that is loaded already.

    InputError of what is no such library, was built for another Carillon, or has a block of a name
    that there is. Not while a graph runs.
    """
    try:
        names = core.load_blocks(str(file))
    except RuntimeError as error:
        raise InputError(str(error)) from None
    block_types.cache_clear()
    return names


class Block:
    """What a node computes: a block of the engine by its name, with its parameters.

    `taps` may be a filter's bands (carillon.flowgraph.filters.design) in place of numbers. What is
    wrong is said where it is made, or checked with its graph.
    """

    def __init__(self, type: str, /, **values: Any) -> None:
        self.type = type
        self.values: Values = values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Block) and (self.type, self.values) == (other.type, other.values)

    def __hash__(self) -> int:
        return hash(self.type)

    def __repr__(self) -> str:
        return f"Block({self.type!r}, **{dict(self.values)!r})"

    def made(self, rate_hz: float | None = None) -> core.Block:
        """The block itself; `rate_hz`: of its input, or of what a source makes.

        ValueError names the parameter that is wrong, RuntimeError the file.
        """
        values = dict(self.values)
        own = block_types().get(self.type)
        if own is None:
            raise ValueError(no_block(self.type))
        _check_names(own, values)
        if own.make is not None:
            return own.make(_checked(own, values), rate_hz)
        if rate_hz is not None and "rate_hz" in own.parameters:
            values.setdefault("rate_hz", rate_hz)
        if (bands := self._bands()) is not None:
            values["taps"] = design(bands, self._filter_hz(rate_hz))
        return core.Block(self.type, {name: _plain(name, each) for name, each in values.items()})

    @property
    def work(self) -> dict[str, Any]:
        """What its cost depends on, as JSON has it: its type and parameters, but no texts, such as
        paths, and none that change while it runs."""
        own = block_types().get(self.type)
        if own is None:
            return {"type": self.type}
        given = {
            name: self.values.get(name, each.standard)
            for name, each in own.parameters.items()
            if not each.changes and each.kind != "text"
        }
        words: dict[str, Any] = json.loads(json.dumps({"type": self.type, **given}, default=list))
        return words

    def finish(self, rate_hz: float) -> None:
        """Completes what a run has written. Raises InputError and OSError."""
        own = block_types().get(self.type)
        if own is not None and own.finish is not None:
            own.finish(_checked(own, self.values), rate_hz)

    @property
    def shape(self) -> core.Block:
        """A block with the same inputs and output, made before its rate is known: they do not
        depend on it, but what else a file says may not fit every rate. Raises as made() does."""
        own = self
        if (bands := self._bands()) is not None:
            count = bands.get("count")
            taps = [0.0] * count if isinstance(count, int) and 0 < count <= MOST_TAPS else [0.0]
            own = Block(self.type, **(dict(self.values) | {"taps": taps}))
        if self.type in block_types() and block_types()[self.type].make is not None:
            return own.made()
        for rate_hz in _ANY_RATES[:-1]:
            try:
                return own.made(rate_hz)
            except ValueError:
                continue
        return own.made(_ANY_RATES[-1])

    def _filter_hz(self, rate_hz: float | None) -> float | None:
        """A resampler filters at `interpolation` times its rate."""
        times = self.values.get("interpolation")
        return rate_hz * times if rate_hz is not None and isinstance(times, int) else rate_hz

    def _bands(self) -> Mapping[str, Any] | None:
        taps = self.values.get("taps")
        return taps if isinstance(taps, Mapping) else None


@dataclass(frozen=True)
class Input:
    """What a function reads: an execution waits for `threshold` samples (as many as it takes away,
    if not given), and is given the `history` samples before them, too."""

    samples: str = "complex"  # or real
    consume: int = 1
    threshold: int | None = None
    history: int = 0


class FunctionBlock(Block):
    """A block of your own: a function of an array for each input that returns what they make.

    It is given all that several executions read: the history, then what is new, as read-only
    float32 or complex64. Of a source it is given how many executions are wanted. Arrays are valid
    during the call only. What it raises ends the run.

    >>> half = FunctionBlock(lambda x: 0.5 * x, inputs=[Input("real")], output=("real", 1))
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        inputs: Sequence[Input] = (),
        output: tuple[str, int] | None = None,
    ) -> None:
        """`output`: its samples, and how many an execution makes; None of a sink. What is wrong is
        said when the graph is checked."""
        super().__init__(getattr(function, "__name__", "function"))
        self._function, self._inputs, self._output = function, tuple(inputs), output

    def made(self, rate_hz: float | None = None) -> core.Block:
        """The block itself; ValueError of what it cannot be."""
        rows = [
            (each.samples, each.consume if each.threshold is None else each.threshold,
             each.consume, each.history)
            for each in self._inputs
        ]  # fmt: skip
        return core.Block.of_function(self._function, rows, self._output)

    @property
    def shape(self) -> core.Block:
        """The block itself: no rate changes it."""
        return self.made()


def no_block(name: str) -> str:
    """What is said of a name that no block has."""
    near = " or ".join(difflib.get_close_matches(name, block_types()))
    return (
        f"there is no block {name}; {f'did you mean {near}? ' if near else ''}"
        "carillon flowgraph blocks lists those there are, and --plugin adds a library's"
    )


def _check_names(own: BlockType, values: Values) -> None:
    for name in values:
        if name not in own.parameters:
            there = ", ".join(own.parameters) or "none"
            raise ValueError(f"{name}: {own.name} has no such parameter; it has {there}")


def _checked(own: BlockType, values: Values) -> Values:
    """With what is not given; ValueError names the parameter, as the engine's does."""
    _check_names(own, values)
    found: dict[str, Any] = {}
    for name, each in own.parameters.items():
        value = values.get(name, each.standard)
        if value is None:
            raise ValueError(f"{name}: must be given")
        if each.kind == "flag" and not isinstance(value, bool):
            raise ValueError(f"{name}: must be true or false")
        if each.kind == "text" and not isinstance(value, str):
            raise ValueError(f"{name}: must be a text")
        if each.choices and value not in each.choices:
            raise ValueError(f"{name}: must be one of {', '.join(each.choices)}")
        found[name] = value
    return found


def _plain(name: str, value: Any) -> Any:
    """As the engine takes it: lists of numbers as floats."""
    if isinstance(value, list | tuple):
        if not all(isinstance(each, int | float) and not isinstance(each, bool) for each in value):
            raise ValueError(f"{name}: must be a list of numbers")
        return [float(each) for each in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 1 << 63:
        raise ValueError(f"{name}: has more than 64 bits")
    if not isinstance(value, bool | int | float | str):
        raise ValueError(f"{name}: must be a number, a text, true, false or a list of numbers")
    return value
