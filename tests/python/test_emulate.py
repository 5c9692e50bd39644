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


def test_an_instruction_that_the_cpu_lacks_ends_the_program(tmp_path: Path) -> None:
    program = tmp_path / "program"
    source = tmp_path / "program.c"
    source.write_text('int main(void) { asm volatile("tilerelease"); }')
    subprocess.run(["cc", "-o", program, source], check=True)
    assert emulate(str(program)).returncode == 128 + signal.SIGILL
