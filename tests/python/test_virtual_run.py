"""A cell in virtual time, under costs for which the thesis published what was measured."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from carillon import core
from carillon.config import Run, plan_text
from carillon.config.load import parse_cell

FRAME_MS = 5.0
BOUND_MS = 69 / 70 * FRAME_MS  # eq. 3.2 from the first packet to the last


def thesis_costs() -> list[float]:
    """ns per chunk at 8x8 (section 5 and the published log); no LDPC."""
    costs = dict.fromkeys(core.opcodes(), 0.0)
    costs["PilotFft"] = 29_600
    costs["UplinkFft"] = 11_200
    costs["ZeroForce"] = 14.42 * 2_047_000 / 75  # tiles of 16 subcarriers
    costs["EqualizeDemodulate"] = 217 * 16
    return list(costs.values())


def thesis_plan(runtime: str) -> str:
    text = f"""
antennas: 8
users: 8
schedule: {"P" * 8 + "U" * 62}
numerology: {{fft_size: 2048, subcarriers: 1200, prefix: constant, prefix_samples: 146}}
combiner: {{group: 1}}
deadlines: {{uplink_budget_ms: 50}}
ring: 16
runtime: {{{runtime}}}
"""
    return plan_text(parse_cell(text).cell, Run())


def extra_ms(runtime: str, cores: int) -> float:
    """Mean uplink latency beyond the bound, when the pipeline is full."""
    run = core.simulate(
        thesis_plan(runtime),
        cores=cores,
        claim_ns=[0.0] * len(core.opcodes()),
        chunk_ns=thesis_costs(),
        frames=16,
    )
    latency = (run["uplink_done"] - run["first_packet"])[8:]
    return float(np.mean(latency)) - BOUND_MS


def best_groups(cores: int, ffts: Sequence[int]) -> float:
    return min(
        extra_ms(
            f"policy: core-groups, groups: {{fft: {fft}, zero_force: {zf}, demodulate: {rest}}}",
            cores,
        )
        for fft, zf in itertools.product(ffts, range(6, cores - 5))
        if (rest := cores - fft - zf) >= 4
    )


def test_earliest_frame_needs_the_published_thirteen_cores() -> None:
    """Thesis 5.2.1: 13 cores for less than 100 us beyond the frame."""
    assert extra_ms("policy: earliest-frame", 12) > 0.1
    assert extra_ms("policy: earliest-frame", 13) < 0.1


def test_core_groups_need_the_published_twenty_five() -> None:
    assert best_groups(23, range(2, 6)) > 0.1
    assert best_groups(25, [4]) < 0.1


def test_a_shared_group_is_the_stages_before() -> None:
    """All stages on the first one's cores: nothing is left of the groups."""
    grouped = extra_ms("policy: core-groups, groups: {fft: 13}", 13)
    assert grouped == pytest.approx(extra_ms("policy: earliest-frame", 13))


def test_the_work_is_the_same_whatever_the_policy() -> None:
    works = []
    for runtime in ("policy: earliest-frame", "policy: static"):
        run = core.simulate(
            thesis_plan(runtime),
            cores=20,
            claim_ns=[0.0] * len(core.opcodes()),
            chunk_ns=thesis_costs(),
            frames=4,
        )
        assert all(run["completed"])
        works.append(sum(run["busy"]))
    assert works[0] == pytest.approx(works[1])
    ffts = 8 * (8 * 29.6 + 62 * 11.2)
    assert works[0] / 4 == pytest.approx((ffts + 14.42 * 2047 + 62 * 1200 * 0.217) / 1e3, rel=1e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cores": 0}, "cores must be between 1 and 128"),
        ({"claim_ns": [0.0]}, "a value for each opcode"),
        ({"chunk_ns": [-1.0] * 11}, "costs must be between"),
        ({"packet_ns": float("nan")}, "packet_ns must be between"),
        ({"frames": 10**6}, "frames must be at most"),
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, object], message: str) -> None:
    given = {
        "cores": 2,
        "claim_ns": [0.0] * 11,
        "chunk_ns": thesis_costs(),
        "frames": 2,
        "packet_ns": 0.0,
    }
    with pytest.raises(ValueError, match=message):
        core.simulate(thesis_plan("policy: earliest-frame"), **{**given, **change})  # type: ignore[arg-type]


def test_groups_that_do_not_use_all_cores_are_refused() -> None:
    plan = thesis_plan("policy: core-groups, groups: {fft: 2, zero_force: 2}")
    with pytest.raises(ValueError, match="as many cores in all"):
        core.simulate(plan, cores=5, claim_ns=[0.0] * 11, chunk_ns=thesis_costs())
