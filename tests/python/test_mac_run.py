"""A scheduler and a running cell whose users are near and far."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import daemon_needed
import pytest
from carillon.config import Cell, load_cell
from carillon.mac.build import Settings, scheduler_of
from carillon.mac.scheduler import Scheduler
from carillon.mac.serve import serve
from carillon.port import Client
from carillon.runfolder import describe
from carillon.telemetry import Telemetry, TelemetryError
from hang import HANG_S, wait_until

# Frames of 14 ms, with a budget of many of them, and room for fast rows.
CELL = """
antennas: 4
users: 2
numerology: {fft_size: 128, subcarriers: 72, spacing_khz: 1, prefix: constant, prefix_samples: 16}
schedule: PPUUUUGGGGGDDD
uplink: {modulation: 64qam, rate: 0.85}
downlink: {modulation: 64qam, rate: 0.85}
deadlines: {uplink_budget_ms: 400, downlink_lead_ms: 0}
ring: 60
radio: {snr_db: [30, 5], frames: 80}
grants: {kind: port, harq_processes: 6}
data: {socket: cell.sock, users_socket: users.sock}
"""

pytestmark = daemon_needed.RUNS


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    (tmp_path / "cell.yaml").write_text(CELL)
    return load_cell(tmp_path / "cell.yaml").cell


def started(folder: Path, words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["env", "--default-signal=INT", sys.executable, "-m", "carillon", *words.split()],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def demo(cell: Cell, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    process = started(tmp_path, "demo --cell cell.yaml --seconds 3600 --no-live --folder run")
    yield process
    process.kill()
    process.wait()


def well_served(scheduler: Scheduler) -> bool:
    """Everybody has something, and the near user other rates than the far one."""
    rows = {(flow.direction, flow.user): flow.link.row.efficiency for flow in scheduler.flows}
    apart = (rows[way, 0] > 1.5 * rows[way, 1] for way in ("uplink", "downlink"))
    return all(apart) and all(flow.queue.delivered > 300 for flow in scheduler.flows)


@pytest.mark.parametrize("policy", ["round-robin", "proportional-fair"])
def test_near_and_far_users_get_their_own_rates_and_their_bytes(
    demo: subprocess.Popen[str], cell: Cell, tmp_path: Path, policy: str
) -> None:
    scheduler = scheduler_of(cell, Settings(policy, harq=6), describe(cell)["frame_ms"] / 1e3)
    with (
        Client(tmp_path / "cell.sock", timeout=HANG_S) as port,
        Client(tmp_path / "users.sock", timeout=HANG_S) as users,
    ):
        serve((port, users), scheduler, lambda: well_served(scheduler))
    assert well_served(scheduler), "the cell ended first"
    for flow in scheduler.flows:
        queue = flow.queue
        together = queue.delivered + queue.waiting + queue.under_way + queue.dropped
        assert queue.arrived == together
        assert flow.blocks.good > 0
        assert flow.link.snr_db is not None


def used(folder: Path) -> int:
    """Blocks of the scheduler that have gone on air so far, of both directions."""
    try:
        record = Telemetry(folder / "telemetry.bin").read("ports")
    except (OSError, ValueError, TelemetryError):
        return 0
    return int(record["used"].sum())


def test_the_command_ends_with_its_summary_when_it_is_stopped(cell: Cell, tmp_path: Path) -> None:
    process = started(tmp_path, "mac cell.yaml --seconds 3600 --load 0.002 --folder run --json")
    try:
        wait_until(lambda: process.poll() is not None or used(tmp_path / "run") > 30)
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=HANG_S)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, said
    results = json.loads(out)
    assert results == json.loads((tmp_path / "run/mac.json").read_text())
    assert results["loads_mbps"] == [0.002]
    assert {(flow["user"], flow["direction"]) for flow in results["flows"]} == {
        (user, way) for user in (0, 1) for way in ("uplink", "downlink")
    }
    for flow in results["flows"]:
        arrived = flow["bytes"].pop("arrived")
        assert arrived == sum(flow["bytes"].values())
    assert "Mbit/s" in said
    assert (tmp_path / "run/mac.svg").is_file()
    assert (tmp_path / "run/report.html").is_file()


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ("--load 1 --load 2 --load 3", "3 loads, but cell has 2 users"),
        ("--policy fair", "'fair' is not one of"),
        ("--target-bler 0", "'--target-bler': Input should be greater"),
    ],
)
def test_what_cannot_be_is_said_before_anything_runs(
    cell: Cell, tmp_path: Path, words: str, what: str
) -> None:
    process = started(tmp_path, f"mac cell.yaml {words}")
    _, said = process.communicate(timeout=HANG_S)
    assert process.returncode == 2
    assert what in said
    assert not (tmp_path / "runs").exists()
