"""The gates that guard the code can fail."""

import os
import subprocess
from pathlib import Path

import pytest

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
        ("frame/cpu/pipeline.cpp", "phy/tile.hpp", True),
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
    assert "avx2.cpp defines shared(int) outside its layer's namespace avx2" in result.stdout


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
