"""When samples leave a flowgraph, after they were due at its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carillon.flowgraph.grc.blocks import Flow

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Seen:
    """How a flowgraph ran: latencies in ns of each item of a sink, CPU time in cores."""

    latencies_ns: Values
    cores: dict[str, float]  # by block, those that work ahead too
    wake_ups_hz: float
    batches: dict[str, float]  # items that a call did on an average
    late: float | None  # share of items after the bound, where there is one

    @property
    def all_cores(self) -> float:
        """Of all blocks together."""
        return sum(self.cores.values())

    def quantile_ns(self, share: float) -> float:
        """Of latencies."""
        return float(np.quantile(self.latencies_ns, share, method="higher"))

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "cores": self.all_cores,
            "wake_ups_hz": self.wake_ups_hz,
            "p50_ns": self.quantile_ns(0.5),
            "p99_ns": self.quantile_ns(0.99),
            "max_ns": self.quantile_ns(1),
            "items": len(self.latencies_ns),
            "late": self.late,
            "blocks": {
                name: {"cores": cores, "batch": self.batches[name]}
                for name, cores in self.cores.items()
            },
        }


def seen(flow: Flow, run: Mapping[str, Any], bound_ns: float | None = None) -> Seen:
    """Latencies of all sinks together."""
    rates = flow.item_rates_hz()
    found = [
        _latencies(
            run["probes"][flow.pace_of(sink)],
            flow.rates_hz[flow.pace_of(sink)],
            run["probes"][sink],
            rates[sink],
            run["from_ns"],
        )
        for sink in flow.sinks
        if sink in run["probes"]
    ]
    latencies = np.concatenate(found) if found else np.empty(0)
    seconds = (run["to_ns"] - run["from_ns"]) / 1e9
    ahead = {name: own for name, own in run["used"].items() if name not in flow.stages}
    used = ahead | {name: run["used"][name] for name in flow.stages}
    return Seen(
        latencies,
        {name: own["cpu_ns"] / 1e9 / seconds for name, own in used.items()},
        sum(own["wake_ups"] for own in used.values()) / seconds,
        {name: own["call_items"] for name, own in used.items()},
        None if bound_ns is None or not len(latencies) else float(np.mean(latencies > bound_ns)),
    )


def _latencies(
    came: Mapping[str, Any],
    came_hz: Fraction,
    left: Mapping[str, Any],
    left_hz: Fraction,
    from_ns: int,
) -> Values:
    """Of each item that left from a time on: since the first sample of it was due.

    Sample n is due at start + (n + 1)/rate. The start is the latest time by which no sample came
    before it was due, which is too late by the fastest wake-up of the probe.
    """
    period_ns = 1e9 / float(came_hz)
    times, counts = (np.asarray(came[key], dtype=np.int64) for key in ("times_ns", "counts"))
    if not len(times):
        return np.empty(0)
    start = np.min(times - counts * period_ns)
    times, counts = (np.asarray(left[key], dtype=np.int64) for key in ("times_ns", "counts"))
    sizes = np.diff(counts, prepend=0)
    items = np.arange(counts[-1] if len(counts) else 0)
    when = np.repeat(times, sizes)
    samples = (
        items * came_hz.numerator * left_hz.denominator // (came_hz.denominator * left_hz.numerator)
    )
    due = start + (samples + 1) * period_ns
    latencies: Values = (when - due)[when >= from_ns]
    return latencies
