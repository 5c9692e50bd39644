"""A run in words."""

from __future__ import annotations

from carillon.result import Result


def summary(result: Result) -> list[str]:
    """The run in a few lines, for a terminal."""
    lines = [verdict(result)]
    for name, side in (("uplink", result.uplink), ("downlink", result.downlink)):
        if side.ideal_rate_mbps == 0:
            continue
        latency = side.latency_ms
        lines.append(
            f"{name}: {side.blocks - side.blocks_failed} of {side.blocks} blocks, "
            f"{side.rate_mbps:.4g} Mb/s; latency p50 {ms(latency.p50)}, p99 {ms(latency.p99)}, "
            f"max {ms(latency.max)}"
        )
    if result.core_ms_per_ms is not None:
        lines.append(f"cores: {result.core_ms_per_ms:.3f} core-ms per ms of air time")
    return lines


def verdict(result: Result) -> str:
    """One sentence: did the cell hold?"""
    seen, completed = result.frames.seen, result.frames.completed
    late = seen - completed
    failed = result.uplink.blocks_failed + result.downlink.blocks_failed
    if seen == 0:
        return "No frame was seen."
    frames = (
        f"all {seen} frames in time"
        if late == 0
        else f"{late} of {seen} frames late ({_causes(result)})"
    )
    blocks = "no block failed" if failed == 0 else f"{failed} blocks failed"
    return f"{frames[0].upper()}{frames[1:]}, {blocks}."


def _causes(result: Result) -> str:
    causes = result.lates.model_dump()
    return ", ".join(f"{n} {cause.replace('_', ' ')}" for cause, n in causes.items() if n)


def ms(value: float | None) -> str:
    """A time, or that there were too few samples for it."""
    return "n/a" if value is None else f"{value:.3f} ms"
