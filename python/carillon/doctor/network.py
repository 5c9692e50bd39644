"""Checks of the network: each interface's settings, and what a socket may hold."""

from __future__ import annotations

import re

from carillon.doctor.finding import Change, Ethtool, Finding, Write
from carillon.doctor.machine import CPU, Machine, cpu_list, parse_cpus

_JUMBO = 9000
_BUFFER = 32 << 20
_BACKLOG = 10_000
_COALESCE_US = 10
_FLUSH_NS = 10_000
_NET_ADMIN = 12  # linux/capability.h
_UP, _LOOPBACK = 0x1, 0x8  # linux/if.h
_NET = "sys/class/net"


def interfaces(machine: Machine) -> list[str]:
    """Those that are up: loopback, and others that have a device behind them."""
    return [
        name
        for name in machine.names(_NET)
        if _flags(machine, name) & _UP
        and (is_loopback(machine, name) or "device" in machine.names(f"{_NET}/{name}"))
    ]


def is_loopback(machine: Machine, name: str) -> bool:
    return bool(_flags(machine, name) & _LOOPBACK)


def _flags(machine: Machine, name: str) -> int:
    text = machine.read(f"{_NET}/{name}/flags") or ""
    return int(text, 16) if re.fullmatch(r"0x[0-9a-fA-F]{1,8}", text) else 0


def mtu(machine: Machine, name: str) -> Finding:
    """Whether a symbol of an antenna fits one packet."""
    topic = f"{name} MTU"
    size = machine.number(f"{_NET}/{name}/mtu")
    if size is None or size <= 0:
        return Finding(topic, "skip", "not told")
    if size >= _JUMBO:
        return Finding(topic, "pass", f"{size} bytes")
    cost = (
        "a symbol of 2048 samples travels in "
        f"{-(-8840 // max(1, size - 20))} fragments, and is lost with any one of them"
    )
    advice = "if the switch and the radio unit allow it too"
    command = f"ip link set dev {name} mtu {_JUMBO}"
    return Finding(topic, "warn", f"{size} bytes", cost, advice, command)


def queues(machine: Machine, name: str) -> Finding:
    """Whether receiving is spread over cores."""
    topic = f"{name} queues"
    count = len(_queues(machine, name, "rx"))
    if not count:
        return Finding(topic, "skip", "not told")
    fact = f"{count} for receiving"
    most = machine.nic(name).most_queues
    if count > 1 or len(machine.cpus(f"{CPU}/online")) < 3:
        return Finding(topic, "pass", fact)
    cost = "one core takes all interrupts and all packets through the kernel"
    if most is None or most < 2:
        return Finding(topic, "warn", fact, cost, "this NIC has no more: 10 Gb/s want another")
    command = f"ethtool -L {name} combined {min(most, 4)}"
    return Finding(topic, "warn", fact, cost, "the link goes down for a moment", command)


def _queues(machine: Machine, name: str, way: str) -> list[str]:
    found = machine.names(f"{_NET}/{name}/queues")
    return [queue for queue in found if queue.startswith(f"{way}-")]


def steering(machine: Machine, name: str) -> Finding:
    """Whether packets come to chosen cores and leave by their own queue."""
    topic = f"{name} steering"
    settings = machine.nic(name)
    if len(_queues(machine, name, "rx")) < 2:
        return Finding(topic, "skip", "one queue: nothing to steer")
    rps = machine.each(f"{_NET}/{name}/queues/rx-*/rps_cpus").values()
    xps = machine.each(f"{_NET}/{name}/queues/tx-*/xps_cpus").values()
    lacking = []
    if not settings.rules and not any(_mask(text) for text in rps):
        lacking.append("receiving (no ntuple rule, no RPS)")
    if len(xps) > 1 and not any(_mask(text) for text in xps):
        lacking.append("sending (no XPS)")
    if not lacking:
        how = f"{settings.rules} ntuple rules" if settings.rules else "RPS"
        return Finding(topic, "pass", f"{how}, XPS" if len(xps) > 1 else how)
    fact = "none for " + ", none for ".join(lacking)
    cost = "a hash picks the core that handles a packet, be it a worker's or another socket's"
    advice = "one rule for each receiver's port, to the queue of its core"
    if "receiving" not in lacking[0]:
        command = f"echo 1 > /{_NET}/{name}/queues/tx-0/xps_cpus"
        return Finding(topic, "warn", fact, cost, "for each queue its core's bit", command)
    on = "" if settings.ntuple else f"ethtool -K {name} ntuple on; "
    command = f"{on}ethtool -N {name} flow-type udp4 dst-port 8000 action 0"
    return Finding(topic, "warn", fact, cost, advice, command)


def _mask(text: str) -> bool:
    """Whether a mask of CPUs names any: 0000,00ff."""
    return bool(re.fullmatch(r"[0-9a-fA-F,]+", text)) and text.strip("0,") != ""


def coalescing(machine: Machine, name: str) -> Finding:
    """How long a NIC gathers packets before it interrupts."""
    topic = f"{name} coalescing"
    settings = machine.nic(name)
    wait, adaptive = settings.rx_usecs, bool(settings.adaptive_rx)
    flush = machine.number(f"{_NET}/{name}/gro_flush_timeout") or 0
    if wait is None and flush <= _FLUSH_NS:
        return Finding(topic, "skip", "the driver does not tell")
    fact = "the driver does not tell" if wait is None else f"up to {wait} µs"
    fact += ", adaptive" * adaptive + f", GRO up to {flush / 1e3:g} µs" * (flush > 0)
    changes: list[Change] = []
    if wait is not None and (wait > _COALESCE_US or adaptive):
        before = ("adaptive-rx", "on" if adaptive else "off", "rx-usecs", str(wait))
        words = ("adaptive-rx", "off") * adaptive + ("rx-usecs", str(min(wait, _COALESCE_US)))
        changes.append(Ethtool(("-C", name, *words), ("-C", name, *before[0 if adaptive else 2 :])))
    if flush > _FLUSH_NS:
        changes.append(Write(f"{_NET}/{name}/gro_flush_timeout", "0", str(flush)))
    if not changes:
        return Finding(topic, "pass", fact)
    cost = "the last packet of a symbol waits that long: it is in every latency"
    command = "; ".join(change.command for change in changes)
    return Finding(topic, "warn", fact, cost, "", command, tuple(changes))


def offloads(machine: Machine, name: str) -> Finding:
    """Work on packets that the NIC can do."""
    topic = f"{name} offloads"
    settings = machine.nic(name)
    switches = {"rx": settings.rx_checksum, "tx": settings.tx_checksum}
    if all(value is None for value in switches.values()):
        return Finding(topic, "skip", "the driver does not tell")
    off = [switch for switch, value in switches.items() if value is False]
    if not off:
        return Finding(topic, "pass", "checksums in the NIC")
    names = {"rx": "receiving", "tx": "sending"}
    fact = "no checksums in the NIC for " + " and ".join(names[switch] for switch in off)
    cost = "the CPU reads every byte once more; sending loses UDP_SEGMENT and takes twice as long"
    words = [word for switch in off for word in (switch, "on")]
    undo = [word for switch in off for word in (switch, "off")]
    change = Ethtool(("-K", name, *words), ("-K", name, *undo))
    return Finding(topic, "warn", fact, cost, "", change.command, (change,))


def affinity(machine: Machine, name: str) -> Finding:
    """Which CPUs a NIC interrupts."""
    topic = f"{name} interrupts"
    numbers: list[str] = []
    for folder in (f"{_NET}/{name}/device/msi_irqs", f"{_NET}/{name}/device/../msi_irqs"):
        numbers = numbers or [n for n in machine.names(folder) if re.fullmatch("[0-9]{1,9}", n)]
    allowed = {}
    for number in numbers:
        file = f"proc/irq/{number}/smp_affinity_list"
        cpus = machine.cpus(file)
        if cpus:
            allowed[file] = cpus
    if not allowed:
        return Finding(topic, "skip", "not told")
    isolated, online = machine.cpus(f"{CPU}/isolated"), machine.cpus(f"{CPU}/online")
    fact = f"{len(allowed)}, on CPUs {cpu_list(frozenset().union(*allowed.values()))}"
    others = online - isolated
    hit = {file: cpus for file, cpus in allowed.items() if cpus & isolated}
    if not hit or not others:
        return Finding(topic, "pass", fact)
    cost = "each takes some µs from the worker whose core it hits, in mid-kernel"
    changes = tuple(Write(file, cpu_list(others), cpu_list(cpus)) for file, cpus in hit.items())
    command = f"echo {cpu_list(others)} | tee {' '.join('/' + file for file in hit)}"
    return Finding(topic, "warn", fact, cost, "", command, changes)


def node(machine: Machine, name: str) -> Finding:
    """Whether a NIC hangs on the socket whose cores work."""
    topic = f"{name} NUMA node"
    number = machine.number(f"{_NET}/{name}/device/numa_node")
    cpus = parse_cpus(machine.read(f"sys/devices/system/node/node{number}/cpulist") or "")
    if number is None or number < 0 or not cpus:
        return Finding(topic, "skip", "one for all")
    if machine.allowed() <= cpus:
        return Finding(topic, "pass", f"node {number}, as all cores in use")
    fact = f"node {number}, but some cores in use are elsewhere"
    cost = "packets cross between sockets before a worker reads them"
    command = f"taskset -c {cpu_list(cpus)} carillon run CELL"
    return Finding(topic, "warn", fact, cost, "use the cores of its node", command)


def backlog(machine: Machine, name: str) -> Finding:
    """Loopback's only queue: the kernel's backlog of each core."""
    topic = f"{name} backlog"
    file = "proc/sys/net/core/netdev_max_backlog"
    most = machine.number(file)
    lines = (machine.read("proc/net/softnet_stat") or "").splitlines()
    counts = [re.match(r"[0-9a-fA-F]{8} ([0-9a-fA-F]{8}) ", line) for line in lines]
    dropped = sum(int(found[1], 16) for found in counts if found)
    if most is None or not lines:
        return Finding(topic, "skip", "not told")
    fact = f"{most} packets for each core, {dropped} dropped since the machine started"
    if not dropped or most >= _BACKLOG:
        return Finding(topic, "pass", fact)
    cost = "a symbol's packets that find it full are lost, and their frame with them"
    command = f"sysctl -w net.core.netdev_max_backlog={_BACKLOG}"
    changes = (Write(file, str(_BACKLOG), str(most)),)
    return Finding(topic, "warn", fact, cost, "", command, changes)


def socket_limits(machine: Machine) -> Finding:
    """How much a socket may hold while a receiver pauses."""
    topic = "socket limits"
    names = ("rmem_max", "wmem_max")
    sizes = {name: machine.number(f"proc/sys/net/core/{name}") for name in names}
    told = {name: size for name, size in sizes.items() if size is not None}
    if not told:
        return Finding(topic, "skip", "not told")
    fact = ", ".join(f"{name} {max(size, 0) / 1e6:.3g} MB" for name, size in told.items())
    if machine.may(_NET_ADMIN):
        return Finding(topic, "pass", fact + "; this user may exceed them")
    low = {name: size for name, size in told.items() if size < _BUFFER}
    if not low:
        return Finding(topic, "pass", fact)
    cost = "packets that arrive while a receiver is held up are lost"
    changes = tuple(
        Write(f"proc/sys/net/core/{name}", str(_BUFFER), str(size)) for name, size in low.items()
    )
    command = "sysctl -w " + " ".join(f"net.core.{name}={_BUFFER}" for name in low)
    return Finding(topic, "warn", fact, cost, "", command, changes)


CHECKS = [mtu, queues, steering, coalescing, offloads, affinity, node]
LOOPBACK_CHECKS = [mtu, backlog]
