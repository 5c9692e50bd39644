"""Measures blocks of GNU Radio: run by the Python that has it, not by Carillon's.

One argument: JSON with `blocks` ({node: block}), `batches` and `seconds`. Prints a JSON line for
each: node, batch, work_ns (in the block's work function) and cpu_ns (of its thread) of a batch.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ["GR_CONF_PERFCOUNTERS_ON"] = "True"

from gnuradio import analog, blocks, filter, gr

_BATCHES_PER_SECOND = 1000


def make(block: dict[str, Any]) -> tuple[Any, int, int]:
    """The block, and bytes of what it reads and writes."""
    pairs = block["samples"] == "complex"
    size = gr.sizeof_gr_complex if pairs else gr.sizeof_float
    kind = block["type"]
    if kind == "rotator":
        return blocks.rotator_cc(0.1), 8, 8
    if kind == "squelch":
        return analog.pwr_squelch_cc(-50, 1e-3), 8, 8
    if kind == "deemphasis":  # within analog.fm_deemph; times are the same of all coefficients
        return filter.iir_filter_ffd([0.1, 0.1], [1.0, 0.8], False), 4, 4
    if kind == "quadrature-demodulator":
        return analog.quadrature_demod_cf(1.0), 8, 4
    if kind == "multiply":
        return (
            (blocks.multiply_const_cc(0.6 + 0.8j) if pairs else blocks.multiply_const_ff(1.0)),
            size,
            size,
        )
    if kind == "add":
        return (blocks.add_const_cc(0) if pairs else blocks.add_const_ff(0.0)), size, size
    taps = [1.0 / block["taps"]] * block["taps"]
    make_filter = filter.fir_filter_fff
    if pairs:
        make_filter = filter.fir_filter_ccc if block["complex_taps"] else filter.fir_filter_ccf
    return make_filter(block["decimation"], taps), size, size


def cpu_ns(name: str) -> int:
    """CPU time of this process's threads of that name."""
    total = 0
    for task in Path("/proc/self/task").iterdir():
        try:
            if (task / "comm").read_text().strip().startswith(name[:10]):
                total += int((task / "schedstat").read_text().split()[0])
        except OSError:  # it has ended
            continue
    return total


def measure(block: dict[str, Any], batch: int, seconds: float) -> dict[str, Any]:
    """One paced flowgraph with batches of exactly that size, 1000 a second."""
    own, reads, writes = make(block)
    own.set_output_multiple(batch)
    own.set_max_noutput_items(batch)
    top = gr.top_block()
    rate = batch * block["decimation"] * _BATCHES_PER_SECOND
    top.connect(
        blocks.null_source(reads),
        blocks.throttle(reads, rate, False),
        own,
        blocks.null_sink(writes),
    )
    top.start()
    time.sleep(0.2)
    written, used = own.nitems_written(0), cpu_ns(own.alias())
    time.sleep(seconds)
    done = (own.nitems_written(0) - written) / batch
    used = cpu_ns(own.alias()) - used
    work = own.pc_work_time_avg()
    top.stop()
    top.wait()
    return {"batch": batch, "work_ns": work, "cpu_ns": used / done if done else None}


def main() -> None:
    asked = json.loads(sys.argv[1])
    for node, block in asked["blocks"].items():
        for batch in asked["batches"]:
            found = measure(block, batch, asked["seconds"])
            print(json.dumps({"node": node, **found}), flush=True)


if __name__ == "__main__":
    main()
