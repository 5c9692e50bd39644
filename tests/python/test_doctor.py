"""`carillon doctor`: the checks of processor and kernel, on machines made of files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from carillon import core, doctor
from carillon.doctor import Finding, Machine, gpu, processor, system
from carillon.doctor.machine import cpu_list, parse_cpus, whole
from doctor_machine import CPU, cpus, machine
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

Check = Callable[[Machine], Finding]
Files = dict[str, str]

GOVERNOR = f"{CPU}/cpu0/cpufreq/scaling_governor"
PREFERENCE = f"{CPU}/cpu0/cpufreq/energy_performance_preference"
BIAS = f"{CPU}/cpu1/power/energy_perf_bias"
THROTTLE = "proc/sys/kernel/sched_rt_runtime_us"
PERIOD = {"proc/sys/kernel/sched_rt_period_us": "1000000"}
THP = "sys/kernel/mm/transparent_hugepage"
FAIR = "sys/kernel/debug/sched/fair_server/cpu0"
NEW = {"proc/sys/kernel/osrelease": "6.12.3-amd64"}
SOURCE = "sys/devices/system/clocksource/clocksource0"
TSC = {"proc/cpuinfo": "flags\t\t: tsc nonstop_tsc\n"}
NODES = {
    "sys/devices/system/node/node0/cpulist": "0-3",
    "sys/devices/system/node/node1/cpulist": "4-7",
}
ISOLATED = {f"{CPU}/isolated": "2-7", f"{CPU}/possible": "0-7"} | cpus(8)
ALL_CAPABILITIES = "CapEff:\t000001ffffffffff\n"


def idle(latency: int, disabled: int) -> Files:
    state = f"{CPU}/cpu0/cpuidle/state3"
    return {
        f"{state}/latency": f"{latency}\n",
        f"{state}/disable": f"{disabled}\n",
        f"{state}/name": "C6",
    }


CASES: list[tuple[Check, Files, str, str]] = [
    (processor.cores, cpus(1), "fail", "1 of"),
    (processor.cores, cpus(2), "warn", "2 of"),
    (processor.cores, cpus(8) | {"proc/cpuinfo": "model name\t: EPYC\n"}, "pass", "8 of EPYC"),
    (processor.cores, {}, "skip", "unknown"),
    (processor.smt, {f"{CPU}/smt/active": "0\n"}, "pass", "one thread"),
    (processor.smt, {f"{CPU}/smt/active": "1\n"}, "warn", "two threads"),
    (processor.smt, {}, "skip", ""),
    (processor.turbo, {f"{CPU}/intel_pstate/no_turbo": "1"}, "pass", "off"),
    (processor.turbo, {f"{CPU}/intel_pstate/no_turbo": "0"}, "warn", "on"),
    (processor.turbo, {f"{CPU}/cpufreq/boost": "0"}, "pass", "off"),
    (processor.turbo, {f"{CPU}/cpufreq/boost": "1"}, "warn", "on"),
    (processor.turbo, {}, "skip", ""),
    (processor.governor, {GOVERNOR: "performance\n"}, "pass", "performance"),
    (processor.governor, {GOVERNOR: "powersave\n"}, "warn", "powersave"),
    (processor.governor, {}, "skip", "not available"),
    (processor.energy_bias, {PREFERENCE: "performance", BIAS: "0"}, "pass", "bias 0"),
    (processor.energy_bias, {PREFERENCE: "balance_power"}, "warn", "balance_power"),
    (processor.energy_bias, {BIAS: "6"}, "warn", "bias 6"),
    (processor.energy_bias, {}, "skip", ""),
    (processor.idle_states, idle(2, 0), "pass", "none takes"),
    (processor.idle_states, idle(133, 1), "pass", "none takes"),
    (processor.idle_states, idle(133, 0), "warn", "C6 takes 133 µs"),
    (processor.idle_states, {f"{CPU}/cpuidle/current_driver": "haltpoll"}, "skip", "haltpoll"),
    (processor.numa, {"sys/devices/system/node/node0/cpulist": "0-7"}, "pass", "one node"),
    (processor.numa, NODES | cpus(8), "warn", "cores of 2 in use"),
    (processor.numa, NODES | cpus(4), "pass", "cores of 1 in use"),
    (
        processor.numa,
        NODES | cpus(4) | {"proc/sys/kernel/numa_balancing": "1"},
        "warn",
        "2 nodes",
    ),
    (processor.numa, {}, "skip", ""),
    (processor.clock, TSC | {f"{SOURCE}/current_clocksource": "tsc"}, "pass", "kernel uses too"),
    (processor.clock, TSC | {f"{SOURCE}/current_clocksource": "kvm-clock"}, "pass", "kvm-clock"),
    (
        processor.clock,
        TSC
        | {
            f"{SOURCE}/current_clocksource": "hpet",
            f"{SOURCE}/available_clocksource": "tsc hpet",
        },
        "warn",
        "hpet",
    ),
    (processor.clock, {"proc/cpuinfo": "flags : tsc constant_tsc"}, "warn", "no nonstop_tsc"),
    (processor.clock, {}, "skip", ""),
    (system.other_work, cpus(4) | {"proc/loadavg": "0.50 0.1 0.1 1/99 7"}, "pass", "load 0.50"),
    (system.other_work, cpus(4) | {"proc/loadavg": "3.10 0.1 0.1 1/99 7"}, "warn", "load 3.10"),
    (system.other_work, cpus(4), "skip", ""),
    (system.isolation, ISOLATED, "pass", "2-7"),
    (system.isolation, ISOLATED | {"proc/self/status": "Cpus_allowed_list:\t0-1\n"}, "warn", "2-7"),
    (system.isolation, cpus(8), "warn", "none"),
    (system.isolation, cpus(2), "pass", "none to spare"),
    (system.isolation, {}, "skip", ""),
    (system.tickless, ISOLATED | {f"{CPU}/nohz_full": "2-7"}, "pass", "2-7"),
    (system.tickless, ISOLATED | {f"{CPU}/nohz_full": "2-3"}, "warn", "2-3"),
    (system.tickless, ISOLATED | {f"{CPU}/nohz_full": "(null)"}, "warn", "none"),
    (system.tickless, cpus(8), "skip", ""),
    (system.rcu, ISOLATED | {"proc/cmdline": "quiet rcu_nocbs=2-7 ro"}, "pass", "2-7"),
    (system.rcu, ISOLATED | {"proc/cmdline": "rcu_nocbs=all"}, "pass", "0-7"),
    (system.rcu, ISOLATED | {f"{CPU}/nohz_full": "2-7"}, "pass", "2-7"),
    (system.rcu, ISOLATED | {"proc/cmdline": "quiet"}, "warn", "none"),
    (system.rcu, cpus(8), "skip", ""),
    (system.throttling, PERIOD | {THROTTLE: "950000"}, "pass", "95 %"),
    (system.throttling, PERIOD | {THROTTLE: "-1"}, "pass", "none"),
    (system.throttling, PERIOD | {THROTTLE: "500000"}, "warn", "50 %"),
    (system.throttling, PERIOD, "skip", ""),
    (system.throttling, {THROTTLE: "0", "proc/sys/kernel/sched_rt_period_us": "0"}, "skip", ""),
    (
        system.fair_server,
        NEW | {f"{FAIR}/runtime": "50000000", f"{FAIR}/period": "1000000000"},
        "pass",
        "5 %",
    ),
    (
        system.fair_server,
        NEW | {f"{FAIR}/runtime": "500000000", f"{FAIR}/period": "1000000000"},
        "warn",
        "50 %",
    ),
    (system.fair_server, NEW, "skip", "debugfs"),
    (system.fair_server, NEW | {"sys/kernel/debug/sched/features": ""}, "pass", "6.12 has none"),
    (system.fair_server, NEW | {f"{FAIR}/period": "1000000000"}, "skip", "refuses"),
    (system.fair_server, {"proc/sys/kernel/osrelease": "6.1.0-18-amd64"}, "pass", "6.1"),
    (system.memory, {"proc/meminfo": "MemTotal:  8000000 kB\n"}, "pass", "8.19 GB"),
    (
        system.memory,
        {
            "proc/meminfo": "MemTotal:  8000000 kB\n",
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/memory.max": "1000000000\n",
        },
        "warn",
        "1 GB, by a memory limit of 1000 MB (/sys/fs/cgroup/memory.max)",
    ),
    (system.memory, {}, "skip", "unknown"),
    (system.locked_memory, {"proc/self/status": ALL_CAPABILITIES}, "pass", "privilege"),
    (
        system.locked_memory,
        {"proc/self/limits": "Max locked memory         unlimited   unlimited   bytes"},
        "pass",
        "unlimited",
    ),
    (
        system.locked_memory,
        {"proc/self/limits": "Max locked memory         8388608     8388608     bytes"},
        "warn",
        "8 MiB",
    ),
    (system.locked_memory, {}, "skip", ""),
    (
        system.huge_pages,
        {
            f"{THP}/enabled": "always [madvise] never",
            f"{THP}/shmem_enabled": "always within_size [advise] never deny force",
        },
        "pass",
        "madvise",
    ),
    (system.huge_pages, {f"{THP}/enabled": "always madvise [never]"}, "warn", "never"),
    (
        system.huge_pages,
        {f"{THP}/enabled": "[always] madvise never", f"{THP}/shmem_enabled": "advise [never]"},
        "warn",
        "never",
    ),
    (system.huge_pages, {}, "skip", ""),
]


@pytest.mark.parametrize(("check", "files", "level", "fact"), CASES)
def test_a_check_reads_the_machine(
    tmp_path: Path, check: Check, files: Files, level: str, fact: str
) -> None:
    found = check(machine(tmp_path, files))
    assert (found.level, fact in found.fact) == (level, True), found


def test_every_check_is_tried_with_each_outcome_it_has() -> None:
    tried = {check: {level for of, _, level, _ in CASES if of is check} for check, *_ in CASES}
    read_elsewhere: set[Check] = {processor.instruction_set, system.privileges}
    read_elsewhere |= {*gpu.CHECKS}
    assert set(tried) | read_elsewhere == {*processor.CHECKS, *system.CHECKS, *gpu.CHECKS}
    assert all("pass" in levels and levels & {"warn", "fail"} for levels in tried.values())


def test_the_widest_instruction_set_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found = processor.instruction_set(Machine())
    best = processor._NAMES[core.available_isas()[-1]]
    if core.active_isa() == core.available_isas()[-1]:
        assert (found.level, found.fact) == ("pass", f"{best}, the most that this CPU has")
    monkeypatch.setattr(core, "active_isa", lambda: "avx2")
    monkeypatch.setattr(core, "available_isas", lambda: ["avx2", "avx512"])
    held = processor.instruction_set(Machine())
    assert (held.level, held.fact) == ("warn", "AVX2, though this CPU has AVX-512")
    monkeypatch.setattr(core, "available_isas", list)
    assert processor.instruction_set(Machine()).level == "fail"


def test_gpus_are_named_or_why_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gpu.gpus(Machine()).fact  # of this machine
    new = {"name": "NVIDIA H200", "major": 9, "minor": 0, "sms": 132}
    old = {"name": "Tesla V100", "major": 7, "minor": 0, "sms": 80}
    known: dict[str, Any] = {"devices": [new], "too_old": [old], "driver": 13000, "why": ""}
    monkeypatch.setattr(core, "cuda_machine", lambda: known)
    found = gpu.gpus(Machine())
    assert found.level == "pass"
    assert found.fact.startswith("NVIDIA H200 (132 SMs, compute capability 9.0); driver of CUDA 13")
    known["devices"] = []
    assert (gpu.gpus(Machine()).level, "too old" in gpu.gpus(Machine()).fact) == ("warn", True)
    known |= {"too_old": [], "why": "no NVIDIA driver; install one"}
    assert gpu.gpus(Machine()).level == "skip"
    assert gpu.gpus(Machine()).fact == "no NVIDIA driver; install one"


def test_refused_real_time_priority_names_the_one_who_may_grant_it(tmp_path: Path) -> None:
    assert system.privileges(machine(tmp_path)).level == "pass"
    user = system.privileges(machine(tmp_path, refused="Operation not permitted"))
    assert (user.level, "limits.conf" in user.command) == ("warn", True)
    root = {"proc/self/status": ALL_CAPABILITIES}
    contained = system.privileges(machine(tmp_path, root, refused="Operation not permitted"))
    assert (contained.level, "--cap-add" in contained.command) == ("warn", True)


def test_isolation_leaves_the_first_core_with_both_its_threads(tmp_path: Path) -> None:
    siblings = {f"{CPU}/cpu0/topology/thread_siblings_list": "0,4"}
    advice = system.isolation(machine(tmp_path, cpus(8) | siblings)).advice
    assert "isolcpus=managed_irq,domain,1-3,5-7 nohz_full=1-3,5-7 rcu_nocbs=1-3,5-7" in advice


def test_every_finding_says_what_it_costs_and_what_to_do() -> None:
    findings = doctor.examine(Machine(), ["lo"])
    assert len({f.topic for f in findings}) == len(findings)
    for found in findings:
        assert found.fact
        ill = found.level in ("warn", "fail")
        assert (bool(found.cost), bool(found.advice or found.command)) == (ill, ill), found


# Noise, and noise around what the kernel writes: half-right text is where parsers trip.
TEXT = st.one_of(
    st.text(max_size=40),
    st.binary(max_size=40).map(lambda b: b.decode("latin-1")),
    st.integers(-1, 1).map(str),
    st.from_regex(r"-?[0-9]{0,30}([-,.:/ ][0-9]{0,12}){0,4}\n?", fullmatch=True),
    st.from_regex(r"[A-Za-z_ ]{0,20}[:=][ \t]*[0-9a-fx,-]{0,40}", fullmatch=True),
    st.sampled_from([text for _, files, *_ in CASES for text in files.values()]),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.sampled_from([case for case in CASES if case[1]]), st.data())
def test_no_check_fails_on_an_odd_file(
    tmp_path_factory: pytest.TempPathFactory,
    case: tuple[Check, Files, str, str],
    data: st.DataObject,
) -> None:
    check, files, *_ = case
    odd = {data.draw(st.sampled_from(sorted(files))): data.draw(TEXT)}
    assert check(machine(tmp_path_factory.mktemp("odd"), files | odd)).fact


def test_a_folder_where_a_file_should_be_is_not_told(tmp_path: Path) -> None:
    (tmp_path / THROTTLE).mkdir(parents=True)
    assert system.throttling(machine(tmp_path, PERIOD)).level == "skip"


@given(st.frozensets(st.integers(0, 8191), max_size=50))
def test_a_list_of_cpus_is_read_as_it_is_written(some: frozenset[int]) -> None:
    assert parse_cpus(cpu_list(some)) == some


@pytest.mark.parametrize("text", ["0-99999999", "a", "1-", "-1", "1;2", "(null)", "²"])
def test_what_is_no_list_of_cpus_is_empty(text: str) -> None:
    assert parse_cpus(text) == frozenset()


@pytest.mark.parametrize("text", ["", "x", "1.5", "9" * 20, "²", "1 2", "0x10"])
def test_what_is_no_whole_number_is_none(text: str) -> None:
    assert whole(text) is None
