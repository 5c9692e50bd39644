"""Sources of test signals, and frequency modulation, against NumPy and SciPy."""

from typing import Any

import numpy as np
import pytest
from carillon import core
from pieces import SIZES, reals, same
from scipy import stats

RATE = 1e6


def made(block: core.Block, count: int) -> Any:
    pieces = [block.make(size) for size in SIZES * (1 + count // sum(SIZES))]
    return np.concatenate(pieces)[:count]


def source(**values: Any) -> core.Block:
    return core.Block("signal-source", {"rate_hz": RATE, **values})


@pytest.mark.parametrize("frequency", [0.0, 1234.5, -250_000.0, 3.7e6])
def test_an_exponential_turns_exactly(frequency: float) -> None:
    y = made(source(frequency_hz=frequency, amplitude=0.5), 5000)
    turns = np.arange(5000) * (frequency / RATE)
    assert y.dtype == np.complex64
    assert np.max(np.abs(y - 0.5 * np.exp(2j * np.pi * turns))) < 1e-6


@pytest.mark.parametrize("samples", ["real", "complex"])
def test_sines_and_squares_are_real(samples: str) -> None:
    turns = np.arange(5000) * 0.001953125
    for waveform, expected in {
        "sine": 2 * np.sin(2 * np.pi * turns),
        "square": np.where(turns % 1 < 0.5, 2.0, -2.0),
        "constant": np.full(5000, 2.0),
    }.items():
        block = source(waveform=waveform, frequency_hz=1953.125, amplitude=2, samples=samples)
        y = made(block, 5000)
        assert y.dtype == (np.float32 if samples == "real" else np.complex64)
        assert np.max(np.abs(y - expected)) < 2e-6


def test_a_phase_does_not_drift() -> None:
    """A third of a turn is no float: after 3·10^7 samples it is still where it began."""
    block = source(frequency_hz=RATE / 3)
    for _ in range(30):
        block.make(1_000_000)
    assert np.max(np.abs(block.make(3) - np.exp(2j * np.pi * np.arange(3) / 3))) < 1e-6


def test_a_frequency_changes_without_a_jump() -> None:
    block = source(frequency_hz=1000)
    first = block.make(100)
    block.set("frequency_hz", 2000)
    block.set("amplitude", 3)
    second = block.make(100)
    assert first[-1] * np.exp(2j * np.pi * 0.001) * 3 == pytest.approx(second[0], abs=3e-6)
    assert second[1] / second[0] == pytest.approx(np.exp(2j * np.pi * 0.002), abs=1e-6)


def test_an_exponential_is_not_real() -> None:
    with pytest.raises(ValueError, match="waveform: an exponential is of complex samples only"):
        source(samples="real")


@pytest.mark.parametrize("samples", ["real", "complex"])
def test_noise_is_gaussian_and_of_its_power(samples: str) -> None:
    y = made(core.Block("noise-source", {"amplitude": 3, "samples": samples}), 200_000)
    assert np.mean(np.abs(y) ** 2) == pytest.approx(9, rel=0.02)
    parts = y.view(np.float32) / (3 if samples == "real" else 3 / np.sqrt(2))
    assert stats.kstest(parts, "norm").pvalue > 1e-3
    assert abs(np.corrcoef(parts[1:], parts[:-1])[0, 1]) < 0.01


def test_noise_is_that_of_its_seed_however_it_is_made() -> None:
    first, again = (core.Block("noise-source", {"seed": 7}) for _ in range(2))
    whole = first.make(5000)
    assert np.array_equal(made(again, 5000), whole)
    assert not np.array_equal(core.Block("noise-source", {"seed": 8}).make(5000), whole)
    first.set("amplitude", 0)
    assert not first.make(10).any()


@pytest.mark.parametrize("deviation", [5000.0, 400_000.0, -3e6])
def test_a_modulated_phase_is_the_sum_of_frequencies(deviation: float) -> None:
    x = reals(20_000)
    turns = np.cumsum(x.astype(float) * (deviation / RATE))
    values = {"deviation_hz": deviation, "rate_hz": RATE}
    same("fm-modulator", values, np.exp(2j * np.pi * turns), x, within=1e-6)


def test_a_demodulator_undoes_it() -> None:
    values = {"deviation_hz": 5000.0, "rate_hz": 50_000.0}
    x = reals(5000)
    y = core.Block("fm-modulator", values).run([x])
    again = core.Block("quadrature-demodulator", values).run([y])
    assert np.max(np.abs(again[1:] - x[1:])) < 1e-5
