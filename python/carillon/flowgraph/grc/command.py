"""`carillon flowgraph plan --grc`: a flowgraph of GNU Radio before and after."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.console import Console

from carillon import examples, files, runfolder
from carillon.commands.bars import steps_bar
from carillon.commands.tables import new_table, print_table
from carillon.daemon import Interrupts
from carillon.errors import InputError
from carillon.flowgraph.grc import runs
from carillon.flowgraph.grc.batches import Scheduling
from carillon.flowgraph.grc.control import STEPS, Asked, Controlled, control
from carillon.flowgraph.grc.latency import Seen
from carillon.flowgraph.plan import Machine, time_text


@dataclass(frozen=True)
class Choice:
    """What is asked of a flowgraph; `rates`: NAME=HZ of sources."""

    latency_ns: float | None
    cores: int | None
    seconds: float
    scheduling: Scheduling
    rates: list[str]


def plan_grc(name: str, choice: Choice, folder: Path | None, *, as_json: bool) -> None:
    """Writes settings.json, gnuradio.json, latency.png and latency.svg.

    KeyboardInterrupt, with no results written, when stopped.
    """
    if choice.latency_ns is None:
        raise InputError(f"{name}: say what latency it is to keep, as --latency 20ms")
    asked = Asked(
        choice.latency_ns,
        Machine(choice.cores or 1),
        choice.seconds,
        choice.scheduling,
        dict(map(_rate, choice.rates)),
    )
    file = example(name)
    console = Console(stderr=as_json, highlight=False, markup=False)
    target = runfolder.made(folder or Path("runs") / f"gnuradio-{runfolder.file_name(file.stem)}")
    with (
        tempfile.TemporaryDirectory(prefix="carillon-grc-") as made,
        Interrupts() as interrupts,
        steps_bar(console) as progress,
    ):
        task = progress.add_task("flowgraph", total=STEPS)
        found = control(
            file.stem,
            runs.compiled(file, Path(made)),
            asked,
            lambda: progress.advance(task),
            lambda: interrupts.count > 0,
        )
    about = _as_json(found, choice.scheduling)
    _write(target, found, about)
    if as_json:
        print(json.dumps(about, indent=2, ensure_ascii=False))
    _tell(console, found)
    console.print(f"settings: {target / 'settings.json'}", soft_wrap=True)


def example(name: str) -> Path:
    """A file, or an example's by its name; InputError if there is neither."""
    path = Path(name)
    folder = examples.folder("flowgraphs")
    known = folder / f"{name.removesuffix('.grc')}.grc"
    if path.exists():
        return path
    if len(path.parts) == 1 and known.is_file():
        return known
    there = ", ".join(sorted(file.stem for file in folder.glob("*.grc")))
    raise InputError(f"{name}: no such file, nor an example of that name; the examples are {there}")


def _rate(text: str) -> tuple[str, Fraction]:
    name, equals, hz = text.rpartition("=")
    try:
        rate = Fraction(hz)
    except (ValueError, ZeroDivisionError):
        rate = Fraction(0)
    if not equals or not name or not 0 < rate < 10**12:
        raise InputError(f"--rate {text}: must be a block and samples a second, as usrp=240000")
    return name, rate


def _as_json(found: Controlled, scheduling: Scheduling) -> dict[str, Any]:
    return {
        "plan": found.plan.as_json(),
        "scheduling": scheduling,
        "before": found.before.as_json(),
        "after": found.after.as_json(),
    }


def _write(target: Path, found: Controlled, about: dict[str, Any]) -> None:
    for name, what in (("gnuradio", about), ("settings", found.settings)):
        text = json.dumps(what, indent=2, ensure_ascii=False)
        files.write_text(target / f"{name}.json", text + "\n")
    from carillon.flowgraph.grc.plots import draw  # with matplotlib, which takes its time

    draw(found, target)


def _tell(console: Console, found: Controlled) -> None:
    table = new_table(
        ["block"], ["batch", "was", "every", "takes", "of a core", "was", "buffer", "ends within"]
    )
    for node in found.plan.nodes:
        own = found.settings["blocks"][node.name]
        table.add_row(
            node.name,
            str(own["batch"]),
            f"{found.before.batches[node.name]:.1f}",
            time_text(node.period_ns),
            time_text(node.cost_ns),
            *(f"{100 * side.cores[node.name]:.2f} %" for side in (found.after, found.before)),
            str(own["buffer"]),
            time_text(node.response_ns),
        )
    print_table(console, table)
    console.print()
    print_table(console, _sides(found))
    for line in sentences(found):
        console.print(line, soft_wrap=True)


def _sides(found: Controlled) -> Any:
    table = new_table([""], ["cores used", "wake-ups/s", "p50", "p99", "max", "after the bound"])
    for name, side in (("as it was", found.before), ("in batches", found.after)):
        table.add_row(
            name,
            f"{side.all_cores:.4f}",
            f"{side.wake_ups_hz:.0f}",
            *(time_text(side.quantile_ns(share)) for share in (0.5, 0.99, 1.0)),
            f"{100 * (side.late or 0):.3g} %",
        )
    return table


_CONDITIONS = {
    "other": "with the kernel's own scheduling, which promises nothing: --scheduling deadline does",
    "fifo": "by priorities, which come near to deadlines: --scheduling deadline keeps them",
    "deadline": "by earliest deadline first, as long as no batch takes longer than its cost",
}


def sentences(found: Controlled) -> list[str]:
    """What was planned, and what came of it."""
    own = found.plan
    condition = _CONDITIONS[found.settings["scheduling"]]
    lines = [
        f"\nbound: {time_text(own.bound_ns)} on {own.machine}, {condition} "
        f"(costs: p{100 * own.graph.quantile:.4g})",
        f"of that, {time_text(own.filling_ns)} for samples to come together",
    ]
    lines += [
        f"block {name} did {found.after.batches[name]:.1f} items at a time, not the "
        f"{each['batch']} that it was told"
        for name, each in found.settings["blocks"].items()
        if _differs(found.after, name, each["batch"])
    ]
    kept = found.after.quantile_ns(0.99) <= own.bound_ns
    lines.append(f"p99 {'keeps' if kept else 'does NOT keep'} the bound")
    return lines


def _differs(after: Seen, name: str, batch: int) -> bool:
    """Calls with nothing to do are counted too: a filter's first one sets its taps."""
    return not 0.97 * batch <= after.batches[name] <= 1.001 * batch
