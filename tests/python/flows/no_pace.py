"""Nothing says how fast it is."""

from gnuradio import blocks, gr


class NoPace(gr.top_block):  # type: ignore[misc]
    """As fast as it goes."""

    def __init__(self) -> None:
        super().__init__("no_pace")
        self.source = blocks.null_source(gr.sizeof_gr_complex)
        self.sink = blocks.null_sink(gr.sizeof_gr_complex)
        self.connect(self.source, self.sink)
