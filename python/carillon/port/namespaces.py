"""Two network namespaces, a server's and its users', with a TUN device of a cell in each."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import threading
import time
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from types import TracebackType
from typing import Self

from carillon.errors import CarillonError

SERVER, USERS = "carillon-server", "carillon-users"  # namespaces, and the devices in them
_LOCK = Path("/run/carillon-ip.lock")  # held while they exist
_IP = shutil.which("ip", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


class NamespaceError(CarillonError):
    """What cannot be had here, and what to do."""


@dataclass(frozen=True)
class Addresses:
    """Of a cell's network: the server's is .1, user u's the u-th from .2 on."""

    network: IPv4Network
    users: int

    @property
    def server(self) -> IPv4Address:
        return self.network[1]

    def user(self, number: int) -> IPv4Address:
        return self.network[2 + number]


def require_means() -> None:
    """Raises NamespaceError where namespaces or TUN devices cannot be had."""
    if _IP is None:
        raise NamespaceError("the program ip is missing; install iproute2")
    if os.geteuid() != 0:
        raise NamespaceError("network namespaces and TUN devices take root; run it with sudo")
    if not Path("/dev/net/tun").exists():
        raise NamespaceError("/dev/net/tun is missing; load the kernel's module tun")


def inside(namespace: str, *words: str) -> list[str]:
    """A command that runs a program in a namespace."""
    return [_IP or "ip", "netns", "exec", namespace, *words]


class Namespaces:
    """Both namespaces, for as long as the block lasts.

    Raises NamespaceError when they cannot be made. Those that a killed process left are removed.
    """

    def __init__(self, addresses: Addresses) -> None:
        self.addresses = addresses

    def __enter__(self) -> Self:
        require_means()
        self._lock = _LOCK.open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise NamespaceError(
                f"another demo uses the namespaces {SERVER} and {USERS}; end that one first"
            ) from None
        for name in (SERVER, USERS):
            if name in _ip("netns", "list").split():
                _ip("netns", "delete", name)
            _ip("netns", "add", name)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for name in (SERVER, USERS):
            _ip("netns", "delete", name, check=False)
        self._lock.close()

    def bring_up(self) -> None:
        """Once a cell has opened its devices: each goes to its namespace and gets its addresses."""
        addresses = self.addresses
        bits = addresses.network.prefixlen
        users = [addresses.user(number) for number in range(addresses.users)]
        for name, own in ((SERVER, [addresses.server]), (USERS, users)):
            _ip("link", "set", name, "netns", name)
            for address in own:
                _ip("-n", name, "address", "add", f"{address}/{bits}", "dev", name)
            _ip("-n", name, "link", "set", "lo", "up")
            _ip("-n", name, "link", "set", name, "up")

    def have_devices(self) -> bool:
        """Whether both devices are still there, moved or not; they go with the cell."""
        return all(
            Path("/sys/class/net", name).exists()
            or _ip("-n", name, "link", "show", "dev", name, check=False) != ""
            for name in (SERVER, USERS)
        )


def devices_are_there() -> bool:
    """Whether a cell has opened both devices."""
    return all(Path("/sys/class/net", name).exists() for name in (SERVER, USERS))


def wait_for_devices(patience_s: float, ending: threading.Event) -> bool:
    """Whether a cell has opened them; False when that is not waited for any more.

    Raises NamespaceError when it has not opened them by then.
    """
    deadline = time.monotonic() + patience_s
    while not devices_are_there():
        if time.monotonic() > deadline:
            raise NamespaceError("the cell did not open its TUN devices")
        if ending.wait(0.02):
            return False
    return True


def _ip(*words: str, check: bool = True) -> str:
    done = subprocess.run(
        [_IP or "ip", *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if check and done.returncode != 0:
        raise NamespaceError(f"ip {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout
