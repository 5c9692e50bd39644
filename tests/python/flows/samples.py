"""Writes what a receiver makes of the same samples: twice, as it is and in batches.

samples.py FOLDER SETTINGS    writes FOLDER/as-it-is and FOLDER/in-batches
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from carillon.gnuradio import batches
from carillon.gnuradio.flow import Flow, record_connections
from gnuradio import analog, blocks, filter, gr

record_connections()


class Receiver(gr.top_block):  # type: ignore[misc]
    """Of a hundred thousand samples, without a clock: to their end."""

    def __init__(self, file: Path) -> None:
        super().__init__("receiver")
        random = np.random.default_rng(1)
        # A phase that wanders slowly: each step of the demodulator's input stays 0.3 rad off a half
        # turn, where a rounding error would turn its sign.
        wandering = np.exp(1j * np.cumsum(0.05 * random.standard_normal(100_000)))
        self.source = blocks.vector_source_c(wandering.tolist())
        self.rotator = blocks.rotator_cc(0.1)
        self.channel = filter.fir_filter_ccf(5, random.standard_normal(115).tolist())
        self.demodulator = analog.quadrature_demod_cf(1.0)
        self.deemphasis = analog.fm_deemph(48e3, 75e-6)
        self.audio = filter.fir_filter_fff(1, random.standard_normal(231).tolist())
        self.file = blocks.file_sink(gr.sizeof_float, str(file))
        self.connect(
            self.source, self.rotator, self.channel, self.demodulator, self.deemphasis,
            self.audio, self.file,
        )  # fmt: skip


def main() -> None:
    """Both."""
    folder = Path(sys.argv[1])
    Receiver(folder / "as-it-is").run()
    top = Receiver(folder / "in-batches")
    batches.apply(json.loads(sys.argv[2]), Flow(top))
    top.run()


if __name__ == "__main__":
    main()
