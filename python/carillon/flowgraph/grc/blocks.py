"""What GNU Radio says of a flowgraph, and the part of it that has a pace."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from carillon.errors import InputError
from carillon.flowgraph.graph import Graph

_THROTTLE = "throttle"
_ON_THE_WAY = 8192  # items that a buffer of GNU Radio may hold at one end of a measurement
_STEADY = 0.05  # of a rate: what blocks write may differ by so much from what they declare


@dataclass(frozen=True)
class Block:
    """As carillon.gnuradio.flow describes it: `produces` items for each `consumes`."""

    name: str
    kind: str
    produces: int
    consumes: int
    multiple: int  # items that it writes come in multiples of it
    history: int  # items that it sees, the newest included
    rate_hz: float | None


@dataclass(frozen=True)
class Link:
    """A stream between two blocks."""

    writer: str
    output: int
    reader: str
    input: int


@dataclass(frozen=True)
class Stage:
    """A block that a plan controls; one execution makes `items`, or of a sink takes them."""

    block: Block
    items: int
    takes: int  # from each input
    outputs: int  # ports that are read


@dataclass(frozen=True)
class Flow:
    """A flowgraph's blocks and streams, and what paces it: throttles, and sources without one.

    Blocks before a throttle work ahead of time. No sample is due there: they are in no plan.
    """

    name: str
    stages: dict[str, Stage]
    links: list[Link]  # between stages
    rates_hz: dict[str, Fraction]  # items a second, of what paces

    @property
    def sinks(self) -> list[str]:
        """Stages that nothing reads."""
        writers = {link.writer for link in self.links}
        return [name for name in self.stages if name not in writers]

    def graph(self) -> Graph:
        """Executions instead of items; without costs."""
        graph = Graph(self.name)
        for name, stage in self.stages.items():
            rate = self.rates_hz.get(name)
            graph.node(name, rate_hz=None if rate is None else rate / stage.items)
        for writer, reader in {(link.writer, link.reader): None for link in self.links}:
            graph.edge(writer, reader, self.stages[writer].items, self.stages[reader].takes)
        return graph

    def item_rates_hz(self) -> dict[str, Fraction]:
        """Items a second that each stage makes, or of a sink takes."""
        executions = self.graph().rates_hz
        return {
            name: rate * stage.items
            for rate, (name, stage) in zip(executions, self.stages.items(), strict=True)
        }

    def periods_ns(self, settings: Mapping[str, Any]) -> dict[str, float]:
        """Between batches of each stage."""
        return {
            name: 1e9 * settings["blocks"][name]["batch"] / float(rate)
            for name, rate in self.item_rates_hz().items()
        }

    def pace_of(self, sink: str) -> str:
        """What paces the samples that reach a sink; of several the first."""
        before = _ancestors([sink], self.links) | {sink}
        return next(name for name in self.rates_hz if name in before)

    def probes(self) -> dict[str, tuple[str, int]]:
        """Where samples are seen to come and to leave: by label, the output that is watched."""
        taken = {link.reader: (link.writer, link.output) for link in reversed(self.links)}
        came = {name: (name, 0) for name in self.rates_hz}
        return came | {sink: taken[sink] for sink in self.sinks if sink in taken}

    def keeps_up(self, settings: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
        """That all that paces did, in a measurement with settings."""
        return not any(name in self.rates_hz for name in self._unsteady(settings, found))

    def require_steady(self, settings: Mapping[str, Any], found: Mapping[str, Any]) -> None:
        """InputError if in a measurement a block did not handle as many items as it declares."""
        for name, (handled, declared) in self._unsteady(settings, found).items():
            raise InputError(
                f"{self.name}: block {name} handles {handled:.5g} items a second, where by the "
                f"rates that blocks declare it would be {declared:.5g}: its rate is not fixed, so "
                "there is no plan"
            )

    def _unsteady(
        self, settings: Mapping[str, Any], found: Mapping[str, Any]
    ) -> dict[str, tuple[float, float]]:
        """Items a second, and those declared, where they differ by more than a batch and a bit.

        Of what is paced, by what paced it in that time: a machine that stood still has it catch up.
        """
        seconds = (found["to_ns"] - found["from_ns"]) / 1e9
        rates = {name: float(rate) for name, rate in self.item_rates_hz().items()}
        handled = {name: float(found["used"][name]["items"]) for name in rates}
        unsteady = {}
        for name, rate in rates.items():
            pace = self.pace_of(name)
            due = rate * (seconds if name == pace else handled[pace] / rates[pace])
            slack = 0 if name == pace else _ON_THE_WAY
            batch = settings["blocks"][name]["batch"]
            if abs(handled[name] - due) > _STEADY * due + batch + slack:
                unsteady[name] = (handled[name] / seconds, due / seconds)
        return unsteady


def flow_of(
    name: str, described: Mapping[str, Any], given_hz: Mapping[str, Fraction] | None = None
) -> Flow:
    """The part that has a pace; `given_hz`: rates of sources, by name.

    Raises InputError where there is no pace, or a block is fed from before and behind a throttle.
    """
    given = given_hz or {}
    blocks = {each["name"]: Block(**each) for each in described["blocks"]}
    links = [Link(**each) for each in described["links"]]
    used = {end for link in links for end in (link.writer, link.reader)}
    blocks = {name: block for name, block in blocks.items() if name in used}
    if unknown := [each for each in given if each not in blocks]:
        raise InputError(f"--rate {unknown[0]}: there is no such block; there are {_names(blocks)}")
    readers = {link.reader for link in links}
    throttles = [name for name, block in blocks.items() if block.kind == _THROTTLE]
    ahead = _ancestors(throttles, links)
    paced = {name: block for name, block in blocks.items() if name not in ahead}
    for link in links:
        if link.writer in ahead and link.reader in paced and link.reader not in throttles:
            raise InputError(
                f"{name}: block {link.reader} is fed by {link.writer}, which is before a throttle: "
                "nothing there has a pace"
            )
    kept = [link for link in links if link.writer in paced and link.reader in paced]
    rates = {
        each: _rate(name, block, given)
        for each, block in paced.items()
        if each in throttles or each not in readers
    }
    if not rates:
        raise InputError(f"{name}: has no blocks that are connected")
    ordered = _from_source_to_sink(list(rates), kept)
    stages = {each: _stage(blocks[each], kept, each in rates) for each in ordered}
    return Flow(name, stages, kept, rates)


def _names(blocks: Mapping[str, Block]) -> str:
    return ", ".join(blocks)


def _rate(flow: str, block: Block, given: Mapping[str, Fraction]) -> Fraction:
    if block.name in given:
        return given[block.name]
    if block.rate_hz is None or not 0 < block.rate_hz < math.inf:
        raise InputError(
            f"{flow}: nothing says how many samples a second come from {block.name}: name its "
            f"rate, as --rate {block.name}=240000, or put a Throttle behind it"
        )
    return Fraction(str(block.rate_hz))


def _stage(block: Block, links: Sequence[Link], paces: bool) -> Stage:
    outputs = {link.output for link in links if link.writer == block.name}
    if not outputs or paces:  # of a sink, or of a throttle, which passes items on
        return Stage(block, block.multiple, block.multiple, len(outputs))
    rate = Fraction(block.produces, block.consumes)
    items = math.lcm(block.multiple, rate.numerator)
    return Stage(block, items, items // rate.numerator * rate.denominator, len(outputs))


def _ancestors(names: Sequence[str], links: Sequence[Link]) -> set[str]:
    """All that feeds them, but not they themselves unless they feed each other."""
    found: set[str] = set()
    todo = list(names)
    while todo:
        reader = todo.pop()
        for link in links:
            if link.reader == reader and link.writer not in found:
                found.add(link.writer)
                todo.append(link.writer)
    return found


def _from_source_to_sink(sources: Sequence[str], links: Sequence[Link]) -> Iterator[str]:
    """Every stage after all that feed it."""
    waits: dict[str, set[str]] = {}
    for link in links:
        waits.setdefault(link.reader, set()).add(link.writer)
    todo = list(sources)
    done: set[str] = set()
    while todo:
        name = todo.pop(0)
        if name in done or not waits.get(name, set()) <= done:
            continue
        done.add(name)
        yield name
        todo += [link.reader for link in links if link.writer == name]
