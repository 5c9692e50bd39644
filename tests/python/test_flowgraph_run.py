"""Graphs that run: that samples are right, none is lost, and what is said of them adds up."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from signal import SIGINT

import numpy as np
import pytest
from carillon import cli, examples
from carillon.config import ConfigError
from carillon.errors import InputError, Status
from carillon.flowgraph import (
    Block,
    Change,
    Cost,
    FunctionBlock,
    Graph,
    GraphError,
    Input,
    Machine,
    Running,
    block_list,
    load,
    plan,
)
from carillon.flowgraph.changes import parse, read_changes
from carillon.flowgraph.filters import design
from carillon.flowgraph.plan import evaluate
from carillon.flowgraph.run_command import verdict
from carillon.flowgraph.running import Late, RunResult, Threads
from carillon.flowgraph.wiring import built
from hang import wait_until
from numpy.typing import NDArray
from scipy import signal
from typer.testing import CliRunner

NBFM = examples.resolve("flowgraphs", "nbfm")
RATE = 240_000


class Collected:
    """A sink that keeps what it is given."""

    def __init__(self, samples: str) -> None:
        self._parts: list[NDArray[np.complex64 | np.float32]] = []
        self.block = FunctionBlock(self._take, inputs=[Input(samples)])

    def _take(self, x: NDArray[np.complex64 | np.float32]) -> None:
        self._parts.append(x.copy())

    @property
    def samples(self) -> NDArray[np.complex64 | np.float32]:
        return np.concatenate(self._parts)


def receiver(source: Block, sink: Block, taps: Mapping[str, object]) -> Graph:
    graph = Graph("receiver").node("source", rate_hz=RATE, block=source)
    graph.node("shift", block=Block("rotator", frequency_hz=-12_500))
    graph.node("channel", block=Block("fir", taps=taps, decimation=5))
    graph.node("demodulator", block=Block("quadrature-demodulator", deviation_hz=5000))
    graph.node("deemphasis", block=Block("deemphasis", time_s=75e-6))
    graph.node("sink", block=sink)
    names = [node.name for node in graph.nodes]
    for start, end in pairwise(names):
        graph.edge(start, end)
    return graph


def test_a_receiver_makes_what_scipy_does() -> None:
    bands = {"count": 115, "pass_hz": 5000, "stop_hz": 9000}
    given, made = Collected("complex"), Collected("real")
    source = Block("fm-test-signal", frequency_hz=12_500)
    graph = receiver(source, made.block, bands)
    graph.node("given", block=given.block).edge("source", "given")
    with Running(graph, batches=[100, 70, 13, 5, 9, 31, 64], paced=False, seconds=0.5) as running:
        running.wait()
    result = running.result()
    assert not result.failures and not result.stopped
    x = given.samples.astype(complex)
    assert len(x) == RATE // 2
    x *= np.exp(-2j * np.pi * 12_500 / RATE * np.arange(len(x)))
    y = signal.lfilter(design(bands, RATE), 1, x)[::5]
    phase = np.concatenate([[0], np.angle(y[1:] * np.conj(y[:-1]))])
    audio = phase * 48_000 / (2 * np.pi * 5000)
    corner = 2 * 48_000 * np.tan(1 / (75e-6 * 2 * 48_000))
    expected = signal.lfilter(*signal.bilinear([corner], [1, corner], 48_000), audio)
    assert len(made.samples) == len(expected) == RATE // 10
    np.testing.assert_allclose(made.samples, expected, atol=2e-5)
    by_name = {node.name: node for node in result.nodes}
    assert by_name["source"].executions == RATE // 2
    assert by_name["sink"].executions == RATE // 10
    assert all(node.left == 0 and node.jobs > 0 for node in result.nodes)


@pytest.mark.parametrize("batch", [1, 1000, 4096])
def test_a_file_is_read_to_its_last_sample(batch: int, tmp_path: Path) -> None:
    x = np.random.default_rng(1).standard_normal(9999).astype(np.float32)
    (tmp_path / "x").write_bytes(x.tobytes())
    source = Block("raw-source", path=str(tmp_path / "x"), datatype="rf32_le")
    made = Collected("real")
    graph = Graph("g").node("source", rate_hz=RATE, block=source).node("sink", block=made.block)
    graph.edge("source", "sink")
    with Running(graph, batches=[batch] * 2, paced=False) as running:
        wait_until(running.ended)
    np.testing.assert_array_equal(made.samples, x)
    assert not running.result().stopped


def test_a_parameter_changes_at_its_sample() -> None:
    made = Collected("real")
    graph = Graph("g").node("ones", rate_hz=1000, block=Block("null-source", samples="real"))
    graph.node("one", block=Block("add", value=1, samples="real"))
    graph.node("sink", block=made.block).edge("ones", "one").edge("one", "sink")
    with pytest.raises(InputError, match="samples of add does not change while it runs; what does"):
        Running(graph, batches=[8] * 3).check(Change("one", "samples", 1))
    with pytest.raises(InputError, match="g: there is no node two"):
        Running(graph, batches=[8] * 3).check(Change("two", "value", 1))
    running = Running(graph, batches=[8] * 3, paced=False, seconds=1)
    assert running.change(Change("one", "value", 5, at=100))
    with running:
        running.wait()
    assert made.samples.tolist() == [1.0] * 100 + [5.0] * 900


def test_a_paced_run_is_judged_against_its_plan() -> None:
    graph = load(NBFM)
    own = plan(graph, Machine(1, preemptive=False), 100e6)
    with Running(graph, own, seconds=0.3) as running:
        running.wait()
    result = running.result()
    (sink,) = result.sinks
    assert result.bound_ns == own.bound_ns
    assert sum(count for _, count in sink.bins) == sink.jobs == result.nodes[-1].jobs
    assert sink.p50_ns <= sink.p99_ns <= sink.p999_ns <= sink.longest_ns * 1.04
    late = result.late
    listed = late.by_standstill + late.by_overrun + late.unexplained
    assert late.jobs == listed + late.unlisted
    # A bin is up to 1/32 wide.
    beyond = [sum(n for upper, n in sink.bins if upper > own.bound_ns * by) for by in (33 / 32, 1)]
    assert beyond[0] <= late.jobs <= beyond[1]


@pytest.mark.parametrize("threads", ["blocks", "deadline"])
def test_a_thread_for_each_block_gives_the_same(threads: Threads) -> None:
    made = []
    both: tuple[Threads, ...] = ("workers", threads)
    for who in both:
        kept = Collected("real")
        graph = receiver(Block("fm-test-signal"), kept.block, {"count": 31, "pass_hz": 5e3,
                                                               "stop_hz": 2e4})  # fmt: skip
        graph = graph.with_costs({node.name: Cost(50_000, 10) for node in graph.nodes})
        own = plan(graph, Machine(1, preemptive=False), 100e6)
        with Running(graph, own, paced=False, seconds=0.2, threads=who) as running:
            running.wait()
        assert running.result().nodes[-1].executions == RATE // 25
        made.append(kept.samples)
    np.testing.assert_allclose(made[0], made[1], atol=1e-6)


def test_what_a_function_does_wrong_ends_the_run() -> None:
    def wrong(kind: str) -> str:
        def function(x: NDArray[np.float32]) -> object:
            if kind == "raises":
                raise ZeroDivisionError("by zero\nand more")
            return {"dtype": x.astype(np.float64), "short": x[:-1], "none": None}[kind]

        graph = Graph("g").node("source", rate_hz=1e6, block=Block("null-source", samples="real"))
        block = FunctionBlock(function, inputs=[Input("real")], output=("real", 1))
        graph.node("own", block=block).node("sink", block=Block("null-sink", samples="real"))
        graph.edge("source", "own").edge("own", "sink")
        with Running(graph, batches=[10] * 3, paced=False) as running:
            running.wait()
        (failure,) = running.result().failures
        return failure

    assert wrong("raises") == "own: ZeroDivisionError: by zero"
    assert wrong("dtype") == "own: returned another dtype than float32"
    assert re.fullmatch(r"own: returned \d+ samples, not \d+ in one row", wrong("short"))
    assert wrong("none") == "own: returned no array"


def test_a_graph_that_cannot_run_is_told_with_its_nodes(tmp_path: Path) -> None:
    file = tmp_path / "graph.yaml"
    file.write_text(
        "nodes:\n"
        "  - {name: a, rate_hz: 10, block: {type: rotator, frequency_hz: 1}}\n"
        "  - {name: b, block: {type: multiply, value: 1}}\n"
        "  - {name: c}\n"
        "edges: [{from: a, to: b}, {from: a, to: c}]\n"
    )
    with pytest.raises(ConfigError) as told:
        built(load(file))
    assert [str(problem) for problem in told.value.problems] == [
        f"{file}:2: node a: rotator reads 1 inputs, and no edges bring any",
        f"{file}:3: node b: nothing reads what multiply makes; end with a sink, such as null-sink",
        f"{file}:4: node c: has no block, so that it cannot run",
    ]


@pytest.mark.parametrize(
    ("block", "edge", "said"),
    [
        ("{type: oscillator}", "", "node b: oscillator: there is no block oscillator"),
        ("{type: limiter}", "", "those there are, and --plugin adds a library's"),
        ("{type: null-sink, sample: real}", "", "null-sink has no such parameter; it has samples"),
        ("{taps: [1]}", "", "node b: without a type: there is no block without a type"),
        ("{type: fir}", "", "node b: fir: taps: must be given"),
        ("{type: fir, taps: [x]}", "", "taps: must be a list of numbers"),
        ("{type: fir, taps: [1], size: 2}", "", "size: fir has no such parameter"),
        ("{type: fir, taps: [1], decimation: .inf}", "", "decimation: must be a whole number"),
        ("{type: fir, taps: [1]}", ", consume: 2", "consumes 2, but the block of node b takes 1"),
        ("{type: fir, taps: [1]}", ", produce: 2", "produces 2, but the block of node a makes 1"),
        ("{type: fir, taps: [1], samples: real}", "", "a makes complex samples, and b reads real"),
        ("{type: null-source}", "", "the block of node b has no input"),
    ],
)
def test_wrong_blocks_are_told_with_line_node_and_edge(
    block: str, edge: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "graph.yaml"
    file.write_text(
        "nodes:\n  - {name: a, rate_hz: 10, block: {type: null-source}}\n"
        f"  - {{name: b, block: {block}}}\nedges: [{{from: a, to: b{edge}}}]\n"
    )
    with pytest.raises(ConfigError) as told:
        load(file)
    assert said in str(told.value)
    assert re.match(rf"{file}:[34]: (node b|edge a -> b): ", str(told.value))


def test_bands_in_hertz_become_filters() -> None:
    taps = np.array(design({"count": 115, "pass_hz": 5000, "stop_hz": 9000, "gain": 2}, RATE))
    _, response = signal.freqz(taps, worN=[0, 4900, 9100, 50_000], fs=RATE)
    assert abs(response[:2]) == pytest.approx([2, 2], rel=0.02)
    assert (abs(response[2:]) < 0.02).all()
    band = {"count": 201, "pass_hz": [10_000, 20_000], "stop_hz": [8000, 22_000]}
    _, response = signal.freqz(design(band, RATE), worN=[0, 15_000, 50_000], fs=RATE)
    assert abs(response) == pytest.approx([0, 1, 0], abs=0.03)
    high = {"count": 101, "pass_hz": 20_000, "stop_hz": 10_000}
    assert abs(sum(design(high, RATE))) < 0.02
    wrongs: list[tuple[dict[str, object], str]] = [
        ({"count": 100, "pass_hz": 20_000, "stop_hz": 10_000}, "must be odd"),
        ({"count": 2, "pass_hz": 1, "stop_hz": 2}, "taps.count: must be a whole number from 3"),
        ({"count": 9, "pass_hz": 1, "stop_hz": 120_000}, "edges must rise"),
        ({"count": 9, "pass_hz": [1, 2], "stop_hz": 3}, "as many edges"),
        ({"count": 9, "pass_hz": "x", "stop_hz": 3}, "taps.pass_hz: must be an edge"),
        ({"count": 9, "pass_hz": 1}, "taps.stop_hz: must be an edge"),
        ({"count": 9, "pass_hz": 1, "stop_hz": 3, "what": 1}, "taps.what: no such key"),
    ]
    for wrong, said in wrongs:
        with pytest.raises(ValueError, match=re.escape(said)):
            design(wrong, RATE)


def test_the_command_writes_everything_and_ends_by_its_verdict(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    words = ["flowgraph", "run", "nbfm", "--fast", "--seconds", "0.2", "--json", "--folder"]
    done = CliRunner().invoke(cli.app, [*words, str(folder)])
    assert done.exit_code == 0, done.output
    told = json.loads((folder / "result.json").read_text())
    assert json.loads(done.stdout) == told
    assert told["nodes"][0]["executions"] == RATE // 5
    assert told["nodes"][-1]["executions"] == RATE // 25
    page = (folder / "report.html").read_text()
    assert "as fast as it goes" in page and "fm-test-signal" in page
    events = json.loads((folder / "trace.json").read_text())["traceEvents"]
    assert {event["name"] for event in events} >= {node["name"] for node in told["nodes"]}
    plan_file = folder / "plan.json"
    CliRunner().invoke(cli.app, ["flowgraph", "plan", "nbfm", "--folder", str(folder)])
    again = [*words[:3], "--plan", str(plan_file), *words[3:6], "--folder", str(folder)]
    assert CliRunner().invoke(cli.app, again).exit_code == 0
    other = Graph("other").node("a", Cost(1, 1), rate_hz=1)
    from carillon.flowgraph.plan import read_plan

    with pytest.raises(InputError, match=r"plan\.json: is a plan of another graph than other"):
        read_plan(plan_file, other)
    plan_file.write_text("[]")
    with pytest.raises(InputError, match=r"plan\.json: is no plan"):
        read_plan(plan_file, other)


@pytest.mark.parametrize(
    ("words", "said", "status"),
    [
        ("run nbfm --latency 1us", "no batches are known that keep 1 µs", Status.TOO_SLOW),
        ("run nbfm --plan none.json", "none.json: cannot be read", Status.WRONG_INPUT),
        ("run nbfm --changes none.csv", "none.csv: cannot be read", Status.WRONG_INPUT),
        ("run nbfm --cores 4096", "the plan has 4096 cores, and this process", Status.WRONG_INPUT),
        ("run nbfm-published", "has no block, so that it cannot run", Status.WRONG_INPUT),
        ("blocks oscillator", "there is no block oscillator", Status.WRONG_INPUT),
        ("blocks firr", "block firr; did you mean fir", Status.WRONG_INPUT),
    ],
)
def test_what_cannot_be_run_is_told_in_a_line(
    words: str, said: str, status: Status, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli.app, ["flowgraph", *words.split()])
    assert done.exception is not None
    assert said in str(done.exception), done.output
    assert getattr(done.exception, "status", None) == status


WRONG_ROWS = [
    ("volume,value", "has 2 cells, but must have node,parameter,value,at"),
    ("volume,value,0.5,1,9", "has 5 cells, but must have node,parameter,value,at"),
    ("volume,value,x,0", "value is 'x', but must be a number"),
    ("volume,value,1,-1", "at is '-1', but must be a sample: a whole number, 0 or more"),
    ("volume,value,1,1.5", "at is '1.5', but must be a sample"),
    ("horn,value,1,0", "nbfm: there is no node horn"),
    ("volume,size,1,0", "volume: size of multiply does not change while it runs; what does: value"),
    ("rotator,frequency_hz,1e300,0", "rotator: frequency_hz must be between"),
    ("v" * 200_000, "field larger than field limit"),
]


def test_changes_are_read_from_files_and_lines(tmp_path: Path) -> None:
    file = tmp_path / "changes.csv"
    file.write_text("node,parameter,value,at\nvolume,value,0.5,4800\nvolume,value,2,9600\n")
    graph = load(NBFM)
    assert read_changes(file, graph) == [
        Change("volume", "value", 0.5, 4800),
        Change("volume", "value", 2, 9600),
    ]
    for text, said in [
        ("a,b\n", ":1: the first line must be node,parameter,value,at"),
        ("\xff", ": is not UTF-8 text"),
        *((f"node,parameter,value,at\n\n{row}\n", f".csv:3: {why}") for row, why in WRONG_ROWS),
    ]:
        file.write_bytes(text.encode("latin-1"))
        with pytest.raises(InputError, match=re.escape(said)):
            read_changes(file, graph)
    assert parse("volume value 3 at 5") == Change("volume", "value", 3, 5)
    assert parse("volume value 3") == Change("volume", "value", 3, 0)
    with pytest.raises(ValueError, match="value is 'x', but must be a number; write NODE PARAM"):
        parse("volume value x")
    for line in ("volume", "volume value x", "volume value 1 at", "a b 1 in 5"):
        with pytest.raises(ValueError, match="NODE PARAMETER VALUE"):
            parse(line)


def test_changes_come_from_the_prompt_too(tmp_path: Path) -> None:
    words = ["flowgraph", "run", "nbfm", "--batch", "240", "--prompt", "--folder", str(tmp_path)]
    lines = "volume value 0.25\nvolume size 1\nnonsense\nquit\n"
    done = CliRunner().invoke(cli.app, words, input=lines)
    assert done.exit_code == 0, done.output
    assert "ok\n" in done.output and "size of multiply does not change" in done.output
    assert "NODE PARAMETER VALUE" in done.output and "stopping" in done.output
    assert json.loads((tmp_path / "result.json").read_text())["stopped"]
    shown = CliRunner().invoke(cli.app, [*words[:2], "--help"]).output
    assert re.search(r"VALUE[\s│]+\[at[\s│]+SAMPLE\]", shown)


def test_a_run_that_is_interrupted_writes_its_results_and_says_so(tmp_path: Path) -> None:
    words = ["flowgraph", "run", "nbfm", "--batch", "240", "--prompt", "--folder", str(tmp_path)]
    with subprocess.Popen(
        [sys.executable, "-m", "carillon", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    ) as started:  # fmt: skip
        assert started.stdin is not None and started.stdout is not None
        started.stdin.write("volume value 0.25\n")
        started.stdin.flush()
        assert started.stdout.readline() == "ok\n"
        started.send_signal(SIGINT)
        started.stdout.read()
    assert started.returncode == Status.STOPPED
    assert json.loads((tmp_path / "result.json").read_text())["stopped"]


def test_changes_are_made_in_order_and_those_that_are_not_are_told(tmp_path: Path) -> None:
    file = tmp_path / "changes.csv"
    rows = [f"volume,value,{place},{place}" for place in range(100, 0, -1)]
    file.write_text("\n".join(["node,parameter,value,at", *rows, "volume,value,1,48000"]))
    words = ["flowgraph", "run", "nbfm", "--fast", "--batch", "480", "--seconds", "0.1"]
    done = CliRunner().invoke(
        cli.app, [*words, "--changes", str(file), "--folder", str(tmp_path / "run")]
    )
    assert done.exit_code == 0, done.output
    assert "volume: 1 of 101 changes were not made: it ended before their samples" in done.output
    (volume,) = (
        node
        for node in json.loads((tmp_path / "run" / "result.json").read_text())["nodes"]
        if node["name"] == "volume"
    )
    assert (volume["changes"], volume["late_changes"], volume["unmade_changes"]) == (100, 0, 1)


def test_a_plan_of_jobs_that_can_be_interrupted_is_judged_as_they_run(tmp_path: Path) -> None:
    words = ["flowgraph", "plan", "nbfm", "--preemptive", "--folder", str(tmp_path)]
    assert CliRunner().invoke(cli.app, words).exit_code == 0
    planned = json.loads((tmp_path / "plan.json").read_text())
    own = ["flowgraph", "run", "nbfm", "--plan", str(tmp_path / "plan.json"), "--fast"]
    own += ["--seconds", "0.05", "--folder", str(tmp_path)]
    assert CliRunner().invoke(cli.app, own).exit_code == 0
    run = json.loads((tmp_path / "result.json").read_text())
    machine = Machine(planned["cores"], preemptive=False)
    as_run = evaluate(load(NBFM), planned["batches"], machine, "optimum")
    assert run["bound_ns"] == as_run.bound_ns
    refused = CliRunner().invoke(cli.app, [*own, "--cores", "2"])
    assert refused.exit_code == 2 and "leave out" in refused.output


@pytest.mark.parametrize("paced", [True, False])
def test_a_run_ends_with_its_head(paced: bool) -> None:
    kept = Collected("complex")
    graph = Graph("first").node("tone", rate_hz=RATE, block=Block("signal-source"))
    graph.node("head", block=Block("head", count=1000)).node("sink", block=kept.block)
    graph.edge("tone", "head").edge("head", "sink")
    with Running(graph, batches=[64, 7, 33], paced=paced) as running:
        running.wait()
    assert len(kept.samples) == 1000 and np.all(kept.samples != 0)
    assert running.result().nodes[1].left == 0 and not running.result().stopped


def test_blocks_are_listed_from_their_declarations() -> None:
    table = CliRunner().invoke(cli.app, ["flowgraph", "blocks"]).output
    assert re.search(r"^fir +filters +Filters", table, re.M)
    own = CliRunner().invoke(cli.app, ["flowgraph", "blocks", "deemphasis"]).output
    assert re.search(r"^time_s .* s ", own, re.M) and "the graph's" in own
    listed = json.loads(CliRunner().invoke(cli.app, ["flowgraph", "blocks", "--json"]).output)
    assert {"fir", "squelch", "null-sink"} <= {each["name"] for each in listed}


def test_the_page_of_blocks_is_what_they_declare() -> None:
    page = Path(__file__).parents[2] / "docs" / "blocks.md"
    told = "carillon flowgraph blocks --page > docs/blocks.md writes it anew"
    assert page.read_text(encoding="utf-8") == block_list.page(), told


@pytest.mark.parametrize("page", ["flowgraph-runs"])
def test_the_python_of_a_page_works(page: str) -> None:
    text = (Path(__file__).parents[2] / "docs" / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)
    assert blocks
    for block in blocks:
        exec(compile(block, f"{page}.md", "exec"), {})


def test_a_verdict_names_every_late_job() -> None:
    def said(
        late: Late, bound: float | None = 5e6, *, paced: bool = True, threads: Threads = "workers"
    ) -> str:
        from carillon.flowgraph.running import SinkRun

        sink = SinkRun("s", 1000, 1, 2, 3, 4, [])
        return verdict(
            RunResult(
                "g", paced, threads, [0], 1, bound, [], [sink], late, [0], [0], 0, 0, [], [], [],
                False,
            )
        )  # fmt: skip

    assert said(Late(0, 0, 0, 0, 0)) == "the bound held: all 1000 jobs of sinks ended within 5 ms"
    assert said(Late(3, 3, 0, 0, 0)) == (
        "the bound held but for standstills: 3 of 1000 jobs of sinks ended later than 5 ms: "
        "3 while a worker stood still, 0 while a batch took longer than its planned cost, 0 for "
        "no reason that is known"
    )
    assert said(Late(3, 1, 1, 1, 0)).startswith("the bound did not hold: 3 of 1000")
    assert said(Late(8, 1, 0, 0, 7)).startswith("the bound did not hold: 8 of 1000")
    assert said(Late(8, 1, 0, 0, 7)).endswith("7 more, of which no times were kept")
    assert said(Late(3, 1, 1, 1, 0), threads="blocks") == (
        "3 of 1000 jobs of sinks ended later than 5 ms, which is proven for workers alone"
    )
    assert said(Late(0, 0, 0, 0, 0), None) == "without a plan: nothing was promised"
    assert said(Late(0, 0, 0, 0, 0), paced=False).startswith("as fast as it goes")


def test_batches_that_do_not_fit_are_refused() -> None:
    graph = load(NBFM)
    with pytest.raises(InputError, match="nbfm: has 9 nodes, and needs as many batches"):
        Running(graph, batches=[1])
    with pytest.raises(GraphError, match="no block, so that it cannot run"):
        Running(Graph("g").node("a", rate_hz=1), batches=[1])
