"""The top of the page: did it hold, and the few figures that matter most."""

from __future__ import annotations

import html

from carillon.report.words import checks_blocks, verdict
from carillon.result import Direction, Downlink, Result
from carillon.runfolder import RunFolder


def verdict_banner(result: Result) -> str:
    """Green, amber or red, with the reason in words."""
    late = result.frames.seen - result.frames.completed
    failed = result.uplink.blocks_failed + result.downlink.blocks_failed
    excused = result.lates.machine_stall
    anything = result.frames.seen or (result.role == "radio" and result.frames.sent)
    flawless = late == 0 and failed == 0 and result.frames.skipped == 0
    colour = "good" if flawless else "fair" if late == excused else "bad"
    if not anything:
        colour = "bad"
    note = "" if result.finished else " The run was cut short: figures are of what was recorded."
    return f'<p class="verdict {colour}">{html.escape(verdict(result) + note)}</p>'


def tiles(folder: RunFolder, result: Result) -> str:
    """One tile for each headline figure."""
    parts = []
    for name, side in (("Uplink", result.uplink), ("Downlink", result.downlink)):
        if side.ideal_rate_mbps:
            if result.role != "radio":
                parts.append(_latency(name, side))
            if checks_blocks(result, side):
                parts.append(_rate(name, side))
    if result.core_ms_per_ms is not None and result.role != "radio":
        note = f"of {result.workers} workers; per ms of air time{result.of_computed}"
        parts.append(_tile("Cores used", f"{result.core_ms_per_ms:.2f}", "core-ms", note))
    iq = folder.derived["uplink_iq_gbps"] + folder.derived["downlink_iq_gbps"]
    parts.append(_tile("Fronthaul", f"{iq:.3g}", "Gb/s", "IQ samples, both ways"))
    return "\n".join(parts)


def _latency(name: str, side: Direction) -> str:
    latency = side.latency_ms
    middle = latency.p50 if latency.p50 is not None else latency.mean
    tail = f"p99 {latency.p99:.3f}, " if latency.p99 is not None else ""
    worst = "no frame" if latency.max is None else f"{tail}max {latency.max:.3f} ms"
    return _tile(f"{name} latency", "–" if middle is None else f"{middle:.3f}", "ms", worst)


def _rate(name: str, side: Direction) -> str:
    note = f"{side.blocks_failed} of {side.blocks} blocks failed"
    if isinstance(side, Downlink) and side.blocks_unverified:
        note += f", {side.blocks_unverified} unverified"
    return _tile(f"{name} rate", f"{side.rate_mbps:.4g}", "Mb/s", note)


def _tile(title: str, value: str, unit: str, note: str) -> str:
    return (
        f'<div class="tile"><h2>{html.escape(title)}</h2>'
        f'<p class="value">{html.escape(value)} <small>{html.escape(unit)}</small></p>'
        f"<p>{html.escape(note)}</p></div>"
    )
