"""Blocks whose threads have one name, and a Python block, a vector and a source of several."""

from __future__ import annotations

from typing import Any

import numpy as np
from gnuradio import analog, blocks, filter, gr


class Negate(gr.sync_block):  # type: ignore[misc]
    """In Python."""

    def __init__(self) -> None:
        gr.sync_block.__init__(self, "negate", [(np.float32, 16)], [(np.float32, 16)])

    def work(self, inputs: Any, outputs: Any) -> int:
        """Called by GNU Radio."""
        outputs[0][:] = -inputs[0]
        return len(outputs[0])


class Alike(gr.top_block):  # type: ignore[misc]
    """A heavy and a light filter; both threads are fir_filter_blk…"""

    def __init__(self) -> None:
        super().__init__("alike")
        self.clock = blocks.throttle(gr.sizeof_gr_complex, 64_000)
        self.heavy = filter.fir_filter_ccf(1, [1e-4] * 2000)
        self.light = filter.fir_filter_ccf(4, [1.0])
        self.real = blocks.complex_to_real()
        self.vectors = blocks.stream_to_vector(gr.sizeof_float, 16)
        self.negate = Negate()
        self.sink = blocks.null_sink(16 * gr.sizeof_float)
        self.end = blocks.null_sink(gr.sizeof_gr_complex)
        self.unused = blocks.null_sink(1)
        source = analog.noise_source_c(analog.GR_GAUSSIAN, 1.0, 1)
        self.connect(source, self.clock, self.heavy, self.end)
        self.connect(self.clock, self.light, self.real, self.vectors, self.negate, self.sink)
