"""The page's tables of late frames and of what delays frames."""

from __future__ import annotations

from collections.abc import Iterator

from carillon.report.table import row_of, table
from carillon.result import Delays, LateBin, Share
from carillon.telemetry import CAUSES

_MOST_BINS = 12  # of the joint function, that show
_CLASSES = {
    "whole": "in time, with all packets",
    "filled": "in time, zeros instead of missing packets",
    "substituted": "late, something else on air",
    "too_late": "late, uplink blocks to repeat",
    "discarded": "discarded (overload_nack)",
    "refused": "refused (overload_nack)",
}


def sections(delays: Delays) -> Iterator[str]:
    """Classes and causes, the delays, the joint function."""
    yield _classes(delays)
    yield _delays(delays)
    if delays.joint.bins:
        yield _joint(delays)


def _classes(delays: Delays) -> str:
    causes = [cause.replace("_", " ") for cause in CAUSES]
    rows: list[list[object]] = [
        [_CLASSES[name], each.frames, _ratio(each)]
        + [_counted(each.by_cause.get(cause)) for cause in CAUSES]
        for name, each in delays.by_class.items()
        if each.frames
    ]
    late = delays.late
    rows.append(
        ["late, in all", late.frames, _ratio(late)]
        + [_counted(delays.by_cause[cause]) for cause in CAUSES]
    )
    return table(
        "Late ratio by class and cause", _note(delays), ["", "frames", "ratio", *causes], rows
    )


def _note(delays: Delays) -> str:
    outage = delays.outage
    parts = [f"Of {delays.frames} frames; the 95 % intervals are those of independent frames."]
    if delays.late.frames:
        parts.append(
            f"Late frames came in {delays.bursts} {'burst' if delays.bursts == 1 else 'bursts'}, "
            f"the longest of {delays.longest_burst}."
        )
    parts.append(
        f"Over the last {outage.averaging_s:g} s, {_ratio(outage.newest)} were late; the target, "
        f"P_out, is {_percent(outage.target)}."
    )
    if outage.highest is not None:
        parts.append(
            f"The highest ratio of any {outage.averaging_s:g} s was {_percent(outage.highest)}."
        )
    return " ".join(parts)


def _delays(delays: Delays) -> str:
    rows = [
        row_of("T_BS: tasks on cores", delays.t_bs_ms),
        row_of("T_OS: threads stood still", delays.t_os_ms),
        row_of("T_f: last received symbol on air → last packet", delays.t_f_ms),
        row_of("transmit lead", delays.lead_ms),
    ]
    head = ["", "p50", "p90", "p99", "p99.9", "p99.99", "max", "frames"]
    note = "Milliseconds, of the frames that have them; docs/late.md says with what error."
    return table("Delays", note, head, rows)


def _joint(delays: Delays) -> str:
    joint = delays.joint
    edges = (joint.t_bs_edges_ms, joint.t_os_edges_ms, joint.t_f_edges_ms)
    shown = sorted(joint.bins, key=lambda each: (-each.late, -each.frames))[:_MOST_BINS]
    rows: list[list[object]] = [
        [
            *(_between(axis, place) for axis, place in zip(edges, _places(each), strict=True)),
            each.frames,
            each.late,
            f"{_percent(each.late_ratio)} {_interval(each.interval)}",
        ]
        for each in shown
    ]
    note = (
        "F_P(T_BS, T_OS, T_f): how often frames were late whose delays lie between the same "
        f"quantiles. Shown are {len(shown)} of {len(joint.bins)} bins, those with most late "
        f"frames first; {joint.lacking} frames, {joint.lacking_late} of them late, lack a delay."
    )
    head = ["T_BS, ms", "T_OS, ms", "T_f, ms", "frames", "late", "late ratio"]
    return table("Late over delays", note, head, rows)


def _places(each: LateBin) -> tuple[int, int, int]:
    return each.t_bs, each.t_os, each.t_f


def _between(edges: list[float], place: int) -> str:
    return f"≤ {edges[0]:.4g}" if place == 0 else f"{edges[place - 1]:.4g} … {edges[place]:.4g}"


def _counted(share: Share | None) -> str:
    return f"{share.frames}: {_ratio(share)}" if share is not None and share.frames else "0"


def _ratio(share: Share) -> str:
    return f"{_percent(share.ratio)} {_interval(share.interval)}"


def _interval(interval: tuple[float, float]) -> str:
    low, high = interval
    return f"({_percent(low)} … {_percent(high)})"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
