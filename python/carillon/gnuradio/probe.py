"""A block that notes when samples reach it."""

from __future__ import annotations

import time
from array import array
from typing import Any

import numpy as np
from gnuradio import gr


class Probe(gr.sync_block):  # type: ignore[misc]
    """Reads beside another block; keeps the time of each of its wake-ups, and samples so far."""

    def __init__(self, item_bytes: int) -> None:
        gr.sync_block.__init__(self, "carillon_probe", [(np.uint8, item_bytes)], None)
        self.times_ns = array("q")
        self.counts = array("q")
        self._count = 0

    def work(self, inputs: Any, outputs: Any) -> int:
        """Called by GNU Radio."""
        self._count += len(inputs[0])
        self.times_ns.append(time.monotonic_ns())
        self.counts.append(self._count)
        return len(inputs[0])
