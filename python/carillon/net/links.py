"""Where round trips go: a virtual cable or the loopback of this machine, or another host."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol

from carillon import core
from carillon.errors import CarillonError, InputError
from carillon.net.point import Point, Way

_SOCKET_PACKETS = 32_768  # that a socket should hold while its receiver does not run
_MOST_LINE = 4096
_ANSWER_S = 10.0
_MOST_PACKET, _MOST_HELD_US = 65_507, 1_000_000  # bytes of a datagram
_LOOPBACK = "127.0.0.1"

Echoed = dict[str, Any]


class LinkError(CarillonError):
    """A way that this machine or the other one does not have."""


class Session(Protocol):
    """A link that is open, with an echo at its other end."""

    radio: core.NetEnd

    def stop(self) -> Echoed:
        """Ends the echo: packets, bursts, cores that its thread took, notes."""


class Link(Protocol):
    """What sessions are opened over."""

    @property
    def name(self) -> str:
        """For people."""

    def open(self, way: Way, point: Point, held_us: float) -> closing[Any]:
        """A session; LinkError when the way is not there."""


def _end(way: Way, address: str, peer: str, packet_bytes: int, **more: Any) -> core.NetEnd:
    try:
        return core.NetEnd(
            way.io, address, peer,
            packet_bytes=packet_bytes, socket_packets=_SOCKET_PACKETS, **more,
        )  # fmt: skip
    except RuntimeError as error:
        raise LinkError(f"{way.name}: {str(error).removeprefix('fronthaul: ')}") from None


def _cores() -> tuple[int, int]:
    """Of the measuring thread and of the echo's; the same where there is only one."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[0], allowed[-1]


MEASURING_CORE, ECHO_CORE = _cores()


@dataclass
class _Local:
    radio: core.NetEnd
    baseband: core.NetEnd

    def stop(self) -> Echoed:
        told = self.baseband.stop_echo()
        return {**told, "notes": self.baseband.findings()}

    def close(self) -> None:
        """Ends come with their sockets."""


@dataclass(frozen=True)
class Here:
    """Both ends in this process: over a veth pair between two namespaces, or over the loopback."""

    name: Literal["cable", "loopback"]

    def open(self, way: Way, point: Point, held_us: float) -> closing[_Local]:
        if self.name == "cable":
            try:
                cable = core.VirtualCable(point.mtu)
            except RuntimeError as error:
                raise LinkError(str(error).removeprefix("fronthaul: ")) from None
            addresses = [core.VirtualCable.address(end) for end in (0, 1)]
            more: list[dict[str, Any]] = [{"cable": cable, "end": end} for end in (0, 1)]
        else:
            addresses, more = [_LOOPBACK, _LOOPBACK], [{}, {}]
        radio = _end(way, addresses[0], addresses[1], point.packet_bytes, **more[0])
        baseband = _end(way, addresses[1], addresses[0], point.packet_bytes, **more[1])
        radio.meet(baseband.port)
        baseband.meet(radio.port)
        baseband.echo(_echo_core(), way.sleeping, held_us)
        return closing(_Local(radio, baseband))


def _echo_core() -> int:
    return ECHO_CORE if ECHO_CORE != MEASURING_CORE else -1


def here(name: Literal["cable", "loopback"] | None) -> Here:
    """What is asked for; else a cable where this machine permits one."""
    if name is not None:
        return Here(name)
    try:
        core.VirtualCable(1500)
    except RuntimeError:
        return Here("loopback")
    return Here("cable")


def parse_place(text: str) -> tuple[str, int]:
    """ADDRESS:PORT."""
    address, colon, port = text.rpartition(":")
    try:
        socket.inet_pton(socket.AF_INET, address)
        number = int(port)
    except (OSError, ValueError):
        number = 0
    if not colon or not 0 < number < 65536:
        raise InputError(f"'{text}' is not ADDRESS:PORT such as 192.168.1.2:9100")
    return address, number


@dataclass
class _Remote:
    radio: core.NetEnd
    control: socket.socket

    def stop(self) -> Echoed:
        _send(self.control, {"stop": True})
        return _receive(self.control)

    def close(self) -> None:
        self.control.close()


@dataclass(frozen=True)
class There:
    """The other end on a host where `carillon net rtt --listen` runs."""

    place: tuple[str, int]

    @property
    def name(self) -> str:
        return f"{self.place[0]}:{self.place[1]}"

    def open(self, way: Way, point: Point, held_us: float) -> closing[_Remote]:
        try:
            control = socket.create_connection(self.place, _ANSWER_S)
        except OSError as error:
            raise InputError(
                f"nothing listens at {self.name}: {(error.strerror or str(error)).lower()}; start "
                f"`carillon net rtt --listen {self.name}` there"
            ) from None
        try:
            address = control.getsockname()[0]
            radio = _end(way, address, self.place[0], point.packet_bytes)
            request = {**asdict(way), "packet_bytes": point.packet_bytes, "port": radio.port}
            _send(control, {**request, "held_us": held_us})
            radio.meet(int(_receive(control)["port"]))
        except BaseException:
            control.close()
            raise
        return closing(_Remote(radio, control))

    def local_address(self) -> str:
        """From which this machine reaches it."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(self.place)
            return str(probe.getsockname()[0])


def _send(control: socket.socket, message: dict[str, Any]) -> None:
    try:
        control.sendall(json.dumps(message).encode() + b"\n")
    except OSError as error:
        raise LinkError(f"the other host is gone: {error}") from None


def _receive(control: socket.socket) -> dict[str, Any]:
    message = _line(control)
    if message is None:
        raise LinkError("the other host ended the measurement")
    if "error" in message:
        raise LinkError(f"the other host: {message['error']}")
    return message


def _line(control: socket.socket) -> dict[str, Any] | None:
    """The next message; None when the other side has gone or says no such thing."""
    line = b""
    while not line.endswith(b"\n") and len(line) < _MOST_LINE:
        try:
            more = control.recv(_MOST_LINE - len(line))
        except OSError:
            more = b""
        if not more:
            return None
        line += more
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


@contextmanager
def listening(place: tuple[str, int]) -> Iterator[socket.socket]:
    """A socket that hosts which measure connect to."""
    try:
        listener = socket.create_server(place)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot listen at {place[0]}:{place[1]}: {reason}") from None
    with listener:
        yield listener


def _asked(request: dict[str, Any], key: str, most: int) -> int:
    """A whole number that whoever reaches the port has sent."""
    value: object = request[key]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise ValueError(f"{key} is {value!r} but must be between 0 and {most}")
    return round(value)


def serve(control: socket.socket) -> str:
    """One measurement for a host that has connected, to its end; what it was, in words."""
    control.settimeout(_ANSWER_S)
    request = _line(control)
    try:
        if request is None:
            return "said nothing that is understood"
        way = Way(*(request[key] for key in ("name", "io", "sleeping", "words")))
        address, peer = control.getsockname()[0], control.getpeername()[0]
        end = _end(way, address, peer, _asked(request, "packet_bytes", _MOST_PACKET))
        end.meet(_asked(request, "port", 65_535))
        end.echo(-1, bool(way.sleeping), _asked(request, "held_us", _MOST_HELD_US))
    except (CarillonError, KeyError, OverflowError, TypeError, ValueError) as error:
        _send(control, {"error": str(error)})
        return f"asked for what cannot be: {error}"
    _send(control, {"port": end.port})
    control.settimeout(None)  # as long as the other measures, or is there
    control.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    control.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, int(_ANSWER_S))
    control.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, int(_ANSWER_S))
    asked = _line(control)
    told = {**end.stop_echo(), "notes": end.findings()}
    if asked is not None:
        _send(control, told)
    return f"{way.name}: {told['packets']} packets"
