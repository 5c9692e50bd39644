"""`carillon net rtt`, at rates that any machine keeps."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from carillon import core
from carillon.cli import app
from carillon.errors import InputError
from carillon.net import coalescing, links, measure
from carillon.net.coalescing import Coalescing, CoalescingError
from carillon.net.links import Here, LinkError
from carillon.net.measure import Measure, Trips
from carillon.net.point import PUBLISHED, WAYS, Point
from hang import HANG_S
from typer.testing import CliRunner

ROOT = Path(__file__).parents[2]
RUNNER = CliRunner()
SLOW = ["--msps", "0.0368", "--seconds", "0.2"]  # 100 exchanges a second
SOCKET = next(way for way in WAYS if way.name == "socket")


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that stands still for seconds loses nothing."""
    monkeypatch.setattr(measure, "_PATIENCE_S", 120.0)


def rtt(folder: Path, *words: str) -> dict[str, Any]:
    done = RUNNER.invoke(app, ["net", "rtt", *SLOW, "--folder", str(folder), *words])
    assert done.exit_code in (0, 3), done.output  # 3: the machine stood still again and again
    told: dict[str, Any] = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    return told


def trips(**other: Any) -> Trips:
    known: dict[str, Any] = {
        "asked_per_s": 100.0, "seconds": 1.0, "sent": 100, "returned": 100, "damaged": 0,
        "behind_us": 1.0, "most_behind_us": 1.0, "mean_us": 50.0, "std_us": 5.0, "p50_us": 50.0,
        "p99_us": 60.0, "p999_us": 60.0, "most_us": 60.0, "last_us": 50.0, "echo_cores": 1.0,
        "echo_bursts": 100, "echo_packets": 300,
    }  # fmt: skip
    return Trips(**{**known, **other})


def test_an_exchange_is_three_packets_at_the_small_mtu_and_one_at_the_large() -> None:
    small, large = Point(50, 368, 604), Point(50, 368, 8028)
    assert small.per_s == pytest.approx(135_870, abs=1)
    assert (small.packets, small.packet_samples, small.packet_bytes) == (3, 128, 576)
    assert small.wire_bytes == 1472 + 3 * 92
    assert (large.packets, large.packet_samples, large.packet_bytes) == (1, 1984, 1536)
    assert large.wire_bytes == 1472 + 92
    assert [row.mtu for row in PUBLISHED] == 3 * [604] + 3 * [8028]


def test_a_point_that_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="96 is the least"):
        Point(50, 368, 95)
    with pytest.raises(InputError, match="92 packets"):
        Point(50, 368, 108)


def test_every_exchange_is_counted_at_both_mtus(tmp_path: Path) -> None:
    told = rtt(tmp_path, "--way", "socket", "--way", "kernel", "--over", "loopback")
    assert told["link"] == "loopback"
    assert [(row["way"], row["mtu"]) for row in told["rows"]] == [
        ("kernel", 604), ("socket", 604), ("kernel", 8028), ("socket", 8028),
    ]  # fmt: skip
    for row, packets in zip(told["rows"], (3, 3, 1, 1), strict=True):
        asked = row["asked"]
        assert (asked["sent"], asked["returned"], asked["lost"], asked["damaged"]) == (20, 20, 0, 0)
        assert asked["echo_packets"] == packets * 120  # of the warm-up, too
        assert 0 < asked["p50_us"] <= asked["p99_us"] <= asked["most_us"]
    assert not told["stopped"]
    assert (tmp_path / "rtt.csv").read_text(encoding="utf-8").startswith("way,mtu,usecs,")
    assert "604" in (tmp_path / "result.json").read_text(encoding="utf-8")
    assert (tmp_path / "rtt.svg").stat().st_size > 1000


def test_the_table_has_the_papers_figures_beside_ours(tmp_path: Path) -> None:
    words = ["--way", "socket", "--over", "loopback", "--folder", str(tmp_path)]
    done = RUNNER.invoke(app, ["net", "rtt", *SLOW, *words], env={"COLUMNS": "200"})
    for figures in ("171.8", "90.8", "59.8", "14.7", "119.4", "8.6", "Intel 40G kernel"):
        assert figures in done.stdout


def test_coalescing_is_emulated_where_there_is_no_card_and_says_so(tmp_path: Path) -> None:
    told = rtt(tmp_path, "--way", "socket", "--mtu", "604", "--over", "loopback",
               "--coalesce", "2000,4000")  # fmt: skip
    if told["rows"][0]["highest"] is None:
        pytest.skip("this machine stood still at every rate")
    assert [each["usecs"] for each in told["coalesced"]] == [2000, 4000]
    for each in told["coalesced"]:
        assert each["emulated"]
        assert each["trips"]["p50_us"] >= each["usecs"]  # held that long
    assert "no interface" in told["coalescing"]["emulated"]


def test_a_cable_needs_privileges_or_is_measured_over(tmp_path: Path) -> None:
    try:
        core.VirtualCable(1500)
    except RuntimeError as error:
        assert "root" in str(error)
        with pytest.raises(LinkError):
            Here("cable").open(SOCKET, Point(0.1, 368, 604), 0)
        return
    told = rtt(tmp_path, "--way", "socket", "--mtu", "604", "--over", "cable")
    assert told["link"] == "cable"
    assert told["rows"][0]["asked"]["lost"] == 0
    assert told["rows"][0]["asked"]["notes"] == []  # the packets fit its MTU


def test_a_rate_is_sustained_when_nothing_is_lost_and_no_queue_grows() -> None:
    assert trips().sustained
    assert not trips(returned=99).sustained
    assert not trips(damaged=1).sustained
    assert not trips(behind_us=10_001.0).sustained
    assert not trips(last_us=10_000.0).sustained
    assert not trips(sent=0, returned=0).sustained


def test_the_highest_rate_is_found_by_halving(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def at(_: Measure, _way: object, _point: object, per_s: float, _held: float = 0.0) -> Trips:
        asked.append(per_s)
        return trips(asked_per_s=per_s, returned=100 if per_s <= 300 else 0)

    monkeypatch.setattr(Measure, "at", at)
    own = Measure(Here("loopback"), 1.0, lambda: False, lambda _: None)
    at_first, highest = own.highest(SOCKET, Point(0.368, 368, 604))
    assert (at_first.asked_per_s, at_first.sustained) == (1000, False)
    assert highest is not None
    assert 300 - 1000 / 128 <= highest.asked_per_s <= 300
    assert asked[:4] == [1000, 1000, 500, 500]  # each once more before it counts as too high
    asked.clear()
    _, highest = own.highest(SOCKET, Point(0.1, 368, 604))
    assert highest is not None
    assert len(asked) == 1


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_another_host_sends_back_until_it_is_stopped(tmp_path: Path) -> None:
    place = f"127.0.0.1:{free_port()}"
    with subprocess.Popen(
        [sys.executable, "-m", "carillon", "net", "rtt", "--listen", place],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as listener:  # fmt: skip
        assert listener.stdout is not None
        assert place in listener.stdout.readline()
        told = rtt(tmp_path, place, "--way", "kernel", "--mtu", "604")
        listener.send_signal(signal.SIGINT)
        said, _ = listener.communicate(timeout=HANG_S)
    assert listener.returncode == 130
    assert told["link"] == place
    assert told["rows"][0]["asked"]["returned"] == 20
    assert said.startswith("127.0.0.1: kernel: 360 packets\n")


def test_who_connects_and_says_nonsense_is_told_so() -> None:
    for line, why in ((b"{}\n", "name"), (b'{"name": 1', None)):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.sendall(line)
            ours.shutdown(socket.SHUT_WR)
            said = links.serve(theirs)
            assert said == "said nothing that is understood" if why is None else why in said


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("packet_bytes", "2147483648"), ("packet_bytes", "1e999"), ("packet_bytes", "true"),
        ("packet_bytes", '"x"'), ("port", "-1"), ("held_us", "Infinity"), ("held_us", "-1e30"),
        ("held_us", "NaN"), ("name", "[" * 3000),
    ],
)  # fmt: skip
def test_nobody_who_connects_ends_the_listener(key: str, value: str) -> None:
    asked = {"name": '"kernel"', "io": '"socket"', "sleeping": "true", "words": '""',
             "packet_bytes": "600", "port": "9", "held_us": "0"} | {key: value}  # fmt: skip
    line = "{" + ", ".join(f'"{name}": {text}' for name, text in asked.items()) + "}\n"
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as ours,
        listener.accept()[0] as theirs,
    ):
        ours.sendall(line.encode())
        ours.shutdown(socket.SHUT_WR)
        said = links.serve(theirs)
    assert said.startswith(("asked for what cannot be: ", "said nothing that is understood"))


def test_where_nothing_listens_is_told() -> None:
    place = f"127.0.0.1:{free_port()}"
    done = RUNNER.invoke(app, ["net", "rtt", place, *SLOW, "--way", "socket", "--mtu", "604"])
    assert "nothing listens at" in str(done.exception)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["192.168.1.2"], "is not ADDRESS:PORT"),
        (["host:9100"], "is not ADDRESS:PORT"),
        (["127.0.0.1:9", "--over", "cable"], "for one machine"),
        (["127.0.0.1:9", "--listen", "127.0.0.1:9"], "the host that measures"),
        (["--coalesce", "1:2"], "neither start:step:stop"),
        (["--coalesce", "-1"], "is not within"),
        (["--mtu", "95"], "96"),
        (["--way", "pigeon"], "pigeon"),
        (["--listen", "192.0.2.77:9100"], "cannot listen at 192.0.2.77:9100"),
    ],
)
def test_an_error_names_the_option_and_the_value(words: list[str], why: str) -> None:
    done = RUNNER.invoke(app, ["net", "rtt", *words], env={"COLUMNS": "200"})
    assert done.exit_code in (1, 2)
    assert why in done.output or why in str(done.exception)


def test_ctrl_c_leaves_the_results_of_what_is_measured(tmp_path: Path) -> None:
    words = ["net", "rtt", "--msps", "0.0368", "--seconds", "3600", "--over", "loopback"]
    folder = tmp_path / "made-when-it-begins"
    with subprocess.Popen(
        [sys.executable, "-m", "carillon", *words, "--way", "socket", "--folder", str(folder)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        while not folder.exists() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=HANG_S)
    assert process.returncode == 130, errors
    assert errors.endswith("carillon: stopped\n")


def test_the_kernel_is_asked_for_coalescing() -> None:
    assert coalescing.read("lo") is None
    assert coalescing.read("no-such-one") is None
    with pytest.raises(CoalescingError, match="lo has no interrupt coalescing"):
        coalescing.kept("lo").__enter__()
    with pytest.raises(CoalescingError, match="lo: the driver does not take rx-usecs 10"):
        coalescing.write("lo", Coalescing(10, None))


def test_coalescing_is_put_back_when_the_measurement_ends_or_dies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    setting = {"eth7": Coalescing(300, False)}
    monkeypatch.setattr(coalescing, "read", setting.get)
    monkeypatch.setattr(coalescing, "write", setting.__setitem__)
    parent, ours = os.pipe()
    os.close(ours)  # as the kernel does when it dies
    coalescing.keep(["eth7", "30", "1"], parent)
    os.close(parent)
    assert setting["eth7"] == Coalescing(30, True)


def test_the_keeper_ends_with_the_measurement() -> None:
    names = [name for _, name in socket.if_nameindex() if coalescing.read(name)]
    if not names:
        pytest.skip("no interface of this machine has interrupt coalescing")
    before = coalescing.read(names[0])
    with coalescing.kept(names[0]) as kept:
        assert kept == before
    assert coalescing.read(names[0]) == before


@pytest.mark.parametrize("io", ["socket", "busy-poll", "io-uring"])
def test_a_cells_file_chooses_how_its_packets_are_received(io: str, tmp_path: Path) -> None:
    cell = tmp_path / "cell.yaml"
    text = (ROOT / "examples/cells/laptop-8x2.yaml").read_text(encoding="utf-8")
    cell.write_text(f"{text}fronthaul: {{kind: udp, io: {io}}}\n", encoding="utf-8")
    result: dict[str, Any] = {}
    for attempt in range(20):  # a machine that stands still for all 50 ms hears nothing
        folder = tmp_path / f"run-{attempt}"
        demo = ["demo", "--cell", str(cell), "--frames", "50", "--no-live", "--folder", str(folder)]
        done = subprocess.run(
            [sys.executable, "-m", "carillon", *demo],
            capture_output=True,
            text=True,
            check=False,
            timeout=HANG_S,
        )
        if "for fronthaul.io: busy-poll" in done.stderr or "io_uring: " in done.stderr:
            pytest.skip(done.stderr)
        assert done.returncode in (0, 3), done.stderr  # 3: no frame was in time
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        if result["packets"]["received"] > 0:
            break
    assert result["packets"]["received"] > 0
    assert result["transport"] == "udp"
    assert result["configuration"]["fronthaul"]["io"] == io
