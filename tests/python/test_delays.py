"""What delays frames, by hand on records, and F_P as it is counted."""

from typing import Any

import numpy as np
import pytest
from carillon.power.delays import (
    CLASSES,
    Count,
    bursts,
    class_of,
    delays,
    late_function,
    moving_ratio,
    received_by,
)
from carillon.telemetry import DISCARDED, REFUSED, Records
from hypothesis import given
from hypothesis import strategies as st
from synthetic import DTYPES, MS, derived, frame_row

RECEIVED_NS = 8 / 14 * MS  # of the synthetic cell: six uplink symbols after two pilots


def records(*rows: dict[str, Any]) -> Records:
    table = np.zeros(len(rows), np.dtype(DTYPES["frames"]))
    for place, row in enumerate(rows):
        for name, value in row.items():
            table[place][name] = value
    return table


def test_each_delay_is_what_its_record_says() -> None:
    frames = records(
        frame_row(0, kernels=700_000, stood_still=0, last_packet=600_000),
        frame_row(1, kernels=300_000, stood_still=250_000, last_packet=571_000, late_cause=4),
        frame_row(2, kernels=0, last_packet=0, nack=REFUSED, late_cause=1),
    )
    assert received_by(derived()["symbols"]) == pytest.approx(RECEIVED_NS)
    own = delays(frames, RECEIVED_NS)
    assert own.t_bs.tolist() == pytest.approx([700_000, 300_000, np.nan], nan_ok=True)
    assert own.t_os.tolist() == [0, 250_000, 0]
    # A packet may come before its symbol has ended by this machine's estimate of the radio's clock.
    expected = [600_000 - RECEIVED_NS, 571_000 - RECEIVED_NS, np.nan]
    assert own.t_f.tolist() == pytest.approx(expected, nan_ok=True)
    assert own.late.tolist() == [False, True, True]
    assert own.all_three.tolist() == [True, True, False]


def test_a_frame_without_uplink_has_no_delay_of_the_fronthaul() -> None:
    assert received_by([{"kind": "D", "end_ms": 1.0}]) is None
    assert np.isnan(delays(records(frame_row(0)), None).t_f).all()


def test_each_frame_is_in_one_class() -> None:
    late = {"completed": 0, "late_cause": 3}
    frames = records(
        frame_row(0),
        frame_row(1, missing_packets=2),
        frame_row(2, **late, downlink_late_symbols=1),
        frame_row(3, **late, substituted=1, missing_packets=2),
        frame_row(4, **late, missing_packets=2),
        frame_row(5, **late, nack=DISCARDED, downlink_late_symbols=5),
        frame_row(6, **late, nack=REFUSED),
    )
    names = [CLASSES[place] for place in class_of(frames)]
    assert names == [
        "whole", "filled", "substituted", "substituted", "too_late", "discarded", "refused",
    ]  # fmt: skip


def test_the_joint_function_counts_what_lies_between_quantiles() -> None:
    # 100 frames: T_BS 1 to 100 µs, T_OS 0 but for the last two, T_f alike for all.
    rows = [
        frame_row(
            n,
            kernels=1000 * n,
            stood_still=400_000 if n > 98 else 0,
            last_packet=600_000,
            late_cause=3 if n > 95 else 0,
        )
        for n in range(1, 101)
    ]
    own = late_function(delays(records(*rows, frame_row(101, kernels=0, late_cause=1)), 0))
    t_bs, t_os, t_f = (edges.tolist() for edges in own.edges)
    assert t_bs == [50_000, 90_000, 100_000]  # p99 of 100 has too few samples above it
    assert t_os == [0, 400_000]
    assert t_f == [600_000]
    assert [(b.places, b.frames, b.late) for b in own.bins] == [
        ((0, 0, 0), 50, 0),
        ((1, 0, 0), 40, 0),
        ((2, 0, 0), 8, 3),
        ((2, 1, 0), 2, 2),
    ]
    assert own.lacking == Count(1, 1)


def test_no_frame_has_no_function() -> None:
    own = late_function(delays(records(), RECEIVED_NS))
    assert (own.bins, own.lacking) == ([], Count(0, 0))
    assert late_function(delays(records(frame_row(0, kernels=0)), 0)).lacking == Count(1, 0)


NANOSECONDS = st.integers(0, 3).map(lambda n: 1000 * n)


@given(st.lists(st.tuples(NANOSECONDS, NANOSECONDS, NANOSECONDS, st.booleans())))
def test_bins_hold_each_frame_once(drawn: list[tuple[int, int, int, bool]]) -> None:
    frames = records(
        *(
            frame_row(n, kernels=bs, stood_still=os, last_packet=f, late_cause=late)
            for n, (bs, os, f, late) in enumerate(drawn)
        )
    )
    own = delays(frames, 500.0)
    joint = late_function(own)
    assert sum(b.frames for b in joint.bins) + joint.lacking.frames == len(drawn)
    assert sum(b.late for b in joint.bins) + joint.lacking.late == int(own.late.sum())
    for axis, (delay, edges) in enumerate(
        zip((own.t_bs, own.t_os, own.t_f), joint.edges, strict=True)
    ):
        for place, edge in enumerate(edges):
            up_to = sum(b.frames for b in joint.bins if b.places[axis] <= place)
            assert up_to == int(np.count_nonzero(delay[own.all_three] <= edge))


def test_the_moving_ratio_is_of_what_was_on_air_within_its_time() -> None:
    frames = records(*(frame_row(n, late_cause=3 if n in (3, 4) else 0) for n in range(10)))
    own = moving_ratio(frames[::-1], averaging_s=4e-3)  # in whatever order they were written
    assert own.seconds.tolist() == pytest.approx([n / 1e3 for n in range(10)])
    assert own.frames.tolist() == [1, 2, 3, 4, 4, 4, 4, 4, 4, 4]
    assert own.late.tolist() == [0, 0, 0, 1, 2, 2, 2, 1, 0, 0]
    assert own.full.tolist() == [False] * 4 + [True] * 6
    assert own.ratio[4] == 0.5
    # Frames that nobody saw are in no ratio.
    gone = moving_ratio(records(frame_row(0, late_cause=1), frame_row(9)), averaging_s=4e-3)
    assert (gone.frames.tolist(), gone.ratio.tolist()) == ([1, 1], [1, 0])
    assert moving_ratio(records(), 1.0).ratio.tolist() == []


@pytest.mark.parametrize(
    ("late", "lengths"),
    [([], []), ([5], [1]), ([0, 1, 2, 9], [3, 1]), (list(range(0, 20, 2)), [1] * 10)],
)
def test_bursts_are_of_frames_in_a_row(late: list[int], lengths: list[int]) -> None:
    frames = records(*(frame_row(n, late_cause=3 if n in late else 0) for n in range(20)))
    assert bursts(frames[::-1]).tolist() == lengths
