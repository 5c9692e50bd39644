"""How long a network card gathers packets before it interrupts, through ethtool's netlink.

Requests and attributes: linux/genetlink.h, linux/ethtool_netlink.h. To set takes CAP_NET_ADMIN.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from carillon.errors import CarillonError

_GENERIC = 16  # NETLINK_GENERIC, and the family of its controller
_GET_FAMILY, _FAMILY_ID, _FAMILY_NAME = 3, 1, 2
_GET, _SET = 19, 20  # ETHTOOL_MSG_COALESCE_GET and _SET
_HEADER, _RX_USECS, _ADAPTIVE_RX = 1, 2, 11
_DEVICE_NAME = 2
_REQUEST, _ACK = 1, 4
_ERROR = 2
_NESTED, _TYPE = 0x8000, 0x3FFF
_MOST_ANSWER = 65536


@dataclass(frozen=True)
class Coalescing:
    """Of receiving; None where the driver has no such setting."""

    rx_usecs: int | None
    adaptive_rx: bool | None


class CoalescingError(CarillonError):
    """A setting that the driver does not take."""


def read(interface: str) -> Coalescing | None:
    """An interface's setting; None where it has none, or there is no such interface or netlink."""
    try:
        with _Ethtool() as ethtool:
            found = ethtool.ask(_GET, _device(interface))
    except OSError:
        return None
    usecs, adaptive = found.get(_RX_USECS), found.get(_ADAPTIVE_RX)
    if usecs is None:
        return None
    return Coalescing(
        int.from_bytes(usecs, sys.byteorder), None if adaptive is None else adaptive != b"\0"
    )


def write(interface: str, wanted: Coalescing) -> None:
    """Raises CoalescingError with the driver's reason."""
    body = _device(interface)
    if wanted.rx_usecs is not None:
        body += _attribute(_RX_USECS, struct.pack("=I", wanted.rx_usecs))
    if wanted.adaptive_rx is not None:
        body += _attribute(_ADAPTIVE_RX, bytes([wanted.adaptive_rx]))
    try:
        with _Ethtool() as ethtool:
            ethtool.ask(_SET, body)
    except OSError as error:
        reason = "it takes root" if error.errno == errno.EPERM else (error.strerror or str(error))
        raise CoalescingError(
            f"{interface}: the driver does not take rx-usecs {wanted.rx_usecs}: {reason.lower()}"
        ) from None


@contextmanager
def kept(interface: str) -> Iterator[Coalescing]:
    """The setting as it is, which is put back at the end: by another process, which does so too
    when this one is killed. Raises CoalescingError where there is none."""
    before = read(interface)
    if before is None:
        raise CoalescingError(f"{interface} has no interrupt coalescing that can be set")
    words = [str(before.rx_usecs), str(int(before.adaptive_rx or False))]
    if before.adaptive_rx is None:
        words = words[:1]
    keeper = subprocess.Popen(
        [sys.executable, "-m", "carillon.net.coalescing", interface, *words],
        stdin=subprocess.PIPE,
        start_new_session=True,  # a terminal's Ctrl-C is not for it
    )
    try:
        yield before
    finally:
        assert keeper.stdin is not None
        keeper.stdin.close()
        if keeper.wait() != 0:
            raise CoalescingError(
                f"{interface}: rx-usecs could not be put back; do so with "
                f"`ethtool -C {interface} rx-usecs {before.rx_usecs}`"
            )


def keep(words: list[str], parent: int) -> None:
    """Waits until the parent has closed its end of a pipe, or died, then puts the setting back."""
    while os.read(parent, 1):
        pass
    adaptive = bool(int(words[2])) if len(words) > 2 else None
    now, before = read(words[0]), Coalescing(int(words[1]), adaptive)
    if now != before:
        write(words[0], before)


class _Ethtool:
    """A netlink socket to the kernel's ethtool."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _GENERIC)
        try:
            name = _attribute(_FAMILY_NAME, b"ethtool\0")
            found = self._exchange(_GENERIC, _GET_FAMILY, name)
        except OSError:
            self._socket.close()
            raise
        self._family = int.from_bytes(found[_FAMILY_ID], sys.byteorder)

    def __enter__(self) -> _Ethtool:
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()

    def ask(self, command: int, body: bytes) -> dict[int, bytes]:
        """The attributes of the answer; raises OSError where the kernel refuses."""
        return self._exchange(self._family, command, body)

    def _exchange(self, family: int, command: int, body: bytes) -> dict[int, bytes]:
        content = struct.pack("=BBH", command, 1, 0) + body
        head = struct.pack("=IHHII", 16 + len(content), family, _REQUEST | _ACK, 1, 0)
        self._socket.send(head + content)
        found: dict[int, bytes] = {}
        while True:
            answer = self._socket.recv(_MOST_ANSWER)
            while len(answer) >= 16:
                length, kind, _, _, _ = struct.unpack_from("=IHHII", answer)
                if kind == _ERROR:
                    (code,) = struct.unpack_from("=i", answer, 16)
                    if code:
                        raise OSError(-code, os.strerror(-code))
                    return found
                found |= _attributes(answer[20:length])
                answer = answer[(length + 3) & ~3 :]


def _attribute(kind: int, data: bytes) -> bytes:
    length = 4 + len(data)
    return struct.pack("=HH", length, kind) + data + bytes(-length % 4)


def _device(interface: str) -> bytes:
    name = _attribute(_DEVICE_NAME, interface.encode() + b"\0")
    return _attribute(_HEADER | _NESTED, name)


def _attributes(data: bytes) -> dict[int, bytes]:
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        if length < 4:
            break
        found[kind & _TYPE] = data[4:length]
        data = data[(length + 3) & ~3 :]
    return found


if __name__ == "__main__":
    keep(sys.argv[1:], sys.stdin.fileno())
