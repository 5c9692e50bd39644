"""For programs of GNU Radio: a top block that keeps a latency.

Import it before the flowgraph is built, so that it knows the blocks within hierarchical ones.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from carillon.gnuradio import batches, threads
from carillon.gnuradio.flow import Flow, FlowError, record_connections
from carillon.gnuradio.measure import Request, measure

__all__ = ["FlowError", "keep_latency", "start"]

_PLAN_SECONDS = 300.0

record_connections()


def start(top: Any, settings: Path | str) -> None:
    """Starts a top block that stands still, with settings.json of `carillon flowgraph plan --grc`.

    Raises FlowError if they are of another flowgraph, or the kernel refuses its priorities.
    """
    try:
        found = json.loads(Path(settings).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FlowError(f"{settings}: {error}") from None
    if not isinstance(found, dict) or not found.keys() >= {"blocks", "cores", "scheduling"}:
        raise FlowError(f"{settings}: is no settings.json of carillon flowgraph plan --grc")
    _start(Flow(top), found)


def keep_latency(
    top: Any,
    latency_s: float,
    cores: int,
    *,
    seconds: float = 2.0,
    scheduling: Literal["other", "fifo", "deadline"] = "other",
    rates_hz: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Measures a top block, plans it, and leaves it running in its batches; returns the settings.

    It stops a running one: buffers are made at a start. Each of five batch sizes is measured for
    `seconds`. `rates_hz`: samples a second of sources that neither say it nor feed a throttle.
    Raises FlowError where there is no plan.
    """
    top.stop()
    top.wait()
    flow = Flow(top)
    asked: dict[str, Any] = {
        "name": top.name(),
        "described": measure(flow, Request(0.0, warm_up=0.0)),
        "latency_ns": latency_s * 1e9,
        "cores": cores,
        "scheduling": scheduling,
        "rates_hz": dict(rates_hz or {}),
    }
    asked["sizes"] = _planner(asked)
    asked["measured"] = [measure(flow, Request(seconds, **each)) for each in asked["sizes"]]
    settings: dict[str, Any] = _planner(asked)
    _start(flow, settings)
    return settings


def _start(flow: Flow, settings: Mapping[str, Any]) -> None:
    batches.apply(settings, flow)
    flow.start()
    try:
        batches.schedule(settings, flow, threads.find(flow.blocks))
    except FlowError:
        flow.stop()
        raise


def _planner(asked: Mapping[str, Any]) -> Any:
    done = subprocess.run(
        [_carillons_python(), "-m", "carillon.flowgraph.grc.planner"],
        input=json.dumps(asked) + "\n",
        capture_output=True,
        text=True,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        timeout=_PLAN_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise FlowError(f"Carillon's planner failed: {done.stderr.strip().splitlines()[-1:]}")
    found = json.loads(done.stdout)
    if isinstance(found, dict) and "error" in found:
        raise FlowError(found["error"])
    return found


def _carillons_python() -> str:
    """Of the environment that this package is installed in, or of the clone that it lies in."""
    here = Path(__file__).resolve()
    known = [Path(os.environ["CARILLON_PYTHON"])] if "CARILLON_PYTHON" in os.environ else []
    known += [here.parents[3] / ".venv/bin/python", here.parents[5] / "bin/python"]
    for python in known:
        if python.is_file():
            return str(python)
    raise FlowError(
        f"Carillon's Python is none of {', '.join(map(str, known))}: run ./carillon setup, or name "
        "it in CARILLON_PYTHON"
    )
