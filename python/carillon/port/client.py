"""A client of a data port: gets one direction's blocks, gives the other's."""

from __future__ import annotations

import socket
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from os import PathLike, fspath
from types import TracebackType

from carillon.port import messages
from carillon.port.errors import BusyError, PortError
from carillon.port.events import Block, Carrier, Frame, Refused, TransportBlock, Work
from carillon.port.grants import Allocation
from carillon.port.messages import Header

_GREETING_S = 60.0  # a cell that runs greets at once, unless its machine is very busy
_KEPT = 256  # frames whose blocks are known after they were scheduled

Event = Frame | Block | Refused | Work


class Client:
    """Owner of a cell's bits while it is connected.

    `path`: a cell's `data.socket`, or `data.users_socket`; `timeout`: seconds to wait for a cell
    that is being started, or for another client to go. Raises PortError when they are over.
    """

    def __init__(self, path: str | PathLike[str], timeout: float = 10.0) -> None:
        self._path = fspath(path)
        self._events: deque[Block | Refused | Work] = deque()
        self._work: dict[int, Work] = {}  # by frame, the newest last
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

    def __iter__(self) -> Iterator[Event]:
        """What comes, until the cell ends."""
        while True:
            try:
                event = self.receive()
            except PortError:
                return
            if event is not None:
                yield event

    def receive(self, timeout: float | None = None) -> Event | None:
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

    def schedule(self, frame: int, allocations: Sequence[Allocation]) -> None:
        """Says what a frame does that has not begun, once (`carrier.scheduled`).

        Work comes back with its blocks, after a Refused for each allocation that cannot be done;
        or one Refused for all. Schedule the same at the users' port. ValueError: a number that
        does not travel, or more allocations than a message holds.
        """
        rows = b"".join(each.pack() for each in allocations)
        if len(rows) > messages.PIECE:
            raise ValueError(f"{len(allocations)} allocations, more than a frame may have")
        header = Header(
            type=messages.WORK,
            cell=self.carrier.cell,
            frame=frame & 0xFFFFFFFF,
            block=len(allocations),
        )
        self._socket.settimeout(None)
        with suppress(BrokenPipeError, ConnectionResetError):
            self._socket.send(header.pack() + rows)

    def fileno(self) -> int:
        """For select(), once receive(0) has handed out all that had come."""
        return self._socket.fileno()

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
            reason, why = messages.REFUSALS[header.verdict], data.decode(errors="replace")
            self._events.append(Refused(header.frame, header.block, reason, why))
        elif header.type == messages.WORK:
            self._keep(header.frame, self._whole(data, header.block * messages.ROW, header))
        elif header.type != messages.BLOCK:
            self._ended = PortError(f"{self._path}: sent a message of unknown type {header.type}")
        else:
            self._events.append(self._block(header, data))

    def _keep(self, frame: int, rows: bytes) -> None:
        (up,), (down,) = _by_frame(rows, self.carrier.slots, 1)
        received, given = (up, down) if self.carrier.gives == "downlink" else (down, up)
        work = self._work[frame] = Work(frame, received, given)
        self._events.append(work)
        while len(self._work) > _KEPT:
            del self._work[next(iter(self._work))]

    def _block(self, header: Header, data: bytes) -> Block:
        verdict = messages.VERDICTS[header.verdict]
        block = self._described(header)
        bits = b"" if verdict == "late" else self._whole(data, block.bytes, header)
        snr = header.snr / 100 - 100 if header.snr else None
        return Block(header.frame, block, verdict, header.time, bits, snr)

    def _described(self, header: Header) -> TransportBlock:
        """A block that came; of a frame that another client scheduled, without its symbols."""
        if not self.carrier.scheduled:
            return self.carrier.received(header.frame)[header.block]
        work = self._work.get(header.frame)
        if work is not None:
            return work.received[header.block]
        return TransportBlock(
            header.block, header.user, header.slot, -1, -1,
            header.harq_process, header.redundancy_version, header.bits,
        )  # fmt: skip

    def _whole(self, data: bytes, length: int, first: Header) -> bytes:
        """A block, or the Carrier's rows, of which the first piece has come.

        Other messages may lie between the pieces.
        """
        while len(data) < length:
            self._socket.settimeout(None)
            header, more = self._message()
            same = (header.type, header.frame, header.block) == (
                first.type,
                first.frame,
                first.block,
            )
            if same and header.offset == len(data):
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
        scheduled = header.slot == 0
        rows = self._whole(data, header.block * messages.ROW, header)
        try:
            up, down = _by_frame(rows, header.user, 1 if scheduled else header.slot)
        except ValueError:
            raise PortError(f"{self._path}: is no data port of this Carillon") from None
        gives = ("uplink", "downlink")[header.verdict]
        received, given = (up, down) if gives == "downlink" else (down, up)
        return Carrier(
            header.cell, header.time, header.user, header.frame, gives, scheduled, received, given
        )


Blocks = tuple[TransportBlock, ...]


def _by_frame(
    rows: bytes, slots: int, frames: int
) -> tuple[tuple[Blocks, ...], tuple[Blocks, ...]]:
    """The uplink's blocks, and the downlink's, of frames one after another. ValueError: a row is of
    none of these frames."""
    sides: tuple[list[list[TransportBlock]], ...] = (
        [[] for _ in range(frames)],
        [[] for _ in range(frames)],
    )
    for direction, harq, version, user, slot, first, last, bits in messages.rows(rows):
        if not slots or slot // slots >= frames:
            raise ValueError(slot)
        side = sides[direction][slot // slots]
        side.append(TransportBlock(len(side), user, slot % slots, first, last, harq, version, bits))
    up, down = (tuple(map(tuple, side)) for side in sides)
    return up, down
