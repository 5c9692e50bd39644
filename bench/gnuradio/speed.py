#!/usr/bin/python3
"""How fast GNU Radio 3.10 is on this machine, as JSON. Run by the Python that has it.

Two flowgraphs: six filters of 64 real taps in series on complex samples, as fast as they go; and
the paced receiver of examples/flowgraphs/nbfm.grc (a program that grcc made of it) as GNU Radio
runs it by itself, or with no more than so many samples at a time. bench/gnuradio/beside.py makes figures of both, and holds Carillon beside them.

    bench/gnuradio/speed.py chain --filter fir_filter_ccf --cores 1 --seconds 5
    bench/gnuradio/speed.py receiver nbfm.py --seconds 10 --most 240
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2] / "python"))

from carillon.gnuradio.flow import Flow, record_connections
from carillon.gnuradio.measure import Request, measure
from carillon.gnuradio.program import load
from gnuradio import blocks, filter, gr

FILTERS = ("fir_filter_ccf", "fft_filter_ccf")
IN_SERIES = 6
TAPS = [(place + 1) / 4096 for place in range(64)]  # not symmetric, so that nothing is saved
_WARM_UP_S = 1.0


class Chain(gr.top_block):  # type: ignore[misc]
    """Zeros through filters in series: products take as long of whatever they are."""

    def __init__(self, kind: str) -> None:
        super().__init__("chain")
        self.source = blocks.null_source(gr.sizeof_gr_complex)
        self.filters = [getattr(filter, kind)(1, TAPS) for _ in range(IN_SERIES)]
        self.sink = blocks.null_sink(gr.sizeof_gr_complex)
        self.connect(self.source, *self.filters, self.sink)


def chain(kind: str, cores: int, seconds: float) -> dict[str, Any]:
    """Throughput, and CPU time of all threads for each sample."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    found = measure(Flow(Chain(kind)), Request(seconds, warm_up=_WARM_UP_S))
    samples = found["used"]["sink"]["items"]
    cpu_ns = {name: own["cpu_ns"] for name, own in found["used"].items()}
    filters = sum(ns for name, ns in cpu_ns.items() if name not in ("source", "sink"))
    return {
        "filter": kind,
        "cores": cores,
        "msps": samples / (found["to_ns"] - found["from_ns"]) * 1e3,
        "cpu_ns_per_sample": sum(cpu_ns.values()) / samples,
        "cpu_ns_per_sample_and_filter": filters / samples / IN_SERIES,
    }


def receiver(program: Path, seconds: float, most: int | None) -> dict[str, Any]:
    """What probes and threads noted; carillon.flowgraph.grc makes latencies of it."""
    probes = {"clock": ("clock", 0), "speaker": ("volume", 0)}
    flow = Flow(load(program))
    for block in flow.blocks.values() if most else ():
        block.set_max_noutput_items(most)
    return measure(flow, Request(seconds, warm_up=_WARM_UP_S, probes=probes))


def main() -> None:
    """One measurement."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    what = parser.add_subparsers(dest="what", required=True)
    of_chain = what.add_parser("chain")
    of_chain.add_argument("--filter", choices=FILTERS, default=FILTERS[0])
    of_chain.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    of_receiver = what.add_parser("receiver")
    of_receiver.add_argument("program", type=Path)
    of_receiver.add_argument("--most", type=int, help="samples that a block makes at a time")
    for each in (of_chain, of_receiver):
        each.add_argument("--seconds", type=float, default=5.0)
    asked = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # blocks and the logger print
    record_connections()
    if asked.what == "chain":
        found = chain(asked.filter, asked.cores, asked.seconds)
    else:
        found = receiver(asked.program, asked.seconds, asked.most)
    json.dump({"gnuradio": gr.version(), **found}, answers)
    answers.close()
    os._exit(0)  # without the destructors of blocks that were never meant to end


if __name__ == "__main__":
    main()
