"""IP packets over the emulated air, between two network namespaces."""

import json
import os
import shutil
import signal
import subprocess
import sys
from ipaddress import IPv4Network
from pathlib import Path
from typing import Literal

import daemon_needed
import numpy as np
import pytest
from carillon import cells
from carillon.config import ConfigError, Run, load_cell
from carillon.port import ip_demo, namespaces, traffic
from carillon.port.namespaces import Addresses, NamespaceError
from carillon.result import Result, Traffic
from carillon.telemetry import Telemetry, TelemetryError
from hang import HANG_S, wait_until

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


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        (
            "grants: {kind: scheduler}",
            "grants.kind is scheduler, which serves IP packets of two TUN",
        ),
        ("grants: {kind: scheduler}\ndata: {tun: a}", "use carillon demo --ip"),
        ("grants: {kind: scheduler, policy: fifo}", "grants.policy"),
        ("grants: {kind: scheduler, target_bler: 0.7}", "must be a number between 0.001 and 0.5"),
        ("grants: {kind: scheduler, harq_processes: 4}", "counts only with grants.kind port"),
    ],
)
def test_what_a_scheduler_cannot_have_is_told(tmp_path: Path, keys: str, why: str) -> None:
    (tmp_path / "cell.yaml").write_text(CELL + keys + "\n")
    with pytest.raises(ConfigError) as raised:
        load_cell(tmp_path / "cell.yaml")
    assert why in str(raised.value)


@pytest.mark.parametrize("role", ["bbu", "radio"])
def test_a_scheduler_is_for_one_process(role: Literal["bbu", "radio"]) -> None:
    loaded = cells.load("ip/near-and-far-8x3", live=True)
    with pytest.raises(ConfigError, match="two processes without a control channel"):
        loaded.check(Run(role=role))


def test_a_scheduled_cell_has_room_for_its_fastest_row() -> None:
    loaded = cells.load("ip/near-and-far-8x3", check=False, live=True)
    made = ip_demo.scheduled(loaded, "round-robin")
    assert (made.cell.grants.policy, made.cell.grants.target_bler) == ("round-robin", 0.01)
    assert made.cell.uplink.mcs_index == made.cell.downlink.mcs_index == 28
    assert ip_demo.scheduled(loaded, None).cell.grants.policy == "proportional-fair"
    free = ip_demo.scheduled(cells.load("laptop-8x2", live=True), "proportional-fair").cell
    assert free.grants.kind == "scheduler"
    for coding in (free.uplink, free.downlink):
        assert coding.modulation == "64qam"
        assert coding.rate == pytest.approx(948 / 1024, rel=1 / 64)


def test_without_a_policy_a_cell_is_as_its_file_says() -> None:
    loaded = cells.load("laptop-8x2", live=True)
    assert ip_demo.scheduled(loaded, None).cell == loaded.cell


def test_a_policy_is_for_ip_packets() -> None:
    words = "demo --policy round-robin".split()
    done = subprocess.run(
        [sys.executable, "-m", "carillon", *words],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode == 2
    assert "needs --ip" in done.stderr


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


def _has_served(folder: Path) -> bool:
    """Whether something of each user has come in each direction."""
    try:
        flows = Telemetry(folder / "telemetry.bin").read("flows")
    except (OSError, ValueError, TelemetryError):
        return False
    return len(flows) == 4 and bool(np.all(flows["good"] > 0))


@pytest.mark.slow
@pytest.mark.realtime
@pytest.mark.skipif(not daemon_needed.has_daemon(), reason="carillond is not built")
@pytest.mark.parametrize("policy", ["round-robin", "proportional-fair"])
def test_a_scheduler_serves_ip_packets(tmp_path: Path, policy: str) -> None:
    if why := _may_run():
        pytest.skip(why)
    (tmp_path / "cell.yaml").write_text(CELL.replace("snr_db: 35", "snr_db: [30, 8]"))
    words = f"demo --ip --policy {policy} --cell cell.yaml --seconds 3600 --no-live --folder run"
    process = subprocess.Popen(
        ["env", "--default-signal=INT", sys.executable, "-m", "carillon", *words.split()],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        wait_until(lambda: process.poll() is not None or _has_served(tmp_path / "run"))
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=HANG_S)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, said
    result = Result.model_validate_json((tmp_path / "run/result.json").read_text())
    assert [(flow.direction, flow.user) for flow in result.scheduler] == [
        (direction, user) for direction in ("uplink", "downlink") for user in (0, 1)
    ]
    for flow in result.scheduler:
        assert 0 < flow.good <= flow.good + flow.failed + flow.late <= flow.blocks
        assert flow.resource_blocks >= flow.blocks
        assert flow.snr_db is not None
    for port in (result.data_port, result.users_port):
        assert port is not None
        assert port.ip is not None
        assert port.ip.sent > 0
        assert port.given.accepted == port.given.used + port.given.unused
    for way, port in (("uplink", result.data_port), ("downlink", result.users_port)):
        own = [flow for flow in result.scheduler if flow.direction == way]
        known = sum(flow.good + flow.failed + flow.late for flow in own)
        assert port is not None
        assert known == port.received.sent
    page = (tmp_path / "run/report.html").read_text()
    assert "Scheduler" in page
