"""Runs of a study, each of one policy with one seed, spread over processes."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from carillon import resources
from carillon.children import deaf, die_with_parent, end_with_asker
from carillon.errors import CarillonError
from carillon.pool.study import Described, simulate, with_degrees
from carillon.statistics import Values

NOWHERE = 0xFFFF  # as a server
_PAUSE = 0.2  # seconds


@dataclass(frozen=True)
class Request:
    """One run."""

    described: Described
    policy: str
    seed: int

    @property
    def frames(self) -> int:
        """Of all its cells."""
        return self.described.study.frames * self.described.units


@dataclass(frozen=True)
class Outcome:
    """What became of every frame of a run, in the order in which they ended; times in ms.

    server: NOWHERE for a frame that started while its unit was moved. moves: decided and done, ms,
    cell, from, to, why (as `why`). joins of devices in reserve: ms, server, device, cell that
    asked. ports: share of the time that each server's port is busy.
    """

    policy: str
    seed: int
    began: Values
    latency: Values
    cell: npt.NDArray[np.uint16]
    devices: npt.NDArray[np.uint16]
    server: npt.NDArray[np.uint16]
    done: npt.NDArray[np.bool_]
    why: npt.NDArray[np.uint8]
    busy: list[float]
    memory: list[int]
    ports: list[float]
    moves: list[tuple[float, float, int, int, int, int]]
    joins: list[tuple[float, int, int, int]]
    stages: dict[str, float]
    tasks: int
    copies: int
    again: int
    end: float


class KilledError(CarillonError):
    """A process was killed, and all others with it; `outcomes` has the runs that were whole."""

    def __init__(self, outcomes: Sequence[Outcome | None]) -> None:
        self.outcomes = outcomes
        super().__init__("a process of the simulation was killed: is memory short?")


def run_all(
    requests: Sequence[Request],
    workers: int,
    progress: Callable[[int], None],
    stopped: Callable[[], bool],
) -> list[Outcome | None]:
    """The outcomes in the order of the requests, whoever was first; None: it was stopped.

    `progress`: called now and then with the frames that have ended. Raises KilledError.
    """
    requests = [_filled(request) for request in requests]
    # It imports once what all processes need, those of the next call too.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    ended, stop = context.Array("q", len(requests), lock=False), context.Value("b", 0, lock=False)
    workers = max(1, min(workers or resources.cores().count, len(requests)))
    with ProcessPoolExecutor(workers, context, _begin, (ended, stop)) as pool:
        with deaf():  # workers start here
            futures = [_submitted(pool, *numbered) for numbered in enumerate(requests)]
        for _ in _until_done(futures):
            progress(sum(ended))
            if stopped():
                stop.value = 1
                for future in futures:
                    future.cancel()
        if any(map(_killed, futures)):
            # A pool that breaks while its processes start waits for those it did not yet know.
            for process in multiprocessing.active_children():
                process.kill()
    outcomes = [_result(future) for future in futures]
    if any(map(_killed, futures)) and not stopped():  # what stops this process may kill others
        raise KilledError(outcomes)
    return outcomes


def _submitted(pool: ProcessPoolExecutor, place: int, request: Request) -> Future[Outcome | None]:
    """Of a pool that broke meanwhile, one that says so."""
    try:
        return pool.submit(_carry_out, place, request)
    except BrokenProcessPool as error:
        future: Future[Outcome | None] = Future()
        future.set_exception(error)
        return future


def _filled(request: Request) -> Request:
    """With α, found once here rather than in every process."""
    if request.policy != "scoreboard":
        return request
    return replace(request, described=with_degrees(request.described))


def _result(future: Future[Outcome | None]) -> Outcome | None:
    return None if future.cancelled() or _killed(future) else future.result()


def _killed(future: Future[Outcome | None]) -> bool:
    return not future.cancelled() and isinstance(future.exception(), BrokenProcessPool)


def _until_done(futures: Sequence[Future[Outcome | None]]) -> Iterator[None]:
    left = futures
    while left := [future for future in left if not future.done()]:  # or cancelled, unlike wait()
        wait(left, _PAUSE, FIRST_COMPLETED)
        yield


# Of a process of the pool: frames that have ended by request, and whether to stop.
_ended: Any = None
_stop: Any = None


def _begin(ended: Any, stop: Any) -> None:
    global _ended, _stop
    _ended, _stop = ended, stop
    die_with_parent()
    end_with_asker()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _carry_out(place: int, request: Request) -> Outcome | None:
    """None: it was stopped."""

    def progress(frames: int) -> bool:
        _ended[place] = frames
        return not _stop.value

    if _stop.value:
        return None
    run = simulate(request.described, request.policy, request.seed, progress=progress)
    _ended[place] = request.frames
    if len(run["latency"]) < request.frames:
        return None
    return Outcome(
        policy=request.policy,
        seed=request.seed,
        began=run["began"],
        latency=run["latency"],
        cell=run["cell"],
        devices=run["devices"],
        server=run["server"],
        done=run["done"].astype(bool),
        why=run["why"],
        busy=run["busy"],
        memory=run["memory"],
        ports=run["ports"],
        moves=run["moves"],
        joins=run["joins"],
        stages=run["stages"],
        tasks=run["tasks"],
        copies=run["copies"],
        again=run["again"],
        end=run["end"],
    )
