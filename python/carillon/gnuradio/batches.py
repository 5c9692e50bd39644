"""Batches of blocks, with buffers and priorities, as a plan's settings have them.

Settings are JSON: {"cores": how many, "scheduling": "other", "fifo" or "deadline", "blocks": {NAME:
{"batch": items, "buffer": items, "outputs": ports}}}. With "fifo" a block has a `priority` as well,
with "deadline" `runtime_ns` and `period_ns`.
"""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Mapping
from typing import Any

from gnuradio import gr

from carillon.gnuradio import threads
from carillon.gnuradio.flow import Flow, FlowError

Settings = Mapping[str, Any]

_AHEAD = 5  # a priority, below those of plans
_BUFFER_BYTES = 1 << 15  # GNU Radio's own, which it makes twice as large


def apply(settings: Settings, flow: Flow) -> None:
    """Sets batches and buffers; before the start, which is when GNU Radio makes the buffers.

    Raises FlowError of settings that are of another flowgraph.
    """
    if missing := [name for name in settings["blocks"] if name not in flow.blocks]:
        raise FlowError(f"these settings are of another flowgraph: it has no block {missing[0]}")
    for name, own in settings["blocks"].items():
        block = flow.blocks[name]
        # Alone the first lets a block do several batches at a time, and the second less than one.
        block.set_output_multiple(own["batch"])
        block.set_max_noutput_items(own["batch"])
        for port in range(own["outputs"]):
            _set_buffer(block, port, own["buffer"])


def _set_buffer(block: Any, port: int, items: int) -> None:
    """GNU Radio looks at the least size only where no largest one is set, which each start does."""
    item_bytes = block.output_signature().sizeof_stream_item(port)
    own = 2 * gr.prefs().get_long("DEFAULT", "buffer_size", _BUFFER_BYTES) // item_bytes
    page = mmap.PAGESIZE // math.gcd(mmap.PAGESIZE, item_bytes)  # what a buffer is a multiple of
    whole = -(-items // page) * page
    block.set_max_output_buffer(port, whole if whole <= own else 0)
    block.set_min_output_buffer(port, whole)


def schedule(settings: Settings, flow: Flow, found: Mapping[str, int]) -> None:
    """Gives threads their cores, and priorities or deadlines; after the start, when there are
    threads. Those with deadlines keep all cores, as the kernel wants it. What works ahead comes
    after all that has a pace, but before other programs: nothing has a pace without it."""
    cores = sorted(os.sched_getaffinity(0))[-settings["cores"] :]
    if settings["scheduling"] != "other":
        for name in found.keys() - settings["blocks"].keys():
            threads.set_fifo(name, found[name], _AHEAD)
    for name, own in settings["blocks"].items():
        if settings["scheduling"] != "deadline":
            os.sched_setaffinity(found[name], cores)
        if settings["scheduling"] == "fifo":
            threads.set_fifo(name, found[name], own["priority"])
        elif settings["scheduling"] == "deadline":
            threads.set_deadline(name, found[name], own["runtime_ns"], own["period_ns"])
