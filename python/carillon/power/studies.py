"""The studies of `carillon study power-…`: late TTIs over clocks and coalescing, their models, and
a day.

All are in virtual time, from delays that are measured at the start, or were before.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from carillon import files, runfolder
from carillon.commands.bars import steps_bar
from carillon.commands.tables import new_table, print_table
from carillon.config import Loaded
from carillon.config.plan import Power
from carillon.daemon import Interrupts
from carillon.errors import InputError
from carillon.percent import percent
from carillon.power import day, extensions, fits
from carillon.power.energy import PowerModel, varied
from carillon.power.learn import VIRTUAL, Row, Watch, in_virtual_time
from carillon.power.measured import CellDelays, delays_of, read_delays, run, write_delays
from carillon.power.model import MOST
from carillon.power.operating_point import LIGHT, LOADED, operating_point

DAY = "power-day"
SYSTEM_1 = tuple(float(mhz) for mhz in range(1000, 2101, 100))  # table 3
SYSTEM_2 = tuple(float(mhz) for mhz in range(1000, 3301, 100))
COALESCING_US = tuple(range(10, 301, 10))
KNEE_MHZ = 1100.0  # cells are as many as put it there, as in figure 6
SHARES = (0.85, 0.6)  # of the highest clock, that full load needs in the day study
_MEASURE_S = 10.0  # and no longer than what is played
_TTIS, _COALESCING_TTIS = 900_000, 1_800_000  # table 3: 15 and 30 minutes
TTIS_A_MINUTE = 6000  # of 60 000: every tenth
_PREDICTED = 300_000


@dataclass(frozen=True)
class Figure:
    """Late TTIs of one cell over clocks, or over coalescing at the highest clock."""

    name: str
    title: str
    mhz: int
    blocks: int
    clocks: tuple[float, ...] = SYSTEM_1
    coalescing: bool = False


FIGURES = {
    figure.name: figure
    for figure in (
        Figure("power-4", "late TTIs over the clock, 5 MHz, next to no load", 5, LIGHT),
        Figure("power-5", "late TTIs over the clock, 10 MHz, next to no load", 10, LIGHT),
        Figure("power-6", "late TTIs over the clock, 10 MHz, 25 resource blocks", 10, LOADED),
        Figure(
            "power-7", "the same with clocks up to 3300 MHz", 10, LOADED, clocks=SYSTEM_2
        ),
        Figure(
            "power-8", "late TTIs over interrupt coalescing (modelled), 5 MHz", 5, LIGHT,
            coalescing=True,
        ),
    )
}  # fmt: skip
DAY_TITLE = "24 hours: energy (modelled) and late TTIs, governed and by rival policies"
TITLES = {
    **{figure.name: figure.title for figure in FIGURES.values()},
    **{fit.name: fit.title for fit in fits.FITS.values()},
    fits.TABLES: fits.TABLES_TITLE,
    **extensions.TITLES,
    DAY: DAY_TITLE,
}


def study(
    name: str,
    frames: int | None,
    delays: Path | None,
    folder: Path | None,
    *,
    most: int | None = None,
    as_json: bool,
) -> None:
    """Makes a study: study.json, study.csv and study.svg, and delays.json where it measured them.
    `most`: coefficients of power-tables' models. When it is stopped, KeyboardInterrupt, with
    nothing written but the delays and the state of a search."""
    target = runfolder.made(folder or Path("runs") / f"study-{name}")
    console = Console(stderr=as_json, highlight=False, markup=False)
    with Interrupts() as interrupts:
        seconds = min(_MEASURE_S, max(1.0, (frames or _TTIS) / 1000))
        found = _delays(_wanted(name), delays, seconds, target, console, interrupts)
        if name == DAY:
            tree = _day(found, frames or TTIS_A_MINUTE, target, console, interrupts)
        elif name in FIGURES:
            tree = _figure(FIGURES[name], found[0], frames, target, console, interrupts)
        elif name in extensions.TITLES:
            tree = _extension(name, found, frames or _TTIS, target, console, interrupts)
        else:
            tree = _models(name, found, frames or _TTIS, most or MOST, target, console, interrupts)
    files.write_text(target / "study.json", json.dumps(tree, indent=2, ensure_ascii=False) + "\n")
    if as_json:
        print((target / "study.json").read_text(encoding="utf-8"), end="")
    console.print(f"{name}: {target / 'study.csv'}, {target / 'study.svg'}", soft_wrap=True)


def _wanted(name: str) -> list[Loaded]:
    """Cells whose delays it needs."""
    if name in extensions.TITLES:
        return extensions.cells_of(name)
    if name == DAY:
        return [operating_point(10, LIGHT), operating_point(10, LOADED)]
    if name in FIGURES:
        return [operating_point(FIGURES[name].mhz, FIGURES[name].blocks)]
    return [operating_point(mhz, LOADED) for mhz in fits.BANDWIDTHS]


def _delays(
    cells: Sequence[Loaded], file: Path | None, seconds: float, target: Path,
    console: Console, interrupts: Interrupts,
) -> list[CellDelays]:  # fmt: skip
    if file is not None:
        known = {own.cell: own for own in read_delays(file)}
        missing = [each.cell.name for each in cells if each.cell.name not in known]
        if missing:
            raise InputError(f"{file}: has no delays of {missing[0]}, only of {', '.join(known)}")
        return [known[each.cell.name] for each in cells]
    found = []
    with steps_bar(console) as progress:
        task = progress.add_task("measuring", total=len(cells))
        for loaded in cells:
            ran = run(loaded, seconds, Power(), interrupts)
            _go_on(interrupts)
            found.append(delays_of(loaded.cell, ran))
            progress.advance(task)
    write_delays(target / "delays.json", found, runfolder.machine())
    return found


def _go_on(interrupts: Interrupts) -> bool:
    if interrupts.count:
        raise KeyboardInterrupt
    return True


@contextmanager
def _steps(console: Console, name: str, total: int, interrupts: Interrupts) -> Iterator[Watch]:
    """A bar of so many steps; each raises KeyboardInterrupt once Ctrl-C was pressed."""
    with steps_bar(console) as progress:
        task = progress.add_task(name, total=total)

        def step() -> bool:
            progress.advance(task)
            return _go_on(interrupts)

        yield step


# --- Figures 4 to 8 -------------------------------------------------------------------------------


def cells_of_a_core(own: CellDelays, share: float) -> float:
    """That need this share of its time at the clock that they were measured at."""
    return float(share * own.tti_ns / own.processing.mean())


def _per_core(own: CellDelays, clocks: Sequence[float]) -> int:
    return math.ceil(cells_of_a_core(own, KNEE_MHZ / clocks[-1]))


def _figure(
    figure: Figure, own: CellDelays, frames: int | None, target: Path, console: Console,
    interrupts: Interrupts,
) -> dict[str, Any]:  # fmt: skip
    per_core = _per_core(own, figure.clocks)
    total = len(COALESCING_US) if figure.coalescing else len(figure.clocks)
    with _steps(console, figure.name, total, interrupts) as step:
        if figure.coalescing:
            rows = _coalescing(own, per_core, frames or _COALESCING_TTIS, step)
        else:
            rows = list(in_virtual_time([own], figure.clocks, frames or _TTIS, per_core, step=step))
    xs = list(COALESCING_US) if figure.coalescing else [row.clock_mhz for row in rows]
    axis = "coalescing_us" if figure.coalescing else "clock_mhz"
    with files.table(target / "study.csv") as stream:
        writer = csv.writer(stream)
        writer.writerow([axis, "ttis", "late", "by_system", "by_fronthaul", "median", "deviation"])
        for x, row in zip(xs, rows, strict=True):
            counts = (row.ttis, row.late, row.by_system, row.by_fronthaul)
            writer.writerow([f"{x:g}", *counts, row.median, row.deviation])
    from carillon.power.late_plots import draw_study

    draw_study(figure.title, axis, xs, rows, target / "study.svg")
    _tell_figure(console, axis, xs, rows, per_core)
    return {
        "study": figure.name,
        "title": figure.title,
        "source": VIRTUAL,
        "cells_per_core": per_core,
        axis: xs,
        "rows": [asdict(row) for row in rows],
    }


def _coalescing(own: CellDelays, per_core: int, ttis: int, step: Watch) -> list[Row]:
    """The last packet of a TTI waits for the rest of a timer that began before it: up to all of
    it."""
    rows = []
    random = np.random.default_rng(1)
    for us in COALESCING_US:
        waits = random.uniform(0, us * 1e3, own.fronthaul.size)
        held = replace(own, fronthaul=own.fronthaul + waits)
        rows += list(in_virtual_time([held], (KNEE_MHZ * 1.2,), ttis, per_core, step=step))
    return rows


def _tell_figure(
    console: Console, axis: str, xs: Sequence[float], rows: Sequence[Row], per_core: int
) -> None:
    table = new_table([axis], ["late", "± 1 deviation", "by T_OS", "by T_f"])
    for x, row in zip(xs, rows, strict=True):
        table.add_row(
            f"{x:g}", f"{row.median:.3g}", f"{row.deviation:.2g}", str(row.by_system),
            str(row.by_fronthaul),
        )  # fmt: skip
    print_table(console, table)
    console.print(
        f"{VIRTUAL}; {per_core} such cells on a core",
        soft_wrap=True,
    )


# --- Figures 9 to 13, tables 5 to 8 ---------------------------------------------------------------


def _models(
    name: str, found: Sequence[CellDelays], ttis: int, most: int, target: Path, console: Console,
    interrupts: Interrupts,
) -> dict[str, Any]:  # fmt: skip
    systems = [
        fits.System(clocks, {own.cell: _per_core(own, clocks) for own in found})
        for clocks in (SYSTEM_1, SYSTEM_2)
    ]
    fit = fits.FITS.get(name)
    shown = {1} if fit is None else {fit.seen, fit.learned}
    total = sum(len(found) * len(systems[number - 1].clocks) for number in shown)
    total += fit is not None  # the fit is a step, too
    with _steps(console, name, total, interrupts) as step:
        if fit is not None:
            return fits.fit_study(fit, systems, found, ttis, target, console, step)
        counted = systems[0].count(found, ttis, step)
    return fits.tables_study(systems[0], counted, most, target, console)


# --- Shorter TTIs, and load -----------------------------------------------------------------------


def _extension(
    name: str, found: Sequence[CellDelays], ttis: int, target: Path, console: Console,
    interrupts: Interrupts,
) -> dict[str, Any]:  # fmt: skip
    per_core = {own.cell: _per_core(own, SYSTEM_1) for own in found}
    clocks = SYSTEM_1
    if name == extensions.LOAD:  # as many of each, so that the load decides
        clocks = extensions.LOAD_CLOCKS
        per_core = dict.fromkeys(per_core, min(per_core.values()))
    fits_too = name == extensions.LOAD  # one more step
    total = len(found) * len(clocks) + fits_too
    with _steps(console, name, total, interrupts) as step:
        rows = extensions.rows_of(found, per_core, clocks, ttis, step)
        if fits_too:
            load = extensions.load_of(found)
            return extensions.load_study(rows, load, per_core, target, console, step)
    return extensions.tti_study(rows, per_core, target, console)


# --- A day ----------------------------------------------------------------------------------------


def _day(
    found: Sequence[CellDelays], ttis_a_minute: int, target: Path, console: Console,
    interrupts: Interrupts,
) -> dict[str, Any]:  # fmt: skip
    light, full = found
    cells = day.Cells.of(light, full)
    days: list[tuple[float, day.Rules, day.Day]] = []
    with steps_bar(console) as progress:
        task = progress.add_task("days", total=len(SHARES) * len(day.PROFILES) * len(day.POLICIES))
        for share in SHARES:
            rules = day.Rules(
                SYSTEM_1,
                cells=max(1, int(cells_of_a_core(full, share))),
                ttis_a_minute=ttis_a_minute,
            )
            predicted = cells.predicted(rules, min(_PREDICTED, 30 * ttis_a_minute))
            most = day.most_cells(cells, rules, min(_PREDICTED, 30 * ttis_a_minute))
            for profile in day.PROFILES:
                for policy in day.POLICIES:
                    _go_on(interrupts)
                    own = day.play(policy, cells, rules, profile, predicted, most)
                    days.append((share, rules, own))
                    progress.advance(task)
    rows = _compared(days)
    with files.table(target / "study.csv") as stream:
        writer = csv.writer(stream)
        writer.writerow(rows[0])
        writer.writerows(row.values() for row in rows)
    from carillon.power.day_plots import draw_day

    draw_day(rows, [own for share, _, own in days if share == SHARES[0]], target / "study.svg")
    _tell_day(console, rows)
    return {
        "study": DAY,
        "title": DAY_TITLE,
        "source": f"{VIRTUAL}; energy is modelled",
        "power_model": asdict(PowerModel()),
        "rows": rows,
        "days": [asdict(own) | {"share": share} for share, _, own in days],
    }


def _compared(days: Sequence[tuple[float, day.Rules, day.Day]]) -> list[dict[str, Any]]:
    """Each day against the performance governor's, under the power model and its variations."""
    models = list(varied(PowerModel()))
    rows = []
    for share, rules, own in days:
        (base,) = (
            other
            for known, _, other in days
            if known == share and other.profile == own.profile and other.policy == "performance"
        )
        saved = [
            1 - day.energy_s(own, rules, model) / day.energy_s(base, rules, model)
            for _, model in models
        ]
        rows.append(
            {
                "full_load_share": share, "cells_per_core": rules.cells, "profile": own.profile,
                "policy": own.policy, "ttis": own.ttis, "late": own.late, "late_ratio": own.ratio,
                "late_above_performance": own.ratio - base.ratio, "saved": saved[0],
                "saved_least": min(saved), "saved_most": max(saved),
                "mean_clock_mhz": float(np.mean(own.hourly_clock)), "changes": own.changes,
                "cores_awake": own.cores,
            }
        )  # fmt: skip
    return rows


def _tell_day(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    for share in SHARES:
        table = new_table(
            [f"full load: {percent(share)} of a core"],
            ["saved", "least", "most", "late", "above performance", "mean MHz"],
        )
        for row in rows:
            if row["full_load_share"] != share or row["policy"] == "performance":
                continue
            table.add_row(
                f"{row['profile']}, {row['policy']}", percent(row["saved"]),
                percent(row["saved_least"]), percent(row["saved_most"]),
                f"{row['late_ratio']:.2g}", f"{row['late_above_performance']:+.2g}",
                f"{row['mean_clock_mhz']:.0f}",
            )  # fmt: skip
        print_table(console, table)
    console.print(
        f"{VIRTUAL}; energy is modelled, against the performance "
        "governor; least and most: each parameter of the model 30 % less and more", soft_wrap=True,
    )  # fmt: skip
