"""What a valid cell says that its author will hardly want."""

from __future__ import annotations

from collections.abc import Iterator

from carillon.config import combiner_group, pilot_comb
from carillon.config.blocks import DIRECTIONS, Direction, Kind, decodes_alone, kinds
from carillon.config.errors import Problem
from carillon.config.load import Loaded

_VERSIONS = range(4)


def warnings(loaded: Loaded) -> list[Problem]:
    """Each with the key that is at fault; the cell is valid all the same."""
    found = [problem for direction in DIRECTIONS for problem in _versions(loaded, direction)]
    return [*found, *too_wide(loaded)]


def too_wide(loaded: Loaded, snr_db: float | None = None) -> list[Problem]:
    """Of `combiner.group` and `pilots.comb`, at `radio.snr_db` if at no other SNR."""
    told = {
        "combiner.group": combiner_group.excess(loaded.cell, snr_db),
        "pilots.comb": pilot_comb.excess(loaded.cell, snr_db),
    }
    return [loaded.problem(key, text) for key, text in told.items() if text]


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
