"""Checks of the kernel: who else gets the cores, what a real-time thread may do, memory."""

from __future__ import annotations

import os
import pwd
import re
from pathlib import Path

from carillon import resources
from carillon.doctor.finding import Finding, Level, Write
from carillon.doctor.machine import CPU, Machine, cpu_list, parse_cpus, whole
from carillon.percent import percent

_FEW = 4  # with fewer CPUs there is none to set aside
_SYS_NICE, _IPC_LOCK = 23, 14  # linux/capability.h
_LEAST_SHARE = 0.9
_FAIR = "sys/kernel/debug/sched/fair_server"
_LIMITS = "/etc/security/limits.conf"


def other_work(machine: Machine) -> Finding:
    """What runs beside us."""
    topic = "other work"
    text = (machine.read("proc/loadavg") or "").split(" ")[0]
    count = len(machine.allowed())
    if not re.fullmatch(r"[0-9]{1,7}\.[0-9]{2}", text) or not count:
        return Finding(topic, "skip", "unknown: /proc/loadavg does not say")
    fact = f"load {text} on {count} cores"
    if float(text) <= 0.5 * count:
        return Finding(topic, "pass", fact)
    cost = "others' threads share caches and memory with the cell, and cores too without FIFO"
    advice = "end what can wait; this names it"
    return Finding(topic, "warn", fact, cost, advice, "ps -eo pcpu,args --sort=-pcpu | head")


def isolation(machine: Machine) -> Finding:
    """CPUs that the kernel schedules nothing on by itself."""
    topic = "isolated CPUs"
    isolated = machine.cpus(f"{CPU}/isolated")
    online = machine.cpus(f"{CPU}/online")
    if isolated:
        fact = cpu_list(isolated)
        if isolated <= machine.allowed():
            return Finding(topic, "pass", fact)
        cost = "a process that is not put there never runs on them"
        advice = "name them in runtime.cores and start with"
        return Finding(topic, "warn", fact, cost, advice, f"taskset -c {fact} carillon run CELL")
    if not online:
        return Finding(topic, "skip", "not told")
    if len(online) < _FEW:
        return Finding(topic, "pass", f"none: of {len(online)} there is none to spare")
    spare = cpu_list(_to_isolate(machine, online))
    cost = "the scheduler puts other threads and kernel work on the workers' cores"
    advice = (
        f"add isolcpus=managed_irq,domain,{spare} nohz_full={spare} rcu_nocbs={spare} to "
        "GRUB_CMDLINE_LINUX in /etc/default/grub, then"
    )
    return Finding(topic, "warn", "none", cost, advice, "update-grub && reboot")


def _to_isolate(machine: Machine, online: frozenset[int]) -> frozenset[int]:
    """All but the first core with its threads, which keeps the system going."""
    first = min(online)
    kept = machine.cpus(f"{CPU}/cpu{first}/topology/thread_siblings_list") | {first}
    return online - kept


def tickless(machine: Machine) -> Finding:
    """Whether the timer tick stops where one thread runs alone."""
    told = machine.read(f"{CPU}/nohz_full")
    cost = "every isolated CPU is interrupted at each timer tick, 100 to 1000 times a second"
    return _boot_list(machine, "nohz_full", parse_cpus(told or ""), cost)


def rcu(machine: Machine) -> Finding:
    """Whether the kernel's deferred frees run elsewhere."""
    found = re.search(r"\brcu_nocbs=([0-9,-]+|all)\b", machine.read("proc/cmdline") or "")
    named = found[1] if found else ""
    cpus = machine.cpus(f"{CPU}/possible") if named == "all" else parse_cpus(named)
    cpus |= machine.cpus(f"{CPU}/nohz_full")  # which implies it
    cost = "deferred frees of kernel memory run on the workers' cores, some µs to ms at a time"
    return _boot_list(machine, "rcu_nocbs", cpus, cost)


def _boot_list(machine: Machine, name: str, cpus: frozenset[int], cost: str) -> Finding:
    isolated = machine.cpus(f"{CPU}/isolated")
    if not isolated:
        return Finding(name, "skip", "of use only on isolated CPUs, of which there are none")
    fact = cpu_list(cpus) or "none"
    if isolated <= cpus:
        return Finding(name, "pass", fact)
    advice = f"add {name}={cpu_list(isolated)} to GRUB_CMDLINE_LINUX in /etc/default/grub, then"
    return Finding(name, "warn", fact, cost, advice, "update-grub && reboot")


def privileges(machine: Machine) -> Finding:
    """Whether SCHED_FIFO is granted."""
    topic = "SCHED_FIFO"
    refused = machine.refused_fifo()
    if not refused:
        return Finding(topic, "pass", "granted")
    cost = "any ordinary thread may hold a worker's core for milliseconds"
    if machine.may(_SYS_NICE):
        advice = "the container or its cgroup forbids it: run on the host, or allow it with"
        command = "docker run --cap-add SYS_NICE --ulimit rtprio=90 …"
        return Finding(topic, "warn", f"refused to root: {refused}", cost, advice, command)
    return Finding(topic, "warn", f"refused: {refused}", cost, "", _limits_line("rtprio 90"))


def _limits_line(what: str) -> str:
    user = os.getuid()
    try:
        name = pwd.getpwuid(user).pw_name
    except KeyError:
        name = f"{user}:{user}"  # a range, which limits.conf knows too
    return f"echo '{name} - {what}' >> {_LIMITS}  # and log in again"


def throttling(machine: Machine) -> Finding:
    """How much of each second real-time threads may use."""
    topic = "real-time limit"
    file = "proc/sys/kernel/sched_rt_runtime_us"
    runtime, period = machine.number(file), machine.number("proc/sys/kernel/sched_rt_period_us")
    if runtime is None or period is None or period <= 0:
        return Finding(topic, "skip", "unknown: /proc/sys/kernel does not say")
    if runtime < 0:
        return Finding(topic, "pass", "none; workers sleep 1 % of the time all the same")
    share = runtime / period
    fact = f"real-time threads may use {percent(share)} of each {period / 1e6:g} s"
    if share >= _LEAST_SHARE:
        return Finding(topic, "pass", fact + "; workers sleep for more than the rest")
    cost = f"workers must sleep {percent(2 * (1 - share))} of the time, or stand still for the rest"
    value = str(int(0.95 * period))
    command = f"sysctl -w kernel.sched_rt_runtime_us={value}"
    return Finding(topic, "warn", fact, cost, "", command, (Write(file, value, str(runtime)),))


def fair_server(machine: Machine) -> Finding:
    """What newer kernels (Linux 6.8 or later) take from real-time threads for those that starve."""
    topic = "fair server"
    found = machine.each(f"{_FAIR}/cpu[0-9]*/runtime")
    if not found:
        return Finding(topic, *_no_fair_server(machine))
    changes, most = [], 0.0
    for file, text in found.items():
        runtime, period = whole(text), machine.number(file.replace("runtime", "period"))
        if runtime is None or period is None or period <= 0:
            continue
        most = max(most, runtime / period)
        if runtime / period > 1 - _LEAST_SHARE:
            changes.append(Write(file, str(period // 20), text))
    fact = f"ordinary threads that starve get {percent(most)} of a core"
    if not changes:
        return Finding(topic, "pass", fact + "; workers sleep for more than that")
    cost = "a worker that never sleeps loses this share in one piece"
    command = f"echo {changes[0].value} | tee /{_FAIR}/cpu*/runtime"
    return Finding(topic, "warn", fact, cost, "", command, tuple(changes))


def _no_fair_server(machine: Machine) -> tuple[Level, str]:
    """Why the kernel shows none: it has none, or does not say."""
    told = machine.read("proc/sys/kernel/osrelease") or ""
    release = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", told)
    if not release:
        return "skip", "unknown: /proc/sys/kernel/osrelease does not say"
    debug = machine.names(str(Path(_FAIR).parent))
    if (int(release[1]), int(release[2])) < (6, 8) or (debug and "fair_server" not in debug):
        return "pass", f"Linux {release[0]} has none"
    if debug:
        return "skip", "the kernel refuses to tell: it is locked down"
    return "skip", "not told: needs root and mount -t debugfs none /sys/kernel/debug"


def locked_memory(machine: Machine) -> Finding:
    """Whether all memory may be held in place."""
    topic = "locked memory"
    limit = re.match(
        r"(unlimited|[0-9]{1,19})\b", machine.field("proc/self/limits", "Max locked memory")
    )
    if machine.may(_IPC_LOCK):
        return Finding(topic, "pass", "unlimited, by privilege")
    if not limit:
        return Finding(topic, "skip", "unknown: /proc/self/limits does not say")
    if limit[1] == "unlimited":
        return Finding(topic, "pass", "unlimited")
    cost = "a page that was swapped out or never touched costs a fault within a frame"
    fact = f"at most {int(limit[1]) >> 20} MiB"
    return Finding(topic, "warn", fact, cost, "", _limits_line("memlock unlimited"))


def memory(machine: Machine) -> Finding:
    """How much memory this process may fill before the kernel ends it."""
    installed = re.match(r"([0-9]{1,15}) kB", machine.field("proc/meminfo", "MemTotal"))
    if not installed:
        return Finding("memory", "skip", "unknown: /proc/meminfo does not say")
    usable = resources.memory(machine.root, int(installed[1]) << 10)
    fact = f"{usable.bytes / 1e9:.3g} GB"
    if not usable.limited:
        return Finding("memory", "pass", fact)
    cost = "a cell that needs more is killed without a word"
    advice = "give the container more, or hold a cell's memory (config show) against it"
    return Finding("memory", "warn", f"{fact}, by {usable.limited}", cost, advice)


def huge_pages(machine: Machine) -> Finding:
    """Whether arrays that ask for huge pages get them."""
    topic = "huge pages"
    folder = "sys/kernel/mm/transparent_hugepage"
    modes = {
        file: _chosen(machine.read(f"{folder}/{file}")) for file in ("enabled", "shmem_enabled")
    }
    if not modes["enabled"]:
        return Finding(topic, "skip", "this kernel has no transparent huge pages")
    fact = f"arrays {modes['enabled']}, shared memory {modes['shmem_enabled'] or 'unknown'}"
    good = {"enabled": "madvise", "shmem_enabled": "advise"}
    changes = tuple(
        Write(f"{folder}/{file}", good[file], mode)
        for file, mode in modes.items()
        if mode in ("never", "deny")
    )
    if not changes:
        return Finding(topic, "pass", fact)
    cost = "with pages of 4 KiB the walks of a frame's buffers miss the TLB"
    command = "; ".join(change.command for change in changes)
    return Finding(topic, "warn", fact, cost, "", command, changes)


def _chosen(text: str | None) -> str:
    """The word in brackets."""
    found = re.search(r"\[([^\[\]]{1,20})\]", text or "")
    return found[1] if found else ""


CHECKS = [
    other_work,
    isolation,
    tickless,
    rcu,
    privileges,
    throttling,
    fair_server,
    memory,
    locked_memory,
    huge_pages,
]
