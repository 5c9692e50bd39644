"""MegaStation §5.5, figure 15: what scheduling takes for an instruction, measured, at 128×32.

A policy decides on a simulated pool of four A100s, but it is the engine's own code, and what each
of its decisions takes is real time on this machine. How long a kernel or a copy takes is simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from carillon import core
from carillon.config.pool import POLICIES, Devices, PoolStudy, RadioUnits, Trace
from carillon.pool.study import Described, simulate
from carillon.statistics import Values
from carillon.studies.figure import describe

NAME = "megastation-15"
TITLE = "time of a policy's decisions per instruction (measured), 128×32"
DIRECTIONS = ("uplink", "downlink")
FRAMES = 500
SHARES = np.linspace(0.005, 0.985, 197)
PUBLISHED_US = {"instruction unit": 12.0, "pipeline scheduler": 1.3 * 12.0}  # p90
PUBLISHED_MS = {"ZeroForce, p90": 0.3, "its copy to another GPU": 0.12}


@dataclass(frozen=True)
class Timing:
    """µs for each instruction: its part of its frame's admission, and its decision."""

    direction: str
    policy: str
    instructions: int
    mean_us: float
    p50_us: float
    p90_us: float
    p99_us: float
    quantiles_us: list[float]  # at SHARES


@dataclass(frozen=True)
class Simulated:
    """ms of what is simulated, under scoreboard."""

    direction: str
    what: str
    ms: float
    published_ms: float


def pool(direction: str, frames: int) -> Described:
    """One radio unit on four A100s."""
    study = PoolStudy(
        devices=[Devices(type="a100", count=4)],
        cells=[RadioUnits(cell=f"128x32-{direction}")],
        frames=frames,
        warm_up=0,
        trace=Trace(frames=0),
    )
    return describe(study, NAME)


def measure(frames: int, progress: Callable[[int], bool]) -> Iterator[Timing]:
    """One policy after the other, alone in this process; ends where progress says so."""
    for direction in DIRECTIONS:
        whole = pool(direction, frames)
        for policy in POLICIES:
            run = simulate(whole, policy, 1, timed=True, progress=progress)
            if len(run["latency"]) < frames or not progress(frames):
                return
            yield _timing(direction, policy, np.asarray(run["decision_ns"]) / 1e3)


def _timing(direction: str, policy: str, taken: Values) -> Timing:
    p50, p90, p99 = np.quantile(taken, (0.5, 0.9, 0.99))
    quantiles = np.quantile(taken, SHARES).tolist()
    mean = float(taken.mean())
    return Timing(
        direction, policy, len(taken), mean, float(p50), float(p90), float(p99), quantiles
    )


def simulated(frames: int = 100) -> Sequence[Simulated]:
    """How long zero-forcing takes, and a copy of its result over an idle link."""
    found = []
    for direction in DIRECTIONS:
        whole = pool(direction, frames)
        graph = core.pool_graph(whole.served[0].plan)
        run = simulate(whole, "scoreboard", 1, keep=True)
        taken = [
            each[6] - each[5]
            for each in run["executions"]
            if graph[each[2]]["opcode"] == "ZeroForce"
        ]
        link = whole.study.links.device
        bytes_out = next(one["output_bytes"] for one in graph if one["opcode"] == "ZeroForce")
        copy = bytes_out / (link.gbytes_per_s * 1e6) + 2 * link.latency_us / 1e3
        every = zip(PUBLISHED_MS.items(), (float(np.quantile(taken, 0.9)), copy), strict=True)
        found += [Simulated(direction, what, ms, said) for (what, said), ms in every]
    return found
