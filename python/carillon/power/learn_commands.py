"""What `carillon power learn`, `knee` and `govern` do."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from carillon import cells, files, runfolder
from carillon.commands.bars import steps_bar
from carillon.commands.start import Output, start
from carillon.commands.tables import new_table, print_table
from carillon.config import Loaded, Run
from carillon.config.plan import Governor, Power
from carillon.config.sections import plannable
from carillon.daemon import Interrupts
from carillon.errors import InputError
from carillon.power.clock import metered, require_clocks
from carillon.power.learn import VIRTUAL, Row, excess, in_virtual_time, live, points
from carillon.power.measured import counted, delays_of, rate_msps, read_delays, run, write_delays
from carillon.power.points import write_points
from carillon.power.prediction import Prediction, rates, read_prediction
from carillon.statistics import wilson

LIVE = "measured under an emulated clock"
EXCESS = "excess.csv"
_OF_EXCESS = ", which has what a clock costs beyond the highest"


def learn(
    names: Sequence[str],
    clocks: Sequence[float],
    *,
    seconds: float,
    ttis: int,
    per_core: int,
    live_sweep: bool,
    delays: Path | None,
    folder: Path | None,
    as_json: bool,
) -> None:
    """Writes points.csv, learned.csv, learned.json, late.svg and, where it measured them,
    delays.json. KeyboardInterrupt if it was stopped, after that."""
    console = Console(stderr=as_json, highlight=False, markup=False)
    chosen = [cells.load(name) for name in names]
    if (delays is None) == (not chosen):
        raise InputError(
            "name cells to measure, or --delays with what was measured before, not both or neither"
        )
    target = runfolder.made(folder or Path("runs") / "power-learned")
    with Interrupts() as interrupts:
        if live_sweep:
            rows = _shown(
                console, "clocks", len(chosen) * len(clocks), interrupts,
                lambda step: live(chosen, clocks, seconds, interrupts, step),
            )  # fmt: skip
        else:
            if delays is None:
                delays = target / "delays.json"
                _measure(chosen, seconds, max(clocks), delays, console, interrupts)
            measured = read_delays(delays)
            rows = _shown(
                console, "clocks", len(measured) * len(clocks), interrupts,
                lambda step: in_virtual_time(measured, clocks, ttis, per_core, step=step),
            )  # fmt: skip
        _write(target, rows, LIVE if live_sweep else VIRTUAL, 1 if live_sweep else per_core)
        if as_json:
            print((target / "learned.json").read_text(encoding="utf-8"), end="")
        _tell(console, rows, LIVE if live_sweep else VIRTUAL)
        console.print(
            f"late ratios: {target / 'points.csv'}, {target / 'late.svg'}; less those of the "
            f"highest clock: {target / EXCESS}",
            soft_wrap=True,
        )
        if interrupts.count:
            raise KeyboardInterrupt


def _measure(
    chosen: Sequence[Loaded], seconds: float, clock: float, file: Path, console: Console,
    interrupts: Interrupts,
) -> None:  # fmt: skip
    found = []
    with steps_bar(console) as progress:
        task = progress.add_task("measuring", total=len(chosen))
        for loaded in chosen:
            ran = run(loaded, seconds, Power((clock,)), interrupts)
            if interrupts.count:
                raise KeyboardInterrupt
            found.append(delays_of(loaded.cell, ran))
            progress.advance(task)
    write_delays(file, found, runfolder.machine())
    for own in found:
        quantiles = (
            f"{name} {np.median(of) / 1e3:.0f} / {np.quantile(of, 0.999) / 1e3:.0f} µs"
            for name, of in (("T_BS", own.processing), ("T_OS", own.system), ("T_f", own.fronthaul))
        )
        console.print(f"{own.cell}: p50 / p99.9 of {', '.join(quantiles)}", soft_wrap=True)


def _shown(
    console: Console, what: str, total: int, interrupts: Interrupts,
    rows: Callable[[Callable[[], bool]], Iterable[Row]],
) -> list[Row]:  # fmt: skip
    found = []
    with steps_bar(console) as progress:
        task = progress.add_task(what, total=total)
        for row in rows(lambda: not interrupts.count):
            found.append(row)
            progress.advance(task)
    if not found:
        raise KeyboardInterrupt
    return found


def _write(target: Path, rows: Sequence[Row], source: str, per_core: int) -> None:
    write_points(target / "points.csv", points(rows))
    write_points(target / EXCESS, excess(rows))
    tree = {"source": source, "cells_per_core": per_core, "rows": [_as_json(row) for row in rows]}
    files.write_text(target / "learned.json", json.dumps(tree, indent=2, ensure_ascii=False) + "\n")
    with files.table(target / "learned.csv") as stream:
        writer = csv.writer(stream)
        writer.writerow([*_as_json(rows[0]), "source"])
        writer.writerows([*_as_json(row).values(), source] for row in rows)
    from carillon.power.late_plots import draw_late  # with matplotlib, which takes its time

    draw_late(rows, source, target / "late.svg")


def _as_json(row: Row) -> dict[str, Any]:
    low, high = wilson(row.late, row.ttis)
    return asdict(row) | {"ratio": row.ratio, "low_95": low, "high_95": high}


def _tell(console: Console, rows: Sequence[Row], source: str) -> None:
    console.print(f"late TTIs, {source}")
    for cell in dict.fromkeys(row.cell for row in rows):
        table = new_table([cell], ["late", "95 %", "by T_OS", "by T_f", "of"])
        for row in (row for row in rows if row.cell == cell):
            low, high = wilson(row.late, row.ttis)
            table.add_row(
                f"{row.clock_mhz:g} MHz", f"{row.ratio:.3g}", f"{low:.2g} … {high:.2g}",
                str(row.by_system), str(row.by_fronthaul), str(row.ttis),
            )  # fmt: skip
        print_table(console, table)
    console.print(
        "late: ratio of all TTIs; by T_OS: that would have been in time without T_OS; by T_f: only "
        "without T_OS and T_f", soft_wrap=True,
    )  # fmt: skip


def knee(
    file: Path, outage: float, margin: float, rate: float | None, clocks: Sequence[float],
    *, as_json: bool,
) -> None:  # fmt: skip
    """Prints the lowest clock that meets the target, for each rate."""
    asked = [rate] if rate is not None else rates(file)
    found = [read_prediction(file, each, clocks) for each in asked]
    if as_json:
        told = [
            {"rate_msps": own.rate_msps, "knee_mhz": own.knee(outage, margin),
             "clocks_mhz": own.clocks, "late": own.late, "envelope": own.envelope}
            for own in found
        ]  # fmt: skip
        print(json.dumps({"outage": outage, "margin": margin, "rates": told}, indent=2))
        return
    console = Console(highlight=False, markup=False)
    table = new_table(["rate, Msps"], ["knee, MHz", "predicted there", "at the highest"])
    for own in found:
        at = own.knee(outage, margin)
        there = "none meets it" if at is None else f"{at:g}"
        late = own.envelope[own.clocks.index(at)] if at is not None else own.envelope[-1]
        table.add_row(f"{own.rate_msps:g}", there, f"{late:.3g}", f"{own.envelope[-1]:.3g}")
    print_table(console, table)
    console.print(
        f"the lowest clock at which {margin:g} times the predicted ratio is at most {outage:g}; by "
        f"{found[0].source}{_OF_EXCESS if file.name == EXCESS else ''}", soft_wrap=True,
    )  # fmt: skip


def govern(
    name: str, predicted: Path, clocks: Sequence[float], governor: Governor, seconds: float,
    folder: Path | None, output: Output, sysfs: Path | None,
) -> None:  # fmt: skip
    """Runs both sides of a cell under a governed clock, which is emulated or set below `sysfs`;
    writes the run's report and governed.json beside it. NoDeviceError where none can be set."""
    loaded = cells.load(name)
    prediction = read_prediction(predicted, _rate(predicted, loaded), clocks)
    place = "" if sysfs is None else _place_of(sysfs)
    power = Power(prediction.clocks, place, 0.0, prediction.late, governor)
    path = folder or runfolder.new_path(Path("runs"), f"{loaded.cell.name}-governed")
    runfolder.require_free(folder)
    console = output.console
    at = prediction.knee(governor.outage, governor.margin)
    enough = "none, so that it stays at the highest" if at is None else f"{at:g} MHz"
    clock = "an emulated clock" if sysfs is None else "clocks"
    console.print(
        f"{loaded.cell.name} under {clock} of {prediction.clocks[0]:g} to "
        f"{prediction.clocks[-1]:g} MHz; the lowest that meets {governor.outage:g} by "
        f"{prediction.source} is {enough}", soft_wrap=True,
    )  # fmt: skip
    with Interrupts() as interrupts, metered(sysfs) as energy:
        try:
            start(loaded, Run(seconds=seconds, power=power), path, output, interrupts)
        finally:
            if (path / "telemetry.bin").exists():
                about = governed(path, prediction, governor, energy())
                _tell_governed(path, about, console)


def _place_of(sysfs: Path) -> str:
    require_clocks(sysfs)
    try:
        return plannable(str(sysfs.absolute()))
    except ValueError as error:
        raise InputError(f"--sysfs {sysfs}: is {error}, which a run needs; rename it") from None


def _rate(predicted: Path, loaded: Loaded) -> float:
    rate = rate_msps(loaded.cell)
    known = rates(predicted) if predicted.suffix != ".json" else [rate]
    if len(known) == 1 and not np.isclose(known[0], rate, rtol=1e-3):
        raise InputError(
            f"{predicted}: has counts at {known[0]:g} Msps, and {loaded.cell.name} has {rate:g}; "
            f"run `carillon power learn {loaded.cell.name}`"
        )
    return rate


def _tell_governed(path: Path, told: dict[str, Any], console: Console) -> None:
    files.write_text(path / "governed.json", json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    if told["frames"] == 0:
        return
    low, high = told["late_but_stalls_95"]
    outage = told["outage"]
    kept = "may be met or not: too few frames to say"
    if high <= outage:
        kept = "is met"
    elif low > outage:
        kept = "is missed"
    clock = "emulated clock" if told["emulated"] else "clock"
    console.print(
        f"{clock}: mean {told['mean_clock_mhz']:.0f} of {told['clocks_mhz'][-1]:g} MHz, "
        f"{told['changes']} changes; {told['late']} of {told['frames']} frames late, "
        f"{told['stalled']} of them while the machine or the system stood still (listed in the "
        f"report): {told['late_but_stalls_ratio']:.2g} of all but for these ({low:.2g} … "
        f"{high:.2g} at 95 %), the target of {outage:g} {kept}", soft_wrap=True,
    )  # fmt: skip
    for name, joules in told["joules"].items():
        console.print(f"energy of the whole command: {name} {joules:.4g} J")
    console.print(f"clocks: {path / 'governed.json'}, {path / 'clock.svg'}", soft_wrap=True)


def governed(
    path: Path, prediction: Prediction, governor: Governor, joules: dict[str, float]
) -> dict[str, Any]:
    """What became of a governed run, by its telemetry; draws clock.svg."""
    folder = runfolder.open_folder(path)
    emulated = not folder.run.power.sysfs
    frames = folder.telemetry().read("frames")
    frames = frames[np.argsort(frames["frame"])]
    count = counted(frames)
    clocks = frames["clock_mhz"].astype(float)
    if count.frames:
        from carillon.power.late_plots import draw_clock

        draw_clock(frames, prediction, path / "clock.svg", emulated=emulated)
    other = count.late - count.stalled
    return {
        "emulated": emulated,
        "outage": governor.outage,
        "predicted_by": prediction.source,
        "clocks_mhz": prediction.clocks,
        "predicted_late": prediction.late,
        "frames": count.frames,
        "late": count.late,
        "stalled": count.stalled,
        "late_but_stalls_ratio": other / count.frames if count.frames else None,
        "late_but_stalls_95": wilson(other, count.frames) if count.frames else None,
        "mean_clock_mhz": float(clocks.mean()) if count.frames else None,
        "frames_at_mhz": {f"{mhz:g}": int((clocks == mhz).sum()) for mhz in np.unique(clocks)},
        "changes": int(np.count_nonzero(np.diff(clocks))),
        "joules": joules,
    }
