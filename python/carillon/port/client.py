"""A client of a data port: gets one direction's blocks, gives the other's."""

from __future__ import annotations

import socket
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike, fspath
from types import TracebackType

from carillon.errors import InputError
from carillon.port import messages
from carillon.port.messages import Header

_GREETING_S = 60.0  # a cell that runs greets at once, unless its machine is very busy


class PortError(InputError):
    """A data port that cannot be used, or has gone."""


class BusyError(PortError):
    """It serves another client, which may be about to go."""


@dataclass(frozen=True)
class TransportBlock:
    """A block of a frame, of one direction; `index` is its place there."""

    index: int
    user: int
    slot: int
    first_symbol: int
    last_symbol: int
    harq_process: int
    redundancy_version: int
    bits: int

    @property
    def bytes(self) -> int:
        """That its bits take, most significant bit first; spare ones are zero."""
        return (self.bits + 7) // 8


@dataclass(frozen=True)
class Carrier:
    """What a cell carries: frame n is the one of n modulo those that differ, often one.

    What the cell has received comes to the client: the uplink's blocks, at the users' port the
    downlink's. The client gives the other direction's.
    """

    cell: int
    frame_ns: int  # how long a frame lasts
    ahead: int  # frames for which bits may be given before they begin
    all_received: tuple[tuple[TransportBlock, ...], ...]  # by frame
    all_given: tuple[tuple[TransportBlock, ...], ...]

    def received(self, frame: int = 0) -> tuple[TransportBlock, ...]:
        """The blocks of a frame that come."""
        return self.all_received[frame % len(self.all_received)]

    def given(self, frame: int = 0) -> tuple[TransportBlock, ...]:
        """The blocks of a frame that go."""
        return self.all_given[frame % len(self.all_given)]


@dataclass(frozen=True)
class Frame:
    """A frame has begun. Bits for later ones are welcome, for this one they are too late."""

    number: int
    air_start_ns: int  # of CLOCK_MONOTONIC_RAW


@dataclass(frozen=True)
class Block:
    """A received block. Its bits are whatever was decoded, and none of a late one."""

    frame: int
    block: TransportBlock
    verdict: str  # good, failed, late
    at_ns: int  # of CLOCK_MONOTONIC_RAW: when it was decoded, or given up
    bits: bytes


@dataclass(frozen=True)
class Refused:
    """A block, or a piece of one, that was not taken."""

    frame: int
    block: int
    reason: str  # no_frame, late, early, block, bits, order, format


class Client:
    """Owner of a cell's bits while it is connected.

    `path`: a cell's `data.socket`, or `data.users_socket`; `timeout`: seconds to wait for a cell
    that is being started, or for another client to go. Raises PortError when they are over.
    """

    def __init__(self, path: str | PathLike[str], timeout: float = 10.0) -> None:
        self._path = fspath(path)
        self._events: deque[Block | Refused] = deque()
        self._newest: Frame | None = None
        self._ended: PortError | None = None
        deadline = time.monotonic() + timeout
        while True:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            try:
                self._socket.settimeout(_GREETING_S)
                self._socket.connect(self._path)
                self.carrier = self._read_carrier()
                return
            except (FileNotFoundError, ConnectionRefusedError, BlockingIOError, BusyError) as error:
                self._socket.close()
                if time.monotonic() > deadline:
                    raise self._unreachable(error) from error
                time.sleep(0.05)
            except OSError as error:
                self._socket.close()
                raise self._unreachable(error) from error
            except PortError:
                self._socket.close()
                raise

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Frame | Block | Refused]:
        """What comes, until the cell ends."""
        while True:
            try:
                event = self.receive()
            except PortError:
                return
            if event is not None:
                yield event

    def receive(self, timeout: float | None = None) -> Frame | Block | Refused | None:
        """The next event; None when none came in so many seconds. PortError: the cell ended.

        Of frames that have begun the newest one comes, before the blocks that wait: who is behind
        with these still knows for which frames bits are in time.
        """
        if not self._take(0) and self._newest is None and not self._events:
            self._take(timeout)
        if self._newest is not None:
            newest, self._newest = self._newest, None
            return newest
        if self._events:
            return self._events.popleft()
        if self._ended is not None:
            raise self._ended
        return None

    def send(self, frame: int, block: TransportBlock, bits: bytes) -> None:
        """Gives a block of a frame that has not begun.

        ValueError: its length is not `block.bytes`. What the cell does not take comes as Refused. A
        cell that has ended takes nothing, as receive() then says.
        """
        if len(bits) != block.bytes:
            raise ValueError(f"block {block.index} has {block.bytes} bytes, not {len(bits)}")
        header = Header(
            type=messages.BITS,
            cell=self.carrier.cell,
            frame=frame & 0xFFFFFFFF,
            block=block.index,
            user=block.user,
            harq_process=block.harq_process,
            redundancy_version=block.redundancy_version,
            slot=block.slot,
            bits=block.bits,
        )
        self._socket.settimeout(None)
        with suppress(BrokenPipeError, ConnectionResetError):
            for offset in range(0, len(bits), messages.PIECE):
                piece = bits[offset : offset + messages.PIECE]
                self._socket.send(header._replace(offset=offset).pack() + piece)

    def close(self) -> None:
        """What has been given still goes out, and then padding."""
        self._socket.close()

    def _unreachable(self, error: OSError | PortError) -> PortError:
        if isinstance(error, PortError):
            return error
        reason = error.strerror or "nothing came in time"
        return PortError(f"{self._path}: {reason}; is the cell running?")

    def _message(self) -> tuple[Header, bytes]:
        try:
            datagram = self._socket.recv(65536)
        except (TimeoutError, BlockingIOError):
            raise
        except OSError as error:
            raise PortError(f"{self._path}: {error.strerror}") from error
        if not datagram:
            raise PortError(f"{self._path}: the cell has ended")
        try:
            return messages.parse(datagram)
        except ValueError as error:
            raise PortError(f"{self._path}: sent {error}") from error

    def _take(self, timeout: float | None) -> bool:
        """Takes in all that is there, and waits for the first so long; False: nothing was."""
        took = False
        while self._ended is None:
            self._socket.settimeout(timeout)
            try:
                header, data = self._message()
            except (TimeoutError, BlockingIOError):
                return took
            except PortError as error:
                self._ended = error
                return took
            self._sort_in(header, data)
            took, timeout = True, 0
        return took

    def _sort_in(self, header: Header, data: bytes) -> None:
        if header.type == messages.FRAME:
            self._newest = Frame(header.frame, header.time)
        elif header.type == messages.REFUSED:
            reason = messages.REFUSALS[header.verdict]
            self._events.append(Refused(header.frame, header.block, reason))
        elif header.type != messages.BLOCK:
            self._ended = PortError(f"{self._path}: sent a message of unknown type {header.type}")
        else:
            verdict = messages.VERDICTS[header.verdict]
            block = self.carrier.received(header.frame)[header.block]
            bits = b"" if verdict == "late" else self._whole(data, block.bytes, header)
            self._events.append(Block(header.frame, block, verdict, header.time, bits))

    def _whole(self, data: bytes, length: int, first: Header) -> bytes:
        """A block, or the Carrier's rows, of which the first piece has come.

        Other messages may lie between the pieces.
        """
        while len(data) < length:
            self._socket.settimeout(None)
            header, more = self._message()
            if header.type == first.type:
                data += more
            else:
                self._sort_in(header, more)
        return data

    def _read_carrier(self) -> Carrier:
        header, data = self._message()
        if header.type == messages.REFUSED:
            raise BusyError(f"{self._path}: serves another client; close that one first")
        if header.type != messages.CARRIER:
            raise PortError(f"{self._path}: is no data port of this Carillon")
        frames, slots = header.slot, header.user
        sides: tuple[list[list[TransportBlock]], ...] = (
            [[] for _ in range(frames)],
            [[] for _ in range(frames)],
        )
        for row in messages.rows(self._whole(data, header.block * 16, header)):
            direction, harq, version, user, slot, first, last, bits = row
            if not slots or slot // slots >= frames:
                raise PortError(f"{self._path}: is no data port of this Carillon")
            side = sides[direction][slot // slots]
            block = TransportBlock(len(side), user, slot % slots, first, last, harq, version, bits)
            side.append(block)
        up, down = (tuple(map(tuple, side)) for side in sides)
        received, given = (up, down) if header.verdict == 1 else (down, up)
        return Carrier(header.cell, header.time, header.frame, received, given)
