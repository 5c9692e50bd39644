"""The gates that guard the code can fail."""

import json
import os
import re
import runpy
import signal
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest
import synthetic_gpu

ROOT = Path(__file__).parents[2]


def run(script: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "scripts" / script, *arguments], capture_output=True, text=True, check=False
    )


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("file", "include", "allowed"),
    [
        ("frame/pipeline.cpp", "phy/tile.hpp", True),
        ("phy/crc/crc.cpp", "base/isa.hpp", True),
        ("phy/crc/crc.cpp", "telemetry/trace.hpp", False),
        ("runtime/policy.hpp", "phy/tile.hpp", False),
        ("runtime/policy.hpp", "frame/frame.hpp", False),
        ("base/tick.cpp", "runtime/policy.hpp", False),
        ("phy/crc/avx2.inl", "crc.hpp", False),
    ],
)
def test_a_layer_includes_only_what_it_may(
    tmp_path: Path, file: str, include: str, allowed: bool
) -> None:
    write(tmp_path / file, f'// first line\n#include "{include}"\n')
    result = run("check-layers", tmp_path)
    assert result.returncode == (0 if allowed else 1)
    assert allowed or f"{tmp_path / file}:2:" in result.stdout


def compiled(folder: Path, source: str) -> Path:
    file = write(folder / "avx2.cpp", source)
    subprocess.run(["g++", "-std=c++20", "-c", file.name], cwd=folder, check=True)
    (folder / "avx2.o").rename(folder / "avx2.cpp.o")
    return folder / "avx2.cpp.o"


def test_a_kernel_inside_its_namespace_passes(tmp_path: Path) -> None:
    source = "namespace carillon::phy::avx2 { namespace { int f() { return 1; } } int g = f(); }"
    assert run("check-symbols", compiled(tmp_path, source)).returncode == 0


def test_an_inline_function_shared_between_instruction_sets_is_a_leak(tmp_path: Path) -> None:
    source = (
        "inline int shared(int x) { return x * x; }"
        "namespace carillon::phy::avx2 { int (*table)(int) = shared; }"
    )
    result = run("check-symbols", compiled(tmp_path, source))
    assert result.returncode == 1
    assert "avx2.cpp defines shared(int) outside carillon::phy::avx2" in result.stdout


@pytest.mark.parametrize("check", ["check-symbols", "check-vectors"])
def test_what_is_no_object_is_named(tmp_path: Path, check: str) -> None:
    result = run(check, write(tmp_path / "notes.txt", "no object"))
    assert result.returncode == 1
    assert "notes.txt" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("numbers", ["float", "float __attribute__((vector_size(16)))"])
def test_a_loop_over_single_numbers_is_found(tmp_path: Path, numbers: str) -> None:
    source = (
        f"typedef {numbers} T;"
        "extern T* a; void kernel(int n) { for (int i = 1; i < n; ++i) a[i] += a[i] * a[0]; }"
    )
    result = run("check-vectors", compiled(tmp_path, source))
    single = numbers == "float"
    assert result.returncode == single
    assert ("avx2: kernel(int): 2 of a loop's" in result.stdout) == single


@pytest.mark.parametrize("body", ["g(); a[i] *= a[0];", "if (a[i] > a[0]) g();"])
def test_a_loop_that_calls_is_checked_too(tmp_path: Path, body: str) -> None:
    loop = f"for (int i = 0; i < n; ++i) {{ {body} }}"
    source = f"void g(); extern float* a; void kernel(int n) {{ {loop} }}"
    result = run("check-vectors", compiled(tmp_path, source))
    assert result.returncode == 1
    assert "avx2: kernel(int): 1 of a loop's" in result.stdout


def test_vectors_are_checked_of_kernels_only(tmp_path: Path) -> None:
    plain = compiled(tmp_path, "int f() { return 1; }").rename(tmp_path / "plain.o")
    result = run("check-vectors", plain)
    assert result.returncode == 1
    assert "no loop of a kernel found" in result.stdout


def test_the_fuzzer_finds_a_bug_behind_a_magic_number(tmp_path: Path) -> None:
    target = write(
        tmp_path / "planted.cpp",
        """#include <cstdint>
        #include <cstdlib>
        extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
          if (size > 3 && data[0] == 'B')
            if (data[1] == 'U')
              if (data[2] == 'G')
                if (data[3] == 0x7f) abort();
          return 0;
        }""",
    )
    g = ["g++", "-std=c++20", "-O1", "-c"]
    subprocess.run([*g, "-fsanitize-coverage=trace-pc", target], cwd=tmp_path, check=True)
    subprocess.run([*g, ROOT / "tests/fuzz/driver.cpp"], cwd=tmp_path, check=True)
    subprocess.run(["g++", "planted.o", "driver.o", "-o", "fuzz"], cwd=tmp_path, check=True)
    result = subprocess.run([tmp_path / "fuzz", "-seconds=30"], cwd=tmp_path, check=False)
    assert result.returncode == 1
    assert (tmp_path / "crash-fuzz").read_bytes()[:4] == b"BUG\x7f"


def test_the_stub_describes_the_compiled_module(tmp_path: Path) -> None:
    stub = tmp_path / "core.pyi"
    result = run("write-stub", stub)
    assert result.returncode == 0, result.stderr
    committed = ROOT / "python" / "carillon" / "core.pyi"
    assert stub.read_text() == committed.read_text(), "run scripts/write-stub"


SASS = """
arch = sm_90
 Function _ZN8carillon3phy4cuda11tile_kernelEv:
  REG:127 STACK:0 SHARED:0 LOCAL:0 CONSTANT[0]:384
	code for sm_90
		Function : _ZN8carillon3phy4cuda11tile_kernelEv
        /*0000*/                   LDC R1, c[0x0][0x28] ;   /* 0x00000a00ff017b82 */
        /*0010*/              @!P0 FFMA R2, R3, R4, R5 ;    /* 0x000ff00000000800 */
        /*0020*/                   HMMA.16816.F32 R8, R2 ;  /* 0x000ff00000000800 */
        /*0030*/               @P1 STG.E [R2.64], R8 ;      /* 0x000ff00000000800 */
"""


@pytest.mark.parametrize(
    ("listing", "problem"),
    [
        (SASS, ""),
        (SASS.replace("STG.E", "STL"), "has 1 STL"),
        (SASS.replace("HMMA.16816.F32", "IMAD"), "has no HMMA"),
        (SASS.replace("11tile_kernel", "11tilekernels"), "equalize has no tile_kernel any more"),
        (SASS.replace("STG.E", "LDL"), "has 1 LDL"),
        (SASS.replace("FFMA", "DFMA"), "has 1 DFMA"),
        ("", "0 kernels"),
    ],
)
def test_a_kernel_has_the_instructions_it_is_there_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listing: str, problem: str
) -> None:
    tool = write(tmp_path / "bin" / "cuobjdump", f"#!/bin/sh\ncat <<'END'\n{listing}\nEND\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}{os.pathsep}{os.environ['PATH']}")
    write(tmp_path / "engine/CMakeFiles/carillon.dir/phy/equalize/cuda.cu.o", "")
    result = run("check-sass", tmp_path)
    assert result.returncode == (1 if problem else 0), result.stdout + result.stderr
    assert problem in result.stdout
    assert not listing or "127 registers      4 instructions" in result.stdout


def test_without_kernels_there_is_nothing_to_check(tmp_path: Path) -> None:
    result = run("check-sass", tmp_path)
    assert result.returncode == 77
    assert "no CUDA kernels" in result.stdout


def test_a_gpu_check_that_cannot_build_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = write(tmp_path / "bin" / "cmake", "#!/bin/sh\necho 'no compiler for GPUs'\nexit 3\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}{os.pathsep}{os.environ['PATH']}")
    result = run("gpu-check", "--folder", tmp_path / "out")
    assert result.returncode == 1
    assert "no compiler for GPUs" in result.stdout
    assert '"status": 3' in (tmp_path / "out" / "check.json").read_text()
    assert run("gpu-check", "--folder", tool).returncode == 2  # it is a file


def test_ctrl_c_ends_a_gpu_check_with_what_is_known(tmp_path: Path) -> None:
    tool = write(tmp_path / "bin" / "cmake", "#!/bin/sh\nsleep 60\n")
    tool.chmod(0o755)
    path = {"PATH": f"{tool.parent}{os.pathsep}{os.environ['PATH']}"}
    words = [sys.executable, str(ROOT / "scripts" / "gpu-check"), "--folder", str(tmp_path / "out")]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | path
    ) as process:
        assert process.stdout is not None
        assert process.stdout.read(9) == "configure"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    known = tmp_path / "out" / "check.json"
    assert (process.returncode, err) == (130, "")
    assert out.endswith(f"stopped; what is known: {known}\n")
    assert json.loads(known.read_text())["steps"][-1]["why"] == "stopped"


def test_what_the_sanitizer_is_spared_is_a_test() -> None:
    sources = (ROOT / "tests").rglob("*_cuda_test.cpp")
    paths = [str(source.relative_to(ROOT / "tests")) for source in sources]
    names = {"test-" + re.sub("[/_]", "-", path).removesuffix("-test.cpp") for path in paths}
    endless = set(runpy.run_path(str(ROOT / "scripts" / "gpu-check"))["ENDLESS"])
    assert endless
    assert endless < names


def gpu_check(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script as a module."""
    loader = SourceFileLoader("gpu_check", str(ROOT / "scripts" / "gpu-check"))
    spec = spec_from_loader("gpu_check", loader)
    assert spec is not None
    module = module_from_spec(spec)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setitem(sys.modules, "gpu_check", module)
    loader.exec_module(module)
    return module


def test_a_gpu_check_leaves_a_folder_for_the_measurements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = gpu_check(monkeypatch)
    program = write(tmp_path / "bin" / "carillon", "#!/bin/sh\necho '{}' > \"$5\"\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    check = module.Check(tmp_path / "out")
    synthetic_gpu.write(check.folder / "kernels.json", synthetic_gpu.bench())
    line = "64x16 up, frames with their copies: 9; simulated from its opcodes 1 µs, within 10 %"
    goal = "a kernel's end, by a word: p90 1.20 µs; goal 2 µs for p90: met"
    write(check.folder / "kernels.log", f"other\n{goal}\n{line}\n")
    module.verdicts(check)
    module.profile(check)
    module.keep(check)
    assert f"  {goal}\n  {line}\n" in capsys.readouterr().out
    date = check.about["date"]
    kept = check.folder / f"{date}-synthetic-h200-that-was-never-measured"
    assert sorted(file.name for file in kept.iterdir()) == sorted(module.RESULTS)
    assert json.loads((kept / "check.json").read_text())["steps"][0]["name"] == "profile"


def test_a_gpu_check_gives_the_benchmark_the_time_that_is_left_and_no_goal_fails_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = gpu_check(monkeypatch)
    told = (
        "latency: 0.4 ms; goal at most 0.3 ms: missed",
        "cells: 3 cells; a figure, no goal",
        "left out: partitions, which may take 20 s; 7 are left",
    )
    program = tmp_path / "bench" / "carillon-cuda-bench"
    lines = "".join(f"echo '{one}'\n" for one in told)
    write(program, f"#!/bin/sh\necho seconds $2 of $1\n{lines}")
    program.chmod(0o755)
    monkeypatch.setattr(module, "BUILD", tmp_path)
    check = module.Check(tmp_path / "out")
    module.measure(check)
    assert check.ok
    assert "".join(f"  {one}\n" for one in told) in capsys.readouterr().out
    log = (check.folder / "kernels.log").read_text()
    assert f"seconds {module.BUDGET - module.AFTER} of --seconds" in log


def test_without_a_benchmark_a_gpu_check_leaves_no_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = gpu_check(monkeypatch)
    check = module.Check(tmp_path / "out")
    module.profile(check)
    module.keep(check)
    assert [file.name for file in check.folder.iterdir()] == ["check.json"]
    assert "has left no kernels.json" in (check.folder / "check.json").read_text()
