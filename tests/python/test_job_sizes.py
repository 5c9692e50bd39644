"""Job sizes: the choice against every other one, and why it is as it is."""

import itertools
from dataclasses import replace

import pytest
from carillon import cells, job_sizes, virtual
from carillon.config import Cell
from carillon.machine import Machine
from carillon.memory_run import with_grain
from carillon.virtual import Costs
from hypothesis import given, settings
from hypothesis import strategies as st
from test_planning import LAN, costs, stage

SIX = ("laptop-8x2", "lan-8x4", "rayleigh-16x4", "thesis-16x8", "agora-64x16", "hydra-128x32")


def of(name: str) -> Cell:
    return cells.load(name).cell


def test_sizes_end_where_a_core_has_its_share() -> None:
    sizes = job_sizes.sizes(LAN, 2)
    assert sizes["fft"] == [1, 2, 4]  # of 8 antennas
    assert sizes["demodulate"] == [1, 2, 4, 8, 16, 19]  # of 38 tiles
    assert job_sizes.sizes(LAN, 8)["fft"] == [1]
    asked = with_grain(LAN, dict.fromkeys(sizes, 64))
    chosen, _ = job_sizes.choose(asked, Costs(costs(), Machine.of_speed(2)), 2)
    assert all(size <= sizes[stage][-1] for stage, size in chosen.items())
    assert "decode" in sizes
    assert "encode" in sizes
    assert "precode" not in job_sizes.sizes(of("thesis-16x8"), 2)


@pytest.mark.parametrize("name", ["laptop-8x2", "lan-8x4"])
def test_the_choice_is_within_five_percent_of_the_best_of_all(name: str) -> None:
    """In virtual time; `carillon validate` does it for all cells with measured costs."""
    cell = of(name)
    table = Costs(costs(), Machine.of_speed(3))
    chosen, _ = job_sizes.choose(cell, table, 3)
    swept = job_sizes.sweep(
        cell,
        chosen,
        3,
        lambda grain: virtual.simulate(with_grain(cell, grain), table, 3).latency_ms,
    )
    assert swept.exhaustive
    assert swept.best_ms <= swept.chosen_ms
    assert swept.excess <= 0.05


@given(
    dear=st.floats(0, 20_000),
    ends=st.lists(st.integers(0, 6), min_size=7, max_size=7),
)
@settings(deadline=None, max_examples=20)
def test_no_size_of_any_stage_alone_beats_the_choice(dear: float, ends: list[int]) -> None:
    known = costs()
    claims = {op: stage(dear, one.chunk_ns) for op, one in known.stages.items()}
    table = Costs(replace(known, stages=claims), Machine.of_speed(2))
    grain, best = job_sizes.choose(LAN, table, 2)
    for name, end in zip(grain, ends, strict=False):
        other = virtual.simulate(with_grain(LAN, {**grain, name: 1 << end}), table, 2)
        assert best.latency_ms <= other.latency_ms * 1.002


def test_a_sweep_finds_the_best_wherever_it_lies() -> None:
    wanted = {"fft": 2, "zero_force": 1, "demodulate": 8, "decode": 2, "encode": 1}
    wanted |= {"precode": 16, "ifft": 4}

    def away(grain: dict[str, int]) -> float:
        return 1.0 + sum(abs(grain[stage] - size) for stage, size in wanted.items())

    start = dict.fromkeys(wanted, 1)
    swept = job_sizes.sweep(LAN, start, 2, away)  # type: ignore[arg-type]
    assert swept.best == wanted
    assert swept.best_ms == 1
    assert swept.chosen == start
    assert swept.excess == away(start) - 1
    assert swept.alone["precode"][16] == away({**start, "precode": 16})
    every = itertools.product(*job_sizes.sizes(LAN, 2).values())
    assert swept.tried == len(list(every))


def test_where_there_are_too_many_both_ways_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_sizes, "MOST_COMBINATIONS", 100)
    swept = job_sizes.sweep(
        LAN,
        dict.fromkeys(job_sizes.sizes(LAN, 2), 1),
        2,
        lambda grain: 1.0 + abs(grain["fft"] - 4) + abs(grain["ifft"] - 2),
    )
    assert not swept.exhaustive
    assert (swept.best["fft"], swept.best["ifft"], swept.best_ms) == (4, 2, 1)


def test_it_says_what_other_sizes_would_cost() -> None:
    table = Costs(costs(), Machine.of_speed(2))
    grain, point = job_sizes.choose(LAN, table, 2)
    why = job_sizes.explain(with_grain(LAN, grain), table, 2, point)
    assert [one.stage for one in why] == list(job_sizes.sizes(LAN, 2))
    demodulate = next(one for one in why if one.stage == "demodulate")
    assert demodulate.chunks == 38
    assert demodulate.claim_us == pytest.approx(0.37)
    assert demodulate.chunk_us == pytest.approx(0.21)
    for one in why:
        assert one.claims_per_core >= 0.5
        for later in (one.smaller_us, one.larger_us):
            assert later is None or later > -0.002 * 1e3 * point.latency_ms
