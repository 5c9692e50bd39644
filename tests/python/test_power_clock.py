"""`carillon power clock` on trees of files: what it shows, sets, puts back and refuses."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from carillon import core
from carillon.cli import app
from carillon.command_line import carry_out
from carillon.errors import InputError, Status
from carillon.power.clock import Meter, Setting, joules, read_clocks
from hang import HANG_S
from sysfs_tree import KINDS, make_tree, snapshot

CLOCK = [sys.executable, "-m", "carillon", "power", "clock"]
POLICIES = "devices/system/cpu/cpufreq"
GOVERNED = [kind for kind in KINDS if kind != "none"]


@pytest.fixture(params=GOVERNED)
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Of each kind that has clocks."""
    return make_tree(request.param, tmp_path / "sys")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Of two domains of two cores with a table of clocks."""
    return make_tree("acpi-cpufreq", tmp_path / "sys")


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


Call = Callable[..., Done]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Call:
    """The command on a tree, in this process."""
    monkeypatch.setenv("COLUMNS", "100")

    def run(root: Path, *words: str | Path) -> Done:
        line = ["carillon", "power", "clock", "--sysfs", root, *words]
        monkeypatch.setattr(sys, "argv", [str(word) for word in line])
        capfd.readouterr()
        return Done(carry_out(app), *capfd.readouterr())

    return run


def shell(root: Path, script: str) -> list[str]:
    """A command that sees the tree as $ROOT, its policies as $P."""
    return ["--", "env", f"ROOT={root}", f"P={root / POLICIES}", "sh", "-c", script]


def line(root: Path, file: str) -> str:
    return (root / POLICIES / file).read_text().strip()


# --- Showing --------------------------------------------------------------------------------------


def test_every_driver_is_shown_with_what_it_offers(tree: Path, call: Call) -> None:
    done = call(tree)
    assert (done.returncode, done.stderr) == (0, "")
    driver = line(tree, "policy0/scaling_driver")
    assert done.stdout.startswith(f"driver: {driver}")
    governor = line(tree, "policy0/scaling_governor")
    governors = line(tree, "policy0/scaling_available_governors").replace(" ", ", ")
    words = (governor, f"governors to choose from: {governors}", "turbo: on", "POLL 0 µs", "MHz")
    for word in words:
        assert word in done.stdout
    assert not Path(f"{tree}.journal").exists()


def test_cores_that_share_a_clock_are_shown_so(table: Path, tmp_path: Path, call: Call) -> None:
    assert "0-1 together; 2-3 together" in call(table).stdout
    single = make_tree("amd-pstate", tmp_path / "other")
    assert "0-3, a clock each" in call(single).stdout


def test_a_clock_of_the_moment_that_cannot_be_read_is_not_known(table: Path, call: Call) -> None:
    (table / POLICIES / "policy2/scaling_cur_freq").write_text("<unknown>\n")
    assert "not known" in call(table).stdout


def test_json_has_all_of_it(table: Path, call: Call) -> None:
    done = call(table, "--json")
    about = json.loads(done.stdout)
    assert done.returncode == 0
    assert about["turbo"] is True and about["mode"] == ""
    assert about["journal"] == f"{table}.journal" and about["sysfs"] == str(table)
    assert [domain["cores"] for domain in about["domains"]] == [[0, 1], [2, 3]]
    assert about["domains"][0]["clocks_khz"][0] == 1_200_000
    assert about["domains"][0]["limits_khz"] == [1_200_000, 2_601_000]
    assert about["idle_states"][-1] == {"name": "C6", "latency_us": 82, "disabled": False}


def test_a_machine_without_clocks_says_so_and_runs_nothing(tmp_path: Path, call: Call) -> None:
    root = make_tree("none", tmp_path / "sys")
    done = call(root)
    assert done.returncode == 0
    assert done.stdout.startswith(f"this machine sets no clocks: {root}/devices/system/cpu/cpufreq")
    assert "the host sets them" in done.stdout and "idle states" in done.stdout
    assert json.loads(call(root, "--json").stdout)["domains"] == []
    done = call(root, "--set", "1500", "--", "touch", tmp_path / "ran")
    assert done.returncode == Status.NO_DEVICE
    assert done.stderr.startswith("carillon: this machine sets no clocks: ")
    assert not (tmp_path / "ran").exists()
    file = root / "devices/system/cpu/cpu1/power/pm_qos_resume_latency_us"
    done = call(root, "--wake-us", "30", "--", "cat", file)  # which needs no clock
    assert (done.returncode, done.stdout, file.read_text()) == (0, "30\n", "0\n")


def test_this_machine_is_shown_whatever_it_is() -> None:
    done = subprocess.run([*CLOCK, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert json.loads(done.stdout)["sysfs"] == "/sys"


def test_energy_is_counted_between_readings_of_one_zone(tmp_path: Path) -> None:
    root = make_tree("intel_pstate-active", tmp_path / "sys")
    before = read_clocks(root).energy
    counter = root / "class/powercap/intel-rapl:0/energy_uj"
    counter.write_text("1000000\n")  # it wrapped
    (root / "class/powercap/intel-rapl:0:0/energy_uj").write_text("much\n")
    found = joules(before, read_clocks(root).energy)
    assert found == {"package-0": pytest.approx(262143.328850 - 25034.567890 + 1)}


def test_a_meter_that_is_read_often_loses_no_turn_of_the_counter(tmp_path: Path) -> None:
    root = make_tree("intel_pstate-active", tmp_path / "sys")
    counter = root / "class/powercap/intel-rapl:0/energy_uj"
    counter.write_text("0\n")
    meter = Meter(root)
    for _ in range(3):  # three times round, in halves
        for value in ("131000000000", "0"):
            counter.write_text(value + "\n")
            found = meter.read()
    assert found["package-0"] == pytest.approx(3 * 262143.328850)


# --- Setting --------------------------------------------------------------------------------------


def test_a_command_runs_at_its_clock_and_all_is_as_it_was(tree: Path, call: Call) -> None:
    before = snapshot(tree)
    script = "cat $P/policy0/scaling_governor $P/policy0/scaling_m??_freq; exit 7"
    done = call(tree, "--set", "1600", *shell(tree, script))
    governor, most, least = done.stdout.split()
    if "userspace" in line(tree, "policy0/scaling_available_governors"):
        assert governor == "userspace"
    else:
        assert (most, least) == ("1600000", "1600000")
    assert done.returncode == 7
    assert snapshot(tree) == before
    assert not Path(f"{tree}.journal").exists()


def test_only_the_cores_that_were_named_are_set(table: Path, call: Call) -> None:
    script = "cat $P/policy0/scaling_setspeed $P/policy2/scaling_setspeed"
    done = call(table, "--set", "1500", "--cores", "3", *shell(table, script))
    assert done.stdout.split() == ["<unsupported>", "1500000"]
    assert done.stderr == ("carillon: note: other cores share that clock and change too: 2\n")


def test_everything_else_can_be_set_too(tmp_path: Path, call: Call) -> None:
    root = make_tree("intel_pstate-active", tmp_path / "sys")
    before = snapshot(root)
    script = (
        "cat $P/policy1/energy_performance_preference $P/policy2/energy_performance_preference "
        "$ROOT/devices/system/cpu/intel_pstate/no_turbo "
        "$ROOT/devices/system/cpu/cpu[12]/power/pm_qos_resume_latency_us"
    )
    words = ["--no-turbo", "--preference", "power", "--wake-us", "0", "--cores", "1"]
    done = call(root, *words, *shell(root, script))
    assert done.stdout.split() == ["power", "balance_performance", "1", "n/a", "0"]
    assert snapshot(root) == before


def test_a_governor_and_its_limits_are_set_and_put_back(tmp_path: Path, call: Call) -> None:
    for kind in ("intel_pstate-passive", "acpi-cpufreq"):
        root = make_tree(kind, tmp_path / kind)
        before = snapshot(root)
        script = "cd $P/policy0; cat scaling_governor scaling_min_freq scaling_max_freq"
        words = ["--governor", "performance", "--limits", "1300:2000", "--cores", "0"]
        done = call(root, *words, *shell(root, script))
        assert done.stdout.split() == ["performance", "1300000", "2000000"], kind
        assert snapshot(root) == before


def test_what_it_took_is_written(tmp_path: Path, call: Call) -> None:
    root = make_tree("intel_pstate-active", tmp_path / "sys")
    script = "echo 25036567890 > $ROOT/class/powercap/intel-rapl:0/energy_uj; kill -KILL $$"
    words = ["--set", "2000", "--cores", "0", "--output", str(tmp_path / "run.json")]
    done = call(root, *words, *shell(root, script))
    assert done.returncode == 128 + signal.SIGKILL
    assert "package-0 2 J (" in done.stderr
    about = json.loads((tmp_path / "run.json").read_text())
    assert about["status"] == 137 and about["seconds"] > 0 and not about["stopped"]
    assert about["setting"]["khz"] == 2_000_000 and about["setting"]["cores"] == [0]
    assert about["joules"]["package-0"] == pytest.approx(2.0)
    assert about["changed"] == about["unrestored"] == []
    assert [domain["policy"] for domain in about["domains"]] == [0]


def test_a_clock_that_another_program_changes_is_told_and_put_back(table: Path, call: Call) -> None:
    before = snapshot(table)
    script = "echo 1800000 > $P/policy2/scaling_setspeed; rm $P/policy0/scaling_setspeed"
    done = call(table, "--set", "1500", *shell(table, script))
    told = done.stderr.splitlines()
    file = f"carillon: note: {POLICIES}/policy{{}}/scaling_setspeed was set to 1500000 and "
    assert told[0] == f"{file.format(0)}cannot be read: another program changed it"
    assert told[1] == f"{file.format(2)}says 1800000: another program changed it"
    assert "policy0/scaling_setspeed: No such file or directory" in told[2]
    assert done.returncode == Status.FAILED  # one file is not there to be put back
    del before[f"{POLICIES}/policy0/scaling_setspeed"]
    assert snapshot(table) == before


# --- Refusing -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (["--set", "1550"], 1, "policy0 has no clock of 1550 MHz; the nearest are 1500 MHz and"),
        (["--set", "99999"], 1, "the nearest is 2601 MHz"),
        (["--set", "1500", "--preference", "power"], 1, "acpi-cpufreq has none"),
        (["--set", "1500", "--cores", "2,9"], 2, "--cores 9: only 0-3 are online"),
        (["--set", "1500", "--cores", "two"], 2, "is a list like 0-3,8"),
        (["--set", "1500", "--json"], 2, "standard output is the command's"),
        (["--set", "1500", "--governor", "powersave"], 2, "cannot be combined with --governor"),
        (["--governor", "warp"], 1, "there is no warp; there are"),
        (["--limits", "1200:99999"], 1, "is no range within"),
        (["--limits", "2000:1200"], 2, "is two clocks like 1200:2400"),
        (["--limits", "nan:1200"], 2, "is two clocks like 1200:2400"),
        (["--restore"], 2, "runs no command"),
        ([], 2, "needs --set or another setting"),
    ],
)
def test_what_cannot_be_set_is_refused_before_the_command_runs(
    words: list[str], status: int, told: str, table: Path, call: Call
) -> None:
    before = snapshot(table)
    done = call(table, *words, "--", "touch", table / "ran")
    assert (done.returncode, done.stdout) == (status, "")
    assert told in done.stderr
    assert snapshot(table) == before
    assert not Path(f"{table}.journal").exists()


@pytest.mark.parametrize("words", [["--set", "1500"], ["--cores", "0"], ["--turbo"]])
def test_a_setting_needs_a_command(words: list[str], table: Path, call: Call) -> None:
    done = call(table, *words)
    assert done.returncode == Status.WRONG_INPUT
    assert "needs a COMMAND, behind --" in done.stderr


def test_a_command_or_a_folder_that_is_not_there_is_told(table: Path, call: Call) -> None:
    before = snapshot(table)
    done = call(table, "--set", "1500", "--", "no-such-program")
    assert done.returncode == Status.WRONG_INPUT
    assert done.stderr == "carillon: no-such-program cannot be run: no such file or directory\n"
    assert snapshot(table) == before
    done = call(table / "nothing")
    assert done.returncode == Status.WRONG_INPUT
    assert done.stderr == f"carillon: --sysfs {table}/nothing: there is no such folder\n"


def test_a_setting_is_of_known_cores(table: Path) -> None:
    clocks = read_clocks(table)
    with pytest.raises(InputError, match="--cores 7: no clock"):
        clocks.domains_of({0, 7})
    assert Setting().is_empty and not Setting(wake_us=0).is_empty


# --- Stopping and being killed --------------------------------------------------------------------


def started(root: Path, *words: str) -> subprocess.Popen[str]:
    """A command that runs until it is ended; it has been started when this returns."""
    process = subprocess.Popen(
        [*CLOCK, "--sysfs", root, "--set", "1500", *shell(root, "echo runs; exec cat")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "runs\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_stops_it_puts_all_back(number: signal.Signals, tree: Path) -> None:
    before = snapshot(tree)
    process = started(tree)
    assert snapshot(tree) != before
    process.send_signal(number)
    _, told = process.communicate(timeout=HANG_S)
    assert process.returncode == Status.STOPPED
    assert told.endswith("carillon: stopped\n")
    assert snapshot(tree) == before


@pytest.mark.parametrize("words", [[], ["--json"], ["--restore"]])
def test_after_sigkill_the_next_start_restores_everything(
    words: list[str], tree: Path, call: Call
) -> None:
    before = snapshot(tree)
    process = started(tree)
    process.kill()
    process.wait()
    assert snapshot(tree) != before
    done = call(tree, *words)
    assert done.returncode == 0
    assert "files of a process that had ended" in (
        done.stdout if words[-1:] == ["--restore"] else done.stderr
    )
    assert snapshot(tree) == before
    assert call(tree, "--restore").stdout == "nothing was left to restore\n"
    process.communicate()


def test_after_sigkill_the_next_command_begins_with_the_first_state(
    table: Path, call: Call
) -> None:
    before = snapshot(table)
    process = started(table)
    process.kill()
    process.communicate()
    done = call(table, "--set", "1200", *shell(table, "cat $P/policy0/scaling_setspeed"))
    assert (done.returncode, done.stdout) == (0, "1200000\n")
    assert "carillon: note: restored " in done.stderr
    assert snapshot(table) == before


def test_one_that_runs_keeps_its_clocks(table: Path, call: Call) -> None:
    process = started(table)
    during = snapshot(table)
    told = f"process {process.pid} controls the clocks ({table}.journal)"
    for words in (["--restore"], ["--set", "1200", "--", "true"]):
        done = call(table, *words)
        assert done.returncode == Status.FAILED
        assert told in done.stderr
    looking = call(table)
    assert looking.returncode == 0
    assert told in looking.stderr and "userspace" in looking.stdout
    assert snapshot(table) == during
    process.communicate("")
    assert process.returncode == 0


def test_a_damaged_journal_changes_nothing(table: Path, call: Call) -> None:
    before = snapshot(table)
    Path(core.clock_journal(str(table))).write_text("carillon clocks 1\nsysfs /elsewhere\n")
    done = call(table, "--restore")
    assert done.returncode == Status.FAILED
    assert "sys.journal: is damaged: it is of /elsewhere, not of " in done.stderr
    assert call(table).returncode == 0
    assert snapshot(table) == before


def test_help_has_examples() -> None:
    done = subprocess.run([*CLOCK, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert " carillon power clock --set 1500 --cores 0-3 -- " in done.stdout
