"""Percentiles and intervals."""

import re
from pathlib import Path

import carillon
import numpy as np
import pytest
from carillon.percent import percent
from carillon.statistics import Percentiles, percentile, wilson
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=400),
    st.sampled_from([0.5, 0.9, 0.99, 0.999]),
)
def test_a_percentile_is_the_inverse_of_the_empirical_distribution(
    values: list[float], share: float
) -> None:
    found = percentile(np.array(values), share)
    if found is not None:
        assert found == np.quantile(values, share, method="inverted_cdf")


@pytest.mark.parametrize(
    ("share", "least"), [(0.5, 4), (0.9, 20), (0.99, 200), (0.999, 2000), (0.9999, 20000)]
)
def test_a_percentile_without_enough_samples_is_none(share: float, least: int) -> None:
    assert percentile(np.arange(least - 1.0), share) is None
    assert percentile(np.arange(float(least)), share) is not None


def test_no_samples_give_no_figures() -> None:
    nothing = Percentiles.of(np.array([]))
    assert nothing.samples == 0
    assert (nothing.p50, nothing.max, nothing.mean) == (None, None, None)


@given(st.integers(0, 500), st.integers(1, 500))
def test_the_wilson_interval_is_scipys(errors: int, more: int) -> None:
    trials = errors + more
    expected = binomtest(errors, trials).proportion_ci(method="wilson")
    low, high = wilson(errors, trials)
    assert low == pytest.approx(expected.low, abs=1e-12)
    assert high == pytest.approx(expected.high, abs=1e-12)


def test_without_trials_a_rate_may_be_anything() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


def test_a_share_is_written_with_a_space_before_its_sign() -> None:
    assert [percent(0.124), percent(0.0015, 2), percent(0.45, 0, "+"), percent(-0.1, 1, "+")] == [
        "12 %",
        "0.15 %",
        "+45 %",
        "-10.0 %",
    ]
    package = Path(carillon.__file__).parent
    sources = {file: file.read_text("utf-8") for file in package.rglob("*.py")}
    assert [file.name for file, text in sources.items() if re.search(r":[^{}\"]*%\}", text)] == []
