"""`carillon sweep`: its file, its engines, what is lost and what goes on."""

import csv
import fcntl
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from carillon import examples
from carillon.commands.sweep import Choice, SweepError, sweep
from carillon.config import ConfigError
from carillon.config.fields import walk
from carillon.config.sweep import Plot, Sweep
from carillon.files import mark
from carillon.plots import sweep as picture
from carillon.ranges import MOST_POINTS
from carillon.sweep import grid, table
from carillon.sweep.engines import EngineError
from carillon.sweep.mpi import MpiError, MpiJob
from distributed import LocalCluster
from hang import HANG_S
from matplotlib.figure import Figure

ROOT = Path(__file__).parents[2]
ENGINES = ["processes", "mpi", "dask"]
# dask's workers take seconds to start again.
ENGINES_SLOW = ["processes", "mpi", pytest.param("dask", marks=pytest.mark.slow)]
ADD = r"""command: [sh, -c, 'echo "{\"sum\": $(({a} + {b})), \"of\": [{a}, {b}]}"']"""


def described(folder: Path, text: str) -> grid.Described:
    file = folder / "my.yaml"
    file.write_text(text)
    return grid.load(file)


def run(folder: Path, text: str, engine: str = "processes", *, fresh: bool = False) -> bool:
    """Whether all tasks of a sweep went well, with two workers; results are in `folder`/out."""
    file = folder / "my.yaml"
    file.write_text(text)
    return sweep(str(file), Choice(engine, 2), folder / "out", fresh=fresh, as_json=False)


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "out" / "results.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def ended(folder: Path) -> list[dict[str, Any]]:
    """How each task ended, in the grid's order."""
    about = json.loads((folder / "out" / "sweep.json").read_text())
    return [task["outcome"] for task in about["tasks"]]


# --- The file -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("grid: {a: [1]}", "1: command is missing; it must be a list, each a word or a number"),
        ("command: [x]", "1: grid is missing; it must be a mapping of parameters to lists"),
        ("command: [x]\ngrid: {}\nworker: 3", "3: worker is not a key; did you mean workers?"),
        ("command: x\ngrid: {}", "1: command is 'x' but must be a list, each a word or a number"),
        ("command: [x, [y]]\ngrid: {}", "1: command[1] is ['y'] but must be a word or a number"),
        ("command: []\ngrid: {}", "1: command is empty but must name a program"),
        (
            "command: [x, '{snr}', '{sn}']\ngrid:\n  snr: [1]",
            "1: command[2] has {sn}, which is no parameter; there are snr, here, seed",
        ),
        (
            "command: [x]\ngrid:\n  snr: [1]",
            "3: grid.snr varies, but {snr} is nowhere in the command or its files",
        ),
        ("command: ['{a}']\ngrid:\n  a: 1:0:2", "3: grid.a '1:0:2' never reaches its stop"),
        (
            "command: ['{a}']\ngrid:\n  a: 1:1:1001",
            "3: grid.a '1:1:1001' has more than 1000 points",
        ),
        ("command: ['{a}']\ngrid:\n  a: []", "3: grid.a is empty but must have a value"),
        ("command: ['{a}']\ngrid:\n  a: [1, 1.0]", "3: grid.a has a value twice"),
        (
            "command: ['{a}']\ngrid:\n  a: [1, null]",
            "3: grid.a has empty but must have numbers or texts",
        ),
        (
            "command: ['{a}{b}']\ngrid:\n  a, b: [[1, 2], [3]]",
            "3: grid.a, b has [3] but must have lists of 2 values",
        ),
        ("command: ['{a}']\ngrid:\n  a: [1]\n  1a: [1]", "4: grid.1a is no name of a parameter"),
        ("command: [x]\ngrid:\n  seed: [1]", "3: grid.seed is a name that the sweep itself gives"),
        (
            "command: ['{a}']\ngrid: {a: 1:1:1000}\nrepeats: 1000",
            "2: grid has 1000000 combinations but must have at most 100000",
        ),
        (
            "command: ['{a}']\ngrid: {a: [1]}\nfiles:\n  ../x: y",
            "4: files.../x must be a file's name",
        ),
        *(
            (
                f"command: ['{{a}}']\ngrid: {{a: [1]}}\nfiles:\n  {name}: y",
                f"4: files.{shown}",
            )
            for name, shown in (
                ('""', " must be a file's name"),
                ("..", ".. must be a file's name"),
                ('"a\\0b"', "a"),
                ("a" * 256, "a"),
            )
        ),
        (
            "command: ['{a}']\ngrid: {a: [1]}\nresult: ../x",
            "3: result is '../x' but must be a file in the run's own folder",
        ),
        (
            "command: [x]\ngrid: {a: [b, /etc]}\nresult: '{a}/hosts'",
            "3: result is '{a}/hosts' but must be a file in the run's own folder",
        ),
        (
            "command: ['{a}']\ngrid: {a: [1]}\ncolumns: [y]\nplot:\n  x: b\n  y: y",
            "5: plot.x is 'b' but must be a parameter: a",
        ),
        (
            "command: ['{a}']\ngrid: {a: [1]}\ncolumns: [y]\nplot: {x: a, y: z}",
            "4: plot.y is 'z' but must be a column: y",
        ),
        (
            "command: ['{a}{b}']\ngrid: {a: [1, 2], b: [1, 2]}\nplot: {x: a, y: z}",
            "3: plot says nothing of b, which varies too: name it as `lines` or `panels`",
        ),
        (
            "command: ['{a}']\ngrid: {a: [1]}\nplot: {x: a, y: z, panels: c}",
            "3: plot.panels is 'c' but must be a parameter: a",
        ),
        ("command: [x]\ngrid: {}\nengine: ray", "3: engine is 'ray' but must be processes, mpi or"),
        ("command: [x]\ngrid: {}\nmpi: {np: 3}", "3: mpi.np is not a key; the keys here are laun"),
    ],
)
def test_a_mistake_is_told_with_file_line_and_key(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        described(tmp_path, text)
    assert any(
        line.startswith(f"{tmp_path / 'my.yaml'}:{message}")
        for line in str(caught.value).split("\n")
    ), str(caught.value)


def test_what_follows_from_a_mistake_is_not_another_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        described(tmp_path, "command: [x, '{n}']\ngrid: {n: 5:1:1}\n")
    assert str(caught.value) == f"{tmp_path / 'my.yaml'}:2: grid.n '5:1:1' never reaches its stop"


@pytest.mark.parametrize("name", examples.names("sweeps"))
def test_an_example_is_a_valid_sweep(name: str) -> None:
    assert grid.load(examples.resolve("sweeps", name)).axes


def test_tasks_are_every_combination_the_last_parameter_changing_fastest(tmp_path: Path) -> None:
    text = """
command: [x, "--{a}", "{b}/{c}", 5.0, true, "{seed}", "{here}"]
grid:
  a: [p, q]
  b, c: [[1, 2.5], [3, false]]
  d: 0:0.5:1
files: {f: "d {d} {unknown: 1}"}
repeats: 2
seed: 7
"""
    tasks = grid.tasks(described(tmp_path, text), tmp_path / "out")
    assert len(tasks) == 2 * 2 * 3 * 2
    assert [task.parameters for task in tasks[:3]] == [
        {"a": "p", "b": 1, "c": 2.5, "d": 0, "seed": 7},
        {"a": "p", "b": 1, "c": 2.5, "d": 0, "seed": 8},
        {"a": "p", "b": 1, "c": 2.5, "d": 0.5, "seed": 7},
    ]
    assert tasks[-1].command == ("x", "--q", "3/false", "5", "true", "8", str(tmp_path))
    assert tasks[-1].files == {"f": "d 1 {unknown: 1}"}
    assert len({task.folder for task in tasks}) == len({task.key for task in tasks}) == len(tasks)


def test_a_longer_grid_keeps_the_tasks_that_there_were(tmp_path: Path) -> None:
    one = grid.tasks(described(tmp_path, ADD + "\ngrid: {a: [1], b: [2]}"), tmp_path)
    more = grid.tasks(described(tmp_path, ADD + "\ngrid: {a: [0, 1], b: [1, 2]}"), tmp_path)
    assert one[0] in more
    other = grid.tasks(
        described(tmp_path, ADD + "\naccept: [0, 1]\ngrid: {a: [1], b: [2]}"), tmp_path
    )
    assert one[0].key != other[0].key


def test_the_page_explains_every_key() -> None:
    page = (ROOT / "docs" / "sweeps.md").read_text(encoding="utf-8")
    assert [path[-1] for path, _ in walk(Sweep) if f"`{path[-1]}`" not in page] == []


def test_the_page_says_how_large_a_grid_may_be() -> None:
    page = (ROOT / "docs" / "sweeps.md").read_text(encoding="utf-8")
    runs = f"{grid.MOST_TASKS:,}".replace(",", " ")
    assert f"at most {MOST_POINTS} points, a sweep {runs} runs" in page


# --- Results --------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_the_table_is_the_same_whatever_the_engine(tmp_path: Path, engine: str) -> None:
    assert run(tmp_path, ADD + "\ngrid: {a: [1, 2], b: 10:10:30}", engine)
    assert (tmp_path / "out" / "results.csv").read_text() == (
        "a,b,outcome,sum,of.0,of.1\n"
        "1,10,ok,11,1,10\n1,20,ok,21,1,20\n1,30,ok,31,1,30\n"
        "2,10,ok,12,2,10\n2,20,ok,22,2,20\n2,30,ok,32,2,30\n"
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_two_workers_run_two_commands_at_a_time(tmp_path: Path, engine: str) -> None:
    """Each waits for the other, so that alone neither would end."""
    wait = f"touch {tmp_path}/{{n}}; until [ -e {tmp_path}/{{other}} ]; do sleep 0.1; done; echo 1"
    text = f"command: [sh, -c, '{wait}']\ngrid: {{'n, other': [[a, b], [b, a]]}}\ntimeout_s: 1800"
    assert run(tmp_path, text, engine)
    assert [row["result"] for row in rows(tmp_path)] == ["1", "1"]


def test_carillon_is_the_one_of_this_environment(tmp_path: Path) -> None:
    text = """
command: [carillon, config, show, "{cell}", --json]
grid: {cell: [laptop-8x2, no-such]}
columns: [derived.frame_ms]
"""
    assert not run(tmp_path, text)
    good, bad = rows(tmp_path)
    assert good == {"cell": "laptop-8x2", "outcome": "ok", "derived.frame_ms": "1.0"}
    assert bad == {"cell": "no-such", "outcome": "failed", "derived.frame_ms": ""}
    assert ended(tmp_path)[1]["error"].startswith("status 2: no-such: no such file, nor an example")


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("'echo out; echo first >&2; echo last >&2; exit 3'", "status 3: last"),
        ("'echo out; exit 3'", "status 3: out"),
        ("'kill -9 $$'", "ended by SIGKILL"),
        ("'kill -40 $$'", "ended by signal 40"),
        ("'echo no json'", "stdout is not JSON: "),
    ],
)
def test_a_failed_command_is_told_with_its_last_line(
    tmp_path: Path, command: str, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not run(tmp_path, f"command: [sh, -c, {command}]\ngrid: {{}}")
    assert ended(tmp_path)[0]["error"].startswith(error)
    assert error in capsys.readouterr().out


def test_a_missing_program_and_a_missing_result_are_failures(tmp_path: Path) -> None:
    assert not run(tmp_path, "command: [/no/program]\ngrid: {}")
    assert ended(tmp_path)[0]["error"] == "/no/program: no such file or directory"
    assert not run(tmp_path, "command: ['true']\ngrid: {}\nresult: r.json")
    assert ended(tmp_path)[0]["error"] == "r.json: no such file or directory"


def test_a_folder_that_cannot_be_emptied_costs_only_its_task(tmp_path: Path) -> None:
    text = "command: [sh, -c, 'echo {n}']\ngrid: {n: [1, 2]}\n"
    first, _ = grid.tasks(described(tmp_path, text), tmp_path / "out")
    first.folder.parent.mkdir(parents=True)
    mark(tmp_path / "out")
    first.folder.write_text("in the way")
    assert not run(tmp_path, text)
    assert [outcome["state"] for outcome in ended(tmp_path)] == ["failed", "ok"]
    assert ended(tmp_path)[0]["error"] == f"{first.folder}: not a directory"


def test_doubled_braces_are_literal_ones(tmp_path: Path) -> None:
    text = "command: [sh, -c, 'cat {name}']\nfiles: {in: '[\"{{name}}\", \"{name}\", {n}]'}\n"
    assert run(tmp_path, text + "grid: {name: [in], n: [5]}\n")
    (row,) = rows(tmp_path)
    assert [row["0"], row["1"], row["2"]] == ["{name}", "in", "5"]


def test_an_accepted_status_is_no_failure(tmp_path: Path) -> None:
    text = "command: [sh, -c, 'cat in > out.json; exit 1']\nfiles: {in: '{\"x\": {n}}'}\n"
    assert run(tmp_path, text + "grid: {n: [1, 2]}\nresult: out.json\naccept: [0, 1]")
    assert [row["x"] for row in rows(tmp_path)] == ["1", "2"]


def test_a_column_that_no_result_has_is_an_error_after_the_table_is_written(
    tmp_path: Path,
) -> None:
    text = ADD + "\ngrid: {a: [1], b: [2]}\ncolumns:\n  - sum\n  - summ"
    with pytest.raises(ConfigError, match=r"my\.yaml:5: columns\[1\] is 'summ', which is in no re"):
        run(tmp_path, text)
    assert rows(tmp_path) == [{"a": "1", "b": "2", "outcome": "ok", "sum": "3", "summ": ""}]


def test_a_value_that_is_named_like_a_parameter_keeps_apart(tmp_path: Path) -> None:
    assert run(tmp_path, 'command: [echo, \'{"n": {n}, "x": true}\']\ngrid: {n: [1]}')
    assert rows(tmp_path) == [{"n": "1", "outcome": "ok", "result.n": "1", "x": "true"}]


def test_leaves_are_named_by_their_paths() -> None:
    value = {"a": {"b": [1, {"c": None}]}, "d": "x"}
    assert dict(table.leaves(value)) == {"a.b.0": 1, "a.b.1.c": None, "d": "x"}
    assert dict(table.leaves(5)) == {"result": 5}


def test_a_plot_has_a_line_for_each_value_and_the_mean_of_repeats(tmp_path: Path) -> None:
    plot = Plot(x="n", y="v", lines="k")
    points: list[table.Row] = [
        {"n": n, "k": k, "v": v} for n, k, v in ((2, "a", 4.0), (2, "a", 6.0), (1, "a", 1.0))
    ]
    assert picture.curve(points, plot) == [(2.0, [4.0, 6.0]), (1.0, [1.0])]
    assert picture.draw(tmp_path, "my $sweep", plot, [*points, {"n": 1, "k": "b", "v": None}])
    assert (tmp_path / "sweep.png").stat().st_size > 1000
    assert not picture.draw(tmp_path, "none", plot, [{"n": 1, "k": "b", "v": "text"}])


def test_a_plot_shows_a_third_parameter_lines_that_coincide_and_zeros_on_a_log_axis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Figure] = []
    save = Figure.savefig

    def keep(figure: Figure, *given: Any, **others: Any) -> None:
        drawn.append(figure)
        save(figure, *given, **others)

    monkeypatch.setattr(Figure, "savefig", keep)
    plot = Plot(x="n", y="v", lines="k", panels="p", scale="log")
    points: list[table.Row] = [
        {"n": n, "k": k, "p": p, "v": 10.0**-n if n < 3 else 0.0}
        for p in ("up", "down")
        for k in ("a", "b")
        for n in (1, 2, 3)
    ]
    assert picture.draw(tmp_path, "sweep", plot, points)
    for axes, panel in zip(drawn[0].axes, ("up", "down"), strict=True):
        assert axes.get_title("left") == f"sweep: p {panel}"
        first, second = axes.get_lines()[:2]
        assert first.get_linewidth() > second.get_linewidth()
        assert first.get_marker() != second.get_marker()
        zeros = axes.get_lines()[2:]
        assert [line.get_xdata() for line in zeros] == [[3.0], [3.0]]


# --- What goes wrong ------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES_SLOW)
def test_a_killed_worker_costs_only_its_task(tmp_path: Path, engine: str) -> None:
    """1 kills its worker once, 3 every time; 0 is slow meanwhile."""
    text = f"""
command:
  - sh
  - -c
  - 'echo {{n}} >> {tmp_path}/log;
    case {{n}} in 0) sleep 1;; 1) [ $(grep -c 1 {tmp_path}/log) = 2 ] || kill -9 $PPID;;
    3) kill -9 $PPID;; esac; echo {{n}}'
grid: {{n: [0, 1, 2, 3, 4]}}
"""
    assert not run(tmp_path, text, engine)
    assert [outcome["state"] for outcome in ended(tmp_path)] == ["ok", "ok", "ok", "lost", "ok"]
    assert [row["result"] for row in rows(tmp_path)] == ["0", "1", "2", "", "4"]
    assert ended(tmp_path)[3]["error"] == "its worker was killed, again and again"
    begun = (tmp_path / "log").read_text().split()
    assert begun.count("3") == 2
    if engine != "mpi":  # where all workers go with one
        assert sorted(begun) == ["0", "1", "1", "2", "3", "3", "4"]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_timeout_ends_the_command_and_what_it_started(tmp_path: Path) -> None:
    text = f"command: [sh, -c, 'sleep 60 & echo $! > {tmp_path}/pid; wait']\ngrid: {{}}"
    assert not run(tmp_path, text + "\ntimeout_s: 0.5")
    (outcome,) = ended(tmp_path)
    assert (outcome["state"], outcome["error"]) == ("timeout", "took longer than 0.5 s")
    assert not alive(int((tmp_path / "pid").read_text()))


def test_only_what_is_missing_or_failed_is_run_again(tmp_path: Path) -> None:
    text = f"command: [sh, -c, 'echo {{n}} >> {tmp_path}/log; cat {tmp_path}/{{n}}']\n"
    (tmp_path / "1").write_text("10")
    assert not run(tmp_path, text + "grid: {n: [1, 2]}")
    (tmp_path / "2").write_text("20")
    (tmp_path / "3").write_text("30")
    assert run(tmp_path, text + "grid: {n: [3, 2, 1]}")
    assert sorted((tmp_path / "log").read_text().split()) == ["1", "2", "2", "3"]
    assert [row["result"] for row in rows(tmp_path)] == ["30", "20", "10"]
    assert run(tmp_path, text + "grid: {n: [1]}", fresh=True)
    assert sorted((tmp_path / "log").read_text().split()) == ["1", "1", "2", "2", "3"]


@pytest.mark.parametrize("engine", ENGINES_SLOW)
def test_ctrl_c_leaves_a_folder_that_the_same_command_goes_on_with(
    tmp_path: Path, engine: str
) -> None:
    file = tmp_path / "my.yaml"
    slow = f"echo $$ >> {tmp_path}/pids; [ {{n}} = 0 ] || [ -e {tmp_path}/go ] || sleep 60; echo 1"
    file.write_text(f"command: [sh, -c, '{slow}']\ngrid: {{n: [0, 1, 2]}}")
    words = ["sweep", str(file), "--folder", str(tmp_path / "out"), "--engine", engine]
    command = [sys.executable, "-m", "carillon", *words, "--workers", "2"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
    )
    pids = tmp_path / "pids"
    while not (pids.is_file() and len(pids.read_text().split()) == 3):
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it
    out, err = process.communicate(timeout=HANG_S)
    assert (process.returncode, err) == (130, "carillon: stopped\n")
    assert "stopped early; the same command goes on from here" in out
    assert not any(alive(int(pid)) for pid in pids.read_text().split())
    assert [row["outcome"] for row in rows(tmp_path)] == ["ok", "missing", "missing"]
    (tmp_path / "go").touch()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "1 of 3 are done already" in done.stdout
    assert [row["outcome"] for row in rows(tmp_path)] == ["ok"] * 3
    assert len(pids.read_text().split()) == 5


def test_a_killed_sweep_leaves_no_command_behind(tmp_path: Path) -> None:
    file = tmp_path / "my.yaml"
    file.write_text(f"command: [sh, -c, 'echo $$ > {tmp_path}/pid; exec sleep 60']\ngrid: {{}}")
    words = ["sweep", str(file), "--folder", str(tmp_path / "out"), "--workers", "2"]
    process = subprocess.Popen([sys.executable, "-m", "carillon", *words])
    pid = tmp_path / "pid"
    while not (pid.is_file() and pid.read_text()):
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.wait()
    until = time.monotonic() + 10
    while alive(int(pid.read_text())):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_two_sweeps_do_not_work_in_one_folder(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    mark(tmp_path / "out")
    with (tmp_path / "out" / ".lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        with pytest.raises(SweepError, match="another sweep is at work in"):
            run(tmp_path, "command: [echo, 1]\ngrid: {}")


@pytest.mark.parametrize(
    ("engine", "module", "packages"),
    [("mpi", "mpi4py", "mpi4py mpich"), ("dask", "distributed", "distributed")],
)
def test_a_missing_engine_is_told_with_the_line_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, module: str, packages: str
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == module else found(name)
    )
    with pytest.raises(
        EngineError, match=rf"engine {engine} needs {module}; install .*{packages}$"
    ):
        run(tmp_path, "command: [echo, 1]\ngrid: {}", engine)


def test_a_scheduler_of_ones_own_keeps_its_workers(tmp_path: Path) -> None:
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        text = f"grid: {{a: [1, 2], b: [3]}}\ndask: {{scheduler: '{cluster.scheduler_address}'}}"
        assert run(tmp_path, f"{ADD}\n{text}", "dask")
        assert [row["sum"] for row in rows(tmp_path)] == ["4", "5"]
        assert len(cluster.scheduler.workers) == 2


def test_a_scheduler_without_workers_is_told(tmp_path: Path) -> None:
    with LocalCluster(n_workers=0, dashboard_address=":0") as cluster:
        text = f"command: [echo]\ngrid: {{}}\ndask: {{scheduler: '{cluster.scheduler_address}'}}"
        with pytest.raises(EngineError, match=r"engine dask: tcp:.* has no workers"):
            run(tmp_path, text, "dask")


def test_a_scheduler_that_is_not_there_is_told(tmp_path: Path) -> None:
    text = "command: [echo, 1]\ngrid: {}\ndask: {scheduler: 'what://nowhere'}"
    with pytest.raises(EngineError, match="engine dask: "):
        run(tmp_path, text, "dask")


def test_an_mpi_job_that_does_not_start_is_told_with_what_it_said(tmp_path: Path) -> None:
    launcher = ["sh", "-c", "echo no hosts >&2"]
    with (
        MpiJob(launcher, 1, tmp_path / "log") as job,
        pytest.raises(MpiError, match="the MPI job ended: no hosts"),
    ):
        job.submit(abs, -1).result(60)
    with pytest.raises(EngineError, match="engine mpi: no-launcher is not installed; install"):
        run(tmp_path, "command: [echo, 1]\ngrid: {}\nmpi: {launcher: [no-launcher]}", "mpi")


def test_a_call_that_raises_does_so_through_mpi(tmp_path: Path) -> None:
    with MpiJob([str(Path(sys.executable).parent / "mpiexec")], 1, tmp_path / "log") as job:
        assert job.submit(divmod, 7, 2).result(60) == (3, 1)
        with pytest.raises(ZeroDivisionError):
            job.submit(divmod, 7, 0).result(60)
