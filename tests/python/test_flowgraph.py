"""Flowgraphs: reading, checking, planning, and what is proven of it."""

import csv
import json
import math
import re
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from carillon import cli, examples
from carillon.config import ConfigError
from carillon.errors import CarillonError, Status, TooSlowError
from carillon.flowgraph import Cost, Graph, GraphError, Machine, front, load, plan
from carillon.flowgraph.commands import about
from carillon.flowgraph.drawing import picture
from carillon.flowgraph.graph import synthetic
from carillon.flowgraph.plan import Method, evaluate, published, reliefs, with_plan
from carillon.flowgraph.units import duration_ns
from typer.testing import CliRunner

NBFM = examples.resolve("flowgraphs", "nbfm-published")
GOOD = """nodes:
  - {name: a, rate_hz: 1000, cost: {initial_us: 1, each_ns: 10}}
  - {name: b, cost: {initial_us: 1, each_ns: 10}}
edges:
  - {from: a, to: b, consume: 2}
"""


def file_of(folder: Path, text: str) -> Path:
    file = folder / "graph.yaml"
    file.write_text(text)
    return file


def chain(nodes: int, rate: object = 1000) -> Graph:
    graph = Graph("chain")
    for place in range(nodes):
        graph.node(f"n{place}", Cost(5300, 1), rate_hz=rate if place == 0 else None)  # type: ignore[arg-type]
        if place:
            graph.edge(f"n{place - 1}", f"n{place}")
    return graph


# The published case study: 240 ksps, 5.3 µs a wake-up, two cores.
@pytest.mark.parametrize(
    ("source", "rest", "utilization", "devi_anderson_us", "compliant_us"),
    [(2, 2, 1.40, 333, 314), (5, 1, 1.78, 200, 182), (5, 5, 0.56, 783, 660),
     (25, 5, 0.36, 867, 249), (240, 48, 0.04, 8035, 1153)],
)  # fmt: skip
def test_the_case_study_has_its_published_bounds(
    source: int, rest: int, utilization: float, devi_anderson_us: float, compliant_us: float
) -> None:
    graph = load(NBFM)
    batches = [source, *[rest] * 6]
    both = graph.core.latency(batches, 2)
    assert both["utilization"] == pytest.approx(utilization, abs=0.005)
    for formula, bound in (("devi-anderson", devi_anderson_us), ("compliant-vector", compliant_us)):
        found = graph.core.latency(batches, 2, formula=formula)["bound_ns"]
        assert found / 1e3 == pytest.approx(bound, abs=1)
        assert both["bound_ns"] <= found
    assert graph.core.unbounded([1] * 7, 2).startswith("node rotator needs 1.27 cores")


def test_a_cost_has_an_initial_part_and_pieces() -> None:
    assert Cost(100, 1).of(2) / 300 == pytest.approx(0.340, abs=5e-4)
    assert Cost(100, 1).of(6) / 900 == pytest.approx(0.118, abs=5e-4)
    assert Cost(10, 3, ((4, 2), (6, 1))).of(7) == 10 + 3 * 3 + 2 * 2 + 2
    assert Cost(10, 3, ((4, 2),)).of(2) == 16


def test_an_example_is_planned_for_its_own_demand() -> None:
    graph = load(NBFM)
    own = plan(graph, Machine(2), 5e6)
    assert own.batches == [1155, *[231] * 6]
    assert own.bound_ns <= 5e6
    assert own.proven and own.utilization == own.least_utilization
    assert own.bound_ns == pytest.approx(own.filling_ns + own.responding_ns + own.spreading_ns)
    assert own.utilization == pytest.approx(sum(node.utilization for node in own.nodes))
    assert own.critical == [node.name for node in graph.nodes]
    assert own.first_output == 1155
    uniform = plan(graph, Machine(2), 5e6, "uniform")
    assert uniform.bound_ns <= 5e6 and uniform.utilization > 7 * own.utilization
    assert plan(graph, Machine(2), 5e6, "rate-exploiting").batches == own.batches


def test_a_bound_holds_in_simulation_and_its_buffers_suffice() -> None:
    for seed in range(20):
        graph = synthetic(seed, (3, 10))
        own = plan(graph, Machine(2), plan(graph, Machine(2)).bound_ns * 1.5)
        simulated = graph.core.simulate(own.batches, 2, seconds=0.05, seed=seed)
        assert simulated["events"] > 0
        assert simulated["latency_ns"] <= own.bound_ns * (1 + 1e-9)
        for node, response in zip(own.nodes, simulated["responses_ns"], strict=True):
            assert response <= node.response_ns * (1 + 1e-9)
        assert all(a <= b for a, b in zip(simulated["most"], own.buffers, strict=True))


def test_a_front_only_falls_and_each_point_keeps_its_bound() -> None:
    graph = load(NBFM)
    plans = front(graph, Machine(2), points=8)
    assert len(plans) > 4
    for before, after in pairwise(plans):
        assert after.bound_ns > before.bound_ns and after.utilization < before.utilization
    assert plans[0].bound_ns == plan(graph, Machine(2)).bound_ns


def test_a_plan_is_a_point_of_the_front_unless_one_is_better() -> None:
    graph = load(NBFM)
    points = front(graph, Machine(1), points=4)
    own = plan(graph, Machine(1), 1.3 * points[0].bound_ns)
    merged = with_plan(points, own)
    assert own in merged
    for a, b in pairwise(merged):
        assert a.bound_ns < b.bound_ns and a.utilization > b.utilization
    dearer = plan(graph, Machine(1), 3 * points[0].bound_ns, method="uniform")
    assert with_plan(merged, dearer) == merged


def test_a_front_can_be_stopped() -> None:
    assert len(front(load(NBFM), Machine(2), points=8, step=lambda: False)) == 1


def test_more_cores_or_time_never_cost_utilization() -> None:
    own = plan(load(NBFM), Machine(1), 1e6)
    assert all(each.utilization <= own.utilization for each in reliefs(own, 1e6))


def test_what_cannot_be_kept_is_told_with_the_least_bound() -> None:
    with pytest.raises(
        TooSlowError, match=r"nbfm-published: no batches keep 100 µs on 1 core; .* 297.8 µs"
    ):
        plan(load(NBFM), Machine(1), 1e5)
    heavy = Graph("heavy").node("a", Cost(0, 3e6), rate_hz=1000)
    with pytest.raises(TooSlowError, match=r"node a needs 3.00 cores in batches of any size"):
        plan(heavy, Machine(8))
    heavy = Graph("heavy")
    for name in "abc":
        heavy.node(name, Cost(0, 7e5), rate_hz=1000)
    with pytest.raises(TooSlowError, match=r"all nodes need 2\.10 cores .*, and there are 2"):
        plan(heavy, Machine(2))
    with pytest.raises(TooSlowError, match=r"no uniform batches keep 10 µs .* least bound"):
        plan(load(NBFM), Machine(2), 1e4, "uniform")


@pytest.mark.parametrize("rate", [1000, 8000, 48_000, 240_000])
def test_the_least_bound_is_one_that_can_be_asked_for(rate: int) -> None:
    for nodes in (2, 3, 4):
        for initial in (0.0, 1000.0, 3000.0):
            graph = Graph("x")
            for place in range(nodes):
                cost = Cost(initial * (1 + place % 3), 1)
                graph.node(f"n{place}", cost, rate_hz=None if place else rate)
                if place:
                    graph.edge(f"n{place - 1}", f"n{place}")
            own = plan(graph, Machine(nodes))
            assert len(own.batches) == nodes
            assert plan(graph, Machine(nodes), own.bound_ns).bound_ns <= own.bound_ns * (1 + 1e-9)
            uniform = plan(graph, Machine(nodes), method="uniform")
            assert own.bound_ns <= uniform.bound_ns * 1.001
            assert plan(graph, Machine(nodes), uniform.bound_ns).utilization <= uniform.utilization


def test_as_many_batches_as_nodes() -> None:
    with pytest.raises(GraphError, match="chain has 3 nodes, and 2 batches"):
        evaluate(chain(3), (1, 1), Machine(1), "uniform")


def test_a_threshold_that_no_latency_reaches_is_told() -> None:
    graph = Graph("far")
    graph.node("a", Cost(5300, 1), rate_hz=240_000)
    graph.node("b", Cost(5300, 1))
    graph.edge("a", "b", threshold=10**12, consume=1)
    with pytest.raises(TooSlowError, match=r"far: the least bound found is .* threshold"):
        plan(graph, Machine(1))


def test_a_wake_up_of_half_a_second_is_planned_like_any_other() -> None:
    graph = Graph("slow")
    graph.node("a", Cost(5e8, 1), rate_hz=1_000_000)
    graph.node("b", Cost(5300, 1))
    graph.edge("a", "b")
    found = plan(graph, Machine(2), method="uniform").batches[0]

    def bound(batch: int) -> float:
        return evaluate(graph, (batch, batch), Machine(2), "uniform").bound_ns

    with pytest.raises(TooSlowError, match=r"needs 1\.00 cores"):
        bound(found - 1)
    assert bound(found) <= bound(found + 1)


def test_mean_costs_are_shown_as_no_proof() -> None:
    graph = Graph("g").node("a", Cost(5000, 10), rate_hz=1000, mean_cost=Cost(4000, 8))
    own = plan(graph, Machine(1), 5e6)
    assert own.mean_bound_ns is not None and own.mean_bound_ns < own.bound_ns
    lines = about(own, 5e6, [])
    assert any("no proof" in line for line in lines)
    assert lines[1].startswith("of that, ")
    assert plan(load(NBFM), Machine(1), 5e6).mean_bound_ns is None


def test_several_sources_and_sinks_are_planned() -> None:
    graph = (
        Graph("two").node("a", Cost(1000, 1), rate_hz=3000).node("b", Cost(1000, 1), rate_hz=2000)
    )
    graph.node("c", Cost(1000, 1)).node("d", Cost(1000, 1)).node("e", Cost(1000, 1))
    graph.edge("a", "c", consume=3).edge("b", "c", consume=2).edge("c", "d", produce=2)
    graph.edge("b", "e")
    assert graph.rates_hz == [3000, 2000, 1000, 2000, 2000]
    own = plan(graph, Machine(1), 20e6)
    assert own.proven and own.bound_ns <= 20e6


def test_a_rate_is_exact() -> None:
    graph = chain(2, "44100/7")
    assert graph.rates_hz == [Fraction(6300), Fraction(6300)]
    assert chain(2, 0.1).rates_hz[0] == Fraction(1, 10)


def test_a_graph_may_still_grow_after_it_was_asked() -> None:
    graph = chain(2)
    assert len(graph.rates_hz) == 2
    graph.node("n2", Cost(1, 1)).edge("n1", "n2")
    assert len(graph.rates_hz) == 3


@pytest.mark.parametrize("method", ["optimum", "uniform"])
@pytest.mark.parametrize("latency", [0, -1, math.nan, math.inf])
def test_a_latency_that_is_none_is_refused(latency: float, method: Method) -> None:
    with pytest.raises(GraphError, match="a latency must be above 0"):
        plan(load(NBFM), Machine(1), latency, method)


@pytest.mark.parametrize("method", ["rate-exploiting", "uniform"])
def test_published_batches_are_the_largest_within_a_latency(method: Method) -> None:
    graph = load(NBFM)
    bounds = {}
    for batch in range(1, 400):
        batches = published(graph, method, batch)
        if not graph.core.unbounded(batches, 2):
            bounds[batch] = graph.core.latency(batches, 2)["bound_ns"]
    for latency in (400e3, 1e6, 7e6):
        largest = max(batch for batch, bound in bounds.items() if bound <= latency)
        own = plan(graph, Machine(2), latency, method)
        assert own.batches == published(graph, method, largest)
    assert plan(graph, Machine(2), None, method).bound_ns == min(bounds.values())


@pytest.mark.parametrize("rate", [0, -1, math.nan, math.inf, "x", 2.0**64, "1/0"])
def test_a_rate_that_is_none_is_refused(rate: object) -> None:
    with pytest.raises(GraphError, match="node n0: its rate is"):
        chain(2, rate)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a\n- b\n", "graph.yaml"),
        ("nodes: []\n", "graph.yaml:1: nodes is [] but must not be empty: it is a list"),
        (
            GOOD.replace("{from: a, to: b, consume: 2}", "[]"),
            "graph.yaml:5: edges[0] is [] but must be a section with the keys from, to, produce,",
        ),
        (GOOD.replace("from: a", "frm: a"), "edges[0].from is missing; it must be text"),
        (GOOD.replace("rate_hz: 1000", "rate_hz: 0"), "graph.yaml:2: nodes[0].rate_hz is 0"),
        (GOOD.replace("rate_hz: 1000", "rate_hz: .inf"), "graph.yaml:2: nodes[0].rate_hz is inf"),
        (GOOD.replace("rate_hz: 1000, ", ""), "graph.yaml:2: node a: nothing reaches it"),
        (GOOD.replace("each_ns: 10", "each_ns: -1", 1), "graph.yaml:2: nodes[0].cost.each_ns is"),
        (GOOD.replace("name: b", "name: a"), "graph.yaml:3: node a: another one has that name"),
        (GOOD.replace("to: b", "to: c"), "graph.yaml:5: edge a -> c: there is no node c"),
        (GOOD.replace("consume: 2", "consume: 0"), "graph.yaml:5: edge a -> b: it has to consume"),
        (
            GOOD.replace("consume: 2", "consume: 2, threshold: 1"),
            "graph.yaml:5: edge a -> b: it consumes 2 samples, more than the 1 of its threshold",
        ),
        (
            GOOD + "  - {from: b, to: a}\n",
            "graph.yaml:2: node a: a rate is a source's, and it has an input",
        ),
        (
            GOOD + "  - {from: a, to: b, consume: 3}\n",
            "graph.yaml:6: edge a -> b: through it b would execute 1000/3 times a second",
        ),
        (
            GOOD.replace("consume: 2", "produce: 18446744073709551615, consume: 3"),
            "graph.yaml:5: edge a -> b: ",
        ),
        (
            GOOD.replace("consume: 2", "produce: 99999999999999999999999"),
            "graph.yaml:5: edge a -> b: a number has more than 64 bits",
        ),
        (
            GOOD.replace("name: b,", "name: b, block: {type: fir, taps: [1], decimation: 5},"),
            "graph.yaml:5: edge a -> b: consumes 2, but the block of node b takes 5",
        ),
        (
            GOOD.replace("each_ns: 10}}", "each_ns: 10, pieces: [{from_execution: 9, each_ns: 1},"
                         " {from_execution: 9, each_ns: 1}]}}", 1),
            "graph.yaml:2: node a: the pieces of its cost must begin at ascending executions",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_line_node_and_edge(
    text: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as told:
        load(file_of(tmp_path, text)).check()
    assert said in str(told.value).replace(f"{tmp_path}/", "")


@pytest.mark.parametrize(
    ("nodes", "cycle"),
    [
        (1, "n0 -> n0"),
        (3, "n1 -> n2 -> n0 -> n1"),
        (50, "n48 -> n49 -> n0 -> n1 -> n2 -> … -> n44 -> n45 -> n46 -> n47 -> n48"),
    ],
)
def test_a_cycle_is_told_whole(nodes: int, cycle: str) -> None:
    graph = Graph("round").node("source", Cost(1, 1), rate_hz=1000).edge("source", "n0")
    for place in range(nodes):
        graph.node(f"n{place}", Cost(1, 1)).edge(f"n{place}", f"n{(place + 1) % nodes}")
    graph.node("behind", Cost(1, 1)).edge("n0", "behind")
    with pytest.raises(GraphError, match=re.escape(f"a graph must have none: {cycle}")):
        graph.check()


def test_a_name_that_two_nodes_have_is_the_only_fault_told(tmp_path: Path) -> None:
    text = (
        "nodes:\n  - {name: a, rate_hz: 10, block: {type: null-source}}\n"
        "  - {name: s, block: {type: fir, taps: [1]}}\n  - {name: s, block: {type: null-sink}}\n"
        "edges: [{from: a, to: k}, {from: k, to: s}, {from: s, to: s}]\n"
    )
    with pytest.raises(ConfigError) as told:
        load(file_of(tmp_path, text))
    assert str(told.value) == f"{tmp_path}/graph.yaml:4: node s: another one has that name"


@pytest.mark.parametrize(
    ("mean", "batch"),
    [
        ("{initial_us: 1, each_ns: 10}", None),
        ("{initial_us: 0.5, each_ns: 10, pieces: [{from_execution: 9, each_ns: 2}]}", None),
        ("{initial_us: 1.5, each_ns: 2}", 1),
        ("{initial_us: 0.9, each_ns: 15}", 21),
        ("{initial_us: 0.9, each_ns: 5, pieces: [{from_execution: 101, each_ns: 16}]}", 201),
    ],
)
def test_a_mean_cost_above_the_quantile_is_told(
    mean: str, batch: int | None, tmp_path: Path
) -> None:
    cost = "cost: {initial_us: 1, each_ns: 10}"
    file = file_of(tmp_path, GOOD.replace(cost, f"{cost},\n     mean_cost: {mean}", 1))
    if batch is None:
        assert load(file).nodes[0].mean_cost is not None
        return
    told = rf"graph.yaml:3: node a: a batch of {batch} takes .* by its mean_cost but .* by its cost"
    with pytest.raises(ConfigError, match=told):
        load(file)


def test_a_missing_cost_is_told_when_a_plan_is_made(tmp_path: Path) -> None:
    text = GOOD.replace(", cost: {initial_us: 1, each_ns: 10}}\nedges", "}\nedges")
    graph = load(file_of(tmp_path, text))
    with pytest.raises(ConfigError, match=r"graph.yaml:3: node b: has no cost"):
        plan(graph, Machine(1))


def test_a_graph_of_too_many_nodes_is_refused_and_one_of_many_is_planned(tmp_path: Path) -> None:
    rows = "".join(
        f"  - {{name: n{place}, cost: {{initial_us: 1, each_ns: 1}}}}\n" for place in range(100_000)
    )
    with pytest.raises(ConfigError, match="is larger than 2048 KiB"):
        load(file_of(tmp_path, f"nodes:\n{rows}"))
    own = plan(chain(10_000), Machine(100), 30e9)
    assert own.bound_ns <= 30e9
    assert len(own.batches) == 10_000


def test_a_plan_is_written_for_people_and_machines(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    words = ["flowgraph", "plan", "nbfm-published", "--front", "--folder", str(folder), "--json"]
    result = CliRunner().invoke(cli.app, words)
    assert result.exit_code == 0, result.output
    told = json.loads((folder / "plan.json").read_text())
    assert json.loads(result.stdout) == told
    assert told["batches"] == [1155, *[231] * 6]
    assert told["cores"] == 2 and told["cost_quantile"] == 0.999
    assert set(told["with"]) == {"one more core", "1 ms more"}
    with (folder / "front.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["bound_ns"]) for row in rows] == [each["bound_ns"] for each in told["front"]]
    for name in ("plan.svg", "front.svg"):
        assert (folder / name).read_text().startswith("<?xml")
    assert "no sample comes out later than 4.998 ms on 2 cores" in result.stderr


def test_show_and_check_tell_rates(tmp_path: Path) -> None:
    drawn = tmp_path / "nbfm.svg"
    result = CliRunner().invoke(
        cli.app, ["flowgraph", "show", "nbfm-published", "--draw", str(drawn), "--json"]
    )
    assert result.exit_code == 0, result.output
    nodes = json.loads(result.stdout)["nodes"]
    assert nodes[1] == {"node": "channel", "rate_hz": 48000.0, "x": 1, "y": 5}
    assert drawn.read_text().startswith("<?xml")
    result = CliRunner().invoke(cli.app, ["flowgraph", "check", "nbfm-published"])
    assert "7 nodes, 6 edges" in result.stdout


@pytest.mark.parametrize(
    ("words", "said", "status"),
    [
        ("plan nbfm-published --latency 5", "'5' is no time", Status.WRONG_INPUT),
        ("plan nbfm-published --latency 0ms", "must be above 0", Status.WRONG_INPUT),
        ("plan nbfm-published --latency 1us", "no batches keep 1 µs", Status.TOO_SLOW),
        ("plan nbfm-published --costs none.json", "none.json: cannot be read", Status.WRONG_INPUT),
        ("plan nonesuch", "nonesuch: no such file, nor an example", Status.WRONG_INPUT),
        ("plan --grc nonesuch --latency 9ms", "the examples are nbfm", Status.WRONG_INPUT),
        ("plan nbfm --scheduling fifo", "--scheduling: has a meaning only", Status.WRONG_INPUT),
        ("plan nbfm --seconds 3", "--seconds: has a meaning only with", Status.WRONG_INPUT),
        ("plan nbfm --rate a=1", "--rate: has a meaning only with --grc", Status.WRONG_INPUT),
        ("plan --grc nbfm --front", "--front: has a meaning only without", Status.WRONG_INPUT),
        (
            "show nbfm-published --draw none/a.svg",
            "none/a.svg: there is no folder none",
            Status.WRONG_INPUT,
        ),
        (
            "show nbfm-published --draw a.txt",
            "a.txt: a picture's name must end in",
            Status.WRONG_INPUT,
        ),
    ],
)
def test_wrong_words_are_told(
    words: str, said: str, status: Status, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli.app, ["flowgraph", *words.split()])
    error = result.exception
    if isinstance(error, CarillonError):
        assert result.stdout == ""
        assert said in str(error) and error.status == status
    else:
        assert said in result.output and result.exit_code == status
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "ns"), [("5ms", 5e6), ("300us", 3e5), ("300 µs", 3e5), ("0.1s", 1e8), ("7ns", 7)]
)
def test_a_time_has_a_unit(text: str, ns: float) -> None:
    assert duration_ns(text) == pytest.approx(ns)


def test_a_picture_has_every_node_and_marks_the_critical_path() -> None:
    graph = synthetic(3, (14, 14))
    own = plan(graph, Machine(2), 4e6)
    words = [text.get_text() for text in picture(graph, own).axes[0].texts]
    assert all(node.name in words for node in graph.nodes)
    assert any("at most" in word for word in words)


def test_a_long_chain_is_drawn_in_two_rows_and_a_short_one_in_one() -> None:
    graph = load(NBFM)
    wide, high = picture(graph, plan(graph, Machine(2), 5e6)).get_size_inches()
    assert wide < 10 and high > 2
    short = Graph("short").node("a", Cost(1, 1), rate_hz=1000).node("b", Cost(1, 1)).edge("a", "b")
    assert picture(short, None).get_size_inches()[1] < 2


def test_formulas_and_numbers_that_do_not_fit_are_refused() -> None:
    flow = load(NBFM).core
    for batches in ([1] * 6, [0] * 7, [1 << 60] * 7):
        with pytest.raises((ValueError, TypeError)):
            flow.latency(batches, 2)
    with pytest.raises(ValueError, match="formula must be"):
        flow.latency([5] * 7, 2, formula="none")
    with pytest.raises(ValueError, match="without preemption"):
        flow.latency([5] * 7, 2, preemptive=False, formula="fair-lateness")
    with pytest.raises(ValueError, match="a bound must be"):
        flow.least_utilization(math.nan, 2)
    with pytest.raises(ValueError, match="cores must be"):
        flow.latency([5] * 7, 0)


def test_without_preemption_a_bound_is_longer() -> None:
    graph = load(NBFM)
    batches = [240, *[48] * 6]
    alone = evaluate(graph, batches, Machine(2, preemptive=False), "uniform")
    assert alone.bound_ns > evaluate(graph, batches, Machine(2), "uniform").bound_ns


def test_what_the_page_shows_works(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "flowgraphs.md").read_text(encoding="utf-8")
    (yaml,) = re.findall(r"^```yaml\n(.*?)^```", page, re.S | re.M)
    graph = load(file_of(tmp_path, yaml))
    graph = graph.with_costs({"filter": Cost(1, 1)}) if graph.nodes[1].cost is None else graph
    assert plan(graph, Machine(1, preemptive=False), 5e6).bound_ns <= 5e6
    (python,) = re.findall(r"^```python\n(.*?)^```", page, re.S | re.M)
    exec(compile(python, "flowgraphs.md", "exec"), {})
