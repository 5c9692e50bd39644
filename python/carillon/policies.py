"""Scheduling policies beside each other: a cell's frames from memory, on this machine's cores.

Each policy runs in turns of its own, a fraction of a second long, so that whatever else the machine
does falls on all of them alike.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from carillon import core, resources, runfolder, virtual
from carillon.config import Cell, Run, plan_text
from carillon.errors import InputError
from carillon.memory_run import ASLEEP, MemoryRun
from carillon.models.allocation import STAGES
from carillon.statistics import Percentiles, Values

POLICIES = ("earliest-frame", "core-groups", "static")
MOST_LOAD = 0.6  # of the cores, unless the cell's own pace is less
_TURN_SECONDS = 0.15
_SETTLED = 4  # frames of a turn that do not count
_PATIENCE_MS = 1000.0  # no frame is dropped for being late: what it takes is what is asked
_SPACING_KHZ = (1.0, 480.0)  # that a cell may have
_MEASURED_FRAMES = 24


class PoliciesError(InputError):
    """A comparison that cannot be made here."""


@dataclass(frozen=True)
class Pace:
    """How fast frames come: the air's time, stretched.

    load: of the cores, kernels alone, that follows from it.
    """

    stretch: float
    load: float


def with_policy(cell: Cell, policy: str, workers: int, busy: Mapping[str, float]) -> Cell:
    """The cell under a policy; core-groups in those groups that share `busy` out most evenly."""
    update: dict[str, Any] = {"policy": policy, "workers": workers}
    if policy == "core-groups":
        update["groups"] = cell.runtime.groups.model_copy(update=groups(busy, workers))
    return cell.model_copy(update={"runtime": cell.runtime.model_copy(update=update)})


def groups(busy: Mapping[str, float], workers: int) -> dict[str, int]:
    """runtime.groups for what each opcode takes of a frame: the most loaded core has the least.

    With fewer workers than stages neighbouring stages share one; else each has one, and what is
    left goes where it is needed most.
    """
    loads = {stage: sum(busy.get(op, 0.0) for op in ops) for stage, ops in STAGES.items()}
    used = [stage for stage, load in loads.items() if load > 0]
    if workers <= len(used):
        cuts = combinations(range(1, len(used)), workers - 1)
        parts = [[used[a:b] for a, b in pairwise((0, *cut, len(used)))] for cut in cuts]
        best = min(parts, key=lambda ways: max(sum(loads[s] for s in part) for part in ways))
        sizes = {part[0]: 1 for part in best}
    else:
        sizes = dict.fromkeys(used, 1)
        for _ in range(workers - len(used)):
            sizes[max(sizes, key=lambda stage: loads[stage] / sizes[stage])] += 1
    return dict.fromkeys(STAGES, 0) | sizes


def stretched(cell: Cell, stretch: float) -> Cell:
    """The cell with all times on air so many times as long: as if its spacing were that much less.

    Deadlines grow too, and the uplink's is put off: nothing is dropped.
    """
    numerology = cell.numerology
    prefix = numerology.prefix_samples
    if numerology.prefix == "nr-normal":
        prefix = round((144 + 16 / 7) * numerology.fft_size / 2048)  # two of 14 are longer
    return cell.model_copy(
        update={
            "numerology": numerology.model_copy(
                update={
                    "spacing_khz": numerology.spacing_khz / stretch,
                    "prefix": "constant",
                    "prefix_samples": prefix,
                }
            ),
            "deadlines": cell.deadlines.model_copy(
                update={
                    "uplink_budget_ms": _PATIENCE_MS,
                    "downlink_lead_ms": cell.deadlines.downlink_lead_ms * stretch,
                }
            ),
        }
    )


def busy_of(cell: Cell, workers: int) -> dict[str, float]:
    """ms that each opcode takes of a frame, of all cores together, each frame by itself."""
    measured = MemoryRun(cell, workers, at_once=True).frames(cell, _MEASURED_FRAMES)
    return dict(zip(core.opcodes(), np.median(measured.busy, axis=0).tolist(), strict=True))


def pace_of(cell: Cell, busy: Mapping[str, float], workers: int, load: float | None) -> Pace:
    """The pace at which the cores have a load; None: the cell's own, or less where they cannot
    keep up with that."""
    own = sum(busy.values()) / (workers * runfolder.describe(cell)["frame_ms"])
    wanted = min(own, MOST_LOAD) if load is None else load
    spacing = cell.numerology.spacing_khz
    least, most = (spacing / limit for limit in reversed(_SPACING_KHZ))
    stretch = min(max(own / wanted, least), most)
    if load is None and own / stretch > 1:
        raise PoliciesError(
            f"{cell.name} would keep {own:.0f} times as many cores busy as the {workers} here; "
            "its frames cannot be slowed down that much"
        )
    return Pace(stretch, own / stretch)


@dataclass(frozen=True)
class Measured:
    """One policy. Latencies in ms on the stretched air; core_ms_per_ms as if it were not.

    beyond_air: from the end of the last uplink symbol to the last bits. waiting: share of the
    cores' time. lost: frames refused or dropped. late_symbols: of the downlink.
    """

    groups: dict[str, int]  # of core-groups: cores of each stage
    uplink_ms: Percentiles
    beyond_air_ms: Percentiles
    downlink_ms: Percentiles
    core_ms_per_ms: dict[str, float]  # kernels, scheduling, claiming, arriving
    waiting: float
    frames: int
    lost: int
    late_symbols: int
    blocks_failed: int
    claims_per_frame: float
    turns: list[dict[str, float | None]]  # of each, per frame, to be compared in pairs


class Comparison:
    """Measures in turns; `result` may be asked for after any of them."""

    def __init__(self, cell: Cell, workers: int, load: float | None, seconds: float) -> None:
        if workers > resources.cores().count:
            raise PoliciesError(f"{workers} workers want a core each, and there are fewer here")
        self.cell, self.workers = cell, workers
        self.busy = busy_of(cell, workers)
        self.pace = pace_of(cell, self.busy, workers, load)
        slow = stretched(cell, self.pace.stretch)
        self.cells = {p: with_policy(slow, p, workers, self.busy) for p in POLICIES}
        if workers == 1:  # one core has no groups
            self.cells.pop("core-groups")
        self._memory = core.MemoryRun(plan_text(slow, Run()), workers)
        figures = runfolder.describe(slow)
        self.frame_ms = float(figures["frame_ms"])
        ends = [s["end_ms"] for s in figures["symbols"] if s["kind"] in "PU"]
        self._air_ms = ends[-1] - ends[0] if ends else 0.0
        self.turns = max(1, round(seconds / (_TURN_SECONDS * len(self.cells))))
        self._frames = _SETTLED + max(8, math.ceil(_TURN_SECONDS * 1e3 / self.frame_ms))
        self._taken: dict[str, list[dict[str, Any]]] = {p: [] for p in self.cells}

    def measure(self) -> Iterator[str]:
        """Runs all turns, yielding before each the policy whose turn it is."""
        order = list(self.cells)
        for turn in range(self.turns):
            for policy in order[turn % len(order) :] + order[: turn % len(order)]:
                yield policy
                begun = time.monotonic()
                text = plan_text(self.cells[policy], Run())
                self._taken[policy].append(self._memory.run(text, frames=self._frames))
                time.sleep(ASLEEP * (time.monotonic() - begun))

    def result(self) -> dict[str, Measured]:
        """What has been measured of each policy."""
        return {p: self._measured(p, taken) for p, taken in self._taken.items() if taken}

    def _measured(self, policy: str, taken: Sequence[dict[str, Any]]) -> Measured:
        def of_frames(name: str) -> Values:
            return np.concatenate([turn[name][_SETTLED:] for turn in taken])

        lasted = sum(worker["lasted"] for turn in taken for worker in turn["workers"])
        completed = np.concatenate([turn["completed"] for turn in taken])
        uplink = of_frames("uplink_done") - of_frames("first_packet")
        cores = _core_ms(taken)
        done = max(1.0, completed.sum())  # the others cost nothing
        air_ms = done * self.frame_ms / self.pace.stretch
        return Measured(
            groups=self.cells[policy].runtime.groups.model_dump()
            if policy == "core-groups"
            else {},
            uplink_ms=_percentiles(uplink),
            beyond_air_ms=_percentiles(uplink - self._air_ms),
            downlink_ms=_percentiles(of_frames("downlink_first")),
            core_ms_per_ms={name: cores[name] / air_ms for name in _KINDS},
            waiting=1 - sum(cores.values()) / lasted,
            frames=len(completed),
            lost=int(len(completed) - completed.sum()),
            late_symbols=int(sum(turn["missed"].sum() for turn in taken)),
            blocks_failed=sum(turn["blocks_failed"] for turn in taken),
            claims_per_frame=sum(turn["claims"] for turn in taken) / done,
            turns=[self._turn(turn) for turn in taken],
        )

    def _turn(self, turn: dict[str, Any]) -> dict[str, float | None]:
        cores = _core_ms([turn])
        working, done = sum(cores.values()), max(1.0, turn["completed"].sum())
        uplink = turn["uplink_done"][_SETTLED:] - turn["first_packet"][_SETTLED:]
        return {
            "beyond_air_ms": _percentiles(uplink - self._air_ms).p50,
            "core_ms": working / done,
            "synchronisation_ms": (working - cores["kernels"]) / done,
        }


_KINDS = ("kernels", "scheduling", "claiming", "arriving")


def _core_ms(taken: Sequence[dict[str, Any]]) -> dict[str, float]:
    workers = [worker for turn in taken for worker in turn["workers"]]
    return {name: sum(worker[name] for worker in workers) for name in _KINDS}


def _percentiles(values: Values) -> Percentiles:
    return Percentiles.of(values[~np.isnan(values)])


def ratio(one: Measured, other: Measured, figure: str) -> tuple[float, float, float] | None:
    """One policy's figure over another's in the same turn: median over turns, and the quartiles."""
    pairs = zip(one.turns, other.turns, strict=False)  # a stop may come between the two
    both = ((a[figure], b[figure]) for a, b in pairs)
    ratios = [a / b for a, b in both if a is not None and b]
    if not ratios:
        return None
    low, middle, high = np.percentile(ratios, [25, 50, 75]).tolist()
    return middle, low, high


def in_virtual_time(
    cell: Cell,
    costs: virtual.Costs,
    cores: Sequence[int],
    step: Callable[[], None] = lambda: None,
) -> list[dict[str, Any]]:
    """The policies on imaginary cores, where a claim takes what the costs say whoever makes it; at
    the cell's own pace, and no latency where that is more than the cores can do."""
    rows = []
    for number in cores:
        for policy in POLICIES:
            busy = dict(zip(core.opcodes(), costs.on(number).chunk_ns, strict=True))
            under = with_policy(cell, policy, number, busy)
            point = virtual.simulate(under, costs, number)  # which looks for the best groups
            if not point.keeps_up:
                point = replace(point, uplink_ms=None, downlink_ms=None)
            rows.append(
                {
                    "cores": number,
                    "policy": policy,
                    "uplink_ms": point.uplink_ms,
                    "downlink_ms": point.downlink_ms,
                    "load": point.load,
                }
            )
            step()
    return rows


def about(comparison: Comparison, found: Mapping[str, Measured]) -> dict[str, Any]:
    """All of a comparison for machines to read, without machine and date."""
    first = found.get(POLICIES[0])
    return {
        "cell": comparison.cell.name,
        "workers": comparison.workers,
        "stretch": comparison.pace.stretch,
        "load": comparison.pace.load,
        "frame_ms": comparison.frame_ms,
        "policies": {policy: asdict(measured) for policy, measured in found.items()},
        "over_earliest_frame": {
            policy: {
                figure: ratio(measured, first, figure)
                for figure in ("beyond_air_ms", "core_ms", "synchronisation_ms")
            }
            for policy, measured in found.items()
            if first is not None and policy != POLICIES[0]
        },
    }
