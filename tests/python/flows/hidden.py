"""A hierarchical block of C++, whose blocks Python does not see."""

from gnuradio import blocks, channels, gr


class Hidden(gr.top_block):  # type: ignore[misc]
    """A channel that consists of blocks."""

    def __init__(self) -> None:
        super().__init__("hidden")
        self.source = blocks.null_source(gr.sizeof_gr_complex)
        self.clock = blocks.throttle(gr.sizeof_gr_complex, 1e5)
        self.channel = channels.channel_model(0.1)
        self.sink = blocks.null_sink(gr.sizeof_gr_complex)
        self.connect(self.source, self.clock, self.channel, self.sink)
