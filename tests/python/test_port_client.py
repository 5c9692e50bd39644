"""The client of a data port, against bytes written out by hand."""

import socket
import threading
from pathlib import Path

import pytest
from carillon.port import (
    Allocation,
    Block,
    Carrier,
    Client,
    Frame,
    PortError,
    Refused,
    Work,
    messages,
)
from carillon.port.messages import Header


class Peer:
    """Stands in for a cell, at the other end of a client's connection."""

    def __init__(self, path: Path, *greeting: bytes) -> None:
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(path))
        self.listener.listen()
        self.thread = threading.Thread(target=self._greet, args=greeting)
        self.thread.start()

    def _greet(self, *greeting: bytes) -> None:
        self.end, _ = self.listener.accept()
        for datagram in greeting:
            self.end.send(datagram)

    def close(self) -> None:
        self.thread.join()
        self.end.close()
        self.listener.close()


def carrier(*rows: bytes, frames: int = 1) -> bytes:
    header = Header(
        type=messages.CARRIER,
        verdict=1,
        cell=3,
        frame=8,
        block=len(rows),
        user=2,  # slots of a frame
        slot=frames,
        time=1_000_000,
    )
    return header.pack() + b"".join(rows)


UP = bytes.fromhex("00 05 02 00 0100 0000 0200 0500 0c000000")
DOWN = bytes.fromhex("01 00 00 00 0000 0000 0900 0d00 0d000000")


def test_frames_that_differ_have_blocks_of_their_own(tmp_path: Path) -> None:
    later = UP[:6] + bytes([3, 0]) + UP[8:]  # slot 3: the second of the second frame
    peer = Peer(tmp_path / "s", carrier(UP, DOWN, UP, later, frames=2))
    with Client(tmp_path / "s") as client:
        told = client.carrier
        assert [[b.slot for b in told.received(n)] for n in range(4)] == [[0, 0], [1], [0, 0], [1]]
        assert [len(told.given(n)) for n in (0, 1, 2)] == [1, 0, 1]
        assert [b.index for b in told.received(0)] == [0, 1]
    peer.close()


def test_a_client_reads_and_writes_messages_byte_by_byte(tmp_path: Path) -> None:
    peer = Peer(tmp_path / "s", carrier(UP, DOWN))
    with Client(tmp_path / "s") as client:
        up, down = client.carrier.received()[0], client.carrier.given()[0]
        assert client.carrier == Carrier(
            3, 1_000_000, 2, 8, "downlink", False, ((up,),), ((down,),)
        )
        assert (up.index, up.user, up.slot, up.first_symbol, up.last_symbol) == (0, 1, 0, 2, 5)
        assert (up.harq_process, up.redundancy_version, up.bits, up.bytes) == (5, 2, 12, 2)
        assert (down.bits, down.bytes) == (13, 2)
        client.send(7, down, b"\x12\x30")
        assert peer.end.recv(100) == bytes.fromhex(
            "43445031 04 00 0300 07000000 00000000 0000 00 00 0000 0000 0d000000 00000000"
            "0000000000000000 1230"
        )
        peer.end.send(
            bytes.fromhex(
                "43445031 03 01 0300 09000000 00000000 0100 05 02 0000 0000 0c000000 00000000"
                "0500000000000000 abc0"
            )
        )
        assert client.receive() == Block(9, up, "failed", 5, b"\xab\xc0")
        peer.end.send(Header(type=messages.FRAME, frame=10, time=77).pack())
        assert client.receive() == Frame(10, 77)
        peer.end.send(Header(type=messages.REFUSED, verdict=2, frame=7, block=0).pack())
        assert client.receive() == Refused(7, 0, "late")
        assert client.receive(timeout=0.01) is None
        with pytest.raises(ValueError, match="has 2 bytes, not 3"):
            client.send(7, down, b"123")
        peer.close()
        with pytest.raises(PortError, match="has ended"):
            client.receive()
        assert list(client) == []


@pytest.mark.parametrize(
    ("greeting", "why"),
    [
        (b"short", "a message of 5 bytes, fewer than 40"),
        (b"x" * 40, "begins with 0x78787878"),
        (Header(type=messages.FRAME).pack(), "is no data port of this Carillon"),
        (Header(type=messages.REFUSED, verdict=8).pack(), "serves another client"),
    ],
)
def test_what_is_no_data_port_is_told(tmp_path: Path, greeting: bytes, why: str) -> None:
    peer = Peer(tmp_path / "s", greeting)
    with pytest.raises(PortError, match=why):
        Client(tmp_path / "s", timeout=0)
    peer.close()


def test_nobody_listens(tmp_path: Path) -> None:
    with pytest.raises(PortError, match="No such file or directory; is the cell running"):
        Client(tmp_path / "none", timeout=0.01)


def test_a_client_schedules_frames_byte_by_byte(tmp_path: Path) -> None:
    peer = Peer(tmp_path / "s", carrier(frames=0))
    with Client(tmp_path / "s") as client:
        assert client.carrier.scheduled
        assert client.carrier.gives == "downlink"
        client.schedule(
            9,
            [
                Allocation(user=1, first_block=3, blocks=4, slot=1, direction="downlink"),
                Allocation(
                    user=2, first_symbol=2, symbols=5, modulation="64qam", rate=0.5, mcs=7,
                    redundancy_version=3, harq_process=11, again=True,
                ),
            ],
        )  # fmt: skip
        assert peer.end.recv(100) == bytes.fromhex(
            "43445031 06 00 0300 09000000 02000000 0000 00 00 0000 0000 00000000 00000000"
            "0000000000000000"
            "0100 0100 01 00 00 00 0300 0400 0000 0000 0000 0000"
            "0200 0000 00 03 0b 06 0000 0100 0200 0500 08 01 0014"
        )
        refused = "43445031 05 09 0300 09000000 01000000 0200 00 00 0000 0000 00000000 00000000"
        peer.end.send(bytes.fromhex(refused + "0000000000000000") + b"mcs names a row")
        answer = "43445031 06 00 0300 09000000 02000000 0000 00 00 0000 0000 00000000 00000000"
        peer.end.send(bytes.fromhex(answer + "0000000000000000") + UP + DOWN)
        block = "43445031 03 00 0300 09000000 00000000 0100 05 02 0000 582f 0c000000 00000000"
        peer.end.send(bytes.fromhex(block + "0500000000000000 abc0"))
        unknown = "43445031 03 00 0300 04000000 06000000 0100 05 02 0000 0000 0c000000 00000000"
        peer.end.send(bytes.fromhex(unknown + "0500000000000000 abc0"))
        assert client.receive() == Refused(9, 1, "grant", "mcs names a row")
        work = client.receive()
        assert isinstance(work, Work)
        assert [(b.user, b.bits) for b in (*work.received, *work.given)] == [(1, 12), (0, 13)]
        came = client.receive()
        assert isinstance(came, Block)
        assert (came.block, came.bits) == (work.received[0], b"\xab\xc0")
        assert came.snr_db == pytest.approx(21.2)
        other = client.receive()  # of a frame that another client scheduled
        assert isinstance(other, Block)
        assert (other.block.index, other.block.bits, other.block.first_symbol) == (6, 12, -1)
        assert other.snr_db is None
        with pytest.raises(ValueError, match="a grant of"):
            client.schedule(10, [Allocation(user=70_000)])
        with pytest.raises(ValueError, match="more than a frame may have"):
            client.schedule(10, [Allocation(user=0)] * 2000)
    peer.close()
