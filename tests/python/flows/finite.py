"""Its samples come to an end."""

from gnuradio import blocks, gr


class Finite(gr.top_block):  # type: ignore[misc]
    """For a fifth of a second."""

    def __init__(self) -> None:
        super().__init__("finite")
        self.source = blocks.null_source(gr.sizeof_gr_complex)
        self.head = blocks.head(gr.sizeof_gr_complex, 200_000)
        self.clock = blocks.throttle(gr.sizeof_gr_complex, 1e6)
        self.sink = blocks.null_sink(gr.sizeof_gr_complex)
        self.connect(self.source, self.head, self.clock, self.sink)
