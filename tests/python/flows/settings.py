"""Starts a top block with settings: settings.py FILE, prints each block's batch and its items."""

from __future__ import annotations

import json
import sys
import time

from carillon.gnuradio import control
from gnuradio import blocks, gr


class Top(gr.top_block):  # type: ignore[misc]
    """Zeros at a pace."""

    def __init__(self) -> None:
        super().__init__("top")
        self.clock = blocks.throttle(gr.sizeof_gr_complex, 1e6)
        self.sink = blocks.null_sink(gr.sizeof_gr_complex)
        self.connect(blocks.null_source(gr.sizeof_gr_complex), self.clock, self.sink)


def main() -> None:
    """Until a batch has come out."""
    top = Top()
    try:
        control.start(top, sys.argv[1])
    except control.FlowError as error:
        sys.exit(str(error))
    while not top.clock.nitems_written(0):
        time.sleep(0.01)
    top.stop()
    top.wait()
    print(json.dumps([top.clock.output_multiple(), top.clock.nitems_written(0)]))


if __name__ == "__main__":
    main()
