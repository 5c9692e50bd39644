"""A policy's frames in a few figures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from carillon import core
from carillon.pool.economy import watts
from carillon.pool.plan import hardware
from carillon.pool.running import Outcome
from carillon.pool.study import Described
from carillon.statistics import Values, percentile

SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999, "p9999": 0.9999}
LOST = ("its server was lost", "between two servers")  # reasons: noise for the radio, no NACK


@dataclass(frozen=True)
class ServerUse:
    """What a server had of a policy's frames. port_share: of its port's time; None: no switch."""

    server: int
    frames: int
    done: int
    nacked: int
    lost: int
    sm_share: float
    port_share: float | None


@dataclass(frozen=True)
class Moved:
    """A radio unit went from one server to another; its frames that started meanwhile were lost."""

    seed: int
    decided_ms: float
    served_ms: float
    unit: int
    origin: int
    target: int
    why: str


@dataclass(frozen=True)
class Joined:
    """A device in reserve joined because of a unit's NACKs."""

    seed: int
    at_ms: float
    server: int
    device: int
    unit: int


@dataclass(frozen=True)
class Summary:
    """Of all seeds of a policy, without the frames of the warm-up.

    Percentiles are over all frames, and one that was refused or given up (NACK), or lost with or
    between servers, took for ever: inf. None: too few frames. mean_ms is of those that were done.
    sm_share: of all devices' SM time, with background kernels, not reserved SMs. memory: the most
    that results took at once. Copies between devices, tasks issued again, moves and joins are of
    whole runs. watts: of all servers, as the file's economy assumes.
    """

    policy: str
    frames: int
    done: int
    nacked: dict[str, int]  # by cause
    lost: dict[str, int]  # by cause
    mean_ms: float | None
    percentiles_ms: dict[str, float | None]
    frames_per_s: float
    devices_per_frame: float | None
    copies_per_frame: float
    issued_again: int
    tasks: int
    sm_share: float
    sm_share_by_device: list[float]
    memory_bytes_by_device: list[int]
    stages_ms: dict[str, float]
    watts: float
    servers: list[ServerUse]
    moves: list[Moved]
    joins: list[Joined]

    def row(self) -> dict[str, object]:
        """For JSON, where for ever is "never"."""
        percentiles = {
            name: "never" if value is not None and math.isinf(value) else value
            for name, value in self.percentiles_ms.items()
        }
        return asdict(self) | {"percentiles_ms": percentiles}


def written(percentile_name: str) -> str:
    """p9999 as a person writes it: p99.99."""
    return f"p{100 * SHARES[percentile_name]:g}"


def settled(outcome: Outcome, warm_up: int) -> npt.NDArray[np.bool_]:
    """Which frames are not among the first of their cell."""
    kept = np.ones(len(outcome.began), bool)
    for cell in np.unique(outcome.cell):
        own = np.flatnonzero(outcome.cell == cell)
        kept[own[np.argsort(outcome.began[own], kind="stable")[:warm_up]]] = False
    return kept


def latencies(outcomes: Sequence[Outcome], warm_up: int) -> Values:
    """Of all frames after the warm-up, in ms; inf for those that were not done."""
    every = [
        np.where(outcome.done, outcome.latency, np.inf)[settled(outcome, warm_up)]
        for outcome in outcomes
    ]
    values: Values = np.concatenate(every)
    return values


def summarize(described: Described, outcomes: Sequence[Outcome]) -> list[Summary]:
    """Of each policy that has a run, in the file's order."""
    own = [
        [outcome for outcome in outcomes if outcome.policy == policy]
        for policy in described.study.policies
    ]
    return [_summary(runs, described) for runs in own if runs]


def _summary(outcomes: Sequence[Outcome], described: Described) -> Summary:
    """Of one policy's runs."""
    warm_up = described.study.warm_up
    values = latencies(outcomes, warm_up)
    known = values[np.isfinite(values)]
    kept = [settled(outcome, warm_up) for outcome in outcomes]
    pairs = list(zip(outcomes, kept, strict=True))
    used = np.concatenate([run.devices[own & run.done] for run, own in pairs])
    reasons = core.reasons()
    causes = Counter(reasons[code] for run, own in pairs for code in run.why[own & ~run.done])
    busy = np.mean([outcome.busy for outcome in outcomes], axis=0)
    every = sum(len(outcome.began) for outcome in outcomes)
    return Summary(
        policy=outcomes[0].policy,
        frames=len(values),
        done=len(known),
        nacked={why: count for why, count in sorted(causes.items()) if why not in LOST},
        lost={why: count for why, count in sorted(causes.items()) if why in LOST},
        mean_ms=float(known.mean()) if len(known) else None,
        percentiles_ms={name: percentile(values, share) for name, share in SHARES.items()},
        frames_per_s=float(np.mean([_rate(*pair) for pair in pairs])),
        devices_per_frame=float(used.mean()) if len(used) else None,
        copies_per_frame=sum(outcome.copies for outcome in outcomes) / every,
        issued_again=sum(outcome.again for outcome in outcomes),
        tasks=sum(outcome.tasks for outcome in outcomes),
        sm_share=_weighted(busy, [kind for _, kind in hardware(described.study)]),
        sm_share_by_device=busy.tolist(),
        memory_bytes_by_device=np.max([outcome.memory for outcome in outcomes], axis=0).tolist(),
        stages_ms=outcomes[0].stages,
        watts=watts(described.study, busy.tolist()),
        servers=[_server(number, pairs, busy, described) for number in _numbers(described)],
        moves=[_moved(outcome, move) for outcome in outcomes for move in outcome.moves],
        joins=[Joined(outcome.seed, *join) for outcome in outcomes for join in outcome.joins],
    )


def _numbers(described: Described) -> range:
    return range(len(described.study.rack()))


def _weighted(busy: Values, types: Sequence[str]) -> float:
    """A mean over SMs."""
    sms = {kind["name"]: kind["sms"] for kind in core.device_types()}
    return float(np.average(busy, weights=[sms[kind] for kind in types]))


def _server(
    number: int,
    pairs: Sequence[tuple[Outcome, npt.NDArray[np.bool_]]],
    busy: Values,
    described: Described,
) -> ServerUse:
    lost = _lost_codes()
    own = [(run, kept & (run.server == number)) for run, kept in pairs]
    frames = sum(int(kept.sum()) for _, kept in own)
    done = sum(int(run.done[kept].sum()) for run, kept in own)
    gone = sum(int(np.isin(run.why[kept & ~run.done], lost).sum()) for run, kept in own)
    types = {
        place: kind
        for place, (server, kind) in enumerate(hardware(described.study))
        if server == number
    }
    ports = [run.ports[number] for run, _ in pairs if run.ports]
    return ServerUse(
        server=number,
        frames=frames,
        done=done,
        nacked=frames - done - gone,
        lost=gone,
        sm_share=_weighted(busy[list(types)], list(types.values())),
        port_share=float(np.mean(ports)) if ports else None,
    )


def _moved(outcome: Outcome, move: tuple[float, float, int, int, int, int]) -> Moved:
    decided, served, unit, origin, target, why = move
    return Moved(outcome.seed, decided, served, unit, origin, target, core.reasons()[why])


def _rate(outcome: Outcome, kept: npt.NDArray[np.bool_]) -> float:
    """Frames done per second, from the warm-up's last end to the last one's, whatever its end."""
    ends = outcome.began + outcome.latency
    begin = float(ends[~kept].max()) if not kept.all() else 0.0
    done = int(np.count_nonzero(outcome.done & (ends > begin)))
    return 1e3 * done / (float(ends.max()) - begin) if done else 0.0


def _lost_codes() -> list[int]:
    return [code for code, why in enumerate(core.reasons()) if why in LOST]
