"""IP packets over the emulated air, between two network namespaces."""

import json
import os
import shutil
import subprocess
import sys
from ipaddress import IPv4Network
from pathlib import Path

import daemon_needed
import pytest
from carillon.port import namespaces, traffic
from carillon.port.namespaces import Addresses, NamespaceError
from carillon.result import Result, Traffic
from hang import HANG_S

# Frames of 5 ms, with a budget of many of them, that carry a kilobyte of each user.
CELL = """
antennas: 4
users: 2
numerology: {fft_size: 512, subcarriers: 300, spacing_khz: 3, prefix: constant}
schedule: PPUUUUUUGGDDDD
uplink: {modulation: 64qam, rate: 0.6}
downlink: {modulation: 64qam, rate: 0.6}
deadlines: {uplink_budget_ms: 200, downlink_lead_ms: 0}
ring: 50
radio: {snr_db: 35}
"""
PING = """PING 10.45.0.1 (10.45.0.1) from 10.45.0.2 : 56(84) bytes of data.

--- 10.45.0.1 ping statistics ---
50 packets transmitted, 48 received, 4% packet loss, time 980ms
rtt min/avg/max/mdev = 3.812/4.526/9.013/0.812 ms, pipe 2
"""


def test_what_ping_says_is_read() -> None:
    row = traffic.parse_ping(PING, 3)
    assert row == Traffic(
        user=3, program="ping", direction="both", lost=1 - 48 / 50, rtt_ms=4.526,
        rtt_max_ms=9.013,
    )  # fmt: skip


def test_ping_without_an_answer() -> None:
    row = traffic.parse_ping("5 packets transmitted, 0 received, 100% packet loss, time 80ms", 0)
    assert row is not None
    assert (row.lost, row.rtt_ms) == (1.0, None)
    assert traffic.parse_ping("ping: connect: Network is unreachable", 0) is None


def test_what_iperf_says_is_read() -> None:
    end = {"sum_sent": {"retransmits": 7}, "sum_received": {"bits_per_second": 3.5e6}}
    row = traffic.parse_iperf(json.dumps({"end": end}), 1, up=True)
    assert row is not None
    assert (row.direction, row.goodput_mbps, row.retransmits) == ("up", 3.5, 7)
    assert traffic.parse_iperf('{"error": "unable to connect"}', 1, up=True) is None
    assert traffic.parse_iperf("iperf3: interrupted", 1, up=True) is None


def test_users_follow_the_server() -> None:
    addresses = Addresses(IPv4Network("10.45.0.0/24"), 4)
    assert str(addresses.server) == "10.45.0.1"
    assert [str(addresses.user(u)) for u in range(2)] == ["10.45.0.2", "10.45.0.3"]


def test_without_root_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(NamespaceError, match="take root; run it with sudo"):
        namespaces.require_means()


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ("tun: a, socket: b", "beside data.socket; leave one of them empty"),
        ("users_tun: a, users_socket: b", "beside data.users_socket; leave one of them empty"),
        ("tun: a, users_tun: a", "they are two devices"),
        ("tun: a-name-that-is-too-long", "data.tun"),
        ("network: 10.45.0.7", "must be an IPv4 network of 256 addresses"),
        ("users_tun: a", "must be at least 58"),
    ],
)
def test_keys_that_do_not_fit_are_told(tmp_path: Path, keys: str, why: str) -> None:
    (tmp_path / "cell.yaml").write_text(CELL + f"data: {{{keys}}}\n")
    done = subprocess.run(
        [sys.executable, "-m", "carillon", "config", "check", tmp_path / "cell.yaml"],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode == 2
    assert why in done.stdout + done.stderr


def _may_run() -> str:
    try:
        namespaces.require_means()
        with namespaces.Namespaces(Addresses(IPv4Network("10.45.0.0/24"), 2)):
            pass
    except NamespaceError as error:
        return str(error)
    absent = [name for name in traffic.PROGRAMS if shutil.which(name) is None]
    return f"{absent} is not installed" if absent else ""


@pytest.mark.slow
@pytest.mark.realtime
@pytest.mark.skipif(not daemon_needed.has_daemon(), reason="carillond is not built")
def test_ping_and_iperf_cross_the_air(tmp_path: Path) -> None:
    if why := _may_run():
        pytest.skip(why)
    (tmp_path / "cell.yaml").write_text(CELL)
    words = "demo --ip --cell cell.yaml --seconds 25 --no-live --folder run".split()
    done = subprocess.run(
        [sys.executable, "-m", "carillon", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    result = Result.model_validate_json((tmp_path / "run/result.json").read_text())
    pings = [row for row in result.traffic if row.program == "ping"]
    assert [row.user for row in pings] == [0, 1]
    assert all(row.lost is not None and row.lost < 1 for row in pings), result.traffic
    tcp = {(row.user, row.direction): row for row in result.traffic if row.program == "iperf3"}
    assert tcp, done.stdout
    assert all(row.goodput_mbps for row in tcp.values()), tcp
    for port in (result.data_port, result.users_port):
        assert port is not None
        assert port.ip is not None
        assert port.ip.delivered > 0
        assert port.given.accepted == port.given.used + port.given.unused
    page = (tmp_path / "run/report.html").read_text()
    assert "Traffic" in page
    assert "IP packets delivered" in page
    for name in (namespaces.SERVER, namespaces.USERS):
        assert not Path("/run/netns", name).exists()
