"""`carillon doctor`: the checks of the network, on machines made of files."""

import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from carillon.doctor import Finding, Machine, ethtool, network
from carillon.doctor.ethtool import Settings
from doctor_machine import CPU, cpus, machine
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

Check = Callable[[Machine, str], Finding]
Files = dict[str, str]

NET = "sys/class/net/eth0"
CORE = "proc/sys/net/core"
RX = {f"{NET}/queues/rx-{q}/rps_cpus": "0000" for q in range(4)}
TX = {f"{NET}/queues/tx-{q}/xps_cpus": "0000" for q in range(4)}
IRQ = {f"{NET}/device/msi_irqs/40": "msix", "proc/irq/40/smp_affinity_list": "0-7"}
ISOLATED = {f"{CPU}/isolated": "2-7"} | cpus(8)
NODE = {
    f"{NET}/device/numa_node": "1",
    "sys/devices/system/node/node0/cpulist": "0-3",
    "sys/devices/system/node/node1/cpulist": "4-7",
}
ALLOWED = "proc/self/status"
DROPS = {"proc/net/softnet_stat": "00196c38 0000000a 00000003 0\n00392875 00000000 0000000e 0\n"}

CASES: list[tuple[Check, Files, Settings, str, str]] = [
    (network.mtu, {f"{NET}/mtu": "9000"}, Settings(), "pass", "9000"),
    (network.mtu, {f"{NET}/mtu": "1500"}, Settings(), "warn", "1500"),
    (network.mtu, {}, Settings(), "skip", ""),
    (network.queues, RX | cpus(8), Settings(), "pass", "4 for"),
    (network.queues, {f"{NET}/queues/rx-0/x": ""} | cpus(2), Settings(), "pass", "1 for"),
    (network.queues, {f"{NET}/queues/rx-0/x": ""} | cpus(8), Settings(), "warn", "1 for"),
    (network.queues, {}, Settings(), "skip", ""),
    (network.steering, RX | TX, Settings(ntuple=True, rules=0), "warn", "receiving"),
    (network.steering, RX, Settings(ntuple=True, rules=2), "pass", "2 ntuple"),
    (network.steering, RX | TX, Settings(rules=2), "warn", "sending"),
    (
        network.steering,
        RX | TX | {f"{NET}/queues/tx-0/xps_cpus": "01", f"{NET}/queues/rx-0/rps_cpus": "0,00ff"},
        Settings(),
        "pass",
        "RPS, XPS",
    ),
    (network.steering, {}, Settings(), "skip", "one queue"),
    (network.coalescing, {}, Settings(rx_usecs=10, adaptive_rx=False), "pass", "10 µs"),
    (network.coalescing, {}, Settings(rx_usecs=50, adaptive_rx=False), "warn", "50 µs"),
    (network.coalescing, {}, Settings(rx_usecs=3, adaptive_rx=True), "warn", "adaptive"),
    (network.coalescing, {f"{NET}/gro_flush_timeout": "200000"}, Settings(), "warn", "200 µs"),
    (network.coalescing, {}, Settings(), "skip", ""),
    (network.offloads, {}, Settings(rx_checksum=True, tx_checksum=True), "pass", "in the NIC"),
    (network.offloads, {}, Settings(rx_checksum=True, tx_checksum=False), "warn", "sending"),
    (network.offloads, {}, Settings(), "skip", ""),
    (network.affinity, IRQ | cpus(8), Settings(), "pass", "CPUs 0-7"),
    (network.affinity, IRQ | ISOLATED, Settings(), "warn", "CPUs 0-7"),
    (
        network.affinity,
        IRQ | ISOLATED | {"proc/irq/40/smp_affinity_list": "0"},
        Settings(),
        "pass",
        "CPUs 0",
    ),
    (network.affinity, ISOLATED, Settings(), "skip", ""),
    (network.node, NODE | cpus(8), Settings(), "warn", "node 1"),
    (network.node, NODE | {ALLOWED: "Cpus_allowed_list:\t4-7\n"}, Settings(), "pass", "node 1"),
    (network.node, {f"{NET}/device/numa_node": "-1"}, Settings(), "skip", ""),
    (
        network.backlog,
        DROPS | {f"{CORE}/netdev_max_backlog": "1000"},
        Settings(),
        "warn",
        "10 dropped",
    ),
    (
        network.backlog,
        {"proc/net/softnet_stat": "01 00", f"{CORE}/netdev_max_backlog": "1000"},
        Settings(),
        "pass",
        " 0 dropped",
    ),
    (network.backlog, {}, Settings(), "skip", ""),
]


@pytest.mark.parametrize(("check", "files", "nic", "level", "fact"), CASES)
def test_a_check_reads_the_interface(
    tmp_path: Path, check: Check, files: Files, nic: Settings, level: str, fact: str
) -> None:
    found = check(machine(tmp_path, files, nic), "eth0")
    assert (found.level, fact in found.fact) == (level, True), found
    assert bool(found.cost) == (level == "warn")


def test_every_check_is_tried_with_each_outcome_it_has() -> None:
    tried = {check: {level for of, _, _, level, _ in CASES if of is check} for check, *_ in CASES}
    assert set(tried) == {*network.CHECKS, *network.LOOPBACK_CHECKS}
    assert all(levels == {"pass", "warn", "skip"} for levels in tried.values())


@pytest.mark.parametrize(
    ("size", "capabilities", "level"),
    [("212992", "0", "warn"), ("212992", "1000", "pass"), ("67108864", "0", "pass")],
)
def test_socket_limits_bind_who_may_not_exceed_them(
    tmp_path: Path, size: str, capabilities: str, level: str
) -> None:
    files = {
        f"{CORE}/rmem_max": size,
        f"{CORE}/wmem_max": size,
        ALLOWED: f"CapEff:\t{capabilities}",
    }
    assert network.socket_limits(machine(tmp_path, files)).level == level
    assert network.socket_limits(machine(tmp_path / "none")).level == "skip"


def test_coalescing_is_put_back_as_it_was(tmp_path: Path) -> None:
    nic = Settings(rx_usecs=50, adaptive_rx=True)
    (change,) = network.coalescing(machine(tmp_path, {}, nic), "eth0").changes
    assert change.command == "ethtool -C eth0 adaptive-rx off rx-usecs 10"
    assert change.undo == "ethtool -C eth0 adaptive-rx on rx-usecs 50"


def test_interrupts_are_found_where_virtio_has_them(tmp_path: Path) -> None:
    device = tmp_path / "sys/devices/pci/virtio3"
    device.mkdir(parents=True)
    (tmp_path / NET).mkdir(parents=True)
    (tmp_path / NET / "device").symlink_to(device)
    files = {"sys/devices/pci/msi_irqs/41": "", "proc/irq/41/smp_affinity_list": "1"}
    assert "1, on CPUs 1" in network.affinity(machine(tmp_path, files | cpus(2)), "eth0").fact


def test_interfaces_are_those_that_are_up_with_a_device_and_loopback(tmp_path: Path) -> None:
    net = "sys/class/net"
    files = {
        f"{net}/lo/flags": "0x9",
        f"{net}/eth0/flags": "0x1003",
        f"{net}/eth0/device/vendor": "",
        f"{net}/eth1/flags": "0x1002",
        f"{net}/eth1/device/vendor": "",
        f"{net}/docker0/flags": "0x1003",
        f"{net}/odd/flags": "up",
        f"{net}/odd/device/vendor": "",
    }
    made = machine(tmp_path, files)
    assert network.interfaces(made) == ["eth0", "lo"]
    assert network.is_loopback(made, "lo")
    assert not network.is_loopback(made, "eth0")


TEXT = st.one_of(
    st.text(max_size=40),
    st.integers(-1, 1).map(str),
    st.from_regex(r"-?[0-9]{0,30}([-,.: \n][0-9a-f]{0,12}){0,4}", fullmatch=True),
    st.sampled_from([text for _, files, *_ in CASES for text in files.values()]),
)
WORD = st.one_of(st.none(), st.integers(0, 2**32 - 1))
SWITCH = st.one_of(st.none(), st.booleans())
NICS = st.builds(Settings, WORD, SWITCH, WORD, WORD, SWITCH, SWITCH, SWITCH, WORD)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.sampled_from([case for case in CASES if case[1]]), NICS, st.data())
def test_no_check_fails_on_an_odd_file(
    tmp_path_factory: pytest.TempPathFactory,
    case: tuple[Check, Files, Settings, str, str],
    nic: Settings,
    data: st.DataObject,
) -> None:
    check, files, *_ = case
    odd = {data.draw(st.sampled_from(sorted(files))): data.draw(TEXT)}
    assert check(machine(tmp_path_factory.mktemp("odd"), files | odd, nic), "eth0").fact


def test_the_kernel_answers_for_loopback_and_not_for_what_is_not_there() -> None:
    assert ethtool.read("lo").tx_checksum is True
    assert ethtool.read("no-such-nic") == Settings()


@pytest.mark.skipif(shutil.which("ethtool") is None, reason="ethtool is not installed")
def test_settings_are_those_that_ethtool_prints() -> None:
    for _, name in socket.if_nameindex():
        told = subprocess.run(["ethtool", "-k", name], capture_output=True, text=True, check=True)
        read = ethtool.read(name)
        assert f"ntuple-filters: {'on' if read.ntuple else 'off'}" in told.stdout
        assert f"rx-checksumming: {'on' if read.rx_checksum else 'off'}" in told.stdout
        assert f"tx-checksumming: {'on' if read.tx_checksum else 'off'}" in told.stdout
        told = subprocess.run(["ethtool", "-c", name], capture_output=True, text=True, check=False)
        if read.rx_usecs is not None:
            assert f"rx-usecs: {read.rx_usecs}\n" in told.stdout.replace("\t", " ")
