#!/usr/bin/python3
"""A receiver of narrowband FM that keeps a latency by itself.

Run by the Python that has GNU Radio, with Carillon's modules in reach; for ten seconds, in 20 ms:

    PYTHONPATH=python examples/gnuradio/keep_latency.py 10 20
"""

import math
import sys
import time

from carillon.gnuradio import control  # before the flowgraph is built
from gnuradio import analog, blocks, filter, gr
from gnuradio.filter import firdes

RATE, AUDIO, DEVIATION, OFFSET = 240_000, 48_000, 5e3, 25e3


class Receiver(gr.top_block):
    """A station with a tone, a clock in place of a radio, and the receiver."""

    def __init__(self) -> None:
        super().__init__("receiver")
        voice = analog.sig_source_f(RATE, analog.GR_COS_WAVE, 1000, 1, OFFSET / DEVIATION)
        station = analog.frequency_modulator_fc(2 * math.pi * DEVIATION / RATE)
        self.clock = blocks.throttle(gr.sizeof_gr_complex, RATE)
        self.rotator = blocks.rotator_cc(-2 * math.pi * OFFSET / RATE)
        self.channel = filter.fir_filter_ccf(5, firdes.low_pass(1, RATE, 8e3, 5e3))
        self.receiver = analog.nbfm_rx(AUDIO, AUDIO)
        self.speaker = blocks.null_sink(gr.sizeof_float)
        self.connect(
            voice, station, self.clock, self.rotator, self.channel, self.receiver, self.speaker
        )


def main() -> None:
    """Measures, plans, and runs for so many seconds."""
    seconds, latency_ms = map(float, [*sys.argv[1:], *("10", "20")[len(sys.argv) - 1 :]])
    top = Receiver()
    settings = control.keep_latency(top, latency_ms / 1e3, cores=2, seconds=min(2.0, seconds))
    for name, own in settings["blocks"].items():
        print(f"{name:24} {own['batch']:6} items a batch, {own['buffer']:6} in its buffer")
    print(f"no sample is later than {settings['bound_ns'] / 1e6:.3f} ms, if costs hold")
    time.sleep(seconds)
    top.stop()
    top.wait()


if __name__ == "__main__":
    main()
