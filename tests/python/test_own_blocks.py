"""Blocks of a shared library: those of docs/own-blocks.md, as the page has them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from carillon import core
from hang import HANG_S

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "own-blocks.md").read_text(encoding="utf-8")


def fences(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.S | re.M)


def done(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """In an interpreter of its own: what is loaded stays loaded."""
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    generator = {"CMAKE_GENERATOR": "Ninja"} if shutil.which("ninja") else {}
    return subprocess.run(
        command, cwd=folder, env={"CXX": "g++"} | generator | os.environ | {"PATH": path},
        capture_output=True, text=True, timeout=HANG_S, check=False,
    )  # fmt: skip


def shell(folder: Path, script: str) -> str:
    ran = done(folder, "sh", "-eu", "-c", script)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the page has somebody write and build."""
    if not (shutil.which("cmake") and shutil.which(os.environ.get("CXX", "g++"))):
        pytest.skip("needs cmake and g++")
    made = tmp_path_factory.mktemp("own")
    (made / "carillon").symlink_to(ROOT)
    program = made / "bin" / "carillon"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom carillon.__main__ import main\nmain()\n")
    program.chmod(0o755)
    (made / "limiter.cpp").write_text(fences("cpp")[0])
    (made / "limited.yaml").write_text(fences("yaml")[0])
    listing, build, _, _ = fences("text")
    (made / "CMakeLists.txt").write_text(listing)
    shell(made, build)
    return made


def test_the_pages_block_runs_in_a_graph(folder: Path) -> None:
    told = shell(folder, fences("text")[2])
    assert "Holds real samples within a level." in told and "Changes while it runs." in told
    result = json.loads((folder / "run" / "result.json").read_text(encoding="utf-8"))
    limit, level = (node["figures"] for node in result["nodes"][1:])
    assert level["samples"] == 48_000 and level["peak"] == 0.5
    assert limit["held"] == pytest.approx(48_000 * 2 / 3, abs=500)  # where |sin| is above a half


def test_the_pages_block_runs_alone_in_python(folder: Path) -> None:
    (folder / "alone.py").write_text(fences("text")[3])
    assert "[-0.5   0.25  0.5 ]" in shell(folder, f"{sys.executable} alone.py")


def test_a_library_is_loaded_once_and_only_if_it_fits(folder: Path) -> None:
    built = folder / "build" / "liblimiter.so"
    own = f"{core.version}-".encode()
    assert own in built.read_bytes()
    names = ("libother.so", "libcopy.so", "text.so", "bare.so")
    other, copy, text, bare = (folder / name for name in names)
    other.write_bytes(built.read_bytes().replace(own, b"9" * (len(own) - 1) + b"-"))
    shutil.copy(built, copy)
    text.write_text("no library")
    shell(folder, f"{os.environ.get('CXX', 'g++')} -shared -x c++ /dev/null -o bare.so")
    program = """
import sys
from carillon.errors import InputError
from carillon.flowgraph import load_plugin
for file in sys.argv[1:]:
    try:
        print(load_plugin(file))
    except InputError as error:
        print(error)
"""
    files = [built, built, other, copy, text, bare, folder / "none.so"]
    ran = done(folder, sys.executable, "-c", program, *files)
    assert ran.returncode == 0, ran.stderr
    first, again, wrong, twice, nothing, empty, missing = ran.stdout.splitlines()
    assert (first, again) == ("['limiter']", "[]")
    assert wrong.startswith(f"{other}: was built for carillon 99999-")
    assert f"and this is {core.version}-" in wrong
    assert twice == f"{copy}: there is a block limiter already"
    assert nothing.startswith(f"{text}: cannot be loaded: ")
    assert empty == f"{bare}: has no blocks: CARILLON_BLOCKS is in none of its sources"
    assert missing.startswith(f"{folder / 'none.so'}: cannot be loaded: ")


def test_the_command_line_refuses_a_library_in_one_line(folder: Path) -> None:
    ran = done(folder, "carillon", "flowgraph", "check", "limited.yaml", "--plugin", "none.so")
    assert ran.returncode == 2 and ran.stderr.count("\n") == 1
    assert "none.so: cannot be loaded" in ran.stderr
