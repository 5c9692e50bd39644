"""Runs of the real process: demo, two processes, Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from carillon.daemon import RunError, binary
from carillon.result import Result

PROGRAM = [sys.executable, "-c", "from carillon.cli import main; main()"]


def _has_daemon() -> bool:
    try:
        return binary().is_file()
    except RunError:
        return False


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not _has_daemon(), reason="carillond is not built"),
]


def start(*words: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def end(process: subprocess.Popen[str], seconds: float = 120) -> tuple[str, str]:
    try:
        return process.communicate(timeout=seconds)
    finally:
        process.kill()


def assert_complete(folder: Path) -> None:
    for name in ("result.json", "report.html", "frames.csv", "trace.json", "telemetry.bin"):
        assert (folder / name).is_file(), name


def test_demo_prints_its_result_alone_and_leaves_a_report(tmp_path: Path) -> None:
    process = start(
        "demo", "--cell", "laptop-8x2", "--frames", "500", "--json", "--folder", tmp_path / "run"
    )
    out, err = end(process)
    assert process.returncode == 0, err
    result: dict[str, Any] = json.loads(out)
    Result.model_validate(result)
    assert result["frames"]["seen"] >= result["frames"]["sent"] > 100
    assert result["finished"]
    assert result["uplink"]["blocks"] == 2 * result["frames"]["seen"]
    # This machine may stall; what was decoded in time must be right.
    late = result["frames"]["seen"] - result["frames"]["completed"]
    assert result["uplink"]["blocks_failed"] <= 2 * late
    assert result["core_ms_per_ms"] > 0
    assert_complete(tmp_path / "run")


@pytest.mark.parametrize("after", [0.0, 0.5, 2.0, 4.0])
def test_ctrl_c_at_any_moment_ends_with_a_report(tmp_path: Path, after: float) -> None:
    folder = tmp_path / "run"
    process = start("demo", "--cell", "laptop-8x2", "--seconds", "60", "--folder", folder)
    while not (folder / "plan.txt").is_file():
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    out, err = end(process, 60)
    assert process.returncode == 0, err
    assert "report: " in out
    assert_complete(folder)


def test_the_process_dies_with_its_parent(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    process = start("demo", "--cell", "laptop-8x2", "--seconds", "60", "--folder", folder)
    while not (folder / "telemetry.bin").is_file():
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.communicate()
    plan = str(folder / "plan.txt").encode()
    deadline = time.monotonic() + 10
    while _running_with(plan):
        assert time.monotonic() < deadline, "carillond outlived its parent"
        time.sleep(0.1)


def _running_with(argument: bytes) -> bool:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if argument in (entry / "cmdline").read_bytes().split(b"\0"):
                    return True
            except OSError:
                continue
    return False


def test_run_and_radio_are_two_processes_of_one_cell(tmp_path: Path) -> None:
    cell = tmp_path / "pair.yaml"
    port = 20000 + os.getpid() % 10000
    cell.write_text(
        f"users: 2\nschedule: PPUUUUUUGDDDDD\ndeadlines: {{downlink_lead_ms: 0.25}}\n"
        f"fronthaul: {{kind: udp, bbu_port: {port}, radio_port: {port + 20}}}\n"
    )
    bbu = start("run", cell, "--folder", tmp_path / "bbu")
    time.sleep(3)
    radio = start("radio", cell, "--frames", "500", "--folder", tmp_path / "radio")
    _, radio_err = end(radio)
    bbu.send_signal(signal.SIGINT)
    _, bbu_err = end(bbu)
    assert (bbu.returncode, radio.returncode) == (0, 0), bbu_err + radio_err
    for side in ("bbu", "radio"):
        assert_complete(tmp_path / side)
    received = json.loads((tmp_path / "bbu" / "result.json").read_text(encoding="utf-8"))
    sent = json.loads((tmp_path / "radio" / "result.json").read_text(encoding="utf-8"))
    assert received["frames"]["seen"] > 0
    assert received["uplink"]["blocks"] > received["uplink"]["blocks_failed"]
    assert sent["frames"]["sent"] > 0
    assert sent["downlink"]["blocks"] > 0
