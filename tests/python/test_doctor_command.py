"""`carillon doctor` as a command: measuring, mending, telling."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from carillon import doctor
from carillon.commands import doctor as command
from carillon.commands.doctor import Choice
from carillon.daemon import RunError
from carillon.doctor import Finding, Machine, examination, stalls
from carillon.doctor.ethtool import Settings
from carillon.doctor.finding import Ethtool
from carillon.doctor.stalls import CpuStalls
from doctor_machine import CPU, cpus, machine
from hang import HANG_S

GOVERNOR = f"{CPU}/cpu0/cpufreq/scaling_governor"
SCHEMA = Path(examination.__file__).parents[1] / "schemas" / "doctor.schema.json"
PROGRAM = [sys.executable, "-m", "carillon"]


def measured(wakeup_us: float = 20.0, stall_ns: tuple[tuple[int, bool], ...] = ()) -> CpuStalls:
    gaps = [12_000, *(length for length, _ in stall_ns)]
    return CpuStalls(3, True, 2.0, [int(wakeup_us * 1e3)] * 100, gaps, list(stall_ns))


def test_a_cpu_is_measured_napping_and_spinning() -> None:
    cpu = min(os.sched_getaffinity(0))
    passed: list[float] = []
    (one,) = stalls.measure([cpu], 0.3, lambda t: passed.append(t) or True)  # type: ignore[func-returns-value]
    assert one.cpu == cpu
    assert one.seconds >= 0.3
    assert len(one.wakeups_ns) >= 2
    assert all(late > 0 for late in one.wakeups_ns)
    assert all(gap >= 10_000 for gap in one.gaps_ns)
    assert [length for length, _ in one.stalls] == [g for g in one.gaps_ns if g >= 200_000]
    assert passed == sorted(passed)
    assert passed


def test_a_cpu_that_is_not_there_is_left_out() -> None:
    assert stalls.measure([8191], 0.1) == []


def test_measuring_ends_when_it_is_told_to() -> None:
    start = time.monotonic()
    assert stalls.measure(os.sched_getaffinity(0), 600, lambda _: False) == []
    assert time.monotonic() - start < 60


@pytest.mark.parametrize(("late", "level"), [(20.0, "pass"), (150.0, "warn"), (2000.0, "fail")])
def test_late_wakeups_are_judged_by_their_tail(late: float, level: str) -> None:
    assert stalls.wakeups([measured(), measured(late)]).level == level


@pytest.mark.parametrize(
    ("stall", "level"),
    [((), "pass"), (((300_000, True),), "warn"), (((30_000_000, True),), "fail")],
)
def test_stalls_are_judged_by_the_time_they_take(
    stall: tuple[tuple[int, bool], ...], level: str
) -> None:
    assert stalls.stalls([measured(), measured(stall_ns=stall)]).level == level


def test_stalls_say_who_had_the_core_and_how_many_frames_they_meet() -> None:
    one = measured(stall_ns=((1_000_000, True), (3_000_000, False)))
    found = stalls.stalls([one])
    assert "2 of 200 µs or more, 0.20 % of CPU 3's time" in found.fact
    assert "others had the core for 25 % of it" in found.fact
    assert "0.3 % meet one" in found.cost  # (1 + 1 + 3 + 1 ms) of 2 s
    assert found.level == "warn"


def test_nothing_measured_is_not_a_pass() -> None:
    assert {finding.level for finding in doctor.judge([])} == {"skip"}


def test_isolated_cpus_are_measured_too(tmp_path: Path) -> None:
    made = machine(tmp_path, cpus(2) | {f"{CPU}/isolated": "6-7"})
    assert doctor.to_measure(made) == {0, 1, 6, 7}


def test_nothing_is_measured_while_a_cell_runs(tmp_path: Path) -> None:
    made = machine(tmp_path, cpus(2) | {"proc/7/comm": "sh\n", "proc/8/comm": "carillond\n"})
    assert doctor.to_measure(made) == frozenset()


def test_what_is_mended_passes_and_can_be_put_back(tmp_path: Path) -> None:
    made = machine(tmp_path, cpus(4) | {GOVERNOR: "powersave\n"})
    (done,) = doctor.fix(made, doctor.examine(made, []))
    assert done.error == ""
    assert (tmp_path / GOVERNOR).read_text() == "performance"
    assert done.change.undo == f"echo powersave > /{GOVERNOR}"
    assert {f.topic: f.level for f in doctor.examine(made, [])}["clock governor"] == "pass"
    assert doctor.fix(made, doctor.examine(made, [])) == []


def test_what_cannot_be_changed_says_why_and_the_rest_goes_on(tmp_path: Path) -> None:
    made = machine(tmp_path, {GOVERNOR: "powersave"})
    finding = doctor.processor.governor(made)
    (tmp_path / GOVERNOR).unlink()
    (tmp_path / GOVERNOR).mkdir()
    other = Finding("x", "warn", "x", changes=(doctor.finding.Write("y", "1", "0"),))
    first, second = doctor.fix(made, [finding, other])
    assert (first.error, second.error) == ("Is a directory", "")
    assert (tmp_path / "y").read_text() == "1"


def test_ethtool_is_called_or_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    change = Ethtool(("-C", "eth0", "rx-usecs", "10"), ("-C", "eth0", "rx-usecs", "50"))
    with pytest.raises(OSError, match="apt install ethtool"):
        change.apply(Machine())
    program = tmp_path / "ethtool"
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/called\n')
    program.chmod(0o755)
    change.apply(Machine())
    assert (tmp_path / "called").read_text() == "-C eth0 rx-usecs 10\n"
    program.write_text("#!/bin/sh\necho netlink error: not supported >&2\nexit 95\n")
    with pytest.raises(OSError, match="netlink error: not supported"):
        change.apply(Machine())


@pytest.fixture
def slow_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine whose one fault is its governor, instead of this one."""
    made = machine(tmp_path, cpus(4) | {GOVERNOR: "powersave"}, Settings())
    monkeypatch.setattr(command, "Machine", lambda: made)
    return made


def test_fix_without_root_names_the_line_to_run(
    slow_clock: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(sys, "argv", ["carillon", "doctor", "--fix"])
    with pytest.raises(RunError, match=r"sudo .*python.* -m carillon doctor --fix"):
        command.doctor(Choice(0, fix=True), as_json=False)
    assert slow_clock.read(GOVERNOR) == "powersave"


def test_fix_without_yes_and_a_person_changes_nothing(
    slow_clock: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    with pytest.raises(RunError, match="add --yes"):
        command.doctor(Choice(0, fix=True), as_json=False)
    assert slow_clock.read(GOVERNOR) == "powersave"
    assert f"echo performance > /{GOVERNOR}" in capsys.readouterr().out


def test_fix_with_yes_tells_what_it_changed_and_json_stands_alone(
    slow_clock: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert command.doctor(Choice(0, fix=True, yes=True), as_json=True)
    told = capsys.readouterr()
    result = examination.Examination.model_validate_json(told.out)
    (change,) = result.changes
    assert (change.undo, change.error) == (f"echo powersave > /{GOVERNOR}", "")
    assert change.undo in told.err
    assert slow_clock.read(GOVERNOR) == "performance"
    levels = {finding.topic: finding.level for finding in result.findings}
    assert levels["clock governor"] == "pass"
    assert (result.stalls, levels["stalls"]) == ([], "skip")


def test_the_verdict_is_the_worst_level_and_the_exit_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "Machine", lambda: machine(tmp_path, cpus(1)))
    assert not command.doctor(Choice(0), as_json=True)
    assert json.loads(capsys.readouterr().out)["verdict"] == "fail"
    monkeypatch.setattr(command, "Machine", lambda: machine(tmp_path, cpus(2)))
    assert command.doctor(Choice(0), as_json=False)
    assert "with reservations: 0 fail, 1 warn" in capsys.readouterr().out


def test_the_schema_is_current() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == examination.schema()


def test_an_interface_that_is_not_here_is_wrong_usage() -> None:
    done = subprocess.run(
        [*PROGRAM, "doctor", "--seconds", "0", "--interface", "nic7"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "nic7 is not here; there are:" in " ".join(done.stderr.replace("│", "").split())


def test_ctrl_c_ends_the_measurement_and_what_it_started() -> None:
    if not doctor.to_measure(Machine()):
        pytest.skip("a cell is running on this machine")
    process = subprocess.Popen(
        [*PROGRAM, "doctor", "--seconds", "600"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while process.poll() is None and not (started := children.read_text().split()):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=HANG_S)
    assert (process.returncode, out, err) == (130, "", "carillon: stopped\n")
    assert [pid for pid in started if Path(f"/proc/{pid}").exists()] == []
