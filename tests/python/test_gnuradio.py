"""GNU Radio under control, against Debian's package."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from carillon import examples
from carillon.errors import CarillonError, InputError
from carillon.flowgraph import profile
from carillon.flowgraph.grc import batches, runs
from carillon.flowgraph.grc.blocks import Flow, flow_of
from carillon.flowgraph.grc.command import Choice, example, plan_grc
from hang import HANG_S, children_of, wait_until

ROOT = Path(__file__).parents[2]
FLOWS = Path(__file__).parent / "flows"
SYSTEM = profile.gnuradio_python()

pytestmark = pytest.mark.skipif(SYSTEM is None, reason="GNU Radio is not installed")


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, compiled."""
    return runs.compiled(example("nbfm"), tmp_path_factory.mktemp("grc"))


def run(program: Path, **request: Any) -> dict[str, Any]:
    return runs.run(program, {"seconds": 0.0, "warm_up": 0.0} | request, lambda: False)


@cache
def described(program: Path) -> tuple[Flow, dict[str, Any]]:
    found = run(program)
    return flow_of(program.stem, found), found


def test_an_unmodified_flowgraph_becomes_a_graph(receiver: Path) -> None:
    flow, found = described(receiver)
    assert {each["name"] for each in found["blocks"]} >= {"voice", "station"}
    assert list(flow.stages) == (
        "clock rotator channel squelch demodulator deemphasis audio volume speaker".split()
    )
    assert flow.rates_hz == {"clock": 240_000}
    assert flow.item_rates_hz()["speaker"] == 48_000
    assert flow.stages["channel"].takes == 5 and flow.stages["channel"].block.history == 115
    assert flow.stages["audio"].block.history == 231


def test_blocks_do_exactly_their_batches(receiver: Path) -> None:
    flow, _ = described(receiver)
    settings = batches.to_measure(flow, 20e6, 2, "other")[0]
    found = run(receiver, seconds=0.2, warm_up=0.3, settings=settings)
    for name, own in settings["blocks"].items():
        used = found["used"][name]
        assert used["items"] % own["batch"] == 0, name
        assert used["call_items"] <= own["batch"] * 1.0001, name


def test_samples_are_the_same_in_batches(tmp_path: Path) -> None:
    multiples = {"rotator": 1235, "channel": 70, "demodulator": 35, "deemphasis": 7, "audio": 105}
    own = {
        name: {"batch": batch, "buffer": 3 * batch + 1300, "outputs": 1}
        for name, batch in multiples.items()
    }
    settings = json.dumps({"cores": 1, "scheduling": "other", "blocks": own})
    assert python("samples.py", str(tmp_path), settings).returncode == 0
    before, after = (
        np.fromfile(tmp_path / name, np.float32) for name in ("as-it-is", "in-batches")
    )
    assert 19_900 < len(before) <= 20_000
    # The last batches are not whole, and so are never done.
    assert len(before) - 1235 // 5 - 200 < len(after) <= len(before)
    # Filters go about the same sums in another order where samples lie otherwise in memory.
    assert np.allclose(before[: len(after)], after, rtol=1e-4, atol=1e-4)


def test_threads_of_one_name_are_told_apart() -> None:
    if os.cpu_count() == 1:
        pytest.skip("a single core")
    found = run(FLOWS / "alike.py", seconds=0.5)
    flow = flow_of("alike", found)
    assert flow.item_rates_hz()["sink"] == 1000
    # 2000 products for each of 64 000 samples, beside one for each of 16 000.
    assert found["used"]["heavy"]["cpu_ns"] > 2 * found["used"]["light"]["cpu_ns"] > 0


@pytest.mark.parametrize("scheduling, policy", [("fifo", os.SCHED_FIFO), ("deadline", 6)])
def test_the_kernel_schedules_threads_as_told(scheduling: str, policy: int, receiver: Path) -> None:
    flow, _ = described(receiver)
    settings = batches.to_measure(flow, 20e6, 2, "other")[0] | {"scheduling": scheduling}
    for own in settings["blocks"].values():
        own |= {"priority": 20, "runtime_ns": 100_000, "period_ns": 20_000_000}
    try:
        found = run(receiver, settings=settings)
    except runs.GnuRadioError as error:
        assert "the kernel refuses block clock" in str(error)
        pytest.skip("not allowed here")
    assert {found["used"][name]["policy"] for name in settings["blocks"]} == {policy}
    assert {found["used"][name]["policy"] for name in ("voice", "station")} == {os.SCHED_FIFO}


@pytest.mark.parametrize(
    "name, said",
    [
        ("hidden", "cannot be reached from Python: it is inside a hierarchical block of C"),
        ("windows", "has windows: set Generate Options to No GUI"),
        ("samples", "TypeError: .* missing 1 required positional argument"),
        ("nowhere", "FileNotFoundError"),
    ],
)
def test_what_cannot_be_controlled_is_told(name: str, said: str) -> None:
    with pytest.raises(runs.GnuRadioError, match=said):
        run(FLOWS / f"{name}.py")


def test_a_flowgraph_that_ends_is_told() -> None:
    with pytest.raises(runs.GnuRadioError, match=r"ended while it was measured|has no thread"):
        run(FLOWS / "finite.py", seconds=0.5, warm_up=0.5)


def test_settings_of_another_flowgraph_are_told() -> None:
    settings = {"cores": 1, "scheduling": "other", "blocks": {"rotator": {}}}
    with pytest.raises(runs.GnuRadioError, match="another flowgraph: it has no block rotator"):
        run(FLOWS / "gated.py", settings=settings)


def python(program: str, *words: str) -> subprocess.CompletedProcess[str]:
    """One of our flowgraphs as a program."""
    assert SYSTEM is not None
    return subprocess.run(
        [SYSTEM, str(FLOWS / program), *words],
        env=os.environ | {"PYTHONPATH": str(ROOT / "python"), "CARILLON_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )


def command(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "carillon", "flowgraph", "plan", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )


def test_a_receiver_is_planned_and_runs_in_its_batches(receiver: Path, tmp_path: Path) -> None:
    words = ["--grc", str(receiver), "--latency", "100ms", "--cores", "2", "--seconds", "0.3"]
    done = command(*words, "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert 0 < found["plan"]["bound_ns"] <= 100e6
    for side in ("before", "after"):
        assert found[side]["items"] > 0 and 0 < found[side]["p50_ns"] <= found[side]["max_ns"]
        assert found[side]["cores"] > 0
    target = tmp_path / "runs/gnuradio-nbfm"
    assert json.loads((target / "gnuradio.json").read_text()) == found
    settings = json.loads((target / "settings.json").read_text())
    own = {each["name"]: each["batch"] for each in found["plan"]["nodes"]}
    assert {name: each["batch"] for name, each in settings["blocks"].items()} == own
    assert {each.name for each in target.glob("latency.*")} == {"latency.png", "latency.svg"}
    for name, batch in own.items():
        assert found["after"]["blocks"][name]["batch"] <= batch * 1.0001
    assert "in batches" in done.stderr and "settings: " in done.stderr


@pytest.mark.parametrize(
    "name, latency_ns, rates, said",
    [
        (str(FLOWS / "no_pace.py"), 9e6, [], "as --rate source=240000"),
        (str(FLOWS / "no_pace.py"), None, [], "say what latency it is to keep"),
        ("nowhere.grc", 9e6, [], "no such file, nor an example of that name"),
        (__file__ + "x", 9e6, [], "no such file, nor an example of that name"),
        ("x.py", 9e6, ["fast"], "must be a block and samples a second"),
        ("x.py", 9e6, ["a=-1"], "must be a block and samples a second"),
        ("x.py", 9e6, ["a=1/0"], "must be a block and samples a second"),
    ],
)
def test_wrong_input_is_told(
    name: str, latency_ns: float | None, rates: list[str], said: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=said):
        plan_grc(name, Choice(latency_ns, 2, 0.1, "other", rates), tmp_path / "f", as_json=False)
    assert not list(tmp_path.glob("f/*.json"))


def test_a_plan_is_of_a_graph_or_of_a_flowgraph(tmp_path: Path) -> None:
    done = command("--grc", "nbfm", "--latency", "9ms", "nbfm", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "name a graph, or a flowgraph by --grc" in done.stderr


def test_a_rate_that_is_not_fixed_has_no_plan() -> None:
    flow, _ = described(FLOWS / "gated.py")
    settings = batches.to_measure(flow, 10e6, 2, "other")[0]
    found = run(FLOWS / "gated.py", seconds=0.2, settings=settings)
    while not flow.keeps_up(settings, found):  # the machine stood still: no rate is known
        found = run(FLOWS / "gated.py", seconds=0.2, settings=settings)
    with pytest.raises(InputError, match="block squelch handles 0 items a second"):
        flow.require_steady(settings, found)


def test_a_file_that_grcc_does_not_compile_is_told(tmp_path: Path) -> None:
    for name, text in (("broken.grc", "options: {"), ("empty.grc", ""), ("other.txt", "")):
        (tmp_path / name).write_text(text)
        with pytest.raises(InputError, match=name):
            runs.compiled(tmp_path / name, tmp_path / "made")


def test_ctrl_c_ends_the_command_and_its_flowgraph(receiver: Path, tmp_path: Path) -> None:
    words = "flowgraph plan --latency 20ms --seconds 600 --grc".split()
    process = subprocess.Popen(
        [sys.executable, "-m", "carillon", *words, str(receiver)],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    (worker,) = children_of(process.pid, b"carillon.gnuradio.worker")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=HANG_S)
    assert process.returncode == 130, said
    wait_until(lambda: not Path(f"/proc/{worker}").exists())
    assert not (tmp_path / "runs/gnuradio-nbfm/settings.json").exists()


@pytest.mark.slow
def test_a_program_keeps_its_own_latency() -> None:
    done = python(str(ROOT / "examples/gnuradio/keep_latency.py"), "0.2", "200")
    assert done.returncode == 0, done.stderr
    assert "items a batch" in done.stdout and "no sample is later than" in done.stdout


def test_a_program_starts_with_settings(tmp_path: Path) -> None:
    own = {"clock": {"batch": 7000, "buffer": 30_000, "outputs": 1}}
    settings = {"cores": 1, "scheduling": "other", "blocks": own}
    for text, said in (
        (json.dumps(settings), ""),
        (json.dumps(settings | {"blocks": {"rotator": {}}}), "has no block rotator"),
        ("[]", "is no settings.json"),
        ("", "line 1"),
    ):
        (tmp_path / "settings.json").write_text(text)
        done = python("settings.py", str(tmp_path / "settings.json"))
        if said:
            assert done.returncode == 1 and said in done.stderr and "Trace" not in done.stderr
            continue
        multiple, items = json.loads(done.stdout.splitlines()[-1])  # GNU Radio logs there too
        assert multiple == 7000 and items > 0 and items % 7000 == 0


def test_the_benchmark_counts_samples_and_cpu_time() -> None:
    done = python(
        str(ROOT / "bench/gnuradio/speed.py"), "chain", "--cores", "1", "--seconds", "0.1"
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    # On one core all threads together have as much CPU time as passes, or less.
    assert found["msps"] > 0 and 0 < found["cpu_ns_per_sample"] * found["msps"] / 1e3 < 1.5


def test_without_gnu_radio_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "gnuradio_python", lambda: None)
    with pytest.raises(CarillonError, match="apt install gnuradio"):
        runs.python.__wrapped__()


def test_the_example_is_found_by_its_name() -> None:
    assert example("nbfm") == examples.folder("flowgraphs") / "nbfm.grc"
