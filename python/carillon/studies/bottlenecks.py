"""Section 5.4 of the Millipede thesis, figures 5.6 to 5.9: where a frame's time goes.

Measured on this machine's cores with the thesis's uplink cells, and beside it what the thesis
states in words. It had no channel coding; our pipeline cannot be without, so its code is one that
costs little, and what decoding takes is left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from carillon import bench, core, resources
from carillon.config import Cell, Run, plan_text
from carillon.memory_run import ASLEEP, at_once
from carillon.models import Workload, thesis
from carillon.statistics import Values
from carillon.studies import ports
from carillon.studies.presets import Preset
from carillon.studies.study import Row, StudyError

ANTENNAS = (8, 16, 32, 64)
STAGES = {  # the thesis's functions
    "doFFT": ("PilotFft", "UplinkFft"),
    "doZF": ("ZeroForce",),
    "doDemod": ("EqualizeDemodulate",),
}
PARTS = ("load", "compute", "store")
_DECODING = ("Decode", "Store")
_SYNCHRONISATION = ("scheduling", "claiming", "arriving")
_PUBLISHED_CORES = 25  # of figure 5.6(b)
_TURN_SECONDS = 0.2
_TASKS = {"doFFT": 8 * 70, "doZF": 1200, "doDemod": 1200 * 62}  # of a frame; doFFT: at 8 antennas

Step = Callable[[str, float], bool]  # what is being done, the share that is over → go on?


@dataclass(frozen=True)
class Choice:
    """How much is measured."""

    frames: int = 8000  # of a point, as published
    quick: bool = False  # benchmarks
    presets: Mapping[str, Preset] = field(default_factory=dict)  # for what is modelled


@dataclass(frozen=True)
class Experiment:
    """One figure. `measure` may be stopped by its step; it then yields what it has."""

    name: str
    title: str
    measure: Callable[[Choice, Step], Iterator[Row]]
    published: Sequence[Row]


def cell(antennas: int) -> Cell:
    """The thesis's uplink with a code of rate 0.9 and one iteration, for frames that are each by
    themselves: nothing waits for the air (§5.4.1: symbol duration is reduced)."""
    known = thesis.uplink_cell(antennas)
    cheap = {"rate": 0.9, "base_graph": "auto", "lifting": "auto", "iterations": 1}
    return at_once(known.model_copy(update={"uplink": known.uplink.model_copy(update=cheap)}))


def machine_cores() -> int:
    """All that this process may use."""
    return resources.cores().count


# --- Frames ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Frames:
    """Frames of a cell one after another on so many cores."""

    antennas: int
    cores: int
    lasted_ms: Values  # [frame]
    busy_ms: Values  # [frame, opcode], summed over cores
    spent_ms: Mapping[str, Values]  # [turn], per frame, summed over cores

    def busy(self, *ops: str) -> Values:
        """Of a frame in these opcodes."""
        names = core.opcodes()
        return np.asarray(self.busy_ms[:, [names.index(op) for op in ops]].sum(axis=1))

    def work_ms(self) -> Values:
        """All cores' time of a frame, without decoding."""
        return self.cores * self.lasted_ms - self.busy(*_DECODING)

    def kernels_ms(self) -> Values:
        """What of it was in kernels."""
        return np.asarray(self.busy_ms.sum(axis=1) - self.busy(*_DECODING))


def frames_of(points: Sequence[tuple[int, int]], frames: int, step: Step) -> list[Frames]:
    """So many frames of each point (antennas, cores), in turns, or as many as there were."""
    runs = []
    for antennas, cores in points:
        if not step(f"making {antennas} antennas' samples", 0.0):
            return []
        text = plan_text(cell(antennas), Run())
        run = partial(core.MemoryRun(text, cores).run, text, at_once=True)
        runs.append((run, max(1, round(_TURN_SECONDS * 1e3 / np.median(_lasted(run(frames=6)))))))
    taken: list[list[dict[str, Any]]] = [[] for _ in runs]
    left = [frames] * len(runs)
    while any(left):
        for place, (run, turn) in enumerate(runs):
            if left[place] == 0:
                continue
            over = 1 - sum(left) / (frames * len(runs))
            if not step("{}×8 on {} cores".format(*points[place]), over):
                left = [0] * len(runs)
                break
            count = min(turn, left[place])
            begun = time.monotonic()
            taken[place].append(run(frames=count))
            time.sleep(ASLEEP * (time.monotonic() - begun))
            left[place] -= count
    return [_frames(*p, turns) for p, turns in zip(points, taken, strict=True) if turns]


def _lasted(turn: Mapping[str, Any]) -> Values:
    return np.asarray(turn["ended"] - turn["first_packet"])


def _frames(antennas: int, cores: int, turns: Sequence[dict[str, Any]]) -> Frames:
    def spent(kind: str) -> Values:
        return np.array(
            [sum(worker[kind] for worker in turn["workers"]) / len(turn["busy"]) for turn in turns]
        )

    return Frames(
        antennas,
        cores,
        np.concatenate([_lasted(turn) for turn in turns]),
        np.concatenate([turn["busy"] for turn in turns]),
        {kind: spent(kind) for kind in _SYNCHRONISATION},
    )


def _measured(antennas: int, cores: int, measure: str, value: Any, note: str = "") -> Row:
    return Row("measured", "ours", "earliest-frame", antennas, cores, measure, float(value), note)


def _said(antennas: int, cores: int | None, measure: str, value: float, note: str) -> Row:
    return Row("published", "measured", "earliest-frame", antennas, cores, measure, value, note)


# --- 5.6: synchronisation -------------------------------------------------------------------------


def _synchronisation(choice: Choice, step: Step) -> Iterator[Row]:
    yield from _unit_test(choice, step)
    points = [(antennas, machine_cores()) for antennas in ANTENNAS]
    for found in frames_of(points, choice.frames, step):
        yield from _shares(found)
    yield from _modelled(choice.presets)


def _unit_test(choice: Choice, step: Step) -> Iterator[Row]:
    """5.6(a): one empty job for each worker; and what the goals are set for."""
    measures = {
        "a job for each worker": ("round_us", 1e-3, "earliest-frame"),
        "a fixed job for each worker": ("round_us", 1e-3, "static"),
        "empty chunks": ("chunk_ns", 1.0, "earliest-frame"),
        "instructions of a chunk": ("instruction_us", 1e-3, "earliest-frame"),
    }
    pattern = f"^runtime ({'|'.join(measures)}) \\d"
    words = bench.options(bench.Choice(pattern, quick=choice.quick))
    for row in bench.measure(words):
        measure, scale, policy = measures[row.kernel]
        workers = int(row.shape.split()[0])
        value = row.median_ns * scale
        yield replace(_measured(0, workers, measure, value), policy=policy)
        if not step(f"{row.kernel}, {row.shape}", 0.0):
            return


def _shares(found: Frames) -> Iterator[Row]:
    """5.6(b), as the thesis computes it: all of a frame's time less that in kernels. And of that,
    what cores did; the rest of the time they waited."""
    where = found.antennas, found.cores
    work, kernels = found.work_ms(), found.kernels_ms()
    yield _measured(*where, "frame_ms", np.median(found.lasted_ms), f"{len(work)} frames")
    yield _measured(*where, "outside_kernels_share", np.median(1 - kernels / work))
    whole = float(np.median(work))
    spent = {kind: float(np.median(found.spent_ms[kind])) / whole for kind in _SYNCHRONISATION}
    yield _measured(*where, "synchronisation_ms", whole * sum(spent.values()))
    yield _measured(*where, "synchronisation_share", sum(spent.values()))
    for kind, share in spent.items():
        yield _measured(*where, f"{kind}_share", share)


def _modelled(presets: Mapping[str, Preset]) -> Iterator[Row]:
    """The claims' share of all work on as many cores as published, by the fitted contention."""
    for name, preset in presets.items():
        for (antennas, direction), costs in preset.costs.items():
            if direction == "uplink":
                work = Workload.of(preset.cells[antennas, direction]).instructions()
                free = costs.ideal()
                all_ns = sum(costs.busy_ns(op, n, _PUBLISHED_CORES) for op, n in work)
                free_ns = sum(free.busy_ns(op, n, _PUBLISHED_CORES) for op, n in work)
                yield Row(
                    "model",
                    name,
                    "earliest-frame",
                    antennas,
                    _PUBLISHED_CORES,
                    "synchronisation_share",
                    1 - free_ns / all_ns,
                )


# --- 5.7 and 5.8: the functions' time -------------------------------------------------------------


def _over_cores(choice: Choice, step: Step) -> Iterator[Row]:
    points = [(8, cores) for cores in _powers(machine_cores())]
    yield from _functions(points, choice, step)


def _over_antennas(choice: Choice, step: Step) -> Iterator[Row]:
    yield from _functions([(antennas, machine_cores()) for antennas in ANTENNAS], choice, step)


def _powers(most: int) -> list[int]:
    """1, 2, 4 … and the most."""
    return sorted({*(1 << i for i in range(most.bit_length())), most} - {0})


def _functions(points: Sequence[tuple[int, int]], choice: Choice, step: Step) -> Iterator[Row]:
    """CPU time of a frame by function; of a task by function; and each function's shares by
    ablation, on one core."""
    for found in frames_of(points, choice.frames, step):
        where = found.antennas, found.cores
        for function, ops in STAGES.items():
            frame_ms = float(np.median(found.busy(*ops)))
            tasks = _TASKS[function] * (found.antennas // 8 if function == "doFFT" else 1)
            yield _measured(*where, f"{function}_ms", frame_ms, f"{len(found.lasted_ms)} frames")
            yield _measured(*where, f"{function}_task_us", frame_ms * 1e3 / tasks)
    yield from _ablated(sorted({antennas for antennas, _ in points}), choice, step)


_BENCHES = {"ablated fft": "doFFT", "ablated zeroforce": "doZF", "ablated demodulate": "doDemod"}


def _ablated(antennas: Sequence[int], choice: Choice, step: Step) -> Iterator[Row]:
    shapes = "|".join(f"{number}x8" for number in antennas)
    pattern = f"^frame/ablation .* ({shapes}) "
    wanted = bench.Choice(pattern, (core.active_isa(),), quick=choice.quick)
    ns: dict[tuple[str, int], dict[str, float]] = {}
    for row in bench.measure(bench.options(wanted)):
        shape, left = row.shape.split(" ", 1)
        ns.setdefault((_BENCHES[row.kernel], int(shape.split("x")[0])), {})[left] = row.ns
        if not step(f"{row.kernel}, {row.shape}", 1.0):
            break
    for (function, number), times in ns.items():
        if "compute" in times:
            for part, share in parts(times).items():
                note = "ablation, one core"
                yield _measured(number, 1, f"{function}_{part}_share", share, note)


def parts(times: Mapping[str, float]) -> dict[str, float]:
    """Shares of a function's time from what is left of it: without stores, then without loads."""
    whole, loading, compute = (times[left] for left in ("in place", "without stores", "compute"))
    return {
        "load": (loading - compute) / whole,
        "compute": compute / whole,
        "store": (whole - loading) / whole,
    }


# --- 5.9: port analysis ---------------------------------------------------------------------------


def _ports(choice: Choice, step: Step) -> Iterator[Row]:
    try:
        tool = ports.version(ports.mca())
        isa = core.active_isa()
        note = f"{tool}, model of {ports.model_of(isa)}, {isa}"
        for number, (call, part, pattern) in enumerate(ports.LOOPS):
            found = ports.loop(bench.program(), isa, call, part, pattern)
            for measure in ("cycles", "front_end", "busiest", "arithmetic", "loads", "stores"):
                value = float(getattr(found, measure))
                about = f"{note}; bound: {found.bound}"
                name = f"{call}: {part}, {measure}"
                yield Row("static", "ours", "", 0, None, name, value, about)
            if not step(part, (number + 1) / len(ports.LOOPS)):
                return
    except ports.PortsError as error:
        raise StudyError(str(error)) from None


EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "millipede-5.6",
            "synchronisation: a job for each worker over cores, share of a frame over antennas",
            _synchronisation,
            (
                _said(
                    32, _PUBLISHED_CORES, "outside_kernels_share", 0.055, "§5.4.1; ours has fewer"
                ),
            ),
        ),
        Experiment(
            "millipede-5.7",
            "CPU time of doFFT, doZF and doDemod over cores, 8 antennas",
            _over_cores,
            (
                _said(8, 15, "doZF_ms", thesis.ZERO_FORCE_MS_8X8, "§5.3.2: 14.42 · 2.047 ms"),
                _said(
                    8,
                    15,
                    "doZF_task_us",
                    thesis.ZERO_FORCE_MS_8X8 * 1e3 / thesis.SUBCARRIERS,
                    "§5.3.2, of 1200 subcarriers",
                ),
            ),
        ),
        Experiment(
            "millipede-5.8",
            "CPU time of doFFT, doZF and doDemod over antennas",
            _over_antennas,
            (),
        ),
        Experiment(
            "millipede-5.9",
            "what limits fft, pinv and equalize: static port analysis",
            _ports,
            (),
        ),
    )
}
