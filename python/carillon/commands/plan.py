"""`carillon plan`: can this machine carry this cell, with what setting, or what would do."""

from __future__ import annotations

import json
import os
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from carillon import cells, planning, runfolder
from carillon.commands.calibrate import known_or_measured
from carillon.commands.tables import print_table
from carillon.daemon import Interrupts
from carillon.planning import Plan, Point


def plan(
    cell: str, cores: int, speed: float, seconds: float, folder: Path | None, *, as_json: bool
) -> bool:
    """Tells whether it fits, and writes plan.json and plan.png.

    Raises KeyboardInterrupt, with nothing written, when stopped.
    """
    loaded = cells.load(cell)
    console = Console(stderr=as_json, highlight=False, markup=False)
    with Interrupts() as interrupts:
        known = known_or_measured(loaded.cell, seconds, console, interrupts)
        with _progress(console) as bar:
            task = bar.add_task("")

            def step(what: str) -> None:
                bar.update(task, description=f"{loaded.cell.name} in virtual time: {what}")
                if interrupts.count:
                    raise KeyboardInterrupt

            here = cores or len(os.sched_getaffinity(0))
            found = planning.plan(loaded.cell, known, here, speed, step)
    target = folder or Path("runs") / f"plan-{runfolder.file_name(loaded.cell.name)}"
    target.mkdir(parents=True, exist_ok=True)
    text = json.dumps(found.about(), indent=2, ensure_ascii=False)
    (target / "plan.json").write_text(text + "\n", encoding="utf-8")
    from carillon.plots import plan as plot

    frame_ms = runfolder.describe(loaded.cell)["frame_ms"]
    plot.draw(target / "plan.png", found, frame_ms, loaded.cell.deadlines.uplink_budget_ms)
    if as_json:
        print(text)
    else:
        _tell(console, found)
        console.print(f"plan: {target / 'plan.json'}, {target / 'plan.png'}", soft_wrap=True)
    return found.fits


def _progress(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def _tell(console: Console, found: Plan) -> None:
    machine = f"{found.cores} core{'s' if found.cores != 1 else ''}"
    if found.speed != 1:
        machine += f" of {found.speed:g} times this one's speed"
    verdict = "fits" if found.fits else "does not fit"
    console.print(f"{found.cell} {verdict} on {machine}", style="bold")
    needed = found.cores_needed
    number = f"more than {planning.MOST_CORES}" if needed is None else str(needed)
    console.print(
        f"It needs {number} core{'' if needed == 1 else 's'} for the baseband; receiving packets, "
        "and a radio that is emulated here, come on top.",
        soft_wrap=True,
    )
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("in virtual time", "D_UL ms", "D_UL − T", "D_DL ms", "left to deadline", "load"):
        table.add_column(name, justify="left" if name == "in virtual time" else "right")
    table.add_row("usual claims", *_row(found.point))
    table.add_row("slow claims (p99)", *_row(found.slow))
    print_table(console, table)
    if found.bottleneck is not None:
        share = found.point.stages[found.bottleneck] / sum(found.point.stages.values())
        console.print(f"bottleneck: {found.bottleneck}, {share:.0%} of the cores' time")
    console.print(
        f"memory {found.memory_bytes / 1e6:.0f} MB; fronthaul {found.uplink_gbps:.3g} Gb/s up, "
        f"{found.downlink_gbps:.3g} down, {found.packets_per_second / 1e3:.4g} thousand packets/s",
        soft_wrap=True,
    )
    sizes = ", ".join(f"{stage}: {size}" for stage, size in found.job_sizes.items())
    console.print(
        f"job sizes (runtime.grain): {{{sizes}}}; at most a core's share of the instruction",
        soft_wrap=True,
    )
    for line in found.advice:
        console.print(f"would do: {line}", soft_wrap=True)


def _row(point: Point) -> list[str]:
    return [
        *(
            "–" if ms is None else f"{ms:.3f}"
            for ms in (point.uplink_ms, point.uplink_extra_ms, point.downlink_ms)
        ),
        f"{point.slack_ms or 0.0:.3f}" if point.keeps_up else "does not keep up",
        f"{point.load:.0%}" if point.keeps_up else "–",
    ]
