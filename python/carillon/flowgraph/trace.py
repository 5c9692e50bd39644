"""trace.json of a graph's run for Perfetto (ui.perfetto.dev): jobs on workers, standstills."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from carillon.files import write_text
from carillon.flowgraph.running import Running, RunResult

_MOST_JOBS = 20_000  # of each worker


def write_trace(file: Path, running: Running, result: RunResult) -> None:
    """The last jobs of each worker."""
    tree = {"displayTimeUnit": "ms", "traceEvents": list(_events(running, result))}
    write_text(file, json.dumps(tree, separators=(",", ":"), ensure_ascii=False))


def _events(running: Running, result: RunResult) -> Iterator[dict[str, Any]]:
    names = [node.name for node in running.graph.nodes]
    first = 0
    for worker, jobs in enumerate(running.jobs()):
        label = {"name": f"worker {worker}"}
        yield {"name": "thread_name", "ph": "M", "pid": 1, "tid": worker, "args": label}
        kept = jobs[-_MOST_JOBS:]
        first = max(first, kept[0][3] if len(jobs) > len(kept) else 0)
        for node, executions, release, start, end in kept:
            yield {
                "name": names[node],
                "ph": "X",
                "pid": 1,
                "tid": worker,
                "ts": start / 1e3,
                "dur": (end - start) / 1e3,
                "args": {"executions": executions, "waited_us": max(0, start - release) / 1e3},
            }
    label = {"name": "standstills"}
    yield {"name": "thread_name", "ph": "M", "pid": 1, "tid": 1000, "args": label}
    for start, length in result.standstills_ns:
        if start >= first:
            yield {
                "name": "stood still", "ph": "X", "pid": 1, "tid": 1000,
                "ts": start / 1e3, "dur": length / 1e3,
            }  # fmt: skip
