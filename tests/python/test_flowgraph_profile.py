"""Profiles of blocks: that everything is measured, fitted and written; not how fast it is."""

import json
from pathlib import Path

import numpy as np
import pytest
from carillon import cli, examples
from carillon.errors import InputError
from carillon.flowgraph import Cost, Graph, Machine, load, plan, profile
from carillon.flowgraph.costs import Costs, read_costs
from carillon.flowgraph.plots import profile_picture
from carillon.flowgraph.profile import BATCHES, SETTINGS, Point, Profile, fit, residual
from typer.testing import CliRunner

NBFM = examples.resolve("flowgraphs", "nbfm")


def test_a_line_is_found_again_and_never_negative() -> None:
    exact = 5300 + 18.7 * np.array(BATCHES)
    assert fit(BATCHES, exact) == pytest.approx((5300, 18.7))
    assert residual(BATCHES, exact, 5300, 18.7) < 1e-12
    noisy = exact * np.array([1.05, 0.95, 1.02, 0.98, 1.03, 0.97, 1.01])
    initial, each = fit(BATCHES, noisy)
    assert initial == pytest.approx(5300, rel=0.1) and each == pytest.approx(18.7, rel=0.1)
    assert fit([1, 2, 3], np.array([1.0, 4.0, 9.0]))[0] == 0
    assert fit([1, 2, 3], np.array([9.0, 4.0, 1.0]))[1] == 0


def test_a_cost_is_no_less_than_what_was_measured_of_any_size() -> None:
    random = np.random.default_rng(3)
    for _ in range(100):
        slopes = random.lognormal(0, 2, len(BATCHES)) * random.integers(0, 2, len(BATCHES))
        ns = 1000 + np.cumsum(slopes * np.diff([0, *BATCHES])) - random.uniform(0, 900)
        ns *= random.lognormal(0, 0.3, len(BATCHES))
        found = profile._measured(BATCHES, list(ns)).cost()
        for batch, measured in zip(BATCHES, ns, strict=True):
            assert found.of(batch) >= measured * (1 - 1e-9)
        costs = [found.of(batch) for batch in (*range(1, 300), 4095, 4096, 4097, 10**6)]
        assert costs == sorted(costs)
        assert found.of(10**6) >= 10**6 * ns[-1] / BATCHES[-1] * (1 - 1e-9)


def test_a_line_stays_a_line() -> None:
    line = Cost(1000, 2)
    found = profile._measured(BATCHES, [line.of(batch) for batch in BATCHES]).cost()
    for batch in (1, 2, 100, 4096):
        assert found.of(batch) == pytest.approx(line.of(batch))


def test_a_quantile_is_what_so_few_batches_can_show() -> None:
    points = [
        profile.Point("a", "carillon", "in-place", n, 1, 1, 1, c) for n, c in ((1, 100), (4, 2000))
    ]
    assert profile.shown(0.999, points) == 0.99
    assert profile.shown(0.9, points) == 0.9
    assert profile.shown(0.999, points[1:]) == 0.999


def test_a_profile_is_written_and_planned_with(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    words = "flowgraph profile nbfm --seconds 0.002 --no-gnuradio --json --folder".split()
    result = CliRunner().invoke(cli.app, [*words, str(folder)])
    assert result.exit_code == 0, result.output
    told = json.loads((folder / "profile.json").read_text())
    assert json.loads(result.stdout) == told
    blocks = [node.name for node in load(NBFM).nodes]
    assert {(p["node"], p["setting"], p["batch"]) for p in told["points"]} == {
        (node, setting, batch) for node in blocks for setting in SETTINGS for batch in BATCHES
    }
    for point in told["points"]:
        assert 0 <= point["median_ns"] <= max(point["quantile_ns"], point["median_ns"])
        assert point["count"] >= 1
    for line in told["lines"]:
        low, high = line["initial_interval"]
        assert 0 <= low <= high
    graph = read_costs(folder / "costs.json", load(NBFM))
    assert all(a.cost != b.cost for a, b in zip(graph.nodes, load(NBFM).nodes, strict=True))
    assert plan(graph, Machine(2), 50e6).bound_ns <= 50e6
    for name in ("profile.png", "profile.csv"):
        assert (folder / name).stat().st_size > 1000
    # A path, and what changes while it runs, cost nothing.
    read_costs(folder / "costs.json", load(NBFM, ["volume.value=3", "rotator.frequency_hz=1"]))
    with pytest.raises(InputError, match=r"channel was measured with another block .*\(decimation"):
        read_costs(folder / "costs.json", load(NBFM, ["channel.decimation=10"]))


def test_a_profile_that_is_stopped_has_what_is_whole() -> None:
    steps = iter(range(2 * len(SETTINGS) * len(BATCHES) - 1))

    def step() -> None:
        if next(steps, None) is None:
            raise KeyboardInterrupt

    found = profile.measure(load(NBFM), 1e-5, step, with_gnuradio=False)
    assert not found.whole
    assert list(found.costs.nodes) == [load(NBFM).nodes[0].name]
    with pytest.raises(KeyboardInterrupt):
        profile.measure(load(NBFM), 1e-5, step, with_gnuradio=False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no file of costs"),
        ("[]", "is no file of costs: must be a JSON object; carillon flowgraph profile writes"),
        ("{}", "is no file of costs: has no machine; carillon flowgraph profile writes one"),
        ('{"machine": "m", "quantile": 0.9, "nodes": {}}', "has costs of none of the nodes"),
        ('{"machine": "m", "quantile": 9, "nodes": {}}', "quantile: "),
        (
            '{"machine": "m", "quantile": 0.9, "nodes": {"rotator": {}}}',
            "has no nodes.rotator.cost;",
        ),
    ],
)
def test_a_wrong_file_of_costs_is_told(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "costs.json"
    file.write_text(text)
    with pytest.raises(InputError, match=r"costs\.json: ") as told:
        read_costs(file, load(NBFM))
    assert said in str(told.value)


def test_a_graph_without_blocks_is_not_measured() -> None:
    with pytest.raises(InputError, match="no node has a block that can be measured"):
        profile.measurable(Graph("g").node("a", Cost(1, 1), rate_hz=1))


@pytest.mark.slow
def test_gnu_radios_blocks_are_measured_where_they_are(tmp_path: Path) -> None:
    if profile.gnuradio_python() is None:
        pytest.skip("GNU Radio is not installed")
    graph = Graph("one").node("a", rate_hz=1000, block=load(NBFM).nodes[1].block)
    found = profile.measure(graph, 0.001, lambda: None, with_gnuradio=True)
    theirs = [point for point in found.points if point.of == "gnuradio"]
    assert theirs and all(point.mean_ns > 0 for point in theirs)
    assert [line.of for line in found.lines].count("gnuradio") == 1


def test_every_panel_of_a_profile_without_one_below_has_ticks() -> None:
    points = [
        Point(name, "carillon", "warm", batch, 1.0 * batch, 1.0 * batch, 1.0 * batch, 9)
        for name in "abcde"
        for batch in (1, 4)
    ]
    costs = Costs(machine="here", quantile=0.999, nodes={})
    drawn = profile_picture(Profile("graph", 0.999, "here", points, [], costs))
    drawn.draw_without_rendering()
    ticks = [axes.xaxis.get_major_ticks() for axes in drawn.axes[:5]]
    assert [any(tick.label1.get_visible() for tick in own) for own in ticks] == [
        False,
        False,
        True,
        True,
        True,
    ]
