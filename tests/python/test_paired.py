"""Intervals of differences hold as often as they say, on processes whose truth is known."""

import math

import numpy as np
import pytest
from carillon.paired import mean_difference, percentile_difference
from scipy import signal, stats


def test_the_mean_of_correlated_frames_is_in_its_interval_as_often_as_it_should() -> None:
    rng = np.random.default_rng(7)
    held, naive, repeats = 0, 0, 400
    for _ in range(repeats):
        common = rng.gamma(2.0, size=6000)
        noise = signal.lfilter([1], [1, -0.9], rng.normal(size=6000))  # AR(1): memory of 10 frames
        ours, theirs = common + 0.25 + noise, common
        found = mean_difference(ours, theirs)
        assert found is not None
        held += found.low <= 0.25 <= found.high
        half = 1.96 * noise.std() / math.sqrt(len(noise))
        naive += abs(found.value - 0.25) <= half
    assert naive / repeats < 0.5  # as if frames were independent
    assert held / repeats == pytest.approx(0.95, abs=0.035)  # three standard errors


def test_pairing_takes_away_what_both_have_in_common() -> None:
    rng = np.random.default_rng(8)
    common = rng.lognormal(sigma=1.0, size=20_000)
    found = mean_difference(common + 0.01 * rng.normal(size=20_000), common)
    assert found is not None
    apart = 1.96 * math.sqrt(2) * common.std() / math.sqrt(len(common))
    assert (found.high - found.low) / 2 < 0.02 * apart


def test_student_s_t_is_that_of_the_batches() -> None:
    rng = np.random.default_rng(9)
    ours = rng.normal(size=3000)
    found = mean_difference(ours, np.zeros(3000))
    assert found is not None
    means = ours.reshape(30, 100).mean(axis=1)
    low, high = stats.t.interval(0.95, 29, loc=means.mean(), scale=stats.sem(means))
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-4)


@pytest.mark.parametrize(("frames", "least"), [(100_000, 0.9), (20_000, 0.8)])
def test_the_interval_of_p9999_holds_where_frames_suffice(frames: int, least: float) -> None:
    """Exponential latencies: p99.99 is ln(10⁴) times the mean."""
    rng = np.random.default_rng(10)
    truth = 0.2 * math.log(1e4)
    held = 0
    repeats = 100
    for _ in range(repeats):
        ours, theirs = rng.exponential(1.2, frames), rng.exponential(1.0, frames)
        found = percentile_difference(ours, theirs, 0.9999)
        assert found is not None
        held += found.low <= truth <= found.high
    assert least <= held / repeats


def test_the_interval_of_p99_holds() -> None:
    rng = np.random.default_rng(11)
    truth = 0.2 * math.log(100)
    every = [
        percentile_difference(rng.exponential(1.2, 8000), rng.exponential(1.0, 8000), 0.99)
        for _ in range(200)
    ]
    held = sum(found is not None and found.low <= truth <= found.high for found in every)
    assert held / 200 == pytest.approx(0.95, abs=0.05)


def test_frames_that_took_for_ever_are_as_late_as_each_other() -> None:
    rng = np.random.default_rng(12)
    some = rng.normal(5.0, 1.0, 4000)
    never = some.copy()
    never[::10] = np.inf
    assert percentile_difference(never, never, 0.99) is not None
    same = percentile_difference(never, never, 0.99)
    worse = percentile_difference(never, some, 0.99)
    assert same is not None and (same.value, same.low, same.high) == (0, 0, 0)
    assert worse is not None and worse.low == math.inf
    assert percentile_difference(some[:300], some[:300], 0.99) is None
    assert percentile_difference(some, some, 0.9999) is None
    assert mean_difference(some[:50], some[:50]) is None
