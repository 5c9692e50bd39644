"""A squelch that lets nothing through: no fixed rate."""

from gnuradio import analog, blocks, gr


class Gated(gr.top_block):  # type: ignore[misc]
    """Silence, and a gate."""

    def __init__(self) -> None:
        super().__init__("gated")
        self.source = blocks.null_source(gr.sizeof_gr_complex)
        self.clock = blocks.throttle(gr.sizeof_gr_complex, 1e5)
        self.squelch = analog.pwr_squelch_cc(-10, 1e-3, 0, True)
        self.sink = blocks.null_sink(gr.sizeof_gr_complex)
        self.connect(self.source, self.clock, self.squelch, self.sink)
