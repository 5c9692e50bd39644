"""Who runs the tasks: executors of concurrent.futures, which outlive their workers."""

from __future__ import annotations

import importlib.util
import multiprocessing
import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from carillon import resources
from carillon.children import deaf, die_with_parent
from carillon.config.sweep import Sweep
from carillon.errors import CarillonError

P = ParamSpec("P")
T = TypeVar("T")


class EngineError(CarillonError):
    """An engine that is not installed, or does not start."""


@dataclass(frozen=True)
class Engine:
    """An executor and what is known of it.

    lost: what a future raises when its worker is gone; the executor then still takes tasks.
    shared_fate: that also ends the tasks of all other workers.
    """

    executor: Executor
    workers: int
    lost: tuple[type[Exception], ...] = (BrokenExecutor,)
    shared_fate: bool = False


@contextmanager
def started(sweep: Sweep, folder: Path) -> Iterator[Engine]:
    """The engine that a sweep names, ready; it ends with the block. Raises EngineError."""
    engines = {"processes": _processes, "mpi": _mpi, "dask": _dask}
    with engines[sweep.engine](sweep, folder) as engine:
        yield engine


class Processes(Executor):
    """A process pool for each worker, so that a killed one takes no other along."""

    def __init__(self, workers: int) -> None:
        self._pools = [_pool() for _ in range(workers)]
        self._pending = [0] * workers

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """To the pool with the least to do."""
        place = self._pending.index(min(self._pending))
        with deaf():
            try:
                future = self._pools[place].submit(fn, *args, **kwargs)
            except BrokenProcessPool:
                self._pools[place] = _pool()
                future = self._pools[place].submit(fn, *args, **kwargs)
        self._pending[place] += 1
        future.add_done_callback(lambda _: self._done(place))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        for pool in self._pools:
            pool.shutdown(wait, cancel_futures=cancel_futures)

    def _done(self, place: int) -> None:
        self._pending[place] -= 1


def _pool() -> ProcessPoolExecutor:
    spawn = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=spawn, initializer=die_with_parent)


@contextmanager
def _processes(sweep: Sweep, folder: Path) -> Iterator[Engine]:
    workers = sweep.workers or _cores()
    with Processes(workers) as executor:
        yield Engine(executor, workers)


@contextmanager
def _mpi(sweep: Sweep, folder: Path) -> Iterator[Engine]:
    _require("mpi", "mpi4py", "mpi4py mpich")
    from carillon.sweep.mpi import MpiJob

    workers = sweep.workers or _cores()
    with MpiJob(_launcher(sweep.mpi.launcher), workers, folder / "mpi.log") as executor:
        yield Engine(executor, workers, shared_fate=True)


def _launcher(words: list[str]) -> list[str]:
    """mpiexec of this environment before one of the system: the library must be the same."""
    beside = Path(sys.executable).parent / words[0]
    found = str(beside) if beside.is_file() else shutil.which(words[0])
    if found is None:
        raise EngineError(f"engine mpi: {words[0]} is not installed; {_install('mpich')}")
    return [found, *words[1:]]


@contextmanager
def _dask(sweep: Sweep, folder: Path) -> Iterator[Engine]:
    _require("dask", "distributed", "distributed")
    import logging

    import dask
    from distributed import Client, KilledWorker, LocalCluster

    # So that it is here that a lost task is tried again, as with the other engines.
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), ExitStack() as stack:
        try:
            with deaf():
                address: Any = sweep.dask.scheduler or stack.enter_context(
                    LocalCluster(
                        n_workers=sweep.workers or _cores(),
                        threads_per_worker=1,
                        dashboard_address=":0",
                        silence_logs=logging.CRITICAL,
                    )
                )
                client = stack.enter_context(Client(address))
        except (OSError, ValueError) as error:
            raise EngineError(f"engine dask: {error}") from None
        threads = client.nthreads().values()
        if not threads:
            raise EngineError(f"engine dask: {sweep.dask.scheduler} has no workers")
        # pure: a task that is tried again is not looked up among those that failed.
        executor = client.get_executor(pure=False)
        workers = sweep.workers or sum(threads)
        yield Engine(executor, workers, (KilledWorker,), shared_fate=max(threads) > 1)


def _cores() -> int:
    return resources.cores().count


def _require(engine: str, module: str, packages: str) -> None:
    if importlib.util.find_spec(module) is None:
        raise EngineError(f"engine {engine} needs {module}; {_install(packages)}")


def _install(packages: str) -> str:
    """The line that installs packages where this Python looks for them."""
    if importlib.util.find_spec("pip") is not None:
        return f"install it with:  {sys.executable} -m pip install {packages}"
    own = Path(sys.prefix).parent / ".tools" / "uv" / "bin" / "uv"
    uv = shutil.which("uv") or (str(own) if own.is_file() else "uv")
    return f"install it with:  {uv} pip install --python {sys.prefix} {packages}"
