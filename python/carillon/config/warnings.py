"""What a valid cell says that its author will hardly want."""

from __future__ import annotations

from collections.abc import Iterator

from carillon import core
from carillon.config import combiner_group, pilot_comb
from carillon.config.blocks import DIRECTIONS, Direction, Kind, decodes_alone, kinds
from carillon.config.errors import Problem, shown
from carillon.config.load import Loaded
from carillon.config.plan import Run, busiest, plan_text

_VERSIONS = range(4)


def warnings(loaded: Loaded) -> list[Problem]:
    """Each with the key that is at fault; the cell is valid all the same."""
    found = [problem for direction in DIRECTIONS for problem in _versions(loaded, direction)]
    return [*found, *_idle_pilots(loaded), *too_wide(loaded)]


def too_wide(loaded: Loaded, snr_db: float | None = None) -> list[Problem]:
    """Of `combiner.group` and `pilots.comb`, at `radio.snr_db` if at no other SNR."""
    told = {
        "combiner.group": combiner_group.excess(loaded.cell, snr_db),
        "pilots.comb": pilot_comb.excess(loaded.cell, snr_db),
    }
    return [loaded.problem(key, text) for key, text in told.items() if text]


def _idle_pilots(loaded: Loaded) -> Iterator[Problem]:
    """Pilot occasions of which no symbol has the channel."""
    if loaded.cell.pilots.occasions == 1:
        return
    symbols = core.describe(plan_text(busiest(loaded.cell), Run()))["symbols"]
    used = {symbol["occasion"] for symbol in symbols if symbol["kind"] in "UD"}
    for occasion in range(loaded.cell.pilots.occasions):
        if occasion not in used:
            places = [
                n for n, s in enumerate(symbols) if (s["kind"], s["occasion"]) == ("P", occasion)
            ]
            yield loaded.problem(
                "pilots.occasions",
                f"is {loaded.cell.pilots.occasions}, but nothing uses the one of the P at "
                f"{shown(places)} in the schedule: U and D use the last one that ended before "
                "them, D before its samples leave; move P, or have fewer occasions",
            )


def _versions(loaded: Loaded, direction: Direction) -> Iterator[Problem]:
    """Redundancy versions of which one transmission is not enough, each once."""
    told: set[int] = set()
    limit: float = getattr(loaded.cell, direction).buffer_limit
    for kind in kinds(loaded.cell, direction):
        version = kind.redundancy_version
        if version not in told and not decodes_alone(kind, limit, version):
            told.add(version)
            yield loaded.problem(_key(loaded, direction, version), _too_few(kind, limit))


def _key(loaded: Loaded, direction: Direction, version: int) -> str:
    if loaded.cell.grants.kind != "list":
        return f"{direction}.redundancy_version"
    which = next(
        place
        for place, grant in enumerate(loaded.cell.grants.list)
        if (grant.direction, grant.redundancy_version) == (direction, version)
    )
    return f"cell.grants.list.{which}.redundancy_version"


def _too_few(kind: Kind, limit: float) -> str:
    good = [str(version) for version in _VERSIONS if decodes_alone(kind, limit, version)]
    does = f"{' and '.join(good)} would do" if good else "none would do: lower the rate"
    return (
        f"is {kind.redundancy_version}, of which one transmission is never decoded, even without "
        f"noise: at rate {kind.rate:.2g} it has too few of the information bits; {does}"
    )
