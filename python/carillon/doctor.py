"""Is this machine fit for real time? Each check reads one fact and says what would be better.

Files are read below a root that tests replace.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from carillon import core
from carillon.runfolder import cpu_model

Level = Literal["good", "fair", "bad"]


@dataclass(frozen=True)
class Finding:
    """One fact. `advice` is empty when nothing needs to change."""

    topic: str
    level: Level
    fact: str
    advice: str = ""


def examine(root: Path = Path("/")) -> list[Finding]:
    """Every check, in order of importance."""
    return [check(root) for check in CHECKS]


def _read(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError:
        return None


def _cores(root: Path) -> Finding:
    cores = len(os.sched_getaffinity(0))
    fact = f"{cores} of {cpu_model()}"
    if cores < 2:
        advice = "a cell needs two cores: one to emulate the air, one to compute"
        return Finding("cores", "bad", fact, advice)
    if cores == 2:
        advice = "two cores carry the small cells; radio and workers share them"
        return Finding("cores", "fair", fact, advice)
    return Finding("cores", "good", fact)


def _instruction_set(root: Path) -> Finding:
    isas = core.available_isas()
    if not isas:
        advice = "Carillon's kernels need AVX2 (x86-64-v3)"
        return Finding("instruction set", "bad", "below AVX2", advice)
    used = core.active_isa()
    fact = f"{used}, of {', '.join(isas)}"
    if used != isas[-1]:
        advice = "CARILLON_ISA holds it back; unset it for full speed"
        return Finding("instruction set", "fair", fact, advice)
    return Finding("instruction set", "good", fact)


def _governor(root: Path) -> Finding:
    cpus = root / "sys/devices/system/cpu"
    governors = {_read(file) for file in cpus.glob("cpu[0-9]*/cpufreq/scaling_governor")} - {None}
    if not governors:
        return Finding("clock governor", "good", "not available here: the host sets the clock")
    fact = ", ".join(sorted(str(g) for g in governors))
    if governors == {"performance"}:
        return Finding("clock governor", "good", fact)
    advice = "cpupower frequency-set -g performance keeps the clock up between frames"
    return Finding("clock governor", "fair", fact, advice)


def _realtime_limit(root: Path) -> Finding:
    runtime = _read(root / "proc/sys/kernel/sched_rt_runtime_us")
    period = _read(root / "proc/sys/kernel/sched_rt_period_us")
    if runtime is None or period is None:
        return Finding("real-time limit", "fair", "unknown", "is /proc mounted?")
    if int(runtime) < 0:
        return Finding("real-time limit", "good", "none")
    share = int(runtime) / int(period)
    fact = f"real-time threads may use {share:.0%} of each second"
    if share >= 0.9:
        return Finding("real-time limit", "good", fact + "; workers sleep for the rest")
    advice = "sysctl kernel.sched_rt_runtime_us=950000 is the usual limit"
    return Finding("real-time limit", "fair", fact, advice)


def _fifo(root: Path) -> Finding:
    topic = "SCHED_FIFO"
    if os.geteuid() == 0:
        before = os.sched_getscheduler(0), os.sched_getparam(0)
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
            os.sched_setscheduler(0, *before)
        except OSError as error:
            advice = "the container or cgroup forbids it; run on the host, or add CAP_SYS_NICE"
            return Finding(topic, "fair", f"refused to root: {error.strerror}", advice)
        return Finding(topic, "good", "allowed")
    soft, _ = resource.getrlimit(resource.RLIMIT_RTPRIO)
    if soft > 0:
        return Finding(topic, "good", f"allowed up to priority {soft}")
    advice = "add '@USER - rtprio 90' to /etc/security/limits.conf, or run as root"
    return Finding(topic, "fair", "not allowed for this user", advice)


def _memory_lock(root: Path) -> Finding:
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if os.geteuid() == 0 or soft == resource.RLIM_INFINITY:
        return Finding("locked memory", "good", "unlimited")
    advice = "add '@USER - memlock unlimited' to /etc/security/limits.conf"
    return Finding("locked memory", "fair", f"at most {soft >> 20} MiB", advice)


def _huge_pages(root: Path) -> Finding:
    mode = _read(root / "sys/kernel/mm/transparent_hugepage/enabled") or ""
    count = _read(root / "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages") or "0"
    if "[always]" in mode or "[madvise]" in mode:
        chosen = mode[mode.index("[") + 1 : mode.index("]")]
        return Finding("huge pages", "good", f"transparent ({chosen}), {count} reserved")
    if int(count) > 0:
        return Finding("huge pages", "good", f"{count} of 2 MiB reserved")
    advice = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled saves page walks"
    return Finding("huge pages", "fair", "none", advice)


def _udp_buffers(root: Path) -> Finding:
    size = _read(root / "proc/sys/net/core/rmem_max")
    if size is None:
        return Finding("UDP buffers", "fair", "unknown", "is /proc mounted?")
    fact = f"at most {int(size) / 1e6:.3g} MB each"
    if int(size) >= 8_000_000 or os.geteuid() == 0:
        return Finding(
            "UDP buffers", "good", fact + (", root may exceed it" if os.geteuid() == 0 else "")
        )
    advice = "sysctl net.core.rmem_max=33554432 net.core.wmem_max=33554432 for cells over UDP"
    return Finding("UDP buffers", "fair", fact, advice)


def _clock(root: Path) -> Finding:
    source = _read(root / "sys/devices/system/clocksource/clocksource0/current_clocksource")
    flags = _read(root / "proc/cpuinfo") or ""
    if "nonstop_tsc" in flags:
        return Finding("clock", "good", f"nonstop time-stamp counter; kernel uses {source}")
    advice = "time is read through the kernel (slower): a CPU with nonstop_tsc is better"
    return Finding("clock", "fair", f"no nonstop_tsc; kernel uses {source}", advice)


def wakeup_us(sleeps: int = 300, length: float = 0.0005) -> tuple[float, float]:
    """Median and worst lateness of short sleeps, in µs, of an ordinary thread."""
    late = []
    for _ in range(sleeps):
        start = time.perf_counter()
        time.sleep(length)
        late.append((time.perf_counter() - start - length) * 1e6)
    return statistics.median(late), max(late)


def _timer(root: Path) -> Finding:
    median, worst = wakeup_us()
    fact = f"sleeps end {median:.0f} µs late, {worst:.0f} µs at worst of 300"
    if worst < 1000:
        return Finding("timer", "good", fact)
    advice = "other work or the hypervisor holds the CPU; expect lates as machine stalls"
    return Finding("timer", "fair", fact, advice)


def _isolation(root: Path) -> Finding:
    isolated = _read(root / "sys/devices/system/cpu/isolated")
    load = os.getloadavg()[0]
    fact = f"load {load:.2f}" + (f", CPUs {isolated} isolated" if isolated else "")
    if load > 0.5 * len(os.sched_getaffinity(0)):
        return Finding("other work", "fair", fact, "this machine is busy: end what can wait")
    return Finding("other work", "good", fact)


def _cuda(root: Path) -> Finding:
    nvcc = shutil.which("nvcc")
    gpu = (root / "dev/nvidiactl").exists()
    compiler = f"nvcc at {nvcc}" if nvcc else "no nvcc"
    return Finding("CUDA", "good", f"{compiler}, {'a GPU' if gpu else 'no GPU'}; not needed")


CHECKS: list[Callable[[Path], Finding]] = [
    _cores,
    _instruction_set,
    _fifo,
    _realtime_limit,
    _governor,
    _timer,
    _isolation,
    _memory_lock,
    _huge_pages,
    _udp_buffers,
    _clock,
    _cuda,
]
