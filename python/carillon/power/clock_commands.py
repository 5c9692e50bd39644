"""What `carillon power clock` does."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from carillon import core, files
from carillon.commands.tables import new_table, print_table
from carillon.doctor.machine import cpu_list
from carillon.errors import Status
from carillon.power.clock import (
    NONE,
    ClockError,
    Clocks,
    Domain,
    Setting,
    read_clocks,
    refusals,
    require_clocks,
)
from carillon.power.clock_run import Outcome, restored_words, run


def _note(text: str) -> None:
    print(f"carillon: note: {text}", file=sys.stderr)


def restore(sysfs: Path) -> bool:
    """Puts back what a process that ended had changed; whether all of it."""
    read_clocks(sysfs)
    with refusals():
        changed, failed = core.restore_clocks(str(sysfs))
    if not changed:
        print("nothing was left to restore")
    for text in restored_words(changed, failed):
        print(text)
    return not failed


def show(sysfs: Path, *, as_json: bool) -> None:
    """What the machine offers, after the same."""
    read_clocks(sysfs)
    try:
        with refusals():
            left = core.restore_clocks(str(sysfs))
    except ClockError as error:  # which is no reason not to look
        _note(str(error))
    else:
        for text in restored_words(*left):
            _note(text)
    clocks = read_clocks(sysfs)
    if as_json:
        print(json.dumps(_as_json(clocks), indent=2))
        return
    console = Console(highlight=False, markup=False, soft_wrap=True)
    for line in _lines(clocks, console):
        console.print(line)


def _as_json(clocks: Clocks) -> dict[str, Any]:
    about = asdict(clocks)
    return about | {"sysfs": str(clocks.sysfs), "journal": core.clock_journal(str(clocks.sysfs))}


def _lines(clocks: Clocks, console: Console) -> Iterable[str]:
    if clocks.domains:
        mode = f", {clocks.mode} mode" if clocks.mode else ""
        drivers = sorted({domain.driver for domain in clocks.domains})
        yield f"driver: {', '.join(drivers)}{mode}"
        _print_domains(clocks, console)
        yield from _choices(clocks)
    elif not clocks.problems:
        yield NONE.format(clocks.sysfs)
    if clocks.turbo is not None:
        yield f"turbo: {'on' if clocks.turbo else 'off'}"
    states = ", ".join(
        f"{state['name']} {state['latency_us']} µs{' (off)' if state['disabled'] else ''}"
        for state in clocks.idle_states
    )
    yield f"idle states, and how long one takes to leave: {states or 'none to choose from'}"
    readable = ", ".join(zone.name for zone in clocks.energy if not zone.problem)
    yield f"energy is counted of: {readable or 'nothing'}"
    yield from (zone.problem for zone in clocks.energy if zone.problem)
    yield from clocks.problems


def _print_domains(clocks: Clocks, console: Console) -> None:
    words = ["cores", "can", "may now", "is", "governor", "preference"]
    prefer = any(domain.preference for domain in clocks.domains)
    table = new_table(words if prefer else words[:-1], [])
    ordered = sorted(clocks.domains, key=lambda domain: str(domain.alike))
    for _, group in itertools.groupby(ordered, key=lambda domain: domain.alike):
        domains = list(group)
        first = domains[0]
        now = _range(_ends(domain.now_khz for domain in domains))
        row = [_cores_of(domains), _clocks_of(first), _range(first.limits_khz), now, first.governor]
        table.add_row(*row, *([first.preference] if prefer else []))
    print_table(console, table)


def _choices(clocks: Clocks) -> Iterable[str]:
    for what, lists in (
        ("governors", [domain.governors for domain in clocks.domains]),
        ("preferences", [domain.preferences for domain in clocks.domains]),
    ):
        if names := list(dict.fromkeys(itertools.chain(*lists))):
            yield f"{what} to choose from: {', '.join(names)}"


def _cores_of(domains: list[Domain]) -> str:
    if all(len(domain.cores) == 1 for domain in domains):
        each = ", a clock each" if len(domains) > 1 else ""
        return cpu_list(domain.cores[0] for domain in domains) + each
    return "; ".join(f"{cpu_list(domain.cores)} together" for domain in domains)


def _clocks_of(domain: Domain) -> str:
    count = len(domain.clocks_khz)
    return _range(domain.hardware_khz) + (f", {count} clocks" if count else "")


def _ends(clocks: Iterable[int]) -> tuple[int, int]:
    own = list(clocks)
    return min(own), max(own)


def _range(clocks: tuple[int, int]) -> str:
    if not all(clocks):
        return "not known"
    least, most = (f"{khz / 1000:g}" for khz in clocks)
    return f"{least} MHz" if least == most else f"{least} to {most} MHz"


def run_at(command: list[str], setting: Setting, sysfs: Path, output: Path | None) -> int:
    """Runs the command so; its status, or 1 if something could not be put back.
    KeyboardInterrupt if it was stopped."""
    clocks = require_clocks(sysfs) if setting.needs_clocks else read_clocks(sysfs)

    def begun(domains: list[Domain]) -> None:
        others = {core for domain in domains for core in domain.cores} - (
            setting.cores or set(clocks.online)
        )
        if others:
            _note(f"other cores share that clock and change too: {cpu_list(others)}")

    outcome = run(command, setting, clocks, _note, begun)
    for line in _energy(outcome):
        print(f"carillon: {line}", file=sys.stderr)
    if output is not None:
        about = asdict(outcome) | {"setting": _setting_as_json(setting)}
        files.write_text(output, json.dumps(about, indent=2) + "\n")
    if outcome.stopped:
        raise KeyboardInterrupt
    return outcome.status or (Status.FAILED if outcome.unrestored else Status.DONE)


def _setting_as_json(setting: Setting) -> dict[str, Any]:
    cores = None if setting.cores is None else sorted(setting.cores)
    return asdict(setting) | {"cores": cores}


def _energy(outcome: Outcome) -> Iterable[str]:
    if outcome.joules and outcome.seconds:
        each = ", ".join(
            f"{name} {joules:.3g} J ({joules / outcome.seconds:.3g} W)"
            for name, joules in outcome.joules.items()
        )
        yield f"energy in {outcome.seconds:.3g} s: {each}"
