"""What a graph at work does, in a terminal."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live as RichLive
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from carillon.commands.tables import new_table
from carillon.flowgraph.plan import time_text
from carillon.flowgraph.running import Running

_SECONDS = 0.25  # between looks
_MOST_NODES = 20


class Live:
    """Rates, latencies against their bounds, how full rings are, and the workers' load."""

    def __init__(
        self, running: Running, seconds: float | None, console: Console, *, quiet: bool
    ) -> None:
        """`seconds`: how long it is to run, if that is known; `quiet`: shows nothing."""
        self._running, self._seconds = running, seconds
        self._before: dict[str, Any] | None = None
        self._next = 0.0
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=console
        )
        self._task = self._bar.add_task("running", total=seconds)
        shown = console.is_terminal and not quiet
        self._live = (
            RichLive(console=console, transient=True, auto_refresh=False) if shown else None
        )

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def step(self) -> None:
        """Looks again if it is time."""
        if self._live is None or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _SECONDS
        state = self._running.state()
        self._bar.update(self._task, completed=state["elapsed_ns"] / 1e9)
        self._live.update(self.picture(state), refresh=True)
        self._before = state

    def picture(self, state: dict[str, Any]) -> RenderableType:
        """Of a state, with rates since the one before."""
        nothing = [0] * len(state["idle_ns"])
        before = self._before or {"elapsed_ns": 0, "nodes": None, "idle_ns": nothing}
        elapsed = max(1, state["elapsed_ns"] - before["elapsed_ns"])
        table = new_table(["node"], ["per s", "of a core", "response", "bound", "latency", "ring"])
        plan = self._running.plan
        for place, row in enumerate(state["nodes"][:_MOST_NODES]):
            old = before["nodes"][place] if before["nodes"] else {"executions": 0, "busy_ns": 0}
            table.add_row(
                self._running.graph.nodes[place].name,
                f"{(row['executions'] - old['executions']) * 1e9 / elapsed:.4g}",
                f"{100 * (row['busy_ns'] - old['busy_ns']) / elapsed:.3g} %",
                time_text(row["longest_response_ns"]) if self._running.paced else "–",
                "–" if plan is None else time_text(plan.nodes[place].response_ns),
                time_text(row["longest_latency_ns"]) if row["longest_latency_ns"] else "",
                f"{100 * row['filled'] / row['capacity']:.0f} %" if row["capacity"] else "",
            )
        loads = ", ".join(
            f"{100 * max(0.0, 1 - (now - then) / elapsed):.3g} %"
            for now, then in zip(state["idle_ns"], before["idle_ns"], strict=True)
        )
        bound = "" if plan is None else f"; end to end at most {time_text(plan.bound_ns)}"
        return Group(table, f"workers at work: {loads}{bound}", self._bar)
