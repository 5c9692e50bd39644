"""What a scheduler's users got: mac.json."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from carillon.mac.build import Settings
from carillon.mac.flow import Flow
from carillon.mac.history import spans
from carillon.mac.scheduler import Scheduler


def summary(cell: str, settings: Settings, scheduler: Scheduler) -> dict[str, Any]:
    """All of it, as JSON has it."""
    seconds = scheduler.frames * scheduler.frame_s
    return {
        "cell": cell,
        "policy": settings.policy,
        "target_bler": settings.target_bler,
        "loads_mbps": list(settings.loads) or None,
        "arrivals": settings.arrivals if settings.loads else "full",
        "seed": settings.seed,
        "harq_processes": settings.harq,
        "frames": scheduler.frames,
        "seconds": seconds,
        "refused": dict(scheduler.refused),
        "unheard": scheduler.unheard,
        "flows": [
            _flow(scheduler, place, flow, seconds) for place, flow in enumerate(scheduler.flows)
        ],
    }


def _flow(scheduler: Scheduler, place: int, flow: Flow, seconds: float) -> dict[str, Any]:
    queue = asdict(flow.queue)
    del queue["limit"]
    points = scheduler.history.points
    return {
        "user": flow.user,
        "direction": flow.direction,
        "throughput_mbps": 8e-6 * flow.queue.delivered / seconds if seconds else None,
        "bler": flow.bler,
        "blocks": asdict(flow.blocks),
        "mean_mcs": flow.mean("mcs"),
        "mean_bits_per_element": flow.mean("efficiency"),
        "snr_db": flow.link.snr_db,
        "offset_db": flow.link.loop.offset_db,
        "bytes": queue,
        "over_time": [asdict(span) for span in spans(points, place, scheduler.frame_s)],
    }
