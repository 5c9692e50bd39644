"""`carillon calibrate --gpu`: a device profile, and simulated frames beside measured ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from carillon.calibration import check_writable
from carillon.commands.tables import new_table, print_table
from carillon.percent import percent
from carillon.pool import profile as profiles
from carillon.pool.profile import Forecast


def calibrate(bench: Path, output: Path | None, *, as_json: bool) -> bool:
    """Writes the profile; whether every cell's simulated frame is near the measured one."""
    profile = profiles.of_bench(bench)
    file = output or bench.with_name("device-profile.json")
    check_writable(file)
    found = profiles.forecasts(profile, bench)
    profiles.save(profile, file)
    console = Console(stderr=as_json, highlight=False, markup=False)
    if as_json:
        told = {"profile": profiles.described(profile), "frames": rows(found)}
        print(json.dumps(told, indent=2, ensure_ascii=False))
    console.print(f"{profile.device}: {profiles.label(profile)}", soft_wrap=True)
    print_table(console, table(found, profile.source))
    console.print(f"device profile: {file}", soft_wrap=True)
    return all(one.near for one in found)


def rows(found: Sequence[Forecast]) -> list[dict[str, object]]:
    """For JSON."""
    return [asdict(one) | {"error": one.error, "within_10_percent": one.near} for one in found]


def table(found: Sequence[Forecast], source: str) -> Table:
    """A frame alone, simulated from its opcodes' times, beside the measured or synthetic ones."""
    numbers = ("simulated µs", f"{source} µs", "p99.99", "frames", "off by", "within 10 %")
    made = new_table(("frame alone, with copies",), numbers)
    for one in found:
        error = "–" if one.error is None else percent(one.error, 1, "+")
        verdict = {True: "yes", False: "NO", None: "not measured"}[one.near]
        measured = (_us(one.mean), _us(one.p9999), str(one.frames))
        made.add_row(one.name, _us(one.simulated), *measured, error, verdict)
    return made


def _us(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"
