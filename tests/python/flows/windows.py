"""A flowgraph with windows, as grcc makes one for Qt GUI; there need be no Qt."""

from gnuradio import gr


class QWidget:
    """Stands for Qt's."""


class Windows(gr.top_block, QWidget):  # type: ignore[misc]
    """Would need a screen."""
