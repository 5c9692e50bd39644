"""What all tests share."""

import signal
from collections.abc import Iterator

import pytest
from other_programs import GnuRadio, has_module

# What a shell starts in the background ignores Ctrl-C, and under nohup it ignores SIGHUP too; what
# tests start must not inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def gnu_radio() -> Iterator[GnuRadio]:
    if not has_module("gnuradio.zeromq"):
        pytest.skip("GNU Radio is not installed")
    made = GnuRadio()
    yield made
    made.stop()
