"""scripts/emulate, judged by programs of the system."""

import signal
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "emulate"
LOADER = "/lib64/ld-linux-x86-64.so.2"


def emulate(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *command], capture_output=True, text=True)


def test_output_and_exit_status_are_the_programs() -> None:
    echo = emulate("echo", "two", "words")
    assert (echo.stdout, echo.stderr, echo.returncode) == ("two words\n", "", 0)
    assert emulate("false").returncode == 1


def test_glibc_finds_the_cpus_instruction_sets() -> None:
    levels = emulate(LOADER, "--help").stdout
    assert "x86-64-v4 (supported, searched)" in levels
    levels = emulate("--cpu=haswell", LOADER, "--help").stdout
    assert "x86-64-v3 (supported, searched)" in levels
    assert "x86-64-v4 (supported, searched)" not in levels


def test_a_missing_program_is_named() -> None:
    missing = emulate("no-such-program")
    assert missing.returncode == 1
    assert "no-such-program" in missing.stderr


PROGRAM = r"""
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct { uint8_t palette[16]; uint16_t row_bytes[16]; uint8_t rows[16]; } shapes = {
    {1}, {24, 32, 24}, {5, 5, 8}};  /* sums, left, right */
static int8_t left[5][100], right[8][24];
static int32_t sums[5][6], expected[5][6];

int main(void) {
  for (int i = 0; i < 500; ++i) left[i / 100][i % 100] = (int8_t)(i * 37);
  for (int i = 0; i < 192; ++i) right[i / 24][i % 24] = (int8_t)(i * 91 + 128);
  for (int m = 0; m < 5; ++m)
    for (int n = 0; n < 6; ++n)
      for (int k = 0; k < 32; ++k) {
        int8_t a = left[m][k], b = right[k / 4][4 * n + k % 4];
        uint8_t c = (uint8_t)a, d = (uint8_t)b;
        expected[m][n] += a * b + 2 * a * d + 3 * c * b + 4 * c * d;
      }
  if (syscall(SYS_arch_prctl, 0x1023, 18) != 0) return 2;
  asm volatile("ldtilecfg %0" ::"m"(shapes));
  asm volatile("tileloadd 4(%0,%1,2), %%tmm1" ::"r"(left[0] - 4), "r"(50L) : "memory");
  asm volatile("tileloadd (%0,%1), %%tmm2" ::"r"(right), "r"(24L) : "memory");
  asm volatile("tilezero %%tmm0; tdpbssd %%tmm2, %%tmm1, %%tmm0" ::: "memory");
  for (int i = 0; i < 2; ++i) asm volatile("tdpbsud %%tmm2, %%tmm1, %%tmm0" ::);
  for (int i = 0; i < 3; ++i) asm volatile("tdpbusd %%tmm2, %%tmm1, %%tmm0" ::);
  for (int i = 0; i < 4; ++i) asm volatile("tdpbuud %%tmm2, %%tmm1, %%tmm0" ::);
  asm volatile("tilestored %%tmm0, (%0,%1); tilerelease" ::"r"(sums), "r"(24L) : "memory");
  for (int m = 0; m < 5; ++m)
    for (int n = 0; n < 6; ++n)
      if (sums[m][n] != expected[m][n]) return 1;
  puts("equal");
}
"""


def test_matrix_registers_multiply_bytes(tmp_path: Path) -> None:
    program = tmp_path / "program"
    source = tmp_path / "program.c"
    source.write_text(PROGRAM)
    subprocess.run(["cc", "-O1", "-o", program, source], check=True)
    assert emulate(str(program)).stdout == "equal\n"
    assert emulate("--cpu=haswell", str(program)).returncode == 2

    source.write_text('int main(void) { asm volatile("tilerelease"); }')
    subprocess.run(["cc", "-o", program, source], check=True)
    assert emulate(str(program)).returncode == 128 + signal.SIGILL, "nobody asked Linux for them"
