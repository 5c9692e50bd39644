"""An MPI job as an executor: mpi4py's pool in a job of its own.

MPI ends a whole job when one of its processes is gone. So the process that asks is none of them:
rank 0 of the job reads calls from its standard input, one a line, gives them to an MPIPoolExecutor
over the other ranks, and writes a line for each that is done. A job that ended is started again.
"""

from __future__ import annotations

import base64
import itertools
import os
import pickle
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from carillon.children import die_with_parent
from carillon.errors import CarillonError

P = ParamSpec("P")
T = TypeVar("T")

_READY = "carillon-ready"
_DONE = "carillon-done "
# Open MPI (version 5, version 4): rank 0 computes nothing and needs no core of its own, and a
# command may have more cores than one.
_ENVIRONMENT = {
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}
_PATIENCE = 20.0  # seconds in which a job that was told to end does


class MpiError(CarillonError):
    """An MPI job that does not start."""


class MpiJob(Executor):
    """Runs calls on the ranks of an MPI job, which starts with the first one."""

    def __init__(self, launcher: Sequence[str], workers: int, log: Path) -> None:
        self._command = [*launcher, "-n", str(workers + 1), sys.executable]
        self._command += ["-m", "mpi4py.futures", "-m", "carillon.sweep.mpi"]
        self._log = log
        self._numbers = itertools.count()
        self._job: _Job | None = None

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """The future raises BrokenExecutor when the job ended before it was done."""
        if self._job is None or self._job.failure is not None:
            self._job = _Job(self._command, self._log)
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()
        self._job.send(next(self._numbers), future, (fn, args, kwargs))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        if self._job is not None:
            self._job.end()


class _Job:
    """One start of mpiexec, and the calls that it has not answered."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._log = log
        with log.open("wb") as stream:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stream,
                env=_ENVIRONMENT | os.environ,
                text=True,
                process_group=0,  # a terminal's Ctrl-C is for us
                preexec_fn=die_with_parent,
            )
        self._lock = threading.Lock()
        self._open: dict[int, Future[Any]] = {}
        self.failure: Exception | None = None  # once it has ended
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, number: int, future: Future[Any], call: tuple[Any, ...]) -> None:
        with self._lock:
            if self.failure is not None:
                future.set_exception(self.failure)
                return
            self._open[number] = future
        assert self._process.stdin is not None
        with suppress(OSError):  # it is ending, which the reader tells all that wait
            self._process.stdin.write(_packed((number, call)) + "\n")
            self._process.stdin.flush()

    def end(self) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.write("\n")
            self._process.stdin.close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.terminate()
        self._reader.join(_PATIENCE)

    def _read(self) -> None:
        assert self._process.stdout is not None
        ready = False
        for line in self._process.stdout:
            ready = ready or line.strip() == _READY
            if line.startswith(_DONE):
                number, error, value = pickle.loads(base64.b64decode(line[len(_DONE) :]))
                future = self._open.pop(number)
                if error is None:
                    future.set_result(value)
                else:
                    future.set_exception(error)
        status = self._process.wait()
        told = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        words = next((line.strip() for line in reversed(told) if re.search("[a-z]", line)), None)
        said = f"{words} (all of it: {self._log})" if words else f"status {status}"
        with self._lock:
            self.failure = (BrokenExecutor if ready else MpiError)(f"the MPI job ended: {said}")
        for future in list(self._open.values()):
            future.set_exception(self.failure)


def _packed(what: object) -> str:
    return base64.b64encode(pickle.dumps(what)).decode("ascii")


def _serve() -> None:
    """Rank 0, under `python -m mpi4py.futures`, until its standard input ends."""
    from mpi4py.futures import MPIPoolExecutor

    lock = threading.Lock()

    def tell(number: int, future: Future[Any]) -> None:
        error = future.exception()
        line = _packed((number, error, None if error else future.result()))
        with lock:
            print(_DONE + line, flush=True)

    with MPIPoolExecutor() as pool:
        print(_READY, flush=True)
        for line in iter(sys.stdin.readline, ""):
            if line == "\n":  # Open MPI does not pass on that the input has ended
                break
            number, (fn, args, kwargs) = pickle.loads(base64.b64decode(line))
            pool.submit(fn, *args, **kwargs).add_done_callback(partial(tell, number))


if __name__ == "__main__":
    _serve()
