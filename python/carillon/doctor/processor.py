"""Checks of the processor: cores, instruction set, clock, idle states, NUMA."""

from __future__ import annotations

from carillon import core, resources
from carillon.doctor.finding import Finding, Write
from carillon.doctor.machine import CPU, Machine, cpu_list, parse_cpus, whole

_DEEP_US = 20  # an idle state that takes longer to leave is noticed by a frame
_NAMES = {
    "avx2": "AVX2",
    "avx512": "AVX-512",
    "avx512fp16": "AVX-512 with FP16",
}


def cores(machine: Machine) -> Finding:
    """Two are the least: one emulates the air, one computes."""
    count = len(machine.allowed())
    model = machine.field("proc/cpuinfo", "model name") or "an unnamed CPU"
    fact = f"{count} of {model}"
    if count == 0:
        return Finding("cores", "skip", "unknown: /proc/self/status does not say")
    usable = resources.cores(machine.root, count)
    if usable.limited:
        count, fact = usable.count, f"{usable.count} of {fact}, by {usable.limited}"
    if count == 1:
        cost = "radio, network and kernels take turns: no example cell keeps up"
        return Finding("cores", "fail", fact, cost, "use a machine with two cores or more")
    if count == 2:
        cost = "radio and workers share them, so only the small cells fit"
        return Finding("cores", "warn", fact, cost, "use more cores for larger cells")
    return Finding("cores", "pass", fact)


def instruction_set(machine: Machine) -> Finding:
    """The kernels' tier, against the best that this CPU has."""
    topic = "SIMD level"
    isas = core.available_isas()
    if not isas:
        cost = "nothing runs"
        return Finding(
            topic, "fail", "below x86-64-v3", cost, "use a CPU with AVX2, from 2013 or later"
        )
    used, best = (_NAMES.get(isa, isa) for isa in (core.active_isa(), isas[-1]))
    if used != best:
        cost = "kernels are slower than they could be"
        fact = f"{used}, though this CPU has {best}"
        return Finding(
            topic, "warn", fact, cost, "CARILLON_ISA holds it back", "unset CARILLON_ISA"
        )
    return Finding(topic, "pass", f"{used}, the most that this CPU has")


def smt(machine: Machine) -> Finding:
    """Two workers on one physical core share its vector units."""
    topic = "SMT"
    active = machine.number(f"{CPU}/smt/active")
    if active is None:
        return Finding(topic, "skip", "not told: no smt/active")
    if active == 0:
        return Finding(topic, "pass", "one thread on each core")
    cost = "a kernel on one thread slows the other's: both share the vector units and L1"
    advice = "give workers one thread of each core (runtime.cores), or turn it off"
    return Finding(
        topic, "warn", "two threads on each core", cost, advice, f"echo off > /{CPU}/smt/control"
    )


def turbo(machine: Machine) -> Finding:
    """A clock that depends on temperature, neighbours and vector width."""
    topic = "turbo"
    for file, off in ((f"{CPU}/intel_pstate/no_turbo", 1), (f"{CPU}/cpufreq/boost", 0)):
        value = machine.number(file)
        if value is None:
            continue
        if value == off:
            return Finding(topic, "pass", "off: the clock is the same for every frame")
        cost = "the clock follows load and temperature: latency varies between equal frames"
        advice = "leave it on when the mean counts more than the tail; else"
        return Finding(topic, "warn", "on", cost, advice, f"echo {off} > /{file}")
    return Finding(topic, "skip", "not available here: the host or the firmware decides")


def governor(machine: Machine) -> Finding:
    """Whether the clock stays up between frames."""
    topic = "clock governor"
    found = machine.each_cpu("cpufreq/scaling_governor")
    if not found:
        return Finding(topic, "skip", "not available here: the host sets the clock")
    fact = ", ".join(sorted(set(found.values())))
    changes = _writes(found, "performance")
    if not changes:
        return Finding(topic, "pass", fact)
    cost = "the clock falls in the gap between frames and rises only after work has waited"
    command = f"echo performance | tee /{CPU}/cpu*/cpufreq/scaling_governor"
    return Finding(topic, "warn", fact, cost, "", command, changes)


def energy_bias(machine: Machine) -> Finding:
    """What the processor itself prefers where the governor leaves it a choice."""
    topic = "energy bias"
    preference = machine.each_cpu("cpufreq/energy_performance_preference")
    bias = machine.each_cpu("power/energy_perf_bias")
    if not preference and not bias:
        return Finding(topic, "skip", "not available here")
    fact = ", ".join(sorted(set(preference.values()) | {f"bias {b}" for b in bias.values()}))
    changes = _writes(preference, "performance") + _writes(bias, "0")
    if not changes:
        return Finding(topic, "pass", fact)
    cost = "the processor saves energy first: it clocks down and sleeps deeper by itself"
    commands = []
    if preference:
        file = f"/{CPU}/cpu*/cpufreq/energy_performance_preference"
        commands.append(f"echo performance | tee {file}")
    if bias:
        commands.append(f"echo 0 | tee /{CPU}/cpu*/power/energy_perf_bias")
    return Finding(topic, "warn", fact, cost, "", "; ".join(commands), changes)


def idle_states(machine: Machine) -> Finding:
    """States that a core sleeps in, and how long it takes to leave them."""
    topic = "idle states"
    latencies = {
        file.removesuffix("/latency"): whole(text)
        for file, text in machine.each_cpu("cpuidle/state[0-9]*/latency").items()
    }
    if not latencies:
        driver = machine.read(f"{CPU}/cpuidle/current_driver") or "none"
        return Finding(topic, "skip", f"none to choose from (driver: {driver})")
    deep = {
        state: us
        for state, us in latencies.items()
        if us is not None and us > _DEEP_US and machine.number(f"{state}/disable") == 0
    }
    if not deep:
        return Finding(topic, "pass", f"none takes more than {_DEEP_US} µs to leave")
    worst = max(deep, key=lambda state: deep[state])
    name = machine.read(f"{worst}/name") or "the deepest"
    cost = f"the first packet after a pause waits up to {deep[worst]} µs for its core"
    fact = f"{name} takes {deep[worst]} µs to leave"
    changes = tuple(Write(f"{state}/disable", "1", "0") for state in sorted(deep))
    places = sorted({state.rsplit("/", 1)[1] for state in deep})
    files = " ".join(f"/{CPU}/cpu*/cpuidle/{place}/disable" for place in places)
    return Finding(topic, "warn", fact, cost, "", f"echo 1 | tee {files}", changes)


def numa(machine: Machine) -> Finding:
    """Memory of another socket is slower, and the kernel may move pages in mid-frame."""
    topic = "NUMA"
    lists = machine.each("sys/devices/system/node/node[0-9]*/cpulist")
    nodes = {file.split("/")[-2].removeprefix("node"): parse_cpus(t) for file, t in lists.items()}
    if not nodes:
        return Finding(topic, "skip", "not told")
    if len(nodes) == 1:
        return Finding(topic, "pass", "one node")
    allowed = machine.allowed()
    used = [node for node, cpus in nodes.items() if cpus & allowed]
    fact = f"{len(nodes)} nodes, cores of {len(used)} in use"
    balancing = "proc/sys/kernel/numa_balancing"
    if (machine.number(balancing) or 0) > 0:
        cost = "automatic balancing unmaps pages to see who uses them: faults within a frame"
        changes = (Write(balancing, "0", machine.read(balancing) or "1"),)
        command = "sysctl -w kernel.numa_balancing=0"
        return Finding(topic, "warn", fact, cost, "", command, changes)
    if len(used) > 1:
        cost = "a worker on one socket reads grids and combiners from the other's memory"
        cpus = cpu_list(nodes[used[0]] & allowed)
        advice = f"keep a cell on one node: runtime.cores of {cpus}, or start with"
        return Finding(topic, "warn", fact, cost, advice, f"taskset -c {cpus} carillon run CELL")
    return Finding(topic, "pass", fact)


def clock(machine: Machine) -> Finding:
    """Time is read several times for each task."""
    topic = "clock"
    file = "sys/devices/system/clocksource/clocksource0/current_clocksource"
    source = machine.read(file) or "an unknown clock"
    flags = machine.field("proc/cpuinfo", "flags").split()
    if not flags:
        return Finding(topic, "skip", "not told")
    if "nonstop_tsc" not in flags:
        cost = "every reading of the time goes through the kernel"
        fact = f"no nonstop_tsc; the kernel uses {source}"
        return Finding(topic, "warn", fact, cost, "a CPU with nonstop_tsc is better")
    if source == "tsc":
        return Finding(topic, "pass", "nonstop time-stamp counter, which the kernel uses too")
    available = machine.read(file.replace("current", "available")) or ""
    fact = f"nonstop time-stamp counter; the kernel uses {source}"
    if "tsc" not in available.split():
        return Finding(topic, "pass", fact)
    cost = f"where {source} has no fast path, each reading of the time is a system call"
    return Finding(
        topic, "warn", fact, cost, "", f"echo tsc > /{file}", (Write(file, "tsc", source),)
    )


def _writes(found: dict[str, str], value: str) -> tuple[Write, ...]:
    """What sets every file to a value, those left out that hold it."""
    return tuple(Write(file, value, text) for file, text in found.items() if text != value)


CHECKS = [
    cores,
    instruction_set,
    smt,
    turbo,
    governor,
    energy_bias,
    idle_states,
    numa,
    clock,
]
