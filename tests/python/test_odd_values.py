"""Values that no cell can have: whichever key has one, it is told and nothing fails on it."""

import contextlib

import pytest
from carillon.config import Cell, ConfigError, parse_cell
from carillon.config.fields import Path, walk
from carillon.config.warnings import warnings

ODD = ("1e308", "-1e308", "3100", ".nan", "0", f"{2**64}", "[]", "[1e308]")
KEYS = [path for path, _ in walk(Cell) if path[:2] != ("grants", "list")]
FADING = {"antennas": "16", "users": "4", "radio.taps": "8", "radio.delay_spread_ns": "300"}


def yaml(values: dict[str, str]) -> str:
    """Of dotted keys; sections in braces."""
    sections: dict[str, list[str]] = {}
    for key, value in values.items():
        section, _, name = key.rpartition(".")
        sections.setdefault(section.replace(".", ": {"), []).append(f"{name}: {value}")
    own = sections.pop("", [])
    return "\n".join([*own, *(_section(name, keys) for name, keys in sections.items())])


def _section(name: str, keys: list[str]) -> str:
    return f"{name}: {{{', '.join(keys)}}}" + "}" * name.count("{")


@pytest.mark.parametrize("path", KEYS, ids=lambda path: ".".join(map(str, path)))
def test_an_odd_value_is_taken_or_told(path: Path) -> None:
    for value in ODD:
        with contextlib.suppress(ConfigError):
            key = ".".join(map(str, path))
            warnings(parse_cell(yaml(FADING | {key: value})))


@pytest.mark.parametrize("value", ["3000", "3100", "1e6", "1e308", "-61", "[25, 1e308]"])
def test_an_snr_is_held_to_its_range_before_anything_follows_from_it(value: str) -> None:
    with pytest.raises(ConfigError, match=r"cell.yaml:1: radio.snr_db.* between -60 and 80"):
        parse_cell(f"radio: {{snr_db: {value}}}")
