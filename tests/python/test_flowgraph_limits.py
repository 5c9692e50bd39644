"""Flowgraphs at the limits of what can be asked, and beyond them."""

import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from carillon.config import ConfigError
from carillon.errors import TooSlowError
from carillon.flowgraph import Cost, Graph, GraphError, Machine, commands, front, load, plan
from carillon.flowgraph.drawing import draw
from carillon.flowgraph.graph import Edge, Node
from carillon.flowgraph.plan import evaluate, reliefs
from carillon.plots import style


def small() -> Graph:
    return Graph().node("a", Cost(100, 1), rate_hz=1000).node("b", Cost(100, 1)).edge("a", "b")


def test_what_is_asked_at_a_limit_has_no_relief_beyond_it() -> None:
    most = plan(small(), Machine(4096), 1e15)
    assert reliefs(most, 1e15) == []
    assert [each.what for each in reliefs(most, 1e9)] == ["1 ms more"]


def test_nodes_that_cost_nothing_have_a_plan() -> None:
    free = Graph().node("a", Cost(0, 0), rate_hz=1000)
    assert plan(free, Machine(1)).bound_ns == 0
    assert len(front(free, Machine(1))) == 1
    fast = Graph().node("a", Cost(0, 0), rate_hz=10**18)
    assert max(plan(fast, Machine(1), 1e15, "uniform").batches) <= 10**12


@pytest.mark.parametrize(
    "build",
    [
        lambda: small().edge("a", "b", produce=-1).check(),
        lambda: small().edge("a", "b", produce=1.5).check(),  # type: ignore[arg-type]
        lambda: small().edge("a", "b", consume="2").check(),  # type: ignore[arg-type]
        lambda: small().node("c", Cost("1", 1)).check(),  # type: ignore[arg-type]
        lambda: small().node("c", 5).check(),  # type: ignore[arg-type]
        lambda: small().node("c", Cost(1, 1, ((2**70, 1),))).check(),
        lambda: small().node(None, Cost(1, 1)).check(),  # type: ignore[arg-type]
        lambda: small().node("\ud800", Cost(1, 1)).check(),
        lambda: small().node("two\nlines", Cost(1, 1)).check(),
        lambda: Graph(nodes=[Node("a", Cost(1, 1), Fraction(-3))]).check(),
        lambda: Graph().node("a", Cost(1, 1), rate_hz="1e99999999"),
        lambda: Machine(0),
        lambda: Machine(1.5),  # type: ignore[arg-type]
        lambda: Machine(2**32),
        lambda: evaluate(small(), [1, -1], Machine(1), "uniform"),
        lambda: evaluate(small(), [1, 2**64], Machine(1), "uniform"),
        lambda: plan(small(), Machine(1), method="x"),  # type: ignore[arg-type]
        lambda: front(small(), Machine(1), points=1),
    ],
)
def test_whatever_is_wrong_is_a_graph_error(build: Callable[[], object]) -> None:
    with pytest.raises(GraphError):
        build()


def test_means_without_a_bound_show_none() -> None:
    dear = small().node("c", Cost(100, 1), mean_cost=Cost(100, 2e6)).edge("b", "c")
    assert plan(dear, Machine(1)).mean_bound_ns is None


def test_a_graph_that_is_changed_is_another_one() -> None:
    graph = small()
    assert len(graph.rates_hz) == 2
    graph.nodes.append(Node("c", Cost(1, 1)))
    graph.edges.append(Edge("b", "c"))
    assert len(graph.rates_hz) == 3


def test_a_buffer_beyond_64_bits_is_as_large_as_can_be_told() -> None:
    huge = Graph().node("a", Cost(1, 1), rate_hz=1).node("b", Cost(1, 1))
    huge.edge("a", "b", produce=10**16, consume=10**16)
    found = evaluate(huge, [10**6, 10**6], Machine(1), "uniform")
    assert found.buffers == [2**64 - 1]


def test_a_check_names_the_line_of_a_node_that_no_batch_helps(tmp_path: Path) -> None:
    file = tmp_path / "u1.yaml"
    file.write_text(
        "nodes:\n  - {name: a, rate_hz: 1000, cost: {initial_us: 1, each_ns: 2000000}}\n"
    )
    with pytest.raises(ConfigError, match=r"u1.yaml:2: node a needs 2.00 cores") as error:
        commands.check(str(file))
    assert "in batches of any size" in str(error.value)
    with pytest.raises(TooSlowError, match=r"u1.yaml:2: node a needs 2.00 cores"):
        plan(load(file), Machine(1))


def test_a_name_is_no_formula_and_may_be_of_any_letters(tmp_path: Path) -> None:
    graph = Graph().node(r"$\frac{$", Cost(100, 1), rate_hz=1000).node("放送 📡", Cost(100, 1))
    graph.edge(r"$\frac{$", "放送 📡")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw(graph, None, tmp_path / "graph.svg")
    assert (tmp_path / "graph.svg").stat().st_size > 1000


def test_powers_of_ten_on_an_axis_are_written_as_such() -> None:
    with style.applied():
        drawn, axes = style.figure()
        axes.loglog([1, 1e6], [1, 1e6])
        drawn.canvas.draw()
        assert axes.yaxis.get_major_ticks()[0].label1.get_parse_math()
