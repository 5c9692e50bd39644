"""Performance models: the equations, the thesis's published figures, and what must always hold."""

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from carillon import cells, runfolder
from carillon.config import parse_cell
from carillon.models import (
    CORE_GROUPS,
    CostError,
    Costs,
    Group,
    Latency,
    StageCost,
    Workload,
    best_groups,
    cores_needed,
    every_sharing,
    latency,
    predict,
    read_costs,
    thesis,
)
from carillon.models.workload import Symbol
from hypothesis import given, settings
from hypothesis import strategies as st

Policy = Literal["earliest-frame", "core-groups"]
EVERY = tuple(op for ops in CORE_GROUPS for op in ops)
UPLINK = {antennas: Workload.of(thesis.uplink_cell(antennas)) for antennas in (8, 16)}
DOWNLINK = {antennas: Workload.of(thesis.downlink_cell(antennas)) for antennas in (8, 16)}


def published(policy: Policy, cores: int, antennas: int, costs: Costs | None = None) -> Latency:
    costs = costs or thesis.costs(antennas).ideal()
    found = predict(policy, UPLINK[antennas], costs, cores, link_gbps=thesis.LINK_GBPS)
    assert found is not None
    return found


def nearly_on_time(found: Latency) -> bool:
    return found.uplink_extra < 0.1


# --- The thesis's own figures ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "measured", "by_equations", "with_contention"),
    [("earliest-frame", 13, 12, 13), ("core-groups", 25, 24, 25)],
)
def test_8x8_needs_about_the_published_cores(
    policy: Policy, measured: int, by_equations: int, with_contention: int
) -> None:
    costs = thesis.costs(8)
    for table, cores in ((costs.ideal(), by_equations), (costs, with_contention)):
        assert not nearly_on_time(published(policy, cores - 1, 8, table))
        assert nearly_on_time(published(policy, cores, 8, table))
        assert cores == pytest.approx(measured, rel=0.2)


def test_cores_needed_are_the_first_that_suffice() -> None:
    costs = thesis.costs(8).ideal()
    for most, least in ((40, 12), (11, None)):
        assert least == cores_needed(
            "earliest-frame", UPLINK[8], costs, nearly_on_time, link_gbps=40, most=most
        )


def test_cores_of_8x8_by_eq_3_2_alone() -> None:
    """By hand: T_Pilot is the pilots' receive time, T_ULData of core groups their demodulation."""
    zero_force, fft, demodulate = 14.42 * 2.047, 62 * 8 * 11.2e-3, 62 * 1200 * 0.217e-3
    left = 5.1 - (7 / 70 * 5 + 8 * 8256 * 8 / 40e6)
    assert math.ceil((zero_force + fft + demodulate) / left) == 12
    ways = [
        a + b
        for a, b in itertools.product(range(6, 30), range(4, 30))
        if zero_force / a + demodulate / b <= left
    ]
    fft_cores = math.ceil((fft + 64 * 29.6e-3) / 5)
    assert min(ways) + fft_cores == 22


def test_zero_forcing_on_15_cores_takes_as_long_as_published() -> None:
    both = [published(policy, 15, 8) for policy in ("earliest-frame", "core-groups")]
    assert both[0].zeroforce == pytest.approx(2.047, rel=0.04)
    assert both[1].zeroforce == pytest.approx(4.262, rel=0.02)
    assert [g.cores for g in both[1].groups if g.ops == ("ZeroForce",)] == [7]  # speed-up 6.96
    contended = published("earliest-frame", 15, 8, thesis.costs(8))
    assert contended.zeroforce == pytest.approx(2.047, rel=0.015)


def test_core_groups_take_4_ms_longer_on_13_cores() -> None:
    late, early = published("core-groups", 13, 8), published("earliest-frame", 13, 8)
    assert late.uplink - early.uplink > 4


def test_16x8_on_20_cores_is_done_with_the_frame() -> None:
    assert published("earliest-frame", 20, 16).uplink == pytest.approx(4.999, rel=0.005)


def test_costs_at_16_antennas_are_those_that_fit_the_published_latencies() -> None:
    assert published("core-groups", 20, 16).uplink == pytest.approx(8.199, rel=1e-3)
    costs = thesis.costs(16).ideal()
    found = predict("earliest-frame", DOWNLINK[16], costs, 20, "downlink", thesis.LINK_GBPS)
    assert found is not None
    assert found.downlink == pytest.approx(2.667, rel=1e-3)


def test_rate_of_the_published_downlink() -> None:
    """2.667 of 5 ms leave 32 whole symbols: 245.76 Mb/s, which is 234.4 · 2²⁰ bits a second."""
    found = Latency(5.0, 0.0, math.nan, math.nan, math.nan, downlink_first=2.667)
    assert found.rate(476.16, 70, 62) == pytest.approx(245.76)
    assert found.rate(476.16, 70, 62) * 1e6 / 2**20 == pytest.approx(234.4, abs=0.05)
    assert UPLINK[16].bits_per_symbol * 62 / 5e-3 == pytest.approx(476.16e6)


@pytest.mark.parametrize(("policy", "share"), [("earliest-frame", 0.742), ("core-groups", 0.645)])
def test_30_cores_reach_about_the_published_share_of_the_downlink(
    policy: Policy, share: float
) -> None:
    found = predict(policy, DOWNLINK[8], thesis.costs(8), 30, "downlink", thesis.LINK_GBPS)
    assert found is not None
    assert found.rate(1.0, 70, 62) == pytest.approx(share, abs=0.025)


# --- Against what we did not derive from the model ------------------------------------------------


@pytest.mark.parametrize("name", cells.names())
def test_chunks_are_those_of_the_engine(name: str) -> None:
    cell = cells.load(name).cell
    figures = runfolder.describe(cell)
    work = Workload.of(cell)
    for direction, op in (("uplink", "Decode"), ("downlink", "Encode")):
        side = figures[direction]
        assert work.chunks(op) == (side["code_blocks"] if side else 0)
    assert work.chunks("EqualizeDemodulate") == figures["tiles"] * cell.schedule.count("U")
    seconds = figures["frame_ms"] * 1e-3
    received = work.count("P") + work.count("U")
    assert received * work.symbol_bits / seconds == pytest.approx(figures["uplink_iq_gbps"] * 1e9)


def test_chunks_are_those_that_a_benchmark_counted() -> None:
    """Chunks of a recorded benchmark: the time of a stage over that of a chunk."""
    file = Path(__file__).parents[2] / "docs/measurements/2026-11-21-zen3-2-cores.json"
    recorded = json.loads(file.read_text(encoding="utf-8"))["cells"]
    assert {one["cell"] for one in recorded} >= {"thesis-16x8", "agora-64x16", "hydra-128x32"}
    for one in recorded:
        cell = cells.load(one["cell"]).cell
        combiner = cell.combiner.model_copy(update={"group": one["group"]})
        work = Workload.of(cell.model_copy(update={"combiner": combiner}))
        for op, stage in one["stages"].items():
            counted = stage["us_per_frame"] * 1e3 / stage["chunk_ns"]
            assert work.chunks(op) == pytest.approx(counted, rel=0.01), (one["cell"], op)


def test_blocks_wait_for_the_last_symbol_they_lie_in() -> None:
    grid = "numerology: {fft_size: 2048, subcarriers: 1200}\n"
    text = "schedule: PPUUUUUUUUUUUUDD\nuplink: {block: frame}\ndeadlines: {precoder_age: 1}\n"
    work = Workload.of(parse_cell(grid + text).cell)
    decoded = {place: dict(s.work).get("Decode", 0) for place, s in enumerate(work.symbols)}
    blocks = sum(decoded.values())
    assert decoded[13] > 0
    half = sum(count for place, count in decoded.items() if place < 8)
    assert half <= blocks / 2  # six of twelve symbols cannot hold more
    assert dict(work.symbols[13].work)["Store"] == 2  # users


# --- What must always hold ------------------------------------------------------------------------

stage_costs = st.builds(
    StageCost,
    chunk_ns=st.floats(1.0, 40_000.0),
    claim_ns=st.floats(0.0, 3000.0),
    grain=st.sampled_from([1 / 16, 1.0, 2.0, 5.0]),
)
tables = st.builds(
    Costs,
    name=st.just("drawn"),
    stages=st.fixed_dictionaries(dict.fromkeys(EVERY, stage_costs)),
    sync_ns=st.floats(0.0, 5000.0),
)
SMALL = Workload.of(
    parse_cell("schedule: PPUUUUUUUUGDDDGG\nantennas: 8\ndeadlines: {downlink_lead_ms: 0}\n").cell
)


def of_kind(kind: str) -> Workload:
    """Only pilots and the symbols of one kind."""
    kept = [s if s.kind in ("P", kind) else Symbol("G", s.end_ms, ()) for s in SMALL.symbols]
    return replace(SMALL, symbols=tuple(kept))


def together(cores: int) -> list[Group]:
    return [Group(EVERY, cores)]


def apart(sizes: tuple[int, ...]) -> list[Group]:
    return [Group(ops, size) for ops, size in zip(CORE_GROUPS, sizes, strict=True)]


@settings(deadline=None, max_examples=60)
@given(tables, st.integers(1, 8), st.integers(0, 30))
def test_an_instruction_never_takes_longer_on_more_cores(
    costs: Costs, cores: int, chunks: int
) -> None:
    for op in EVERY:
        spans = [costs.span_ns(op, chunks, n) for n in (cores, cores + 1)]
        busy = [costs.busy_ns(op, chunks, n) for n in (cores, cores + 1)]
        assert spans[1] <= spans[0] * (1 + 1e-12)
        assert busy[1] <= busy[0] * (1 + 1e-12)
        assert busy[0] <= spans[0] * (1 + 1e-12)


@settings(deadline=None, max_examples=60)
@given(tables, st.integers(1, 24))
def test_more_cores_never_let_work_pile_up(costs: Costs, cores: int) -> None:
    fewer, more = (latency(SMALL, costs, together(n)) for n in (cores, cores + 1))
    assert fewer is None or more is not None


@settings(deadline=None, max_examples=60)
@given(tables, st.integers(1, 24), st.sampled_from("UD"))
def test_more_cores_never_hurt_the_earliest_frame(costs: Costs, cores: int, kind: str) -> None:
    """Where work can be divided at will: whole chunks may fall unluckily for any n."""
    one_way = of_kind(kind)
    fewer, more = (latency(one_way, costs.ideal(), together(n)) for n in (cores, cores + 1))
    if fewer is not None and more is not None:
        assert kind == "D" or more.uplink <= fewer.uplink + 1e-6
        assert kind == "U" or more.downlink <= fewer.downlink + 1e-6


@settings(deadline=None, max_examples=15)
@given(tables, st.integers(7, 40))
def test_core_groups_are_never_faster_than_all_cores_together(costs: Costs, cores: int) -> None:
    """Eq. 3.4: a share of the cores gives a share of the speed-up."""
    grouped = best_groups(SMALL, costs.ideal(), cores)
    shared = latency(SMALL, costs.ideal(), together(cores))
    if grouped is not None:
        assert shared is not None
        assert shared.uplink <= grouped.uplink + 2e-3


@settings(deadline=None, max_examples=8)
@given(tables, st.integers(7, 10))
def test_groups_are_the_best_of_all(costs: Costs, cores: int) -> None:
    ways = [
        sizes
        for sizes in itertools.product(range(1, cores), repeat=len(CORE_GROUPS))
        if sum(sizes) == cores
    ]
    every = [latency(SMALL, costs, apart(sizes)) for sizes in ways]
    best = min((found.uplink for found in every if found), default=None)
    found = best_groups(SMALL, costs, cores)
    assert (found is None) == (best is None)
    if found is not None and best is not None:
        assert found.uplink == pytest.approx(best, abs=1.01e-3)
        assert sum(group.cores for group in found.groups) == cores
    sorted_ways = every_sharing(SMALL, costs, cores)
    assert len(sorted_ways) == sum(known is not None for known in every)
    values = [known.uplink for known in sorted_ways]
    assert values == sorted(values)
    assert values[:1] == ([] if best is None else [best])


@settings(deadline=None, max_examples=60)
@given(tables, st.integers(1, 24))
def test_latency_is_at_least_what_eq_3_1_to_3_3_say(costs: Costs, cores: int) -> None:
    found = latency(SMALL, costs, together(cores))
    if found is None:
        return
    ideal = costs.ideal()
    per_stage = {op: ideal.busy_ns(op, SMALL.chunks(op), cores) * 1e-6 for op in EVERY}
    last = {kind: max(s.end_ms for s in SMALL.symbols if s.kind == kind) for kind in "PU"}
    received = {kind: at - found.first_packet for kind, at in last.items()}
    assert found.pilot >= max(per_stage["PilotFft"], received["P"]) - 1e-9
    data = sum(per_stage[op] for op in ("UplinkFft", "EqualizeDemodulate", "Decode", "Store"))
    assert found.uplink >= received["U"]
    assert found.uplink >= per_stage["PilotFft"] + per_stage["ZeroForce"] + data - 1e-9
    assert found.downlink >= min(found.pilot + per_stage["ZeroForce"], found.frame_ms) - 1e-9


def test_an_overloaded_stage_is_no_way_to_share() -> None:
    costs = Costs("slow zero-forcing", dict.fromkeys(EVERY, StageCost(1000.0)))
    slow = Costs(costs.name, {**costs.stages, "ZeroForce": StageCost(2.5e6)})
    sizes = (2, 1, 2, 2, 2, 2, 2)
    assert latency(SMALL, costs, apart(sizes)) is not None
    assert latency(SMALL, slow, apart(sizes)) is None
    assert predict("core-groups", SMALL, slow, 6) is None  # seven stages


def test_pilots_wait_for_what_the_frame_before_left_over() -> None:
    """D_start of eq. 3.1: the last symbol, on air until the end, keeps the core for 1 ms more."""
    pilot, last = Symbol("P", 0.5, (("PilotFft", 1),)), Symbol("U", 4.0, (("UplinkFft", 1),))
    work = Workload(4.0, (pilot, last), 1, 0.0, 0, own_precoder=True)
    costs = {"PilotFft": StageCost(1e5), "ZeroForce": StageCost(2e5), "UplinkFft": StageCost(1e6)}
    found = latency(work, Costs("by hand", costs), together(1))
    assert found is not None
    assert found.first_packet == 0.5
    assert found.pilots_done == pytest.approx(1.1)
    assert found.combiner_done == pytest.approx(1.3)
    assert found.uplink_done == pytest.approx(5.0)
    assert math.isnan(found.downlink_first)


# --- Tables of costs ------------------------------------------------------------------------------


def test_costs_of_a_benchmark(tmp_path: Path) -> None:
    work = UPLINK[16]
    bench = {"stages": {"Decode": {"us_per_frame": 4960, "chunk": "pack", "chunk_ns": 40000}}}
    (tmp_path / "bench.json").write_text(json.dumps(bench))
    assert read_costs(tmp_path / "bench.json", work).stage("Decode").chunk_ns == 10000


def test_costs_of_a_calibration(tmp_path: Path) -> None:
    known = {"sync_ns": 300, "claim_ns": 70, "stages": {"Ifft": {"chunk_ns": 5000, "grain": 2}}}
    (tmp_path / "here.json").write_text(json.dumps(known))
    costs = read_costs(tmp_path / "here.json", UPLINK[16])
    assert costs.stage("Ifft") == StageCost(5000, 70, 2)
    assert (costs.sync_ns, costs.name) == (300, "here")
    with pytest.raises(CostError, match="here have no Precode; they know Ifft"):
        costs.stage("Precode")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "[" * 100_000,
        '{"stages": {"Ifft": {}}}',
        '{"stages": {"Ifft": {"chunk_ns": NaN}}}',
        '{"stages": {"Ifft": {"chunk_ns": -1}}}',
        '{"stages": {"Ifft": {"chunk_ns": 1, "grain": 0}}}',
        '{"stages": {"Ifft": {"chunk_ns": 1}}, "sync_ns": Infinity}',
    ],
)
def test_costs_that_are_none_are_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "bad.json"
    file.write_text(text)
    with pytest.raises(CostError, match=r"bad.json holds no costs"):
        read_costs(file, UPLINK[16])
    with pytest.raises(CostError, match=r"none.json: no such file"):
        read_costs(tmp_path / "none.json", UPLINK[16])
