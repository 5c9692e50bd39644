"""`carillon bench policies`: scheduling policies beside each other on this machine's cores."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from carillon import cells, policies, resources, virtual
from carillon.commands.bench import circumstances
from carillon.commands.calibrate import known_or_measured
from carillon.commands.tables import print_table
from carillon.config import Cell
from carillon.daemon import Interrupts
from carillon.machine import Machine
from carillon.percent import percent
from carillon.policies import POLICIES, Comparison, Measured

_CALIBRATION_SECONDS = 10.0


@dataclass(frozen=True)
class Choice:
    """How policies are compared. workers 0: as many as cores. in_virtual_time: on so many."""

    workers: int = 0
    load: float | None = None
    seconds: float = 15.0
    in_virtual_time: tuple[int, ...] = ()


def bench_policies(name: str, choice: Choice, *, as_json: bool) -> bool:
    """Measures and tells; whether every block was decoded right. When stopped, tells what it has.

    Raises KeyboardInterrupt then.
    """
    cell = cells.load(name).cell
    console = Console(stderr=as_json, highlight=False, markup=False)
    workers = choice.workers or resources.cores().count
    console.print(f"making the frames of {cell.name}", style="dim")
    comparison = Comparison(cell, workers, choice.load, choice.seconds)
    console.print(_heading(comparison), soft_wrap=True)
    with Interrupts() as interrupts:
        _measure(comparison, console, interrupts)
        wanted = () if interrupts.count else choice.in_virtual_time
        imagined = _virtual(cell, wanted, console, interrupts)
    found = comparison.result()
    if as_json:
        told = circumstances() | policies.about(comparison, found) | {"virtual": imagined}
        print(json.dumps(told, indent=2, ensure_ascii=False))
    else:
        _show(console, found)
        if imagined:
            console.print()
            print_table(console, _virtual_table(imagined))
    if interrupts.count:
        raise KeyboardInterrupt
    return all(one.blocks_failed == 0 for one in found.values())


def _bar(console: Console) -> Progress:
    columns = (TextColumn("{task.description:<28}"), BarColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _measure(comparison: Comparison, console: Console, interrupts: Interrupts) -> None:
    with _bar(console) as bar:
        task = bar.add_task("", total=comparison.turns * len(comparison.cells))
        for policy in comparison.measure():
            bar.update(task, description=policy, advance=1)
            if interrupts.count:
                break


def _virtual(
    cell: Cell, cores: Sequence[int], console: Console, interrupts: Interrupts
) -> list[dict[str, Any]]:
    if not cores:
        return []
    known = known_or_measured(cell, _CALIBRATION_SECONDS, console, interrupts)
    costs = virtual.Costs(known, Machine.of_speed(max(cores)))
    with _bar(console) as bar:
        task = bar.add_task("virtual time", total=len(cores) * len(POLICIES))
        return policies.in_virtual_time(cell, costs, cores, lambda: bar.advance(task))


def _heading(comparison: Comparison) -> str:
    pace = comparison.pace
    own = "its own pace" if pace.stretch == 1 else f"air time stretched {pace.stretch:.3g} times"
    return (
        f"{comparison.cell.name} on {comparison.workers} cores, from memory, {own} "
        f"({percent(pace.load)} load): measured in turns, times in ms, cores' time per ms of the "
        "cell's own air time."
    )


def _show(console: Console, found: Mapping[str, Measured]) -> None:
    console.print()
    print_table(console, _table(found))
    first = found.get(POLICIES[0])
    for policy, one in found.items():
        if first is None or policy == POLICIES[0]:
            continue
        said = [
            f"{what} {_ratio(one, first, figure)}"
            for what, figure in (
                ("latency beyond the air", "beyond_air_ms"),
                ("core time", "core_ms"),
                ("synchronisation", "synchronisation_ms"),
            )
        ]
        console.print(f"{policy} over {POLICIES[0]}: {', '.join(said)}", soft_wrap=True)
    if any(one.groups for one in found.values()):
        sizes = found["core-groups"].groups
        stages = ", ".join(f"{stage} {cores}" for stage, cores in sizes.items())
        console.print(f"cores of each group, 0 with those before: {stages}", soft_wrap=True)


def _ratio(one: Measured, other: Measured, figure: str) -> str:
    known = policies.ratio(one, other, figure)
    return "–" if known is None else f"{known[0]:.3f} ({known[1]:.3f} to {known[2]:.3f})"


def _table(found: Mapping[str, Measured]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("policy")
    for name in ("beyond air p50", "p99", "D_DL p50", "kernels", "scheduling", "claiming"):
        table.add_column(name, justify="right")
    for name in ("arriving", "waiting", "claims a frame", "frames", "lost"):
        table.add_column(name, justify="right")
    for policy, one in found.items():
        cores = one.core_ms_per_ms
        table.add_row(
            policy,
            _ms(one.beyond_air_ms.p50),
            _ms(one.beyond_air_ms.p99),
            _ms(one.downlink_ms.p50),
            *(f"{cores[kind]:.3f}" for kind in ("kernels", "scheduling", "claiming", "arriving")),
            percent(one.waiting),
            f"{one.claims_per_frame:.0f}",
            str(one.frames),
            str(one.lost),
        )
    return table


def _virtual_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(
        box=None,
        padding=(0, 2, 0, 0),
        title="virtual time, nothing measured: the cell's own pace",
        title_justify="left",
    )
    for name in ("cores", "policy", "D_UL", "D_DL", "load"):
        table.add_column(name, justify="left" if name == "policy" else "right")
    for row in rows:
        table.add_row(
            str(row["cores"]),
            row["policy"],
            _ms(row["uplink_ms"]),
            _ms(row["downlink_ms"]),
            percent(row["load"]),
        )
    return table


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
