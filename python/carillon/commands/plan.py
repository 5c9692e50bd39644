"""`carillon plan`: can this machine carry this cell, with what setting, or what would do."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from carillon import calibration, cells, job_sizes, planning, runfolder, virtual
from carillon.calibration import Calibration, CalibrationError
from carillon.commands.calibrate import known_or_measured
from carillon.commands.tables import new_table, print_table
from carillon.config import Loaded
from carillon.daemon import Interrupts
from carillon.files import write_text
from carillon.job_sizes import JobSize, Sweep
from carillon.machine import Machine, MachineFile
from carillon.memory_run import with_grain
from carillon.percent import percent
from carillon.planning import Plan
from carillon.statistics import Percentiles
from carillon.virtual import Point


@dataclass(frozen=True)
class Choice:
    """For which machine, and from what. cores 0: as many as the machine has."""

    cores: int = 0
    speed: float = 1.0
    machine: MachineFile | None = None
    calibration: Path | None = None
    seconds: float = 10.0
    sweep: bool = False

    def machine_of(self, known: Calibration) -> Machine:
        """The machine that is planned for."""
        if self.machine is not None:
            return self.machine.machine(known)
        if self.cores:
            return Machine.of_speed(self.cores, self.speed)
        return Machine.here(self.speed)


def plan(cell: str, choice: Choice, folder: Path | None, *, as_json: bool) -> bool:
    """Tells whether it fits, and writes plan.json and plan.png.

    Raises KeyboardInterrupt, with nothing written, when stopped.
    """
    loaded = cells.load(cell)
    name = runfolder.file_name(loaded.cell.name)
    target = runfolder.require_own(folder or Path("runs") / f"plan-{name}")
    console = Console(stderr=as_json, highlight=False, markup=False)
    with Interrupts() as interrupts:
        known = _calibration(loaded, choice, console, interrupts)
        machine = choice.machine_of(known)
        with _progress(console) as bar:
            task = bar.add_task("")

            def step(what: str) -> None:
                bar.update(task, description=f"{loaded.cell.name} in virtual time: {what}")
                if interrupts.count:
                    raise KeyboardInterrupt

            found = planning.plan(loaded.cell, known, machine, step)
            swept = _sweep(loaded, known, found, step) if choice.sweep else None
    about = found.about() | ({} if swept is None else {"sweep": asdict(swept)})
    text = json.dumps(about, indent=2, ensure_ascii=False)
    write_text(runfolder.made(target) / "plan.json", text + "\n")
    from carillon.plots import plan as plot

    frame_ms = runfolder.describe(loaded.cell)["frame_ms"]
    plot.draw(target / "plan.png", found, frame_ms, loaded.cell.deadlines.uplink_budget_ms)
    if as_json:
        print(text)
    else:
        _tell(console, found, swept, loaded.cell.runtime.gpus)
        console.print(f"plan: {target / 'plan.json'}, {target / 'plan.png'}", soft_wrap=True)
    return found.fits


def _calibration(
    loaded: Loaded, choice: Choice, console: Console, interrupts: Interrupts
) -> Calibration:
    if choice.calibration is None:
        return known_or_measured(loaded.cell, choice.seconds, console, interrupts)
    known = calibration.load(choice.calibration)
    if known.key != calibration.key_of(loaded.cell):
        raise CalibrationError(
            f"{choice.calibration} is of the cell {known.cell}, or of one of that name that was "
            f"changed since; `carillon calibrate` measures {loaded.cell.name}"
        )
    return known


def _sweep(loaded: Loaded, known: Calibration, found: Plan, step: planning.Step) -> Sweep:
    costs = virtual.Costs(known, found.machine)
    cores = found.machine.cores
    return job_sizes.sweep(
        loaded.cell,
        found.job_sizes,
        cores,
        lambda grain: virtual.simulate(with_grain(loaded.cell, grain), costs, cores).latency_ms,
        lambda done, of: step(f"job sizes, {done} of {of} combinations"),
    )


def _progress(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def _tell(console: Console, found: Plan, swept: Sweep | None, gpus: int) -> None:
    console.print(verdict(found), style="bold", soft_wrap=True)
    if gpus:
        console.print(
            f"runtime.gpus is {gpus}, but this counts on the cores alone: what GPUs would take off "
            "them is not known before one was measured.",
            soft_wrap=True,
        )
    for limit in found.machine.limits:
        console.print(f"within {limit}", soft_wrap=True)
    for line in found.machine.basis:
        console.print(f"its times are not measured: {line}", soft_wrap=True)
    needed = found.cores_needed
    number = f"more than {virtual.MOST_CORES} cores" if needed is None else _cores(needed)
    console.print(
        f"By usual costs it needs {number} for the baseband; receiving packets, and a radio that "
        "is emulated here, come on top.",
        soft_wrap=True,
    )
    table = new_table(
        ["in virtual time"], ["D_UL ms", "D_UL − T", "D_DL ms", "left to deadline", "load"]
    )
    table.add_row("usual claims", *_row(found.point))
    table.add_row("slow claims (p99)", *_row(found.slow))
    print_table(console, table)
    _tell_expected(console, found)
    console.print(_bounded(found), soft_wrap=True)
    if found.bottleneck is not None:
        share = found.point.stages[found.bottleneck] / sum(found.point.stages.values())
        console.print(f"bottleneck: {found.bottleneck}, {percent(share)} of the work")
    mb = found.memory_bytes / 1e6
    console.print(
        f"memory {mb:.{0 if mb >= 10 else 2}f} MB; fronthaul {found.uplink_gbps:.3g} Gb/s up, "
        f"{found.downlink_gbps:.3g} down, {found.packets_per_second / 1e3:.4g} thousand packets/s",
        soft_wrap=True,
    )
    _tell_sizes(console, found, swept)
    for line in found.advice:
        console.print(f"would do: {line}", soft_wrap=True)


def _bounded(found: Plan) -> str:
    """The proven bound, compared with the worst frame in virtual time."""
    own, expected = found.bound, found.expected
    quantile = f"p{100 * own.quantile:g}"
    words = [
        f"{name} is at most {bound:.3g} ms"
        + ("" if worst is None else f" (worst in virtual time, where some are slower: {worst:.3g})")
        for name, bound, worst in (
            ("D_UL", own.uplink_ms, expected.uplink.max),
            ("D_DL", own.downlink_ms, expected.downlink.max),
        )
        if bound is not None
    ]
    if not words:
        return f"no latency can be promised for claims that are all as slow as their {quantile}"
    return f"proven, as long as no claim is slower than its {quantile}: {'; '.join(words)}"


def verdict(found: Plan) -> str:
    """Whether it fits, and if not, by which criterion."""
    if found.fits:
        return f"{found.cell} fits on {found.machine.name}"
    told = f"{found.cell} does not fit on {found.machine.name}"
    if not found.has_memory:
        return f"{told}: it needs {found.memory_bytes / 1e6:.4g} MB of memory, and that is more"
    if not found.point.fits:
        return told
    late = f"{found.expected.failed} of {found.expected.frames}"
    return (
        f"{told}: by usual costs {_cores(found.cores_needed or found.machine.cores)} would be "
        f"enough, but single slow claims of this calibration make {late} frames late or refused"
        f"{_with_more(found)}; `carillon doctor` tells what makes single claims slow"
    )


def _with_more(found: Plan) -> str:
    """Whether more cores help against single slow claims."""
    more = found.more_cores
    if more is None:
        return ""
    if not more.failed:
        return f", and none on {more.cores} cores"
    if 2 * more.failed < found.expected.failed:
        return f", and {more.failed} on {more.cores} cores"
    return f"; more cores do not help: on {more.cores}, {more.failed} are"


def _cores(count: int) -> str:
    return f"{count} core{'' if count == 1 else 's'}"


def _tell_expected(console: Console, found: Plan) -> None:
    expected = found.expected
    table = new_table(["claims as they vary"], ["p50 ms", "p99", "p99.9", "p99.99"])
    for name, known in (("D_UL", expected.uplink), ("D_DL", expected.downlink)):
        if known.samples:
            table.add_row(name, *_percentiles(known))
    print_table(console, table)
    console.print(
        f"of {expected.frames} frames in virtual time, as many as were calibrated; a percentile "
        "needs two beyond it (`--seconds`)"
        + (f"; {expected.failed} of them late or refused" if expected.failed else ""),
        soft_wrap=True,
    )


def _percentiles(known: Percentiles) -> list[str]:
    return [
        "–" if ms is None else f"{ms:.3f}" for ms in (known.p50, known.p99, known.p999, known.p9999)
    ]


def _tell_sizes(console: Console, found: Plan, swept: Sweep | None) -> None:
    sizes = ", ".join(f"{stage}: {size}" for stage, size in found.job_sizes.items())
    console.print(f"job sizes (runtime.grain): {{{sizes}}}", soft_wrap=True)
    if found.why:
        table = new_table(
            ["stage"],
            ["chunks a claim", "of", "I µs", "Δ µs", "claims a core", "smaller", "larger"],
        )
        for why in found.why:
            table.add_row(*_why(why))
        print_table(console, table)
        console.print("smaller, larger: µs that a frame would be later with the next such size")
    if swept is not None:
        kind = "all" if swept.exhaustive else "all of the uplink's and all of the downlink's"
        console.print(
            f"the best of {kind} {swept.tried} combinations: {swept.best_ms:.3f} ms, "
            f"chosen: {swept.chosen_ms:.3f} ms, {percent(swept.excess, 1)} more",
            soft_wrap=True,
        )


def _why(why: JobSize) -> list[str]:
    later = ["–" if us is None else f"{us:+.1f}" for us in (why.smaller_us, why.larger_us)]
    return [
        why.stage,
        str(why.size),
        str(why.chunks),
        f"{why.claim_us:.3g}",
        f"{why.chunk_us:.3g}",
        f"{why.claims_per_core:.3g}",
        *later,
    ]


def _row(point: Point) -> list[str]:
    return [
        *(
            "–" if ms is None else f"{ms:.3f}"
            for ms in (point.uplink_ms, point.uplink_extra_ms, point.downlink_ms)
        ),
        f"{point.slack_ms or 0.0:.3f}" if point.keeps_up else "does not keep up",
        percent(point.load),
    ]
