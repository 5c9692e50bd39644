"""./carillon on machines that have little."""

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from carillon import cli

ROOT = Path(__file__).parents[2]
BASIC = (
    "sh cat cmp cp dirname env find flock grep head id mkdir mv readlink rm sed tail touch true"
).split()


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A folder with the front door and, in bin, the basic tools: no compiler, no Python, no apt."""
    (tmp_path / "bin").mkdir()
    for tool in BASIC:
        path = shutil.which(tool)
        assert path
        (tmp_path / "bin" / tool).symlink_to(path)
    for file in ("carillon", "CMakeLists.txt"):
        shutil.copy2(ROOT / file, tmp_path / file)
    return tmp_path


def carillon(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [folder / "carillon", *words],
        env={"PATH": str(folder / "bin")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def add_tool(folder: Path, name: str, script: str) -> None:
    tool = folder / "bin" / name
    tool.unlink(missing_ok=True)
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)


def test_help_and_version_need_nothing(bare: Path) -> None:
    assert "./carillon demo" in carillon(bare, "--help").stdout
    assert "./carillon demo" in carillon(bare, "--with-cuda", "--help").stdout
    assert not (bare / ".tools").exists()
    assert re.fullmatch(r"carillon \d+\.\d+\.\d+\n", carillon(bare, "--version").stdout)


def test_help_names_every_command(bare: Path) -> None:
    shown = carillon(bare, "--help").stdout
    for command in typer.main.get_group(cli.app).commands:
        assert f"./carillon {command} " in shown


def test_without_apt_the_missing_packages_are_named(bare: Path) -> None:
    result = carillon(bare, "demo")
    assert result.returncode == 1
    assert "g++ python3 python3-dev python3-venv" in result.stderr


def test_a_user_who_may_not_install_gets_the_line_to_run(bare: Path) -> None:
    add_tool(bare, "apt-get", "exit 1")
    add_tool(bare, "id", "echo 1000")
    result = carillon(bare, "demo")
    assert result.returncode == 1
    line = "sudo apt-get update && sudo apt-get install -y --no-install-recommends g++ python3"
    assert line in result.stderr


def test_root_installs_what_is_missing(bare: Path) -> None:
    add_tool(bare, "id", "echo 0")
    add_tool(bare, "apt-get", f'echo "$*" >>{bare}/asked; [ "$2" = update ]')
    result = carillon(bare, "demo")
    assert result.returncode == 1  # this apt installs nothing
    assert "install -y --no-install-recommends g++ python3" in (bare / "asked").read_text()


def test_a_user_who_may_not_build_is_told_who_may(bare: Path) -> None:
    (bare / ".tools" / "lock").mkdir(parents=True)  # which root cannot write either
    for words in (["demo"], ["setup"], ["test", "--quick"]):
        result = carillon(bare, *words)
        assert result.returncode == 1
        assert result.stderr == (
            f"carillon: this has to be built, and {bare}/.tools/lock cannot be written: let the "
            f"owner of {bare} run ./carillon setup, or make a clone of your own\n"
        )
    assert "run ./carillon --with-cuda setup" in carillon(bare, "--with-cuda", "demo").stderr


@pytest.mark.parametrize("program", ["python", "carillon"])
def test_an_environment_that_may_not_be_executed_is_told(bare: Path, program: str) -> None:
    folder = bare / ".venv" / "bin"
    folder.mkdir(parents=True)
    (folder / program).touch(0o644)
    result = carillon(bare, "demo")
    assert result.returncode == 1
    assert result.stderr.startswith(f"carillon: {folder / program} may not be executed; ")
    assert f"remove {bare}/.venv and run ./carillon setup" in result.stderr


def test_python_starts_with_ctrl_c_held_back(bare: Path) -> None:
    for folder in "requirements bench bindings cmake engine .venv/bin".split():
        (bare / folder).mkdir(parents=True)
    (bare / "pyproject.toml").touch()
    (bare / ".venv/carillon-built").write_text(f"{bare}\n")
    (bare / ".venv/bin/python").symlink_to(sys.executable)
    program = bare / ".venv/bin/carillon"
    program.write_text(
        f"#!{sys.executable}\nimport signal, sys\n"
        "print(sys.argv[1:], [int(n) for n in signal.pthread_sigmask(signal.SIG_BLOCK, ())])\n"
    )
    program.chmod(0o755)
    shown = carillon(bare, "config", "show").stdout
    assert shown == f"['config', 'show'] [{int(signal.SIGINT)}]\n"


def test_it_works_through_a_link_from_another_folder(bare: Path) -> None:
    elsewhere = bare / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "carillon").symlink_to(bare / "carillon")
    result = subprocess.run(
        [elsewhere / "carillon", "--version"],
        cwd=elsewhere,
        env={"PATH": str(bare / "bin")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.startswith("carillon ")


def test_on_a_terminal_it_asks_first(bare: Path) -> None:
    add_tool(bare, "id", "echo 0")
    add_tool(bare, "apt-get", f"touch {bare}/asked")
    terminal, inside = pty.openpty()
    os.write(terminal, b"n\n")
    result = subprocess.run(
        [bare / "carillon", "demo"],
        env={"PATH": str(bare / "bin")},
        stdin=inside,
        stdout=inside,
        stderr=inside,
        check=False,
    )
    os.close(inside)
    shown = ""
    while "to do it yourself" not in shown:  # the terminal hands it over in pieces
        shown += os.read(terminal, 4096).decode()
    assert "install g++ python3 python3-dev python3-venv" in shown
    assert result.returncode == 1
    assert not (bare / "asked").exists()
