"""`carillon doctor` on machines made of files."""

from pathlib import Path

import pytest
from carillon import doctor
from carillon.doctor import Finding


def machine(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def finding(check: str, root: Path) -> Finding:
    found: Finding = getattr(doctor, f"_{check}")(root)
    return found


def test_every_finding_that_is_not_good_says_what_to_do() -> None:
    findings = doctor.examine()
    assert len(findings) == len(doctor.CHECKS)
    assert all(f.advice or f.level == "good" for f in findings)
    assert len({f.topic for f in findings}) == len(findings)


@pytest.mark.parametrize(
    ("governor", "level"), [("performance", "good"), ("powersave", "fair"), (None, "good")]
)
def test_the_governor_should_be_performance(
    tmp_path: Path, governor: str | None, level: str
) -> None:
    if governor:
        file = tmp_path / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
        file.parent.mkdir(parents=True)
        file.write_text(governor + "\n")
    assert finding("governor", tmp_path).level == level


@pytest.mark.parametrize(
    ("runtime", "level", "fact"),
    [
        ("950000", "good", "95%"),
        ("-1", "good", "none"),
        ("500000", "fair", "50%"),
    ],
)
def test_the_real_time_limit_is_read(tmp_path: Path, runtime: str, level: str, fact: str) -> None:
    root = machine(
        tmp_path,
        proc__sys__kernel__sched_rt_runtime_us=runtime,
        proc__sys__kernel__sched_rt_period_us="1000000",
    )
    found = finding("realtime_limit", root)
    assert found.level == level
    assert fact in found.fact


def test_a_clock_that_may_stop_is_not_good(tmp_path: Path) -> None:
    stopping = machine(tmp_path / "a", proc__cpuinfo="flags : tsc constant_tsc")
    steady = machine(tmp_path / "b", proc__cpuinfo="flags : tsc nonstop_tsc")
    assert finding("clock", stopping).level == "fair"
    assert finding("clock", steady).level == "good"


@pytest.mark.parametrize(
    ("mode", "reserved", "level"),
    [
        ("always [madvise] never", "0", "good"),
        ("always madvise [never]", "0", "fair"),
        ("always madvise [never]", "64", "good"),
    ],
)
def test_huge_pages_are_transparent_or_reserved(
    tmp_path: Path, mode: str, reserved: str, level: str
) -> None:
    mm = tmp_path / "sys/kernel/mm"
    (mm / "transparent_hugepage").mkdir(parents=True)
    (mm / "transparent_hugepage/enabled").write_text(mode)
    (mm / "hugepages/hugepages-2048kB").mkdir(parents=True)
    (mm / "hugepages/hugepages-2048kB/nr_hugepages").write_text(reserved)
    assert finding("huge_pages", tmp_path).level == level


def test_what_cannot_be_read_is_unknown_not_a_crash(tmp_path: Path) -> None:
    for check in ("realtime_limit", "udp_buffers", "clock", "huge_pages", "governor", "cuda"):
        assert finding(check, tmp_path).fact
