"""Which cells like this one a machine carries: more or fewer users, bandwidth, bits per symbol."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from carillon import calibration, core, job_sizes, runfolder
from carillon.calibration import Calibration
from carillon.config import Cell, ConfigError, Loaded, Run, plan_text
from carillon.machine import Machine
from carillon.virtual import Costs, Point, simulate

MODULATIONS = ("qpsk", "16qam", "64qam", "256qam")
# Used subcarriers and points of the FFT: 5, 10, 20 and 40 MHz at a spacing of 15 kHz.
BANDWIDTHS = ((300, 512), (600, 1024), (1200, 2048), (2400, 4096))


@dataclass(frozen=True)
class Candidate:
    """A cell that was tried; rate: of both directions, when every block is right."""

    users: int
    subcarriers: int
    bandwidth_mhz: float
    modulation: str
    rate_mbps: float
    fits: bool
    point: Point


@dataclass(frozen=True)
class Searched:
    """What was tried, and how many of all combinations were looked at: all, unless stopped."""

    tried: list[Candidate]
    looked_at: int
    combinations: int


def check(loaded: Loaded) -> None:
    """Raises ConfigError for a cell that says what a search varies, user by user or as a table."""
    cell = loaded.cell
    problems = []
    if cell.grants.kind == "list":
        problems.append(loaded.problem("grants.kind", "is 'list', whose users cannot be varied"))
    for name in ("uplink", "downlink"):
        if getattr(cell, name).mcs_table != "none":
            problems.append(
                loaded.problem(f"{name}.mcs_table", "gives the modulation, which --search varies")
            )
    if problems:
        raise ConfigError(problems)


def variant(
    cell: Cell, users: int, subcarriers: int, fft_size: int, modulation: str
) -> Cell | None:
    """The cell with these; None where there is none such. Code blocks are then as 38.212 has them,
    and pilots as narrow a comb as their symbols ask for."""
    own = cell.numerology
    coding = {"modulation": modulation}
    if (subcarriers, modulation) != (own.subcarriers, cell.uplink.modulation):
        coding |= {"base_graph": "auto", "lifting": "auto"}
    numerology = own.model_copy(update={"subcarriers": subcarriers, "fft_size": fft_size})
    if own.prefix == "constant":
        prefix = own.prefix_samples * fft_size // own.fft_size
        numerology = numerology.model_copy(update={"prefix_samples": prefix})
    snr = cell.radio.snr_db
    changed = cell.model_copy(
        update={
            "users": users,
            "numerology": numerology,
            "pilots": cell.pilots.model_copy(update=_pilots(cell, users)),
            "uplink": cell.uplink.model_copy(update=coding),
            "downlink": cell.downlink.model_copy(update=coding),
            "radio": cell.radio.model_copy(
                update={"snr_db": min(snr) if isinstance(snr, list) else snr}
            ),
        }
    )
    return None if core.validate(plan_text(changed, Run())) else changed


def _pilots(cell: Cell, users: int) -> dict[str, object]:
    symbols = cell.schedule.count("P") // cell.pilots.occasions
    if users <= symbols and cell.pilots.kind == "time":
        return {}
    comb = 1
    while comb * symbols < users:
        comb *= 2
    return {"kind": "comb" if comb > 1 else "time", "comb": comb}


def candidates(cell: Cell) -> Iterator[tuple[int, int, int, str]]:
    """Users, subcarriers, FFT and modulation: all combinations, small ones before larger ones."""
    own = cell.numerology
    bands = sorted({*BANDWIDTHS, (own.subcarriers, own.fft_size)})
    users = sorted({1 << n for n in range(8) if 1 << n <= cell.antennas} | {cell.users})
    for subcarriers, fft_size in bands:
        for modulation in MODULATIONS:
            for count in users:
                yield count, subcarriers, fft_size, modulation


def search(
    cell: Cell,
    machine_of: Callable[[Calibration], Machine],
    seconds: float,
    step: Callable[[str, int, int], None] = lambda what, done, of: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Searched:
    """Every candidate that is a cell, calibrated for so long each. Those that are larger in all
    respects than one that does not fit are left out: they do not either."""
    every = list(candidates(cell))
    tried: list[Candidate] = []
    for number, (users, subcarriers, fft_size, modulation) in enumerate(every):
        mhz = subcarriers * cell.numerology.spacing_khz / 1e3
        step(f"{users} users, {mhz:g} MHz, {modulation}", number, len(every))
        if any(_exceeds((users, subcarriers, modulation), one) for one in tried if not one.fits):
            continue
        changed = variant(cell, users, subcarriers, fft_size, modulation)
        if changed is None:
            continue
        known = _calibrated(changed, seconds, stopped)
        if known is None:
            return Searched(tried, number, len(every))
        tried.append(_judge(changed, Costs(known, machine_of(known)), mhz))
    return Searched(tried, len(every), len(every))


def _calibrated(cell: Cell, seconds: float, stopped: Callable[[], bool]) -> Calibration | None:
    """None when stopped: what was measured until then is too little to judge by."""
    try:
        known = calibration.measure(cell, seconds, stopped=stopped)
    except KeyboardInterrupt:
        return None
    return None if stopped() else known


def _exceeds(these: tuple[int, int, str], one: Candidate) -> bool:
    users, subcarriers, modulation = these
    return (
        users >= one.users
        and subcarriers >= one.subcarriers
        and MODULATIONS.index(modulation) >= MODULATIONS.index(one.modulation)
    )


def _judge(cell: Cell, costs: Costs, mhz: float) -> Candidate:
    cores = costs.machine.cores
    point = simulate(cell, costs, cores)
    if not point.fits and point.load < 1:  # other job sizes may do
        point = job_sizes.choose(cell, costs, cores)[1]
    figures = runfolder.describe(cell)
    rate = sum(side["ideal_rate_mbps"] for side in (figures["uplink"], figures["downlink"]) if side)
    return Candidate(
        cell.users,
        cell.numerology.subcarriers,
        mhz,
        cell.uplink.modulation,
        rate,
        point.fits,
        point,
    )
