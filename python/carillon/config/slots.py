"""Slots in a file: what each is to do, a line of JSON for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from carillon import core
from carillon.config.errors import ConfigError, Problem, explain, shown
from carillon.config.fields import dotted
from carillon.config.models import Grant
from carillon.inputs import parse_json, read_text

_MOST_BYTES = 1 << 26
_MOST_SLOT = 1 << 20
# Of two that do not go together, by the engine's code.
_BESIDE = {
    "shares-elements": "shares resource elements with {} of the same user",
    "shares-slot": "is for the same user, slot and direction as {}, with blocks that span the "
    "frame",
    "shares-block": "has another redundancy_version, harq_process or coding than {}, with which it "
    "shares a transport block",
}


@dataclass(frozen=True)
class Place:
    """Where a grant is written."""

    line: int  # from 1
    slot: int
    allocation: int  # from 0

    @property
    def name(self) -> str:
        """For people."""
        return f"slot {self.slot}, allocations[{self.allocation}]"


@dataclass(frozen=True)
class Slots:
    """The grants of a file, where each is written, and those that are none."""

    file: str
    slots: int  # up to the last that the file names
    grants: list[Grant]
    places: list[Place]
    refused: list[Problem]

    def problem(self, grant: int, key: str, message: str) -> Problem:
        """What is wrong with a grant, where the file says it."""
        place = self.places[grant]
        return Problem(self.file, place.line, place.name + (f".{key}" if key else ""), message)

    def message(self, found: core.Problem) -> str:
        """What the engine says, which names grants by their place in its list."""
        if found.code not in _BESIDE:
            return found.message
        (other,) = found.numbers
        return _BESIDE[found.code].format(self.places[int(other)].name)

    def without(self, refused: dict[int, Problem]) -> Slots:
        """But for some of its grants."""
        kept = [n for n in range(len(self.grants)) if n not in refused]
        return Slots(
            self.file,
            self.slots,
            [self.grants[n] for n in kept],
            [self.places[n] for n in kept],
            [*self.refused, *refused.values()],
        )


def read_slots(file: Path) -> Slots:
    """Reads a file of slots; raises ConfigError where it is none. An allocation that is none is
    refused, and the others count."""
    grants: list[Grant] = []
    places: list[Place] = []
    refused: list[Problem] = []
    last = -1
    for line, text in enumerate(read_text(file, _MOST_BYTES).split("\n"), 1):
        if not text.strip():
            continue
        slot, allocations = _slot(str(file), line, text)
        if slot <= last:
            raise _wrong(
                str(file), line, "slot", f"is {slot} but must be above {last}, as lines before"
            )
        last = slot
        for number, item in enumerate(allocations):
            place = Place(line, slot, number)
            if isinstance(item, dict) and "slot" in item:
                why = "is no key of an allocation: its line says which slot it is in"
                refused.append(Problem(str(file), line, f"{place.name}.slot", why))
                continue
            try:
                grants.append(_grant(slot, item))
                places.append(place)
            except ValidationError as error:
                refused += _refusals(str(file), place, error)
    return Slots(str(file), last + 1, grants, places, refused)


def _slot(file: str, line: int, text: str) -> tuple[int, list[object]]:
    try:
        item = parse_json(text.encode())
    except ValueError as error:
        raise _wrong(file, line, "", f"is not JSON: {error}") from None
    if not isinstance(item, dict) or not item.keys() <= {"slot", "allocations"}:
        raise _wrong(file, line, "", 'must be {"slot": …, "allocations": […]}')
    slot, allocations = item.get("slot"), item.get("allocations", [])
    if type(slot) is not int or not 0 <= slot < _MOST_SLOT:
        allowed = f"must be a whole number between 0 and {_MOST_SLOT - 1}"
        raise _wrong(file, line, "slot", f"is {shown(slot)} but {allowed}")
    if not isinstance(allocations, list):
        raise _wrong(file, line, "allocations", f"is {shown(allocations)} but must be a list")
    return slot, allocations


def _grant(slot: int, item: object) -> Grant:
    return Grant.model_validate({**item, "slot": slot} if isinstance(item, dict) else item)


def _refusals(file: str, place: Place, error: ValidationError) -> Iterator[Problem]:
    for path, message in explain(Grant, error):
        key = place.name + (f".{dotted(path)}" if path else "")
        yield Problem(file, place.line, key, message.removeprefix("the file "))


def _wrong(file: str, line: int, key: str, message: str) -> ConfigError:
    return ConfigError([Problem(file, line, key, message)])
