"""What a study is: points to ask for, what is read off each, and the published values beside it."""

from __future__ import annotations

import csv
import json
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from queue import Empty, SimpleQueue

from carillon import files
from carillon.errors import CarillonError
from carillon.models import Latency
from carillon.models.allocation import Goal, Policy
from carillon.studies.presets import Preset
from carillon.studies.sources import Source

Presets = Mapping[str, Preset]


class StudyError(CarillonError):
    """A study that cannot be done here."""


@dataclass(frozen=True)
class Request:
    """One point: a policy on so many cores. fft_cores: of core-groups, instead of the best."""

    costs: str
    policy: Policy
    antennas: int
    cores: int
    direction: Goal = "uplink"
    fft_cores: int | None = None


@dataclass(frozen=True)
class Row:
    """One figure of one point. source: published, model, virtual, measured or static (counted by a
    model of a processor); value None: cannot keep up."""

    source: str
    costs: str
    policy: str
    antennas: int
    cores: int | None
    measure: str
    value: float | None
    note: str = ""


@dataclass(frozen=True)
class Study:
    """An experiment. `read` makes a point's rows, also of one that cannot keep up; `closing` those
    that follow from all of them."""

    name: str
    title: str
    ask: Callable[[int], list[Request]]  # up to so many cores
    read: Callable[[Request, Latency | None, str], list[Row]]
    published: Sequence[Row]
    closing: Callable[[Sequence[Row], Presets], list[Row]] = lambda rows, presets: []


def collect(
    study: Study, source: Source, requests: Sequence[Request], workers: int
) -> Iterator[list[Row]]:
    """The rows of each request as they come, on so many processes, which end with the iterator."""
    pool = ProcessPoolExecutor(workers, initializer=signal.signal, initargs=_UNINTERRUPTED)
    try:
        yield from _each(pool, study, source, requests)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


_PAUSE = 0.2  # seconds
_UNINTERRUPTED = (signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks


def _each(
    pool: Executor, study: Study, source: Source, requests: Sequence[Request]
) -> Iterator[list[Row]]:
    done: SimpleQueue[Future[Latency | None]] = SimpleQueue()
    futures: dict[Future[Latency | None], Request] = {}
    for request in requests:
        future = pool.submit(source.point, request)
        futures[future] = request
        future.add_done_callback(done.put)
    while futures:
        try:
            future = done.get(timeout=_PAUSE)
        except Empty:
            yield []  # so that who asks may stop
            continue
        yield study.read(futures.pop(future), future.result(), source.name)


def write_rows(folder: Path, about: Mapping[str, object], rows: Sequence[Row]) -> None:
    """study.json with all that is to be said about a study, and study.csv with its rows."""
    text = json.dumps(about, indent=2, ensure_ascii=False)
    files.write_text(folder / "study.json", text + "\n")
    with files.table(folder / "study.csv") as stream:
        writer = csv.DictWriter(stream, fieldnames=[f.name for f in fields(Row)])
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
