"""What `plan` says, held against this machine: latencies foretold and measured, job sizes chosen
and all others."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

import numpy as np

from carillon import calibration, job_sizes, resources, runfolder
from carillon.calibration import Calibration
from carillon.config import Cell
from carillon.job_sizes import Sweep
from carillon.machine import Machine
from carillon.memory_run import Frames, MemoryRun, at_once, with_grain
from carillon.statistics import Values
from carillon.virtual import Costs, cores_needed, run_virtually, simulate

Pace = Literal["air", "at once"]
Measure = Literal["D_UL", "D_UL - T", "D_DL"]
Step = Callable[[str], None]

PACES: tuple[Pace, ...] = ("at once", "air")
_VIRTUAL = 24  # frames
_ROUNDS = 3
_TURNS = 5  # of two choices of job sizes
_FEWEST = 20  # frames of a round


@dataclass(frozen=True)
class Prediction:
    """One latency of a cell, in ms: in virtual time, and measured.

    pace: frames as the air brings them, or each by itself with all its packets there when it begins
    (`at once`), which shows the work that the air would hide. Medians of rounds; low, high: of all
    rounds' medians.
    """

    cell: str
    workers: int
    pace: Pace
    measure: Measure
    predicted_ms: float
    measured_ms: float
    low_ms: float
    high_ms: float
    frames: int

    @property
    def error(self) -> float:
        """By how much more was foretold than was measured, as a share of that."""
        return self.predicted_ms / self.measured_ms - 1


@dataclass(frozen=True)
class Grains:
    """A cell's job sizes, chosen and swept; with all packets of a frame there when it begins where
    `pace` says so.

    measured: the sweep's choice and its best, measured in turn on this machine, in ms; None where
    it has not so many cores.
    """

    cell: str
    pace: Pace
    sweep: Sweep
    measured: tuple[float, float] | None


def predictions(
    cell: Cell, workers: Sequence[int], seconds: float, step: Step
) -> tuple[list[Prediction], Calibration]:
    """Of one cell on so many workers, and its last calibration.

    At the pace of the air only where they keep up with it. Each round calibrates anew, so that what
    is foretold and what is measured are of the same minute of the machine.
    """
    rounds: list[list[Prediction]] = []
    for number in range(_ROUNDS):
        step(f"{cell.name}: calibrating, {number + 1} of {_ROUNDS}")
        known = calibration.measure(cell, seconds)
        found: list[Prediction] = []
        for count in workers:
            costs = Costs(known, Machine.of_speed(count))
            grain, point = job_sizes.choose(cell, costs, count)
            for pace in PACES if point.keeps_up else PACES[:1]:
                step(f"{cell.name}, {count} workers, {pace}: {number + 1} of {_ROUNDS}")
                found += _compare(with_grain(cell, grain), costs, count, pace, seconds)
        rounds.append(found)
    return [_over_rounds(those) for those in _same(rounds)], known


def _same(rounds: Sequence[Sequence[Prediction]]) -> list[list[Prediction]]:
    """What all rounds have: at its limit a cell keeps up in one and not in another."""

    def what(one: Prediction) -> tuple[str, int, str, str]:
        return one.cell, one.workers, one.pace, one.measure

    by_what = [{what(one): one for one in found} for found in rounds]
    return [
        [found[name] for found in by_what]
        for name in by_what[0]
        if all(name in found for found in by_what)
    ]


def _over_rounds(those: Sequence[Prediction]) -> Prediction:
    measured = [one.measured_ms for one in those]
    return replace(
        those[0],
        predicted_ms=median(one.predicted_ms for one in those),
        measured_ms=median(measured),
        low_ms=min(measured),
        high_ms=max(measured),
        frames=sum(one.frames for one in those),
    )


def _compare(
    cell: Cell, costs: Costs, workers: int, pace: Pace, seconds: float
) -> list[Prediction]:
    foretold = virtual_frames(cell, costs, workers, pace)
    frame_ms = runfolder.describe(cell)["frame_ms"]
    each = frame_ms if pace == "air" else float(np.mean(foretold.whole))
    count = max(_FEWEST, int(1e3 * seconds / each / 4))
    measured = MemoryRun(cell, workers, at_once=pace == "at once").frames(cell, count)
    measures: dict[Measure, Callable[[Frames], Values]] = {"D_UL": lambda f: f.uplink}
    if "D" in cell.schedule:
        measures["D_DL"] = lambda f: f.downlink
    if pace == "air":
        measures["D_UL - T"] = lambda f: f.uplink - frame_ms
    found = []
    for name, of in measures.items():
        if np.isnan(of(measured)).all():
            continue  # none got through
        ms = float(np.nanmedian(of(measured)))
        found.append(
            Prediction(
                cell.name, workers, pace, name, float(np.nanmean(of(foretold))), ms, ms, ms, count
            )
        )
    return found


def virtual_frames(cell: Cell, costs: Costs, workers: int, pace: Pace) -> Frames:
    """The cell's frames in virtual time."""
    alone = pace == "at once"
    run = run_virtually(
        at_once(cell) if alone else cell,
        costs.on(workers),
        workers,
        frames=_VIRTUAL,
        at_once=alone,
    )
    return Frames.of(run, at_once=alone)


def grains(cell: Cell, known: Calibration, cores: int, seconds: float, step: Step) -> list[Grains]:
    """The job sizes that `plan` chooses, and every other combination, in virtual time.

    At the pace of the air on as many cores as the cell needs, but at least so many. Frames by
    themselves on so many; then the best beside the choice on this machine, if it has the cores.
    """
    costs = Costs(known, Machine.of_speed(cores))
    step(f"{cell.name}: cores")
    needed = max(cores, cores_needed(cell, costs, lambda point: step(cell.name))[-1].cores)
    found = []
    where: tuple[tuple[Pace, int], ...] = (("air", needed), ("at once", cores))
    for pace, count in where:
        chosen, _ = job_sizes.choose(cell, costs, count, lambda: step(f"{cell.name}: job sizes"))

        def latency(grain: Mapping[str, int], pace: Pace = pace, count: int = count) -> float:
            sized = with_grain(cell, grain)
            if pace == "at once":
                return float(np.nanmean(virtual_frames(sized, costs, count, pace).whole))
            point = simulate(sized, costs, count)
            return point.latency_ms if point.keeps_up else math.inf

        def tell(done: int, of: int) -> None:
            step(f"{cell.name}, job sizes: {done} of {of}")

        swept = job_sizes.sweep(cell, chosen, count, latency, tell)
        here = pace == "at once" and count <= resources.cores().count
        found.append(
            Grains(cell.name, pace, swept, _in_turn(cell, swept, count, seconds) if here else None)
        )
    return found


def _in_turn(cell: Cell, swept: Sweep, cores: int, seconds: float) -> tuple[float, float]:
    """The choice and the best, measured in turns so that what else the machine does meets both."""
    run = MemoryRun(cell, cores, at_once=True)
    count = max(_FEWEST, int(1e3 * seconds / 2 / _TURNS / swept.chosen_ms))
    both = [with_grain(cell, grain) for grain in (swept.chosen, swept.best)]
    rounds = [[run.frames(one, count).whole for one in both] for _ in range(_TURNS)]
    chosen, best = (np.concatenate(values) for values in zip(*rounds, strict=True))
    return float(np.median(chosen)), float(np.median(best))


def median_error(found: Sequence[Prediction], pace: Pace) -> float | None:
    """Of D_UL and D_DL at a pace: the median of how far off they are, whichever way."""
    errors = [
        abs(one.error) for one in found if one.pace == pace and one.measure in ("D_UL", "D_DL")
    ]
    return median(errors) if errors else None
