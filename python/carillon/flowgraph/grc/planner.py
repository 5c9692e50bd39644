"""Plans for a program of GNU Radio that measures itself: a line of JSON in, a line out.

Run by carillon.gnuradio.control, in Carillon's own Python. It asks twice: what to measure, and with
what it measured, for the settings. The answer to what cannot be is {"error": TEXT}.
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from typing import Any

from carillon.errors import CarillonError
from carillon.flowgraph.grc import batches
from carillon.flowgraph.grc.blocks import flow_of
from carillon.flowgraph.grc.control import Asked, planned, windows
from carillon.flowgraph.plan import Machine


def answer(asked: dict[str, Any]) -> Any:
    """Settings with their windows, or with `measured` the settings that keep the latency."""
    rates = {name: Fraction(str(hz)) for name, hz in asked["rates_hz"].items()}
    flow = flow_of(asked["name"], asked["described"], rates)
    own = Asked(asked["latency_ns"], Machine(asked["cores"]), 0.0, asked["scheduling"], rates)
    if "measured" not in asked:
        sizes = batches.to_measure(flow, own.latency_ns, own.machine.cores, own.scheduling)
        return [{"settings": each, **windows(flow, each)} for each in sizes]
    sizes = [each["settings"] for each in asked["sizes"]]
    return batches.of_plan(flow, planned(flow, sizes, asked["measured"], own), own.scheduling)


def main() -> None:
    """CarillonError in words."""
    try:
        found = answer(json.loads(sys.stdin.readline()))
    except CarillonError as error:
        found = {"error": str(error)}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
