"""Plans for flowgraphs of GNU Radio, from what it says of them; without GNU Radio."""

from __future__ import annotations

import os
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from carillon.errors import InputError
from carillon.flowgraph import Machine, plan
from carillon.flowgraph.grc import batches
from carillon.flowgraph.grc.blocks import Flow, flow_of
from carillon.flowgraph.grc.control import watched
from carillon.flowgraph.grc.costs import through, with_costs
from carillon.flowgraph.grc.latency import seen
from hypothesis import given
from hypothesis import strategies as st


def block(name: str, **more: Any) -> dict[str, Any]:
    usual = {"kind": name, "produces": 1, "consumes": 1, "multiple": 1, "history": 1}
    return {"name": name, "rate_hz": None} | usual | more


def described(blocks: list[dict[str, Any]], *chains: str) -> dict[str, Any]:
    links = {pair for chain in chains for pair in pairwise(chain.split())}
    return {
        "blocks": blocks,
        "links": [
            {"writer": writer, "output": 0, "reader": reader, "input": 0}
            for writer, reader in sorted(links)
        ],
    }


def receiver() -> Flow:
    """A source that works ahead, a clock, a division by five with a long filter, a sink."""
    blocks = [
        block("ahead"),
        block("clock", kind="throttle", rate_hz=1000.0),
        block("filter", consumes=5, history=115),
        block("sink"),
    ]
    return flow_of("receiver", described(blocks, "ahead clock filter sink"))


def measured(flow: Flow, settings: list[dict[str, Any]], ns: float) -> list[dict[str, Any]]:
    """As if each batch took so much, and ten windows of a batch had been seen."""
    return [
        {
            "windows_ns": [round(max(flow.periods_ns(each).values()))] * 10,
            "used": {name: {"windows_ns": [ns] * 10} for name in flow.stages},
        }
        for each in settings
    ]


def test_what_works_ahead_of_a_throttle_is_in_no_plan() -> None:
    flow = receiver()
    assert list(flow.stages) == ["clock", "filter", "sink"]
    assert flow.item_rates_hz() == {"clock": 1000, "filter": 200, "sink": 200}
    assert flow.sinks == ["sink"] and flow.pace_of("sink") == "clock"
    assert flow.probes() == {"clock": ("clock", 0), "sink": ("filter", 0)}


def test_rates_are_exact_ratios_and_executions_whole_numbers_of_items() -> None:
    blocks = [
        block("clock", kind="throttle", rate_hz=48_000.0),
        block("resampler", produces=147, consumes=160),
        block("blocked", multiple=313, consumes=4),
        block("sink", multiple=10),
        block("end"),
    ]
    flow = flow_of("g", described(blocks, "clock resampler sink", "clock blocked end"))
    executions = dict(zip(flow.stages, flow.graph().rates_hz, strict=True))
    assert executions["resampler"] == 300  # 147 items from 160
    assert executions["blocked"] == Fraction(48_000, 4 * 313)
    assert flow.item_rates_hz()["sink"] == 44_100 and executions["sink"] == 4410


@pytest.mark.parametrize(
    "blocks, chains, said",
    [
        ([block("a"), block("b")], ["a b"], "name its rate, as --rate a=240000"),
        ([block("a", rate_hz=float("nan")), block("b")], ["a b"], "name its rate"),
        (
            [block("a"), block("t", kind="throttle", rate_hz=1.0), block("m"), block("s")],
            ["a t m s", "a m"],
            "block m is fed by a, which is before a throttle",
        ),
        ([block("a")], [], "no blocks that are connected"),
    ],
)
def test_what_has_no_pace_is_told(
    blocks: list[dict[str, Any]], chains: list[str], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        flow_of("g", described(blocks, *chains))


def test_a_source_takes_the_rate_that_is_given() -> None:
    flow = flow_of("g", described([block("a"), block("b")], "a b"), {"a": Fraction(5, 3)})
    assert flow.rates_hz == {"a": Fraction(5, 3)}
    with pytest.raises(InputError, match="--rate x: there is no such block; there are a, b"):
        flow_of("g", described([block("a"), block("b")], "a b"), {"x": Fraction(1)})


def test_blocks_that_do_not_do_what_they_declare_have_no_plan() -> None:
    flow = receiver()
    used = {"clock": {"items": 500_000}, "filter": {"items": 100_000}, "sink": {"items": 50_000}}
    found = {"from_ns": 0, "to_ns": 500_000_000_000, "used": used}
    settings = {"blocks": {name: {"batch": 10} for name in flow.stages}}
    assert flow.keeps_up(settings, found)
    with pytest.raises(InputError, match="block sink handles 100 items a second"):
        flow.require_steady(settings, found)
    used["sink"]["items"] = 95_000 - 10 - 8192  # a batch and a full buffer less than 95 %
    flow.require_steady(settings, found)
    used["clock"]["items"] = 450_000
    assert not flow.keeps_up(settings, found)


def test_batches_that_are_measured_fill_the_latency_and_end_together() -> None:
    flow = receiver()
    found = batches.to_measure(flow, 80e6, 2, "other")
    own = [{name: each["batch"] for name, each in s["blocks"].items()} for s in found]
    assert own[0] == {"clock": 80, "filter": 16, "sink": 16}
    assert own[-1] == {"clock": 5, "filter": 1, "sink": 1}
    assert all(each["clock"] == 5 * each["filter"] for each in own)


@given(
    rates=st.lists(st.fractions(1, 1000, max_denominator=64), min_size=1, max_size=5),
    milliseconds=st.integers(1, 100_000),
)
def test_batches_last_about_as_long_as_asked(rates: list[Fraction], milliseconds: int) -> None:
    seconds = Fraction(milliseconds, 1000)
    for batch, rate in zip(batches._lasting(seconds, rates), rates, strict=True):
        assert batch == 1 or batch / rate <= seconds + 1 / rate / 2


def test_a_buffer_holds_two_batches_and_what_its_readers_have_to_see() -> None:
    flow = receiver()
    for settings in batches.to_measure(flow, 80e6, 2, "other"):
        own = settings["blocks"]
        seen_at_once = own["filter"]["batch"] * 5 + 115
        assert own["clock"]["buffer"] >= 2 * max(own["clock"]["batch"], seen_at_once)
        assert all(each["buffer"] % each["batch"] == 0 for each in own.values())


def test_settings_of_a_plan_have_its_batches_and_threads_that_keep_its_order() -> None:
    flow = receiver()
    sizes = batches.to_measure(flow, 80e6, 2, "other")
    graph = with_costs(flow, sizes, measured(flow, sizes, 1e5), 0.99)
    assert graph.quantile == 0.9  # ten windows show no more
    own = plan(graph, Machine(1), 80e6)
    settings = batches.of_plan(flow, own, "fifo")["blocks"]
    assert [each["batch"] for each in settings.values()] == own.batches
    priorities = {name: each["priority"] for name, each in settings.items()}
    assert priorities["clock"] > priorities["sink"] > priorities["filter"]  # of equal periods
    budgets = batches.of_plan(flow, own, "deadline")["blocks"]
    shares = [each["runtime_ns"] / each["period_ns"] for each in budgets.values()]
    assert sum(shares) <= 0.75 * (os.cpu_count() or 1) and max(shares) <= 0.9
    for node in own.nodes:
        assert budgets[node.name]["period_ns"] == int(node.period_ns)
        assert budgets[node.name]["runtime_ns"] > node.cost_ns


def test_deadlines_that_the_kernel_does_not_take_are_told() -> None:
    blocks = [block("clock", kind="throttle", rate_hz=1e6), block("sink")]
    flow = flow_of("g", described(blocks, "clock sink"))
    sizes = batches.to_measure(flow, 1e6, 2, "other")
    own = plan(with_costs(flow, sizes, measured(flow, sizes, 0.0), 0.99), Machine(1), 50e3)
    with pytest.raises(InputError, match="periods from 100 µs to 4 s; use --scheduling fifo"):
        batches.of_plan(flow, own, "deadline")


@given(
    points=st.dictionaries(st.integers(1, 100_000), st.integers(0, 10**9), min_size=1, max_size=6)
)
def test_no_batch_that_was_measured_is_above_its_cost(points: dict[int, int]) -> None:
    sizes = sorted(points)
    cost = through(sizes, [points[size] for size in sizes])
    for size in sizes:
        assert cost.of(size) >= points[size] * (1 - 1e-9)
    assert cost.initial_ns >= 0 and cost.of(sizes[-1] + 1) >= cost.of(sizes[-1])


def test_a_window_that_was_looked_at_late_has_several_batches() -> None:
    flow = receiver()
    sizes = batches.to_measure(flow, 80e6, 2, "other")[:1]
    late = measured(flow, sizes, 3000.0)
    late[0]["windows_ns"] = [3 * ns for ns in late[0]["windows_ns"]]
    for node in with_costs(flow, sizes, late, 0.99).nodes:
        assert node.cost is not None
        batch = sizes[0]["blocks"][node.name]["batch"]
        assert node.cost.of(batch) == pytest.approx(1000.0)


def test_a_latency_is_from_the_due_time_of_the_first_sample_of_an_item() -> None:
    flow = receiver()
    ms = 1_000_000
    # 1000 samples a second: ten have come by 110 ms, so that the first was due at 101 ms.
    came = {"times_ns": [110 * ms, 125 * ms], "counts": [10, 20]}
    left = {"times_ns": [112 * ms, 122 * ms], "counts": [2, 4]}  # items of five samples each
    used = {
        name: {"cpu_ns": 5 * ms, "wake_ups": 3, "call_items": 2.0, "items": 4}
        for name in ("ahead", *flow.stages)
    }
    run = {"from_ns": 0, "to_ns": 1000 * ms, "used": used, "probes": {"clock": came, "sink": left}}
    found = seen(flow, run, bound_ns=10.5 * ms)
    assert np.allclose(found.latencies_ns / ms, [112 - 101, 112 - 106, 122 - 111, 122 - 116])
    assert found.late == 0.5
    assert found.quantile_ns(0.3) == pytest.approx(6 * ms) and found.wake_ups_hz == 12
    assert found.all_cores == pytest.approx(0.02)
    after = seen(flow, run | {"from_ns": 115 * ms}, None)
    assert len(after.latencies_ns) == 2 and after.late is None


def test_a_run_lasts_until_something_has_left() -> None:
    flow = receiver()
    ms = 1_000_000
    used = {
        name: {"cpu_ns": 5 * ms, "wake_ups": 3, "call_items": 2.0, "items": 4}
        for name in ("ahead", *flow.stages)
    }
    came = {"times_ns": [110 * ms], "counts": [10]}
    lasted: list[float] = []

    def run(enough: float, seconds: float, probes: object) -> dict[str, object]:
        assert probes == flow.probes()
        lasted.append(seconds)
        nothing: dict[str, list[int]] = {"times_ns": [], "counts": []}
        left = {"times_ns": [112 * ms], "counts": [2]} if seconds >= enough else nothing
        return {
            "from_ns": 0, "to_ns": 1000 * ms, "used": used,
            "probes": {"clock": came if seconds > 0.1 else nothing, "sink": left},
        }  # fmt: skip

    found = watched(flow, 0.1, partial(run, 0.35))
    assert lasted == [0.1, 0.2, 0.4]
    assert len(seen(flow, found).latencies_ns) == 2
    with pytest.raises(InputError, match=r"nothing left it in 0\.8 s"):
        watched(flow, 0.1, partial(run, 100.0), most=4)
