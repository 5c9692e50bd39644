"""A network interface's settings, asked of the kernel as the program ethtool does.

Requests and structures: linux/ethtool.h. None needs privileges.
"""

from __future__ import annotations

import array
import fcntl
import socket
import struct
from dataclasses import dataclass

_SIOCETHTOOL = 0x8946
_GCOALESCE, _GCHANNELS, _GRXCLSRLCNT, _GFLAGS = 0x0E, 0x3C, 0x2E, 0x25
_GRXCSUM, _GTXCSUM = 0x14, 0x16
_FLAG_NTUPLE = 1 << 27
# Places in the structures, in 32-bit words.
_COALESCE_WORDS, _RX_USECS, _ADAPTIVE_RX = 23, 1, 10
_CHANNELS_WORDS, _MAX_RX, _MAX_COMBINED, _RX, _COMBINED = 9, 1, 4, 5, 8
_RXNFC_WORDS, _RULES = 48, 46


@dataclass(frozen=True)
class Settings:
    """What a driver says; None where it does not."""

    rx_usecs: int | None = None
    adaptive_rx: bool | None = None
    queues: int | None = None  # for receiving
    most_queues: int | None = None
    rx_checksum: bool | None = None
    tx_checksum: bool | None = None
    ntuple: bool | None = None
    rules: int | None = None  # of flow steering


def read(interface: str) -> Settings:
    """The settings of an interface of this machine; all None when there is no such one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        coalesce = _ask(asker, interface, _GCOALESCE, _COALESCE_WORDS)
        channels = _ask(asker, interface, _GCHANNELS, _CHANNELS_WORDS)
        rules = _ask(asker, interface, _GRXCLSRLCNT, _RXNFC_WORDS)
        flags = _value(asker, interface, _GFLAGS)
        return Settings(
            rx_usecs=coalesce[_RX_USECS] if coalesce else None,
            adaptive_rx=bool(coalesce[_ADAPTIVE_RX]) if coalesce else None,
            queues=channels[_RX] + channels[_COMBINED] if channels else None,
            most_queues=channels[_MAX_RX] + channels[_MAX_COMBINED] if channels else None,
            rx_checksum=_switch(_value(asker, interface, _GRXCSUM)),
            tx_checksum=_switch(_value(asker, interface, _GTXCSUM)),
            ntuple=None if flags is None else bool(flags & _FLAG_NTUPLE),
            rules=rules[_RULES] if rules else None,
        )


def _ask(asker: socket.socket, interface: str, request: int, words: int) -> array.array[int] | None:
    answer = array.array("I", [request] + [0] * (words - 1))
    name = interface.encode()[:15]
    packed = struct.pack("16sP16x", name, answer.buffer_info()[0])
    try:
        fcntl.ioctl(asker, _SIOCETHTOOL, packed)
    except OSError:
        return None
    return answer


def _value(asker: socket.socket, interface: str, request: int) -> int | None:
    answer = _ask(asker, interface, request, 2)
    return answer[1] if answer else None


def _switch(value: int | None) -> bool | None:
    return None if value is None else bool(value)
