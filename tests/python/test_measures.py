"""The measures of the thesis, with its own numbers."""

import numpy as np
import pytest
from carillon import measures
from hypothesis import given
from hypothesis import strategies as st
from synthetic import DTYPES, frame_row

IDEAL = 62 * 1200 * 4 * 8 / 5e3  # Mb/s of 62 symbols of 16QAM for 8 users in 5 ms


def frames(*rows: dict[str, int]) -> np.ndarray:
    table = np.zeros(len(rows), np.dtype(DTYPES["frames"]))
    for place, row in enumerate(rows):
        for name, value in row.items():
            table[place][name] = value
    return table


def test_the_published_downlink_keeps_32_of_62_symbols() -> None:
    assert pytest.approx(476.16) == IDEAL
    rate = measures.achievable_rate_whole_symbols(IDEAL, 5.0, 2.667, 70, 62)
    assert rate == pytest.approx(245.76)
    assert rate == pytest.approx(IDEAL * 32 / 62)


def test_the_achievable_rate_is_the_share_of_the_frame_that_is_left() -> None:
    assert measures.achievable_rate(100.0, 5.0, 2.0) == pytest.approx(60.0)
    assert measures.achievable_rate(100.0, 5.0, 7.0) == 0.0
    assert measures.achievable_rate(100.0, 5.0, -1.0) == 100.0


@given(st.floats(-1, 6), st.integers(1, 140))
def test_whole_symbols_never_exceed_the_ideal_rate(downlink_ms: float, symbols: int) -> None:
    data = max(1, symbols // 2)
    whole = measures.achievable_rate_whole_symbols(100.0, 5.0, downlink_ms, symbols, data)
    assert 0 <= whole <= 100.0 + 1e-9
    assert whole / 100.0 * data == pytest.approx(round(whole / 100.0 * data))


def test_milestones_are_the_differences_of_a_frames_instants() -> None:
    times = measures.frame_times(frames(frame_row(3)), 1.0)
    assert times.uplink == pytest.approx([0.7])
    assert times.uplink_extra == pytest.approx([-0.3])
    assert times.downlink == pytest.approx([0.3])
    assert times.start == pytest.approx([0.02])
    assert times.pilot == pytest.approx([0.125])
    assert times.zeroforce == pytest.approx([0.05])
    assert times.data == pytest.approx([0.525])


def test_pilots_that_were_given_up_before_the_first_packet_are_no_time_since_it() -> None:
    late = frame_row(2)
    late["first_packet"] = late["combiner_done"] + 1000
    times = measures.frame_times(frames(frame_row(1), late), 1.0)
    assert times.pilot == pytest.approx([0.125])
    assert times.start == pytest.approx([0.02])
    assert len(times.zeroforce) == 2


def test_refused_frames_and_missing_milestones_are_not_samples() -> None:
    times = measures.frame_times(
        frames(frame_row(1, nack=1), frame_row(2, uplink_done=0, downlink_done=0)), 1.0
    )
    assert len(times.uplink) == len(times.downlink) == 0
    assert len(times.pilot) == 1


def test_a_frame_of_which_nothing_came_has_no_uplink_latency() -> None:
    silent = frame_row(1, first_packet=0, last_packet=0, missing_packets=64)
    times = measures.frame_times(frames(silent), 1.0)
    assert len(times.uplink) == len(times.start) == len(times.pilot) == 0
    assert len(times.downlink) == 1


def test_a_downlink_ready_before_its_frame_has_no_latency() -> None:
    times = measures.frame_times(frames(frame_row(1, downlink_first=-200_000)), 1.0)
    assert times.downlink == pytest.approx([0.0])


def test_pacing_is_mean_and_deviation_in_microseconds() -> None:
    errors = np.array([100, 300, 250, 150])
    count = {
        "pacing_frames": 4,
        "pacing_error_sum": int(errors.sum()),
        "pacing_error_square": int((errors**2).sum()),
    }
    assert measures.pacing(count) == pytest.approx((errors.mean() / 1e3, errors.std() / 1e3))
    assert measures.pacing(count | {"pacing_frames": 0}) is None
