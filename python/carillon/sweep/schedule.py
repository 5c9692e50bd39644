"""Which task when: all of them once, and once more those whose worker was killed."""

from __future__ import annotations

import shutil
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait

from carillon.sweep.engines import Engine
from carillon.sweep.task import Outcome, Task, perform, record, recorded

_PAUSE = 0.2  # seconds, between looks at whether to stop
_PATIENCE = 30.0  # seconds in which commands end that were told to
_TRIES = 2  # of a task whose worker is killed
_SUBMISSIONS = 10  # of one whose workers are gone before it begins


class Schedule:
    """The tasks of a sweep on their way through an engine.

    `done` is called with each task as it ends, in no particular order.
    """

    def __init__(
        self, tasks: Sequence[Task], engine: Engine, done: Callable[[Task, Outcome], None]
    ) -> None:
        self._engine = engine
        self._done = done
        self._waiting = deque(tasks)
        self._again: deque[Task] = deque()  # had a worker that was killed
        self._running: dict[Future[Outcome], Task] = {}
        self._losses = Counter[str]()  # workers, while they ran the task
        self._submitted = Counter[str]()  # in vain

    def run(self, stopped: Callable[[], bool]) -> None:
        """Until all have ended, or `stopped` says so; then those under way are ended too."""
        while (self._waiting or self._again or self._running) and not stopped():
            self._submit()
            self._collect(*wait(self._running, _PAUSE, FIRST_COMPLETED)[:1])
        if self._running:
            stop = next(iter(self._running.values())).stop
            stop.touch()
            self._collect(wait(self._running, _PATIENCE).done)

    def _submit(self) -> None:
        while len(self._running) < (1 if self._careful() else self._engine.workers):
            queue = self._again or self._waiting
            if not queue:
                return
            task = queue.popleft()
            shutil.rmtree(task.folder, ignore_errors=True)
            self._running[self._engine.executor.submit(perform, task)] = task

    def _careful(self) -> bool:
        """Whether tasks run one at a time: when it must be found out which one kills its worker."""
        suspects = [*self._again, *self._running.values()]
        return self._engine.shared_fate and any(self._losses[task.key] for task in suspects)

    def _collect(self, finished: set[Future[Outcome]]) -> None:
        for future in finished:
            task = self._running.pop(future)
            try:
                outcome = future.result()
            except self._engine.lost:
                known = recorded(task)
                if known is None and not self._give_up(task):
                    self._again.append(task)
                    continue
                outcome = known or Outcome("lost", "its worker was killed, again and again")
                record(task, outcome)
            if outcome.state != "stopped":
                self._done(task, outcome)

    def _give_up(self, task: Task) -> bool:
        """Counts a lost worker against a task, unless it had not begun: its folder tells."""
        self._submitted[task.key] += 1
        if task.folder.exists():
            self._losses[task.key] += 1
        return self._losses[task.key] >= _TRIES or self._submitted[task.key] >= _SUBMISSIONS
