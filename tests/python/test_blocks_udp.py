"""Samples in UDP datagrams, against Python's sockets and GNU Radio."""

import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from block_streams import Values, figures, read_on, write_all, write_on
from carillon import core
from hang import wait_until
from other_programs import GnuRadio, written

RAMP = np.arange(10_000, dtype=np.float32) / 16384
COMPLEX = (RAMP + 1j * RAMP[::-1]).astype(np.complex64)


@pytest.fixture
def port() -> int:
    """One that was free."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        return int(other.getsockname()[1])


@pytest.fixture
def sender() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        yield made


def udp(port: int, datatype: str = "rf32_le", **more: bool | int | str) -> Values:
    return {"address": "127.0.0.1", "port": port, "datatype": datatype, **more}


def test_udp_passes_samples_and_ends(port: int) -> None:
    source, sink = core.Block("udp-source", udp(port)), core.Block("udp-sink", udp(port))
    source.start()
    write_all(sink, RAMP)
    np.testing.assert_array_equal(read_on(source), RAMP)
    source.finish()
    assert figures(sink)["datagrams"] == np.ceil(len(RAMP) / 368)
    assert figures(source)["datagrams"] == figures(sink)["datagrams"]
    assert figures(source)["lost"] == 0


def test_datagrams_hold_samples_and_nothing_else(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", port))
        sink = core.Block("udp-sink", udp(port, "ri16_be", payload_bytes=25))
        write_all(sink, np.array(range(20), np.float32) / 32768)
        found = [receiver.recv(65536) for _ in range(3)]
    expected = [np.arange(12, dtype=">i2"), np.arange(12, 20, dtype=">i2"), np.zeros(0)]
    assert found == [each.tobytes() for each in expected]


def test_missing_late_and_uneven_datagrams_are_counted(port: int, sender: socket.socket) -> None:
    source = core.Block("udp-source", udp(port, header="sequence64"))
    source.start()
    for number in (7, 8, 11, 10, 12, 1 << 63, 2):
        sender.sendto(struct.pack("<Q4f", number, *[float(number % 100)] * 4), ("127.0.0.1", port))
    for wrong in (b"1234567", struct.pack("<Qf", 3, 0) + b"x"):
        sender.sendto(wrong, ("127.0.0.1", port))
    wait_until(lambda: figures(source)["datagrams"] == 9)
    found = source.make(source.ready())
    expected = [7, 8, 11, 12, (1 << 63) % 100, 2]
    np.testing.assert_array_equal(found, np.repeat(np.array(expected, np.float32), 4))
    assert source.tags == ["8 overflow 8"]
    told = figures(source)
    assert (told["lost datagrams"], told["late datagrams"], told["uneven datagrams"]) == (2, 1, 2)
    assert told["lost"] == 8
    source.finish()


def test_what_finds_no_room_is_lost_and_counted(port: int, sender: socket.socket) -> None:
    source = core.Block("udp-source", udp(port, buffer_samples=1))
    source.start()
    for start in range(0, 2048, 256):
        sender.sendto(np.arange(start, start + 256, dtype="<f4").tobytes(), ("127.0.0.1", port))
    wait_until(lambda: figures(source)["datagrams"] == 8)
    np.testing.assert_array_equal(source.make(1024), np.arange(1024))
    assert figures(source)["lost"] == 1024
    sender.sendto(np.full(1, -1, "<f4").tobytes(), ("127.0.0.1", port))
    wait_until(lambda: source.ready() == 1)
    assert source.make(1) == [-1]
    assert source.tags == ["0 overflow 1024"]
    source.finish()


def test_numbers_are_as_gnu_radio_has_them(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", port))
        write_all(
            core.Block("udp-sink", udp(port, header="sequence64", payload_bytes=24)), RAMP[:8]
        )
        found = [receiver.recv(100) for _ in range(2)]
    assert found == [struct.pack("<Q4f", n + 1, *RAMP[4 * n : 4 * n + 4]) for n in range(2)]


def test_nobody_who_listens_is_told_of(port: int) -> None:
    sink = core.Block("udp-sink", udp(port))
    sink.start()
    write_on(sink, RAMP)
    wait_until(lambda: figures(sink)["refused datagrams"] > 0)
    sink.finish()


def test_a_port_in_use_is_named(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", port))
        with pytest.raises(RuntimeError, match=rf"^udp 127.0.0.1 port {port}: Address already in"):
            core.Block("udp-source", udp(port)).start()
    with pytest.raises(RuntimeError, match=r"^udp 256\.1\.1\.1 port 7: "):
        core.Block("udp-sink", {**udp(7), "address": "256.1.1.1"}).start()


def test_gnu_radio_sends_and_receives_datagrams(
    port: int, tmp_path: Path, gnu_radio: GnuRadio
) -> None:
    whole = 5000 // 183 * 183  # the last datagram, which is not full, stays with GNU Radio
    COMPLEX[:5000].tofile(tmp_path / "x")
    source = core.Block("udp-source", udp(port, "cf32_le", header="sequence64"))
    source.start()
    gnu_radio.start("udp-sink", port, tmp_path / "x")
    np.testing.assert_array_equal(read_on(source, whole), COMPLEX[:whole])
    assert figures(source)["lost datagrams"] == 0
    source.finish()
    # What it receives before it is ready is lost: all datagrams are the same.
    gnu_radio.start("udp-source", port, tmp_path / "y")
    sink = core.Block("udp-sink", udp(port, "cf32_le", header="sequence64"))
    sink.start()

    def has_come() -> bool:
        sink.run([COMPLEX[:183]])
        return len(written(tmp_path / "y")) >= 5 * 183

    wait_until(has_come)
    sink.finish()
    np.testing.assert_array_equal(written(tmp_path / "y")[: 5 * 183], np.tile(COMPLEX[:183], 5))
