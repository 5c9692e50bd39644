"""A program of its own owns the bits of a running cell."""

import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import daemon_needed
import pytest
from carillon.port import (
    Allocation,
    Block,
    Client,
    Frame,
    PortError,
    Refused,
    TransportBlock,
    Work,
)
from carillon.result import DataPort, Result
from carillon.telemetry import Telemetry, TelemetryError
from hang import HANG_S, wait_until

# Frames of 14 ms, with a budget of many of them.
CELL = """
antennas: 4
users: 2
numerology: {fft_size: 128, subcarriers: 72, spacing_khz: 1, prefix: constant, prefix_samples: 16}
schedule: PPUUUUGGGGGDDD
deadlines: {uplink_budget_ms: 400, downlink_lead_ms: 0}
ring: 60
radio: {snr_db: 30, frames: 80}
data: {socket: cell.sockDATA}
"""


pytestmark = daemon_needed.RUNS


def used(folder: Path) -> int:
    """Downlink blocks of a client that have gone on air so far."""
    try:
        record = Telemetry(folder / "telemetry.bin").read("ports")
    except (OSError, ValueError, TelemetryError):
        return 0
    return int(record["used"][0]) if len(record) else 0


class Owner:
    """Gives every block of every frame, as soon as it may, and counts what comes."""

    def __init__(self, port: Client) -> None:
        self.port = port
        self.seen: Counter[str] = Counter()
        self.sent = 0
        self.given = 0

    def handle(self, event: Frame | Block | Refused | Work) -> None:
        match event:
            case Frame(number=number):
                ahead = number + self.port.carrier.ahead
                for frame in range(max(self.given, number) + 1, ahead + 1):
                    for block in self.port.carrier.given():
                        self.port.send(frame, block, bytes([frame % 256]) * block.bytes)
                        self.sent += 1
                self.given = max(self.given, ahead)
            case Block(verdict=verdict, bits=bits, block=block):
                assert len(bits) == (0 if verdict == "late" else block.bytes)
                self.seen[verdict] += 1
            case Refused(reason=reason):
                self.seen[f"refused {reason}"] += 1

    def give_until(self, folder: Path, wanted: int) -> None:
        """Until so many are used. To look whether they are takes longer than to handle a frame."""
        frames = 0
        while frames % 20 or self.seen["good"] < 20 or used(folder) < wanted:
            event = self.port.receive(timeout=HANG_S)
            assert event is not None
            self.handle(event)
            frames += isinstance(event, Frame)

    def go_on(self) -> None:
        for event in self.port:
            self.handle(event)


@pytest.fixture
def run(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    change = getattr(request, "param", "")
    text = CELL.replace("DATA", change)
    if change in (WEAK, UPLINK_ALONE):
        text = text.replace("snr_db: 30", "snr_db: 4")
    if change == UPLINK_ALONE:
        text = text.replace("DDD", "GGG")
    (tmp_path / "cell.yaml").write_text(text)
    words = "demo --cell cell.yaml --seconds 3600 --no-live --folder run".split()
    process = subprocess.Popen(
        ["env", "--default-signal=INT", sys.executable, "-m", "carillon", *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    yield process
    process.kill()
    process.wait()


def stop(process: subprocess.Popen[str], folder: Path) -> Result:
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=HANG_S)
    assert process.returncode == 130, out
    return Result.model_validate_json((folder / "result.json").read_text())


def add_up(port: DataPort) -> None:
    up, down = port.received, port.given
    assert up.good + up.failed + up.late == up.sent + up.dropped + up.unheard
    assert down.accepted == down.used + down.unused


@pytest.mark.parametrize("clients", [1, 3])
def test_a_client_has_the_uplinks_blocks_and_gives_the_downlinks(
    run: subprocess.Popen[str], tmp_path: Path, clients: int
) -> None:
    owners: list[Owner] = []
    wanted = 0
    for _ in range(clients):  # the last one stays
        owners.append(Owner(Client(tmp_path / "cell.sock", timeout=HANG_S)))
        owner = owners[-1]
        wanted = used(tmp_path / "run") + 20
        owner.give_until(tmp_path / "run", wanted)
        if len(owners) < clients:
            owner.port.close()
    carrier = owners[0].port.carrier
    rest = threading.Thread(target=owner.go_on)
    rest.start()
    result = stop(run, tmp_path / "run")
    rest.join()
    owner.port.close()
    port = result.data_port
    assert port is not None
    add_up(port)
    assert port.clients == clients
    blocks = result.uplink.blocks
    assert (len(carrier.received()), len(carrier.given())) == (2, 2)
    assert port.received.good == blocks - result.uplink.blocks_failed
    assert port.given.used >= wanted
    assert port.given.padded > 0  # before the first client came
    seen = sum((owner.seen for owner in owners), Counter())
    assert port.received.sent >= seen["good"] + seen["failed"] + seen["late"] > 0
    assert seen["good"] >= 20 * clients
    refused = sum(count for name, count in seen.items() if name.startswith("refused"))
    assert sum(port.refused.values()) >= refused
    assert port.given.accepted <= sum(owner.sent for owner in owners)
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Data port" in page


def pattern(frame: int, block: TransportBlock) -> bytes:
    """What an end gives for a block, without the spare bits of its last byte."""
    spare = 8 * block.bytes - block.bits
    filled = bytes((7 * frame + 3 * block.index + place) % 256 for place in range(block.bytes))
    return filled[:-1] + bytes([filled[-1] >> spare << spare])


class End(threading.Thread):
    """Owner of one end's bits, who knows what the other end gives."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.port = Client(path, timeout=HANG_S)
        self.given = 0
        self.right, self.padding, self.wrong = 0, 0, 0
        self.start()

    def run(self) -> None:
        for event in self.port:
            match event:
                case Frame(number=number):
                    ahead = number + self.port.carrier.ahead
                    for frame in range(max(self.given, number) + 1, ahead + 1):
                        for block in self.port.carrier.given():
                            self.port.send(frame, block, pattern(frame, block))
                    self.given = max(self.given, ahead)
                case Block(frame=frame, block=block, verdict="good", bits=bits):
                    self.right += bits == pattern(frame, block)
                    self.padding += not any(bits)
                    self.wrong += any(bits) and bits != pattern(frame, block)


@pytest.mark.parametrize("run", [", users_socket: users.sock"], indirect=True)
def test_what_one_end_gives_the_other_gets(run: subprocess.Popen[str], tmp_path: Path) -> None:
    cell, users = End(tmp_path / "cell.sock"), End(tmp_path / "users.sock")
    assert users.port.carrier.given() == cell.port.carrier.received()
    wait_until(lambda: min(cell.right, users.right) >= 20)
    result = stop(run, tmp_path / "run")
    for end, port in ((cell, result.data_port), (users, result.users_port)):
        end.join()
        assert end.wrong == 0
        assert port is not None
        add_up(port)
        assert port.received.good >= end.right + end.padding
        assert port.given.used >= 20
    assert result.uplink.raw_ber is None  # nobody here knows what was sent
    assert "Data port of the users" in (tmp_path / "run" / "report.html").read_text()


def test_a_second_client_is_refused(run: subprocess.Popen[str], tmp_path: Path) -> None:
    first = Client(tmp_path / "cell.sock", timeout=HANG_S)
    with pytest.raises(PortError, match="serves another client"):
        Client(tmp_path / "cell.sock", timeout=0)
    first.close()
    wait_until(lambda: (tmp_path / "run" / "telemetry.bin").is_file())
    port = stop(run, tmp_path / "run").data_port
    assert port is not None
    assert port.refused["busy"] > 0


def test_a_name_that_is_taken_by_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "cell.yaml").write_text(CELL.replace("DATA", ""))
    (tmp_path / "cell.sock").write_text("mine")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "carillon",
            "demo",
            "--cell",
            "cell.yaml",
            "--frames",
            "1",
            "--no-live",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode not in (0, 3)
    assert "is no socket, and is left as it is" in done.stdout + done.stderr
    assert (tmp_path / "cell.sock").read_text() == "mine"


def schedule(frame: int) -> list[Allocation]:
    """Each frame another: who sends, and how."""
    first, second = frame % 2, 1 - frame % 2
    return [
        Allocation(user=first, blocks=1 + frame % 3, modulation="64qam", rate=0.4),
        Allocation(user=second, first_block=3, blocks=3, modulation="qpsk"),
        Allocation(user=first, first_block=frame % 4, blocks=2, direction="downlink"),
    ]


class Scheduler:
    """Schedules each frame, fills what it gives with the frame's number, and checks what comes."""

    def __init__(self, port: Client) -> None:
        self.port = port
        self.until = 0
        self.seen: Counter[str] = Counter()

    def handle(self, event: Frame | Block | Refused | Work) -> None:
        match event:
            case Frame(number=number):
                # At the users' a frame begins two frames before it is on air.
                for frame in range(max(self.until, number + 2) + 1, number + 9):
                    self.port.schedule(frame, schedule(frame))
                    self.until = frame
            case Work(frame=frame, received=received, given=given):
                self.seen["scheduled"] += 1
                blocks = {"uplink": 2, "downlink": 1}
                assert len(given) == blocks.pop(self.port.carrier.gives)
                assert len(received) == blocks.popitem()[1]
                for block in given:
                    self.port.send(frame, block, bytes([frame % 255 + 1]) * block.bytes)
            case Block(frame=frame, verdict=verdict, bits=bits):
                self.seen[verdict] += 1
                known = verdict == "good" and any(bits)  # else nobody gave any in time
                self.seen["carried"] += known
                assert not known or set(bits[:-1]) == {frame % 255 + 1}
            case Refused(reason=reason):
                self.seen[f"refused {reason}"] += 1


@pytest.mark.parametrize("run", [", users_socket: users.sock}\ngrants: {kind: port"], indirect=True)
def test_programs_schedule_each_frame(run: subprocess.Popen[str], tmp_path: Path) -> None:
    ends = {}
    for name in ("cell.sock", "users.sock"):
        ends[name] = Scheduler(Client(tmp_path / name, timeout=HANG_S))
        assert ends[name].port.carrier.scheduled
        assert ends[name].port.carrier.received() == ()

    def serve(end: Scheduler, done: threading.Event) -> None:
        for event in end.port:
            end.handle(event)
            if end.seen["carried"] > 40:
                done.set()
        done.set()  # the cell has ended

    done = [threading.Event() for _ in ends]
    threads = [
        threading.Thread(target=serve, args=each) for each in zip(ends.values(), done, strict=True)
    ]
    for thread in threads:
        thread.start()
    assert all(event.wait(HANG_S) for event in done)
    result = stop(run, tmp_path / "run")
    for thread in threads:
        thread.join()
    for end in ends.values():
        end.port.close()
    assert result.data_port is not None
    assert result.users_port is not None
    for port in (result.data_port, result.users_port):
        add_up(port)
        assert port.given.used > 0
    up, down = result.data_port.received, result.users_port.received
    assert up.good == result.uplink.blocks - result.uplink.blocks_failed
    assert down.good > 40
    assert {user.uplink.blocks > 0 for user in result.users} == {True}


# A first attempt is too weak; two together are not.
WEAK = """, users_socket: users.sock}
uplink: {modulation: 16qam, rate: 0.8}
grants: {kind: port, harq_processes: 8"""


UPLINK_ALONE = WEAK.replace("uplink:", "name: uplink-alone\nuplink:")


class Retransmissions:
    """A MAC of the uplink alone: user 0 in eight processes, each block until it is received."""

    VERSIONS = (0, 2, 3, 1)

    def __init__(self, cell: Client, users: Client) -> None:
        self.cell, self.users = cell, users
        self.attempt = dict.fromkeys(range(8), 0)  # of the block that a process has next
        self.free = list(range(8))
        self.received = 0
        self.until = 0
        self.of_frame: dict[int, int] = {}  # the process

    def handle(self, event: Frame | Block | Refused | Work) -> None:
        match event:
            case Frame(number=number):
                for frame in range(max(self.until, number + 2) + 1, number + 9):
                    self.schedule(frame)
            case Refused(frame=frame):  # too late, as on a busy machine
                if frame in self.of_frame:
                    self.free.append(self.of_frame.pop(frame))
            case Block(frame=frame, block=block, verdict=verdict, bits=bits):
                process = self.of_frame.pop(frame)
                assert block.harq_process == process
                self.free.append(process)
                if verdict == "good":
                    assert set(bits[:-1]) <= {0, process + 1}
                    self.received += 1
                    self.attempt[process] = 0
                else:
                    self.attempt[process] += 1

    def go_on(self) -> None:
        for event in self.cell:
            self.handle(event)

    def schedule(self, frame: int) -> None:
        self.until = frame
        if not self.free:
            return
        process = self.of_frame[frame] = self.free.pop(0)
        work = [
            Allocation(
                user=0,
                blocks=6,
                harq_process=process,
                redundancy_version=self.VERSIONS[self.attempt[process] % 4],
                again=self.attempt[process] > 0,
            )
        ]
        self.cell.schedule(frame, work)
        self.users.schedule(frame, work)


@pytest.mark.parametrize("run", [WEAK, UPLINK_ALONE], indirect=True)
def test_what_failed_is_sent_again(run: subprocess.Popen[str], tmp_path: Path) -> None:
    text = (tmp_path / "cell.yaml").read_text()
    assert "harq_processes: 8" in text
    cell = Client(tmp_path / "cell.sock", timeout=HANG_S)
    users = Client(tmp_path / "users.sock", timeout=HANG_S)
    mac = Retransmissions(cell, users)

    def send() -> None:
        """Always the same bits in a process, so that what is sent again is what was."""
        for event in users:
            if isinstance(event, Work):
                for block in event.given:
                    users.send(event.frame, block, bytes([block.harq_process + 1]) * block.bytes)

    sender = threading.Thread(target=send)
    sender.start()
    wanted = 150 if "uplink-alone" in text else 30  # more than the ports have places for
    while mac.received < wanted:
        event = cell.receive(timeout=HANG_S)
        assert event is not None
        mac.handle(event)
    rest = threading.Thread(target=mac.go_on)
    rest.start()
    result = stop(run, tmp_path / "run")
    rest.join()
    sender.join()
    assert result.data_port is not None
    harq = result.data_port.harq
    assert harq is not None
    first, *later = harq.attempts
    assert first.good < first.blocks
    assert sum(attempt.good for attempt in later) > 0
    assert sum(a.good for a in harq.attempts) == result.data_port.received.good
    assert sum(a.blocks for a in harq.attempts) == sum(
        (result.data_port.received.good, result.data_port.received.failed,
         result.data_port.received.late)
    )  # fmt: skip
    assert harq.again_ms is not None
    assert 14 <= harq.again_ms <= harq.again_max_ms
    report = (tmp_path / "run" / "report.html").read_text()
    assert "Retransmissions" in report
