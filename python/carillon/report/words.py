"""A run in words."""

from __future__ import annotations

from carillon.result import Direction, Downlink, Result


def summary(result: Result) -> list[str]:
    """The run in a few lines, for a terminal."""
    lines = [verdict(result)]
    for name, side in (("uplink", result.uplink), ("downlink", result.downlink)):
        if side.ideal_rate_mbps == 0:
            continue
        latency = side.latency_ms
        parts = []
        if checks_blocks(result, side):
            parts.append(f"{_blocks(side)}, {side.rate_mbps:.4g} Mb/s")
        if result.role != "radio":
            parts.append(
                f"latency p50 {ms(latency.p50)}, p99 {ms(latency.p99)}, max {ms(latency.max)}"
            )
        if parts:
            lines.append(f"{name}: " + "; ".join(parts))
    if result.core_ms_per_ms is not None and result.role != "radio":
        cost = f"cores: {result.core_ms_per_ms:.3f} core-ms per ms of air time"
        lines.append(f"{cost}{result.of_computed}")
    return lines


def checks_blocks(result: Result, side: Direction) -> bool:
    """Whether this process gets the direction's blocks: the users are with the radio unit."""
    return result.role == "both" or (result.role == "radio") == isinstance(side, Downlink)


def _blocks(side: Direction) -> str:
    unverified = side.blocks_unverified if isinstance(side, Downlink) else 0
    good = side.blocks - side.blocks_failed - unverified
    return f"{good} of {side.blocks} blocks" + (f", {unverified} unverified" if unverified else "")


def verdict(result: Result) -> str:
    """One sentence: did the cell hold?"""
    seen, completed, skipped = result.frames.seen, result.frames.completed, result.frames.skipped
    late = seen - completed
    failed = result.uplink.blocks_failed + result.downlink.blocks_failed
    if result.role == "radio" and result.frames.sent and not result.packets["sent"]:
        return f"No packet of {result.frames.sent} frames could be sent."
    if result.role == "radio":
        frames = f"{result.frames.sent} frames sent"
    elif seen == 0:
        return f"No frame was seen{_skipped(skipped)}."
    elif late:
        frames = f"{late} of {seen} frames late ({_causes(result)})"
    else:
        not_all = skipped or result.frames.passed_over
        frames = f"{seen} frames in time" if not_all else f"all {seen} frames in time"
    blocks = "no block failed" if failed == 0 else f"{failed} blocks failed"
    if passed := result.frames.passed_over:
        blocks += f", {passed} passed over when reception began anew"
    if lacking := result.frames.incomplete:
        blocks += f", {lacking} frames in time lacked packets"
    return f"{frames[0].upper()}{frames[1:]}, {blocks}{_skipped(skipped)}."


def _skipped(count: int) -> str:
    return f"; the radio skipped {count}, since its thread did not run" if count else ""


def _causes(result: Result) -> str:
    causes = result.lates.model_dump()
    return ", ".join(f"{n} {cause.replace('_', ' ')}" for cause, n in causes.items() if n)


def ms(value: float | None) -> str:
    """A time, or that there were too few samples for it."""
    return "n/a" if value is None else f"{value:.3f} ms"
