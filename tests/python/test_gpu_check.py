"""`scripts/gpu-check`, with programs that stand in for compilers, tests, benchmark and GPU."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import developer_scripts
import pytest
import synthetic_gpu

ROOT = Path(__file__).parents[2]
SMI = """case "$*" in
  *compute_cap*) echo 9.0;;
  *name,*) echo H100, 580, 1, 2, 3, 4;;
  *) echo H100;;
esac"""
PARTS = ("transforms", "decoder", "cells of 64x16", "completion")


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def row(kernel: str) -> dict[str, Any]:
    return {
        "kernel": kernel,
        "shape": "128x64",
        "us": 40.0,
        "bound_us": 10.0,
        "registers": 32,
        "occupancy": 0.5,
    }


def measured(name: str) -> dict[str, Any]:
    """What the benchmark writes when only this part is measured."""
    cells = [synthetic_gpu.cell("64x16-uplink", None)] if name.startswith("cells") else []
    host = synthetic_gpu.HOST if cells else {"launch_us": 0, "notify_us": 0}
    ends = [{"what": "end"}] if name == "completion" else []
    rows = [] if cells or ends else [row(f"kernel of {name}")]
    told = {"rows": rows, "goals": [{"what": name}], "completion": {"rows": ends}}
    return synthetic_gpu.bench() | told | {"cells": cells, "host": host}


@dataclass
class Machine:
    """A machine with a GPU and all tools, each of which does nothing and succeeds."""

    module: Any
    folder: Path
    seconds: dict[str, float] = field(default_factory=dict)  # that parts say they may take

    def __post_init__(self) -> None:
        self.bin, self.built, self.out = (self.folder / n for n in ("bin", "built", "out"))
        self.tool("nvidia-smi", SMI)
        self.tool("nvcc", "echo release 13.0")
        self.tool("g++", "echo 'g++ (GCC) 13.3.0'")
        self.tool("ninja", "")
        self.tool("cuobjdump", "")
        self.cmake()
        for each in self.module.programs():
            self.test(each.name, "echo on a GPU")
        self.bench()

    def tool(self, name: str, text: str) -> Path:
        return program(self.bin / name, text)

    def test(self, name: str, text: str) -> None:
        program(self.built / "tests" / name, text)

    def cmake(self, configure: str = "", build: str = "") -> None:
        to = self.module.BUILD
        copy = f"/bin/mkdir -p {to}; /bin/cp -R {self.built}/. {to}"
        told = 'case "$1" in --version) echo cmake version 4.1.0;;'
        steps = f"-S) {configure or 'true'};; --build) {copy}; {build or 'true'};;"
        self.tool("cmake", f"{told} {steps} esac")

    def bench(self, **instead: str) -> None:
        """Parts that write what they measured, or do something else."""
        lines = [f"echo '{self.seconds.get(name, 30)} {name}'" for name in PARTS]
        cases = [f"--list) {'; '.join(lines)};;"]
        for name in PARTS:
            file = self.folder / "parts" / f"{name}.json"
            synthetic_gpu.write(file, measured(name))
            write = f"/bin/cp '{file}' \"$3\"; echo '{name}: 1 µs; goal at most 2 µs: met'"
            then = instead.get(name.split()[0], "true")
            cases.append(f"'--only{name}') {write}; {then};;")
        text = f'case "$1$2" in {" ".join(cases)} esac'
        program(self.built / "bench" / "carillon-cuda-bench", text)

    def check(self, *words: str) -> int:
        status: int = self.module.main(["--folder", str(self.out), *words])
        return status

    @property
    def steps(self) -> dict[str, dict[str, Any]]:
        told = json.loads((self.out / "check.json").read_text())
        return {step["name"]: step for step in told["steps"]}

    @property
    def kernels(self) -> list[str]:
        tree = json.loads((self.out / "kernels.json").read_text())
        return [each["kernel"] for each in tree["rows"]]

    @property
    def log(self) -> str:
        return (self.out / "log.txt").read_text()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    module = developer_scripts.load("gpu-check", monkeypatch)
    monkeypatch.setattr(module, "BUILD", tmp_path / "build")
    monkeypatch.setattr(module, "folders", lambda: [tmp_path / "bin"])
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(module, "inspect", lambda check: check.skip("sass", "not here"))
    return Machine(module, tmp_path)


def kernel_tests(module: Any) -> list[str]:
    return [module.short(each) for each in module.programs()]


def test_steps_come_in_their_order_and_no_sanitizer_among_them(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.tool("compute-sanitizer", "exit 1")
    assert machine.check() == 0
    names = kernel_tests(machine.module)
    assert list(machine.steps) == ["configure", "build", *names, *PARTS, "profile", "sass"]
    layers = [name.split("-")[0] for name in names]
    assert list(dict.fromkeys(layers)) == list(machine.module.LAYERS)
    assert "decoder: 1 µs; goal at most 2 µs: met" in capsys.readouterr().out


def test_the_build_goes_on_after_errors_treats_warnings_as_such_and_is_for_this_gpu(
    machine: Machine,
) -> None:
    machine.check()
    assert "-DCARILLON_WERROR=OFF" in machine.log
    assert "-DCARILLON_CUDA_ARCHITECTURES=90-real" in machine.log
    assert re.search(r"--build .*--target carillon-cuda-bench device-tests .*-- -k 0", machine.log)


def test_make_will_do_where_there_is_no_ninja(machine: Machine) -> None:
    (machine.bin / "ninja").unlink()
    machine.tool("make", "")
    assert machine.check() == 0
    assert "-G Unix Makefiles" in machine.log
    assert re.search(r"--build .*-- -k\n", machine.log)


def test_a_test_that_does_not_compile_costs_only_itself(machine: Machine) -> None:
    (machine.built / "tests" / "test-phy-ldpc-cuda").unlink()
    machine.cmake(build="echo 'cuda_test.cpp:7: error: no such thing'; exit 1")
    assert machine.check() == 1
    bad = {name: step["why"] for name, step in machine.steps.items() if step["status"]}
    assert bad == {
        "build": "cuda_test.cpp:7: error: no such thing",
        "phy-ldpc": "was not built",
    }
    assert machine.kernels == ["kernel of transforms", "kernel of decoder"]


def test_a_program_of_older_sources_does_not_count_as_built(machine: Machine) -> None:
    machine.check()
    (machine.built / "tests" / "test-phy-ldpc-cuda").unlink()
    (machine.built / "bench" / "carillon-cuda-bench").unlink()
    assert machine.check() == 1
    steps = machine.steps
    assert steps["phy-ldpc"]["why"] == steps["benchmark"]["why"] == "was not built"
    assert steps["phy-ofdm"]["status"] == 0
    assert not (machine.out / "kernels.json").exists()


def test_what_was_built_elsewhere_runs_without_a_toolkit(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("cmake", "nvcc", "ninja", "g++"):
        (machine.bin / name).unlink()
    assert machine.check("--no-build") == 1
    assert "nothing was built" in capsys.readouterr().out
    shutil.copytree(machine.built, machine.module.BUILD, dirs_exist_ok=True)
    assert machine.check("--no-build") == 0
    assert list(machine.steps)[:1] == kernel_tests(machine.module)[:1]
    assert machine.kernels == ["kernel of transforms", "kernel of decoder"]


@pytest.mark.parametrize("what", ["configure", "build"])
def test_where_nothing_is_built_it_ends_with_what_the_compiler_said(
    machine: Machine, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for each in machine.built.rglob("*cuda*"):
        each.unlink()
    machine.cmake(**{what: "echo no compiler for GPUs; exit 3"})
    assert machine.check() == 1
    assert list(machine.steps)[-1] == what
    assert machine.steps[what]["status"] == 3
    assert "no compiler for GPUs\nnothing was built" in capsys.readouterr().out


def test_a_test_that_fails_is_named_and_costs_only_itself(machine: Machine) -> None:
    lines = ("[  FAILED  ] A.b (3 ms)", "[  FAILED  ] A.b", "FAILED C/D.e/0", "FAILED to be a name")
    echoes = "; ".join(f"echo '{line}'" for line in lines)
    machine.test("test-phy-ofdm-cuda", f"{echoes}; exit 1")
    assert machine.check() == 1
    assert machine.steps["phy-ofdm"]["why"] == "A.b; C/D.e/0"
    assert [name for name, step in machine.steps.items() if step["status"]] == ["phy-ofdm"]
    assert len(machine.kernels) == 2


def test_a_test_that_hangs_is_ended_with_all_that_it_started(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine.module, "TEST", 4.0)
    started = machine.folder / "started"
    machine.test("test-phy-ofdm-cuda", f"/bin/sleep 1000 & echo $! > {started}; wait")
    assert machine.check() == 1
    assert machine.steps["phy-ofdm"]["status"] == 124
    assert machine.steps["phy-precode"]["status"] == 0
    state = Path(f"/proc/{started.read_text().strip()}/stat")
    assert not state.exists() or state.read_text().split()[2] == "Z"


def test_tests_leave_time_for_the_benchmark(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine.module, "TESTS", 0.0)
    assert machine.check() == 0
    assert {machine.steps[name]["why"] for name in kernel_tests(machine.module)} == {
        "no time left for tests"
    }
    assert len(machine.kernels) == 2


def test_a_part_that_hangs_or_fails_keeps_what_it_measured_and_costs_no_other(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine.module, "SLACK", 5.0)
    machine.seconds["transforms"] = 0.1
    machine.bench(
        transforms="/bin/sleep 1000", decoder="echo 'failed: an illegal memory access'; exit 1"
    )
    assert machine.check() == 1
    assert machine.steps["transforms"]["status"] == 124
    assert machine.steps["decoder"]["why"] == "failed: an illegal memory access"
    assert machine.steps["completion"]["status"] == 0
    assert machine.kernels == ["kernel of transforms", "kernel of decoder"]


def test_a_part_that_there_is_no_time_for_makes_room_for_the_next(machine: Machine) -> None:
    machine.seconds["decoder"] = 10_000
    machine.bench()
    assert machine.check() == 0
    assert machine.steps["decoder"]["why"].startswith("may take 10000 s; ")
    assert machine.kernels == ["kernel of transforms"]
    assert machine.steps["completion"]["status"] == 0


def test_when_its_time_is_over_nothing_more_begins(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine.module, "BUDGET", 0.0)
    assert machine.check() == 1
    assert machine.steps["configure"]["why"] == "no time left"
    assert "$" not in machine.log


def test_the_whole_takes_well_under_ten_minutes(machine: Machine) -> None:
    assert machine.module.BUDGET <= 540
    assert machine.module.BUILDING + machine.module.TESTS < machine.module.BUDGET


def test_each_step_leaves_what_is_known_before_the_next_begins(machine: Machine) -> None:
    seen = machine.folder / "seen"
    machine.bench(decoder=f"/bin/cp -R {machine.out} {seen}")
    machine.check()
    steps = [step["name"] for step in json.loads((seen / "check.json").read_text())["steps"]]
    assert steps[-1] == "transforms"
    rows = json.loads((seen / "kernels.json").read_text())["rows"]
    assert [each["kernel"] for each in rows] == ["kernel of transforms"]
    assert "== decoder" in (seen / "log.txt").read_text()


def test_results_are_few_files_in_few_folders(machine: Machine) -> None:
    machine.tool("carillon", "echo '{}' > \"$5\"")
    assert machine.check() == 0
    files = [file.relative_to(machine.out) for file in machine.out.rglob("*") if file.is_file()]
    assert len(files) <= 8
    assert max(len(file.parts) for file in files) <= 2
    date = json.loads((machine.out / "check.json").read_text())["date"]
    kept = machine.out / f"{date}-synthetic-h200-that-was-never-measured"
    assert sorted(file.name for file in kept.iterdir()) == sorted(machine.module.RESULTS)


def test_what_parts_measured_is_one_file_in_the_end(machine: Machine) -> None:
    machine.check()
    tree = json.loads((machine.out / "kernels.json").read_text())
    assert [each["what"] for each in tree["goals"]] == list(PARTS)
    assert len(tree["cells"]) == 1
    assert tree["host"] == synthetic_gpu.HOST
    assert tree["completion"]["rows"] == [{"what": "end"}]


def test_the_slowest_kernels_are_told_last(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = [row("near") | {"us": 11.0}, row("far"), row("nothing") | {"us": 0.0}]
    machine.module.furthest([*parts, row("frame") | {"registers": 0}])
    told = capsys.readouterr().out.splitlines()[1:]
    assert [line.split()[0] for line in told] == ["far", "near"]
    assert "40.0 µs   25 %   32 registers   50 % occupancy" in told[0]


def test_only_some_steps_can_be_repeated(machine: Machine) -> None:
    assert machine.check("--only", "phy-ldpc", "--only", "decoder") == 0
    assert list(machine.steps) == ["configure", "build", "phy-ldpc", "decoder"]
    assert machine.check("--only", "encoder") == 1
    assert machine.steps["encoder"]["why"] == "there is no such step"


def sanitized(machine: Machine, tools: Iterable[str]) -> list[str]:
    spared = {name.removeprefix("test-").removesuffix("-cuda") for name in machine.module.ENDLESS}
    names = [name for name in kernel_tests(machine.module) if name not in spared]
    return [f"{tool} {name}" for tool in tools for name in names]


def test_sanitizers_run_on_request_instead_of_measuring(machine: Machine) -> None:
    machine.tool("compute-sanitizer", 'shift 2; exec "$@"')
    assert machine.check("--sanitize") == 0
    expected = sanitized(machine, machine.module.SANITIZERS)
    assert [name for name in machine.steps if " " in name] == expected
    assert not (machine.out / "kernels.json").exists()


def test_what_the_sanitizer_finds_does_not_end_it(machine: Machine) -> None:
    machine.tool("compute-sanitizer", 'case "$*" in *memcheck*ofdm*) exit 1;; esac')
    assert machine.check("--sanitize") == 1
    assert machine.steps["memcheck phy-ofdm"]["status"] == 1
    assert machine.steps["racecheck phy-ofdm"]["status"] == 0


def test_a_sanitizer_that_refuses_the_device_is_asked_once(machine: Machine) -> None:
    machine.tool("compute-sanitizer", "echo '========= Error: Device not supported'; exit 1")
    assert machine.check("--sanitize") == 0
    first = sanitized(machine, ["memcheck"])[0]
    assert [name for name in machine.steps if " " in name] == [first]
    assert machine.steps[first]["status"] is None
    assert machine.steps[first]["why"] == "compute-sanitizer: Device not supported"


def test_without_a_sanitizer_the_tests_still_count(machine: Machine) -> None:
    assert machine.check("--sanitize") == 0
    assert machine.steps["sanitizers"]["why"] == "the toolkit has no compute-sanitizer"


def test_what_the_sanitizer_is_spared_is_a_test(machine: Machine) -> None:
    names = {each.name for each in machine.module.programs()}
    assert set(machine.module.ENDLESS) < names
    assert "test-phy-ldpc-cuda" in names
    assert "test-phy-zeroforce-expand-cuda" in names


@pytest.mark.parametrize(
    ("break_it", "told"),
    [
        (
            lambda it: it.tool("cmake", "echo cmake version 3.28.3"),
            r"cmake: \S+/cmake is 3; the kernels need 4",
        ),
        (lambda it: (it.bin / "cmake").unlink(), "cmake: there is none; the kernels need 4"),
        (
            lambda it: it.tool("nvcc", "echo release 12.8"),
            r"nvcc: \S+/nvcc is 12; the kernels need the CUDA toolkit 13",
        ),
        (
            lambda it: it.tool("g++", "echo 'g++ (GCC) 11.4.0'"),
            r"g\+\+: \S+/g\+\+ is 11; the engine needs GCC 12",
        ),
        (lambda it: it.tool("g++", "exit 1"), r"g\+\+: \S+/g\+\+ is of no known version"),
        (lambda it: (it.bin / "ninja").unlink(), "ninja: there is none, nor make"),
    ],
)
def test_what_is_missing_is_said_before_anything_is_done(
    machine: Machine, break_it: Callable[[Machine], object], told: str
) -> None:
    break_it(machine)
    assert machine.check() == 1
    assert list(machine.steps) == ["tools"]
    assert re.match(told, machine.steps["tools"]["why"])
    assert machine.log == ""


def test_all_that_is_missing_is_said_at_once(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("cmake", "nvcc", "ninja"):
        (machine.bin / name).unlink()
    assert machine.check() == 1
    out = capsys.readouterr().out
    assert all(f"{name}: there is none" in out for name in ("cmake", "nvcc", "ninja"))


def test_a_newer_compiler_is_found_behind_an_older_one(machine: Machine) -> None:
    machine.tool("g++", "echo 'g++ (Ubuntu 11.4.0) 11.4.0'")
    machine.tool("g++-13", "echo 'g++-13 (Ubuntu 13.1.0) 13.1.0'")
    assert machine.check() == 0
    assert f"-DCMAKE_CXX_COMPILER={machine.bin}/g++-13" in machine.log


def test_without_a_gpu_nothing_is_built(machine: Machine) -> None:
    machine.tool("nvidia-smi", "exit 9")
    assert machine.check() == 77
    assert machine.steps["device"]["why"] == "nvidia-smi finds no GPU"
    assert machine.log == ""


def test_a_driver_that_does_not_do_is_told_by_the_first_test(machine: Machine) -> None:
    for each in machine.module.programs():
        machine.test(each.name, "echo skipped: the driver is too old; exit 77")
    assert machine.check() == 77
    assert machine.steps["phy-demap"]["why"] == "skipped: the driver is too old"
    assert "transforms" not in machine.steps


def test_a_folder_that_is_a_file_is_a_wrong_word(machine: Machine) -> None:
    machine.out.write_text("")
    with pytest.raises(SystemExit) as ended:
        machine.check()
    assert ended.value.code == 2


def test_ctrl_c_ends_it_with_what_is_known(machine: Machine) -> None:
    machine.cmake(configure="/bin/sleep 60")
    script = f"""
import pathlib, sys
from importlib.machinery import SourceFileLoader
module = SourceFileLoader("gpu_check", {str(ROOT / "scripts" / "gpu-check")!r}).load_module()
module.BUILD = pathlib.Path({str(machine.module.BUILD)!r})
sys.exit(module.main(["--folder", {str(machine.out)!r}]))
"""
    path = f"{machine.bin}{os.pathsep}{os.environ['PATH']}"
    with subprocess.Popen(
        [sys.executable, "-B", "-W", "ignore", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PATH": path},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.read(9) == "configure"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, err) == (130, "")
    assert out.endswith(f"stopped; what is known: {machine.out}/check.json\n")
    assert machine.steps["configure"]["why"] == "stopped"
