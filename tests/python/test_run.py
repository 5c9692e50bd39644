"""Runs of the real process: demo, two processes, Ctrl-C."""

import csv
import json
import math
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import daemon_needed
import pytest
from carillon import core
from carillon.result import Result
from hang import HANG_S

PROGRAM = [sys.executable, "-m", "carillon"]


pytestmark = daemon_needed.RUNS


def start(*words: str | Path) -> subprocess.Popen[str]:
    """As ./carillon starts it: SIGINT is held back, and not ignored, from the first moment."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return subprocess.Popen(
            ["env", "--default-signal=INT", "--block-signal=INT", *PROGRAM, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end(process: subprocess.Popen[str]) -> tuple[str, str]:
    try:
        return process.communicate(timeout=HANG_S)
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
    assert result["frames"]["sent"] >= result["frames"]["seen"] > 100
    assert result["finished"]
    assert result["uplink"]["blocks"] == 2 * result["frames"]["seen"]
    # This machine may stall; what came whole and was decoded in time must be right.
    with (tmp_path / "run" / "frames.csv").open(newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            whole = row["late_cause"] == "none" and row["missing_packets"] == "0"
            assert not whole or row["uplink_failed"] == "0", row
    assert result["core_ms_per_ms"] > 0
    assert_complete(tmp_path / "run")
    again = start("demo", "--folder", tmp_path / "run")
    assert "run holds a run already; name another folder" in end(again)[1]
    assert again.returncode == 2


# Hardly a frame is decoded in the time that the second one leaves.
@pytest.mark.parametrize("deadlines", ["{}", "{uplink_budget_ms: 0.01}"])
def test_what_is_said_of_late_frames_adds_up(tmp_path: Path, deadlines: str) -> None:
    cell, folder = tmp_path / "cell.yaml", tmp_path / "run"
    cell.write_text(f"antennas: 4\nusers: 2\nschedule: PPUUUUUUGGGDDD\ndeadlines: {deadlines}\n")
    words = ("--frames", "500", "--averaging", "0.05", "--outage", "0.01", "--json")
    process = start("demo", "--cell", cell, *words, "--folder", folder)
    out, err = end(process)
    assert process.returncode in (0, 3), err
    result = Result.model_validate_json(out)
    frames, delays = result.frames, result.delays
    assert delays is not None
    assert delays.frames == frames.seen
    assert delays.late.frames == frames.seen - frames.completed
    assert {name: each.frames for name, each in delays.by_cause.items()} == dict(result.lates)
    classes = delays.by_class
    assert sum(each.frames for each in classes.values()) == frames.seen
    assert classes["whole"].frames + classes["filled"].frames == frames.completed
    assert classes["filled"].frames == frames.incomplete
    assert classes["discarded"].frames + classes["refused"].frames == frames.nacked
    for name, each in classes.items():
        late = 0 if name in ("whole", "filled") else each.frames
        assert sum(share.frames for share in each.by_cause.values()) == late
    bins = delays.joint.bins
    assert sum(each.frames for each in bins) + delays.joint.lacking == frames.seen
    assert sum(each.late for each in bins) + delays.joint.lacking_late == delays.late.frames
    assert (delays.outage.target, delays.outage.averaging_s) == (0.01, 0.05)
    with (folder / "frames.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    for name, own in (("t_bs_ms", delays.t_bs_ms), ("t_f_ms", delays.t_f_ms)):
        values = [float(row[name]) for row in rows if row[name]]
        assert len(values) == own.samples > 0
        assert own.max == pytest.approx(max(values), abs=1e-6)
    assert all(float(row["t_bs_ms"]) > 0 for row in rows if row["completed"] == "1")


def test_beside_a_single_worker_the_radio_receives(tmp_path: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core")
    cell = tmp_path / "cell.yaml"
    port = 20000 + os.getpid() % 10000
    cell.write_text(
        "antennas: 4\nusers: 2\nschedule: PPUUUUUUGGDDDD\nruntime: {workers: 1}\n"
        f"fronthaul: {{kind: udp, receivers: 2, bbu_port: {port}, radio_port: {port + 20}}}\n"
    )
    words = ("--frames", "20", "--json", "--folder", tmp_path / "run")
    process = start("demo", "--cell", cell, *words)
    out, err = end(process)
    assert process.returncode == 0, err
    result: dict[str, Any] = json.loads(out)
    roles = {thread["name"]: thread["roles"] for thread in result["threads"]}
    assert roles == {"worker 0": ["worker", "sender"], "radio": ["receiver", "radio", "users"]}
    assert result["packets"]["received"] > 0


def test_a_cell_beyond_this_machine_is_announced_runs_and_fails(tmp_path: Path) -> None:
    cell = tmp_path / "beyond.yaml"
    cell.write_text(
        "antennas: 64\nusers: 16\nschedule: PPPPPPPPPPPPPPPPUUUUUUUUUUUU\n"
        "numerology: {fft_size: 2048, subcarriers: 1200, spacing_khz: 120}\n"
        "combiner: {group: 1}\nradio: {frames: 1}\n"
    )
    process = start(
        "demo", "--cell", cell, "--seconds", "0.3", "--json", "--folder", tmp_path / "run"
    )
    out, err = end(process)
    assert process.returncode == 3, err
    words = " ".join(err.split())
    told = re.search(
        r"it has (\d+) cores, and the cell needs (\d+) .*, ([\d.]+) for the base", words
    )
    assert told, err
    assert int(told[1]) == len(os.sched_getaffinity(0)) < int(told[2])
    assert int(told[2]) == math.ceil(float(told[3])) + 1
    assert f"carillonbenchcell{cell}" in "".join(words.split())  # wherever lines end
    assert re.search(r"carillon: none of \d+ frames was in time$", words)
    assert json.loads(out)["frames"]["completed"] == 0
    assert_complete(tmp_path / "run")


@pytest.mark.parametrize("after", [0.0, 0.1, 0.2, 0.4, 0.7, 1.0, 1.3, 1.6, 2.0])
def test_ctrl_c_before_the_run_ends_at_once_or_with_a_report(tmp_path: Path, after: float) -> None:
    """From the first imports through the trial of the cell to the run."""
    folder = tmp_path / "run"
    process = start("demo", "--cell", "laptop-8x2", "--seconds", "60", "--folder", folder)
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    _, err = end(process)
    if process.returncode != -signal.SIGINT:  # `env` had not held it back yet
        assert process.returncode == 130
        assert err.endswith("carillon: stopped\n")
        if folder.exists():
            assert_complete(folder)


@pytest.mark.parametrize("after", [0.0, 0.5, 2.0, 4.0])
def test_ctrl_c_at_any_moment_ends_with_a_report(tmp_path: Path, after: float) -> None:
    folder = tmp_path / "run"
    process = start("demo", "--cell", "laptop-8x2", "--seconds", "60", "--folder", folder)
    while not (folder / "plan.txt").is_file():
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    out, err = end(process)
    assert process.returncode == 130, err
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


def made_key(file: Path) -> bool:
    """Makes a key; whether this machine has what it takes to use one."""
    file.touch(mode=0o600)
    file.write_text(secrets.token_hex(16))
    return not core.key_problem(str(file))


def test_run_and_radio_are_two_processes_of_one_cell(tmp_path: Path) -> None:
    cell = tmp_path / "pair.yaml"
    port = 20000 + os.getpid() % 10000
    key = ", key_file: a.key" * made_key(tmp_path / "a.key")
    cell.write_text(
        f"users: 2\nschedule: PPUUUUUUGDDDDD\ndeadlines: {{downlink_lead_ms: 0.25}}\n"
        f"fronthaul: {{kind: udp, bbu_port: {port}, radio_port: {port + 20}{key}}}\n"
    )
    bbu = start("run", cell, "--folder", tmp_path / "bbu")
    time.sleep(3)
    radio = start("radio", cell, "--frames", "500", "--folder", tmp_path / "radio")
    _, radio_err = end(radio)
    bbu.send_signal(signal.SIGINT)
    _, bbu_err = end(bbu)
    assert (bbu.returncode, radio.returncode) == (130, 0), bbu_err + radio_err
    for side in ("bbu", "radio"):
        assert_complete(tmp_path / side)
    received = json.loads((tmp_path / "bbu" / "result.json").read_text(encoding="utf-8"))
    sent = json.loads((tmp_path / "radio" / "result.json").read_text(encoding="utf-8"))
    assert received["frames"]["seen"] > 0
    assert received["uplink"]["blocks"] > received["uplink"]["blocks_failed"]
    assert sent["frames"]["sent"] > 0
    assert sent["downlink"]["blocks"] > 0
    assert received["packets"]["rejected_unauthentic"] == 0
    assert sent["packets"]["rejected_unauthentic"] == 0


def test_sides_with_different_keys_hear_nothing_of_each_other(tmp_path: Path) -> None:
    port = 20000 + os.getpid() % 10000
    for name in "ab":
        (tmp_path / f"{name}.yaml").write_text(
            f"users: 2\nfronthaul: {{kind: udp, bbu_port: {port}, radio_port: {port + 20}, "
            f"key_file: {name}.key}}\n"
        )
        if not made_key(tmp_path / f"{name}.key"):
            pytest.skip("no libsodium; apt install libsodium23")
    bbu = start("run", tmp_path / "a.yaml", "--folder", tmp_path / "bbu")
    log = tmp_path / "bbu" / "carillond.log"
    while bbu.poll() is None and not (log.exists() and "waiting for the" in log.read_text()):
        time.sleep(0.05)
    radio = start("radio", tmp_path / "b.yaml", "--frames", "50", "--folder", tmp_path / "radio")
    end(radio)
    bbu.send_signal(signal.SIGINT)
    _, err = end(bbu)
    packets = json.loads((tmp_path / "bbu" / "result.json").read_text(encoding="utf-8"))["packets"]
    sent = json.loads((tmp_path / "radio" / "result.json").read_text(encoding="utf-8"))["packets"]
    assert packets["received"] == 0
    assert 0 < packets["rejected_unauthentic"] <= sent["sent"]
    assert "not made with this side's fronthaul.key_file" in " ".join(err.split())


def test_a_radio_that_nobody_answers_fails_with_its_report_written(tmp_path: Path) -> None:
    cell = tmp_path / "alone.yaml"
    port = 20000 + os.getpid() % 10000
    cell.write_text(
        "users: 2\nschedule: PPUUUUUUGDDDDD\ndeadlines: {downlink_lead_ms: 0.25}\n"
        f"fronthaul: {{kind: udp, bbu_port: {port}, radio_port: {port + 20}}}\n"
    )
    radio = start("radio", cell, "--seconds", "0.2", "--json", "--folder", tmp_path / "radio")
    out, err = end(radio)
    assert radio.returncode == 1
    assert re.search(r"carillon: nobody answered \d+ frames; is `carillon run` running", err), err
    frames = json.loads(out)["frames"]
    assert frames["sent"] + frames["skipped"] == 200
    assert_complete(tmp_path / "radio")


@pytest.mark.parametrize(
    ("limits", "frames"),
    [
        (("--frames", "1000000", "--seconds", "0.4"), 400),
        (("--frames", "300", "--seconds", "99"), 300),
    ],
)
def test_a_run_ends_with_whichever_limit_comes_first(
    tmp_path: Path, limits: tuple[str, ...], frames: int
) -> None:
    words = ["--cell", "laptop-8x2", *limits, "--json", "--folder", str(tmp_path / "run")]
    out, err = end(start("demo", *words))
    told = json.loads(out)["frames"]
    assert told["sent"] + told["skipped"] == frames, err


@pytest.mark.skipif(bool(core.cuda_machine()["devices"]), reason="there is a GPU")
def test_gpus_that_are_not_there_are_told(tmp_path: Path) -> None:
    process = start(
        *("run", "laptop-8x2", "--gpus", "1", "--frames", "5", "--no-live"),
        *("--folder", str(tmp_path / "run")),
    )
    _, err = end(process)
    assert process.returncode == 77
    assert "runtime.gpus is 1, but no GPU" in err
    assert not (tmp_path / "run").exists()
