"""Real traffic between a cell's users and the server behind it: ping and iperf3."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from carillon.port.namespaces import SERVER, USERS, Addresses, inside
from carillon.result import Traffic

PING_S = 1.1  # of a user's
_TRIES, _PAUSE_S = 3, 0.2  # of an exchange: its other end may not listen yet
PROGRAMS = {"ping": "iputils-ping", "iperf3": "iperf3"}  # and their Debian packages
_COUNTS = re.compile(r"(\d+) packets transmitted, (\d+) received")
_TIMES = re.compile(r"rtt min/avg/max/mdev = ([\d.]+)/([\d.]+)/([\d.]+)/([\d.]+) ms")


def missing() -> list[str]:
    """Packages of programs that are not installed."""
    return [package for name, package in PROGRAMS.items() if shutil.which(name) is None]


@dataclass
class Exchange:
    """One exchange after another, until all are done or end() is called."""

    addresses: Addresses
    pings: int = 50
    seconds: float = 3.0  # of each direction

    def __post_init__(self) -> None:
        self.done: list[Traffic] = []
        self.ending = threading.Event()
        self._running: subprocess.Popen[str] | None = None

    def run(self) -> None:
        """Each user pings the server, then carries TCP in both directions, one after the other."""
        steps: list[Callable[[int], Traffic | None]] = []
        if shutil.which("ping"):
            steps.append(self._ping)
        if shutil.which("iperf3"):
            steps += [lambda user: self._tcp(user, up=True), lambda user: self._tcp(user, up=False)]
        for step in steps:
            for user in range(self.addresses.users):
                for _ in range(_TRIES):
                    if self.ending.is_set():
                        return
                    if (traffic := step(user)) is not None:
                        self.done.append(traffic)
                        break
                    self.ending.wait(_PAUSE_S)

    def left(self) -> list[str]:
        """What was not done, of each user."""
        done = {(row.user, row.program, row.direction) for row in self.done}
        wanted = [("ping", "both")] if shutil.which("ping") else []
        wanted += [("iperf3", "up"), ("iperf3", "down")] if shutil.which("iperf3") else []
        return [
            f"user {user}'s {program}" + ("" if way == "both" else f" {way}")
            for program, way in wanted
            for user in range(self.addresses.users)
            if (user, program, way) not in done
        ]

    def end(self) -> None:
        """What is under way is not waited for."""
        self.ending.set()
        if (running := self._running) is not None:
            running.kill()

    def _ping(self, user: int) -> Traffic | None:
        own = str(self.addresses.user(user))
        words = ["ping", "-n", "-q", "-i", "0.02", "-W", "1", "-c", str(self.pings), "-I", own]
        shown = self._call(inside(USERS, *words, str(self.addresses.server)))
        return parse_ping(shown, user)

    def _tcp(self, user: int, *, up: bool) -> Traffic | None:
        own, server = str(self.addresses.user(user)), str(self.addresses.server)
        listening = ["iperf3", "--server", "--one-off", "--bind", server, "--idle-timeout", "30"]
        there = subprocess.Popen(
            inside(SERVER, *listening), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            words = ["iperf3", "--client", server, "--bind", own, "--json"]
            words += ["--time", f"{self.seconds:g}", "--connect-timeout", "5000"]
            shown = self._call(inside(USERS, *words, *([] if up else ["--reverse"])))
            return parse_iperf(shown, user, up=up)
        finally:
            there.kill()
            there.wait()

    def _call(self, words: Sequence[str]) -> str:
        self._running = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, env=os.environ | {"LC_ALL": "C"},
        )  # fmt: skip
        if self.ending.is_set():
            self._running.kill()
        shown, _ = self._running.communicate()
        return shown


def parse_ping(shown: str, user: int) -> Traffic | None:
    """Of ping's summary; None: it has none."""
    counts = _COUNTS.search(shown)
    if counts is None or int(counts[1]) == 0:
        return None
    sent, received = int(counts[1]), int(counts[2])
    times = _TIMES.search(shown)
    return Traffic(
        user=user,
        program="ping",
        direction="both",
        lost=1 - received / sent,
        rtt_ms=float(times[2]) if times else None,
        rtt_max_ms=float(times[3]) if times else None,
    )


def parse_iperf(shown: str, user: int, *, up: bool) -> Traffic | None:
    """Of iperf3's JSON; None: it did not end well."""
    try:
        end: dict[str, Any] = json.loads(shown)["end"]
        rate = float(end["sum_received"]["bits_per_second"])
        retransmits = end["sum_sent"].get("retransmits")
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return Traffic(
        user=user,
        program="iperf3",
        direction="up" if up else "down",
        goodput_mbps=rate / 1e6,
        retransmits=None if retransmits is None else int(retransmits),
    )
