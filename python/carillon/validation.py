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
from carillon.memory_run import Frames, Measured, MemoryRun, at_once, with_grain
from carillon.statistics import Values
from carillon.virtual import Bound, Costs, Table, bound, cores_needed, run_virtually, simulate

Pace = Literal["air", "at once"]
Measure = Literal["D_UL", "D_UL - T", "D_DL"]
Step = Callable[[str], None]

PACES: tuple[Pace, ...] = ("at once", "air")
_VIRTUAL = 24  # frames
_ROUNDS = 3
_TURNS = 5  # of two choices of job sizes
_FEWEST = 20  # frames of a round
_QUANTILES = (0.999, 0.99, 0.9)  # of a bound


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
class Proof:
    """A cell's proven latencies (virtual.Bound, in ms), held against frames at the pace of the air.

    quantile: of claims, the highest of a few for which a latency is proven. above: frames that took
    longer. unexplained: those that took longer by more than cores were lost to the bound, in which
    all its claims take `quantile`: while workers stood still or brought packets, and in claims that
    took longer. There should be none. near: the longest of all frames without that, as a share of
    the bound.
    """

    cell: str
    workers: int
    quantile: float
    uplink_ms: float | None
    downlink_ms: float | None
    frames: int
    above: int
    unexplained: int
    near: float


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
) -> tuple[list[Prediction], list[Proof], Calibration]:
    """Of one cell on so many workers, what is proven of it, and its last calibration.

    At the pace of the air only where they keep up with it. Each round calibrates anew, so that what
    is foretold and what is measured are of the same minute of the machine.
    """
    rounds: list[list[Prediction]] = []
    proofs: list[Proof] = []
    for number in range(_ROUNDS):
        step(f"{cell.name}: calibrating, {number + 1} of {_ROUNDS}")
        known = calibration.measure(cell, seconds)
        found: list[Prediction] = []
        for count in workers:
            costs = Costs(known, Machine.of_speed(count))
            grain, point = job_sizes.choose(cell, costs, count)
            for pace in PACES if point.keeps_up else PACES[:1]:
                step(f"{cell.name}, {count} workers, {pace}: {number + 1} of {_ROUNDS}")
                sized = with_grain(cell, grain)
                measured = _measure(sized, costs, count, pace, seconds)
                found += _compare(sized, costs, count, pace, measured)
                if pace == "air":
                    proofs.append(prove(sized, costs, count, measured))
        rounds.append(found)
    return [_over_rounds(those) for those in _same(rounds)], proofs, known


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


def _measure(cell: Cell, costs: Costs, workers: int, pace: Pace, seconds: float) -> Measured:
    frame_ms = runfolder.describe(cell)["frame_ms"]
    alone = float(np.mean(virtual_frames(cell, costs, workers, pace).whole))
    count = max(_FEWEST, int(1e3 * seconds / (frame_ms if pace == "air" else alone) / 4))
    run = MemoryRun(cell, workers, at_once=pace == "at once")
    return run.frames(cell, count, traced=pace == "air")


def prove(cell: Cell, costs: Costs, workers: int, measured: Measured) -> Proof:
    """Frames that were refused or given up have no latency, and are not counted."""
    every = (bound(cell, costs, workers, quantile) for quantile in _QUANTILES)
    own = next(
        (one for one in every if one.uplink_ms or one.downlink_ms), Bound(0, None, None, None)
    )
    lost = _Lost(measured, costs.on(workers).slower(own.quantile))
    described = runfolder.describe(cell)
    first_packet = min(
        (s["end_ms"] for s in described["symbols"] if s["kind"] in "PU"), default=0.0
    )
    kept = measured.starts >= measured.known_from
    with_lost, without = np.zeros((2, len(measured.starts)))  # shares of the bound
    for ms, latencies, begin in (
        (own.uplink_ms, measured.uplink, first_packet),
        (own.downlink_ms, measured.downlink, 0.0),
    ):
        if ms is None:
            continue
        # What was lost while the frame before was under way may be in this one's way.
        since, until = measured.starts - described["frame_ms"], measured.starts + begin + latencies
        with_lost = np.fmax(with_lost, latencies / ms)
        without = np.fmax(without, (latencies - lost.between(since, until)) / ms)
    has_any = ~np.isnan(measured.uplink) | ~np.isnan(measured.downlink)
    return Proof(
        cell.name,
        workers,
        own.quantile,
        own.uplink_ms,
        own.downlink_ms,
        int(np.count_nonzero(has_any & kept)),
        int(np.count_nonzero((with_lost > 1) & kept)),
        int(np.count_nonzero((without > 1) & kept)),
        float(np.max(without[kept], initial=0.0)),
    )


class _Lost:
    """Core time that a bound does not know of, in ms."""

    def __init__(self, measured: Measured, table: Table) -> None:
        at, took, opcode, chunks = measured.traced
        usual = (np.array(table.claim_ns)[opcode] + np.array(table.chunk_ns)[opcode] * chunks) / 1e6
        slow = took > usual
        start = np.concatenate([measured.idle[0], measured.bringing[0], (at + usual)[slow]])
        length = np.concatenate([measured.idle[1], measured.bringing[1], (took - usual)[slow]])
        self._starts, self._begun = _summed(start, length)
        self._ends, self._over = _summed(start + length, length)

    def between(self, since: Values, until: Values) -> Values:
        """All of what was lost, at least in part, within each of these times."""
        begun = self._begun[np.searchsorted(self._starts, until)]
        over = self._over[np.searchsorted(self._ends, since, side="right")]
        lost: Values = begun - over
        return lost


def _summed(times: Values, lengths: Values) -> tuple[Values, Values]:
    """In order of time, and how much until each."""
    order = np.argsort(times)
    return times[order], np.concatenate([[0.0], np.cumsum(lengths[order])])


def _compare(
    cell: Cell, costs: Costs, workers: int, pace: Pace, measured: Measured
) -> list[Prediction]:
    foretold = virtual_frames(cell, costs, workers, pace)
    frame_ms = runfolder.describe(cell)["frame_ms"]
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
                cell.name,
                workers,
                pace,
                name,
                float(np.nanmean(of(foretold))),
                ms,
                ms,
                ms,
                len(measured.uplink),
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
