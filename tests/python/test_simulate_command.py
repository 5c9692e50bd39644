"""`carillon simulate` as a command: what it prints, a full disk, Ctrl-C and killed processes."""

import dataclasses
import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from carillon import resources
from carillon.commands import simulate as command
from carillon.commands.simulate import simulate
from carillon.config.pool import POLICIES
from carillon.files import MARK
from carillon.pool import running
from hang import HANG_S, children_of, cpu_ticks, wait_until
from small_pool import SMALL


def test_json_alone_is_on_standard_output(tmp_path: Path) -> None:
    words = ["simulate", "four-a100", "--frames", "20", "--json", "--folder", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "carillon", *words], capture_output=True, text=True, check=True
    )
    result = json.loads(done.stdout)
    assert result["simulated"] is True
    assert result["configuration"]["frames"] == 20
    assert "nothing is measured" in done.stderr


def results(folder: Path) -> list[str]:
    """What lies there besides the mark of our folders."""
    return sorted(file.name for file in folder.iterdir() if file.name != MARK)


def narrow() -> None:
    """A limit on the size of files stands for a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))


def test_a_full_disk_is_told_with_the_file_that_it_has_no_room_for(tmp_path: Path) -> None:
    text = SMALL.replace("frames: 60", "frames: 2000") + "policies: [frame-level]"
    (tmp_path / "my.yaml").write_text(text)
    words = [sys.executable, "-m", "carillon", "simulate", "my.yaml", "--folder", "out"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, preexec_fn=narrow)
    assert done.returncode == 1
    assert done.stderr == "carillon: out/frames.csv: File too large\n"
    assert results(tmp_path / "out") == ["result.json"]


LONG = SMALL.replace("frames: 60", "frames: 5000000")


def start_long_run(folder: Path, text: str = LONG) -> subprocess.Popen[str]:
    (folder / "my.yaml").write_text(text)
    words = [sys.executable, "-m", "carillon", "simulate", "my.yaml", "--folder", "out"]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        words, cwd=folder, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )


def workers_of(process: subprocess.Popen[str], runs: int) -> list[int]:
    """All, once they are there."""
    (server,) = children_of(process.pid, b"forkserver")
    wait_until(lambda: len(children_of(server)) >= min(runs, resources.cores().count))
    return children_of(server)


def begin_long_run(
    folder: Path, text: str = LONG, runs: int = len(POLICIES)
) -> tuple[subprocess.Popen[str], list[int]]:
    """And its processes at work."""
    process = start_long_run(folder, text)
    assert process.stdout is not None
    assert "simulated" in process.stdout.readline()
    assert "radio units" in process.stdout.readline()
    return process, workers_of(process, runs)


def test_ctrl_c_is_not_for_processes_that_start(tmp_path: Path) -> None:
    process = start_long_run(tmp_path)
    try:
        (server,) = children_of(process.pid, b"forkserver")
        wait_until(lambda: "numpy" in Path(f"/proc/{server}/maps").read_text())  # it imports
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, err = process.communicate(timeout=HANG_S)
    finally:
        process.kill()
    assert process.returncode == 130
    assert err == "carillon: stopped\n"


def test_ctrl_c_ends_it_and_leaves_nothing_by_halves(tmp_path: Path) -> None:
    process, _ = begin_long_run(tmp_path)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=HANG_S)
    assert process.returncode == 130
    assert "no run is whole" in out
    assert err == "carillon: stopped\n"
    assert results(tmp_path / "out") == []


# Somebody's kernels by the million, and a link so slow that no frame ends for minutes.
STUCK = (
    SMALL.replace("count: 2", "count: 1")
    + """links: {device: {gbytes_per_s: 0.001}}
host: {gap_us: 0}
background: [{device: 0, ctas: 1, warps: 1, mflop: 0.01}]
deadline_ms: 100000
policies: [frame-level]
"""
)


def test_ctrl_c_is_heard_while_no_frame_ends(tmp_path: Path) -> None:
    process, _ = begin_long_run(tmp_path, STUCK, runs=1)
    os.kill(process.pid, signal.SIGINT)
    try:
        out, err = process.communicate(timeout=HANG_S)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "no run is whole" in out
    assert err == "carillon: stopped\n"


def test_ctrl_c_is_heard_while_the_trace_is_made(tmp_path: Path) -> None:
    (tmp_path / "my.yaml").write_text(STUCK + "trace: {policy: frame-level, frames: 1}")
    words = ["import signal", "from pathlib import Path", "from carillon.pool import study, trace"]
    # It may be ignored from birth, as in what a shell runs in the background.
    words += ["signal.signal(signal.SIGINT, signal.default_int_handler)"]
    words += ["known = study.load(Path('my.yaml'))", "print('begin', flush=True)"]
    words += ["trace.write(Path('trace.json'), known)"]
    process = subprocess.Popen(
        [sys.executable, "-c", "\n".join(words)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begin\n"
    begun = cpu_ticks(process.pid)
    wait_until(lambda: cpu_ticks(process.pid) > begun + 20)  # it is at work
    os.kill(process.pid, signal.SIGINT)
    try:
        _, err = process.communicate(timeout=HANG_S)
    finally:
        process.kill()
    assert err.endswith("KeyboardInterrupt\n")


def test_a_killed_process_of_it_is_told_in_words(tmp_path: Path) -> None:
    process, at_work = begin_long_run(tmp_path)
    os.kill(at_work[0], signal.SIGKILL)
    _, err = process.communicate(timeout=HANG_S)
    assert process.returncode == 1
    assert err == "carillon: a process of the simulation was killed: is memory short?\n"


def test_its_processes_end_with_it(tmp_path: Path) -> None:
    process, at_work = begin_long_run(tmp_path)
    process.kill()
    process.communicate(timeout=HANG_S)
    wait_until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in at_work))


def kill_the_second(requests: Sequence[running.Request]) -> list[running.Outcome | None]:
    """Of two requests of one process: as soon as frames of the second have ended."""

    def progress(ended: int) -> None:
        if ended > requests[0].frames:
            for process in multiprocessing.active_children():
                process.kill()

    return running.run_all(requests, 1, progress, lambda: False)


def test_what_is_whole_outlives_a_killed_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_all(requests: Sequence[running.Request], *_: object) -> list[running.Outcome | None]:
        first, second = requests
        endless = second.described.study.model_copy(update={"frames": 5_000_000})
        longer = dataclasses.replace(second.described, study=endless)
        return kill_the_second([first, dataclasses.replace(second, described=longer)])

    monkeypatch.setattr(command, "run_all", run_all)
    (tmp_path / "my.yaml").write_text(SMALL + "policies: [adaptive, frame-level]")
    with pytest.raises(running.KilledError, match="is memory short"):
        simulate(str(tmp_path / "my.yaml"), None, 1, tmp_path / "out", as_json=False)
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert result["whole"] is False
    assert [(row["policy"], row["done"]) for row in result["policies"]] == [("adaptive", 50)]
    frames = (tmp_path / "out" / "frames.csv").read_text().splitlines()
    assert len(frames) == 1 + 60
