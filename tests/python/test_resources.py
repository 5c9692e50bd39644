"""What a container's control groups leave of the machine, from fake trees of them."""

import os
from pathlib import Path

import pytest
from carillon import calibration, resources, runfolder
from carillon.commands.plan import Choice, plan
from carillon.commands.run import run_side
from carillon.commands.start import Output
from carillon.config import Run
from carillon.daemon import Interrupts, RunError, carry_out
from carillon.doctor import processor, system
from carillon.resources import Cores, Memory
from doctor_machine import cpus, machine
from synthetic import quiet_run, run_folder
from test_planning import costs

GB = 10**9
V2 = "0::/user.slice/mine\n"
V1 = "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n2:name=systemd:/\n"
CPU = "sys/fs/cgroup/cpu,cpuacct"


def tree(root: Path, groups: str, files: dict[str, str]) -> Path:
    for name, text in {"proc/self/cgroup": groups, **files}.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def test_without_groups_everything_may_be_used(tmp_path: Path) -> None:
    assert resources.cores(tmp_path, 4) == Cores(4)
    assert resources.memory(tmp_path, 8 * GB) == Memory(8 * GB)


@pytest.mark.parametrize(
    ("groups", "files"),
    [
        (V2, {"sys/fs/cgroup/cpu.max": "max 100000\n"}),
        (V2, {"sys/fs/cgroup/user.slice/mine/cpu.max": "800000 100000\n"}),
        (V2, {"sys/fs/cgroup/cpu.max": ""}),
        (V2, {"sys/fs/cgroup/cpu.max": "100000 0\n"}),
        (V2, {"sys/fs/cgroup/cpu.max": "many 100000\n"}),
        (V2, {"sys/fs/cgroup/other/cpu.max": "100000 100000\n"}),
        (V2, {"sys/fs/cgroup/memory.max": "max\n"}),
        (V1, {f"{CPU}/cpu.cfs_quota_us": "-1\n", f"{CPU}/cpu.cfs_period_us": "100000\n"}),
        (V1, {"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}),
        ("0::/../../up\n", {"sys/fs/cgroup/cpu.max": "max 100000\n"}),
        ("damaged\n", {"sys/fs/cgroup/cpu.max": "100000 100000\n"}),
    ],
)
def test_what_is_no_limit_limits_nothing(
    tmp_path: Path, groups: str, files: dict[str, str]
) -> None:
    root = tree(tmp_path, groups, files)
    assert resources.cores(root, 4) == Cores(4)
    assert resources.memory(root, 8 * GB) == Memory(8 * GB)


@pytest.mark.parametrize(
    ("quota", "count"), [("200000 100000", 2), ("350000 100000", 3), ("50000 100000", 1)]
)
def test_a_quota_of_version_2_leaves_whole_cores_and_is_named(
    tmp_path: Path, quota: str, count: int
) -> None:
    root = tree(tmp_path, V2, {"sys/fs/cgroup/user.slice/mine/cpu.max": quota + "\n"})
    found = resources.cores(root, 4)
    share = int(quota.split()[0]) / 1e5
    assert found == Cores(
        count, f"a CPU quota of {share:g} cores (/sys/fs/cgroup/user.slice/mine/cpu.max)"
    )


def test_the_smallest_of_all_groups_above_counts(tmp_path: Path) -> None:
    files = {
        "sys/fs/cgroup/user.slice/mine/cpu.max": "300000 100000\n",
        "sys/fs/cgroup/user.slice/cpu.max": "150000 100000\n",
        "sys/fs/cgroup/user.slice/mine/memory.max": "2000000000\n",
        "sys/fs/cgroup/user.slice/memory.max": "3000000000\n",
    }
    root = tree(tmp_path, V2, files)
    quota = resources.cpu_quota(root)
    assert quota is not None
    assert (quota.value, quota.file) == (1.5, "/sys/fs/cgroup/user.slice/cpu.max")
    memory = resources.memory(root, 8 * GB)
    assert memory == Memory(
        2 * GB, "a memory limit of 2000 MB (/sys/fs/cgroup/user.slice/mine/memory.max)"
    )


def test_version_1_in_a_container_that_sees_only_its_own_group(tmp_path: Path) -> None:
    """Docker names the host's path there, which is not below the mount."""
    files = {
        f"{CPU}/cpu.cfs_quota_us": "250000\n",
        f"{CPU}/cpu.cfs_period_us": "100000\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "1000000000\n",
    }
    root = tree(tmp_path, V1, files)
    assert resources.cores(root, 8) == Cores(
        2, f"a CPU quota of 2.5 cores (/{CPU}/cpu.cfs_quota_us)"
    )
    assert resources.memory(root, 8 * GB).bytes == GB


def test_version_1_on_its_host_and_under_the_controllers_short_name(tmp_path: Path) -> None:
    short = "sys/fs/cgroup/cpu/docker/abc"
    files = {f"{short}/cpu.cfs_quota_us": "100000\n", f"{short}/cpu.cfs_period_us": "100000\n"}
    assert resources.cores(tree(tmp_path, V1, files), 8).count == 1


def test_the_machine_counts_where_it_has_less(tmp_path: Path) -> None:
    root = tree(tmp_path, V2, {"sys/fs/cgroup/memory.max": "9000000000\n"})
    assert resources.memory(root, 8 * GB) == Memory(8 * GB)


@pytest.fixture
def container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One core and 1 MB of what this machine has."""
    files = {"sys/fs/cgroup/cpu.max": "50000 100000\n", "sys/fs/cgroup/memory.max": "1000000\n"}
    monkeypatch.setattr(resources, "ROOT", tree(tmp_path / "root", V2, files))
    return tmp_path


QUOTA = "a CPU quota of 0.5 cores (/sys/fs/cgroup/cpu.max)"
MEMORY = "a memory limit of 1 MB (/sys/fs/cgroup/memory.max)"


def test_a_run_folder_names_what_limits_its_machine(container: Path) -> None:
    about = runfolder.machine()
    assert (about["cores"], about["memory_gb"]) == (1, 0.0)
    assert about["limits"] == [QUOTA, MEMORY]


def test_doctor_names_the_limits(container: Path) -> None:
    facts = cpus(4) | {"proc/meminfo": "MemTotal:  8000000 kB\n"}
    found = machine(container / "root", facts)
    cores, memory = processor.cores(found), system.memory(found)
    assert (cores.level, memory.level) == ("fail", "warn")
    assert cores.fact == f"1 of 4 of an unnamed CPU, by {QUOTA}"
    assert memory.fact == f"0.001 GB, by {MEMORY}"
    assert system.memory(machine(container / "other", facts)).level == "pass"
    assert system.memory(machine(container / "none", {})).level == "skip"


def test_a_plan_is_of_what_the_container_has_and_says_so(
    container: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Choice().machine_of(costs()).cores == 1
    assert Choice(cores=4).machine_of(costs()).memory_bytes is None
    file = container / "costs.json"
    calibration.save(costs(), file)
    assert not plan("lan-8x4", Choice(calibration=file), container / "plan", as_json=False)
    words = " ".join(capsys.readouterr().out.split())
    assert words.startswith("lan-8x4 does not fit on 1 core: it needs")
    assert f"within {QUOTA} within {MEMORY}" in words


def test_a_run_that_has_no_memory_is_told_before_it_is_killed(container: Path) -> None:
    with pytest.raises(RunError, match=r"laptop-8x2 needs 1\.\d+ MB, more than a memory limit of"):
        run_side("bbu", ["laptop-8x2"], None, Run(), container / "run", Output(False, True))
    assert not (container / "run").exists()


def test_the_daemon_gets_as_many_cores_as_the_quota_carries(
    container: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = run_folder(container / "run", quiet_run())
    daemon = container / "carillond"
    daemon.write_text("#!/bin/sh\ngrep Cpus_allowed_list /proc/self/status >&2\n")
    daemon.chmod(0o755)
    monkeypatch.setenv("CARILLOND", str(daemon))
    with Interrupts() as interrupts:
        carry_out([folder], interrupts)
    first = min(os.sched_getaffinity(0))
    assert folder.log_file.read_text().split() == ["Cpus_allowed_list:", str(first)]
