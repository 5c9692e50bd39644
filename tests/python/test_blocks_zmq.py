"""Samples in ZeroMQ messages, against pyzmq and GNU Radio."""

import threading
from pathlib import Path

import numpy as np
import pytest
from block_streams import Samples, Values, figures, read_on, write_on
from carillon import core
from hang import HANG_S, wait_until
from other_programs import GnuRadio, has_module, other_program, written

RAMP = np.arange(10_000, dtype=np.float32) / 16384
COMPLEX = (RAMP + 1j * RAMP[::-1]).astype(np.complex64)
PERIOD = 1000  # samples: a message may begin anywhere in it


@pytest.fixture
def address(tmp_path: Path) -> str:
    probe = core.Block("zmq-source", {"address": f"ipc://{tmp_path}/probe"})
    try:
        probe.start()
    except RuntimeError as error:
        assert "no libzmq.so.5; apt install libzmq5" in str(error)
        pytest.skip("libzmq is not installed")
    probe.finish()
    return f"ipc://{tmp_path}/samples"


def zmq(address: str, datatype: str = "rf32_le", **more: bool | int | str) -> Values:
    return {"address": address, "datatype": datatype, **more}


@pytest.mark.parametrize("source_binds", [False, True])
def test_pushed_samples_all_arrive_through_small_buffers(address: str, source_binds: bool) -> None:
    common = zmq(address, pattern="push-pull", buffer_samples=1000)
    source = core.Block("zmq-source", {**common, "bind": source_binds})
    sink = core.Block("zmq-sink", {**common, "bind": not source_binds})
    for block in (source, sink) if source_binds else (sink, source):
        block.start()
    samples = np.random.default_rng(3).standard_normal(50_000).astype(np.float32)
    writing = threading.Thread(target=write_on, args=(sink, samples))
    writing.start()
    np.testing.assert_array_equal(read_on(source, len(samples)), samples)
    writing.join()
    sink.finish()
    source.finish()
    assert figures(source)["messages"] == figures(sink)["messages"]


def test_a_push_that_nobody_pulls_holds_nobody_up(address: str) -> None:
    sink = core.Block("zmq-sink", zmq(address, pattern="push-pull"))
    sink.start()
    sink.run([RAMP])
    with pytest.raises(
        RuntimeError, match=r"takes no more: 0 samples were written, 10000 were not"
    ):
        sink.finish()


def test_wrong_addresses_are_named(address: str) -> None:
    sink = core.Block("zmq-sink", zmq("nowhere"))
    with pytest.raises(RuntimeError, match=r"^zmq nowhere: Invalid argument$"):
        sink.start()


PUSHER = """
import sys, zmq
with zmq.Context() as context, context.socket(zmq.PUSH) as socket:
    socket.connect(sys.argv[1])
    socket.send(b"12345678")
    socket.send(b"123")
    socket.send_multipart([b"1234", b"5678"])
    socket.send(b"")
    socket.send(b"abcdefgh")
"""


def test_messages_that_are_no_items_are_counted_and_dropped(address: str) -> None:
    if not has_module("zmq"):
        pytest.skip("pyzmq is not installed")
    source = core.Block("zmq-source", zmq(address, "ru8", pattern="push-pull", bind=True))
    wide = core.Block("zmq-source", zmq(address + "2", "cf32_le", pattern="push-pull", bind=True))
    for block, end in ((source, ""), (wide, "2")):
        block.start()
        assert other_program(PUSHER, address + end).wait(HANG_S) == 0
        wait_until(lambda: figures(block)["messages"] == 5)  # noqa: B023
    assert figures(source)["uneven messages"] == 1
    assert source.ready() == 8 + 3 + 8
    assert figures(wide)["uneven messages"] == 2
    np.testing.assert_array_equal(
        wide.make(wide.ready()), np.frombuffer(b"12345678abcdefgh", np.complex64)
    )
    source.finish()
    wide.finish()


def test_gnu_radio_pulls_and_pushes(address: str, tmp_path: Path, gnu_radio: GnuRadio) -> None:
    sink = core.Block("zmq-sink", zmq(address, "cf32_le", pattern="push-pull"))
    sink.start()
    gnu_radio.start("pull", address, tmp_path / "x")
    write_on(sink, COMPLEX)
    wait_until(lambda: len(written(tmp_path / "x")) == len(COMPLEX))
    sink.finish()
    np.testing.assert_array_equal(written(tmp_path / "x"), COMPLEX)
    gnu_radio.start("push", address + "2", tmp_path / "x")
    source = core.Block("zmq-source", zmq(address + "2", "cf32_le", pattern="push-pull"))
    source.start()
    found = read_on(source, 3 * len(COMPLEX))
    np.testing.assert_array_equal(found, np.tile(COMPLEX, 3))
    source.finish()


def is_within(samples: Samples, period: Samples) -> bool:
    """That they are a stretch of the period, over and over."""
    begin = int(np.flatnonzero(period == samples[0])[0])
    rolled = np.roll(period, -begin)
    return bool((np.resize(rolled, len(samples)) == samples).all())


def test_gnu_radio_subscribes_and_publishes(
    address: str, tmp_path: Path, gnu_radio: GnuRadio
) -> None:
    """Who publishes serves those who are there: all that comes is a stretch of what was sent."""
    period = COMPLEX[:PERIOD]
    sink = core.Block("zmq-sink", zmq(address, "cf32_le"))
    sink.start()
    gnu_radio.start("sub", address, tmp_path / "x")

    def has_come() -> bool:
        if sink.ready() >= 2 * PERIOD:
            sink.run([np.tile(period, 2)])
        return len(written(tmp_path / "x")) >= 2 * PERIOD

    wait_until(has_come)
    sink.finish()
    assert is_within(written(tmp_path / "x")[: 2 * PERIOD], period)
    period.tofile(tmp_path / "y")
    gnu_radio.start("pub", address + "2", tmp_path / "y")
    source = core.Block("zmq-source", zmq(address + "2", "cf32_le"))
    source.start()
    assert is_within(read_on(source, 2 * PERIOD), period)
    source.finish()
