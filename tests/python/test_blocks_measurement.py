"""Blocks that measure, against SciPy and NumPy: spectra and correlation."""

from typing import Any

import numpy as np
import pytest
from carillon import core
from pieces import complexes, fed, figure, same
from scipy import signal


@pytest.mark.parametrize("window", ["hann", "blackman", "boxcar"])
@pytest.mark.parametrize(("size", "averages"), [(256, 1), (512, 7), (4096, 2)])
def test_a_spectrum_is_welchs(size: int, averages: int, window: str) -> None:
    x = complexes(3 * size * averages + 100)
    rows = x[: 3 * size * averages].astype(complex).reshape(3, -1)
    _, expected = signal.welch(
        rows, 1, window, size, 0, detrend=False, return_onesided=False, scaling="spectrum"
    )
    name = "rectangular" if window == "boxcar" else window
    values = {"size": size, "averages": averages, "window": name}
    same("fft-power", values, np.fft.fftshift(expected, axes=1).ravel(), x, within=3e-7)


def test_an_exponential_of_magnitude_one_has_power_one() -> None:
    x = np.exp(2j * np.pi * np.arange(4096) * (-100 / 1024)).astype(np.complex64)
    y = core.Block("fft-power", {"size": 1024, "averages": 4}).run([x])
    assert np.argmax(y) == 512 - 100 and y[412] == pytest.approx(1, abs=1e-5)
    assert np.max(np.delete(y, [411, 412, 413])) < 1e-10


def test_what_a_spectrum_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="size: must be a power of two"):
        core.Block("fft-power", {"size": 1000})
    with pytest.raises(ValueError, match="averages: of at most 4194304 samples in all"):
        core.Block("fft-power", {"size": 65536, "averages": 100})


def correlated(x: Any, sequence: Any) -> Any:
    """Of each window, one by one."""
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(complex), len(sequence))[:-1]
    scale = np.linalg.norm(windows, axis=1) * np.linalg.norm(sequence)
    return np.abs(windows @ sequence.conj()) / np.where(scale > 0, scale, 1)


def marked(sequence: Any) -> Any:
    """Noise, silence, and the sequence twice: weak behind what is strong, and of another phase."""
    x = 1e-3 * complexes(3000)
    x[500:600] = 0
    x[700:900] *= 1e9
    x[1000 : 1000 + len(sequence)] += sequence * np.complex64(0.1j)
    x[2000 : 2000 + len(sequence)] += sequence * np.complex64(-3)
    return x


def pairs(sequence: Any) -> list[float]:
    return [float(part) for part in sequence.view(np.float32)]


@pytest.mark.parametrize("count", [1, 2, 31, 64, 300])
def test_a_correlation_is_normalized(count: int) -> None:
    sequence = complexes(count, seed=9)
    x = marked(sequence)
    same("correlator", {"sequence": pairs(sequence)}, correlated(x, sequence), x, within=1e-5)


def test_a_sequence_is_found_where_it_begins() -> None:
    sequence = complexes(64, seed=9)
    block = core.Block("correlator", {"sequence": pairs(sequence), "threshold": 0.9})
    y = fed(block, marked(sequence))
    assert set(np.flatnonzero(y > 0.9)) == {1000, 2000}
    assert figure(block, "found") == 2 and figure(block, "greatest") == pytest.approx(1, abs=1e-3)


def test_what_is_not_finite_spoils_its_windows_only() -> None:
    sequence = complexes(64, seed=9)
    x = marked(sequence)
    x[1500] = np.nan
    y = core.Block("correlator", {"sequence": pairs(sequence)}).run([x])
    expected = correlated(np.where(np.isnan(x), 0, x), sequence)
    expected[1500 - 63 : 1501] = 0
    assert np.max(np.abs(y - expected)) < 1e-5


def test_a_sequence_has_to_be_something() -> None:
    with pytest.raises(ValueError, match="sequence: two numbers a sample"):
        core.Block("correlator", {"sequence": [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match="sequence: must not be all zeros"):
        core.Block("correlator", {"sequence": [0.0, 0.0]})
    with pytest.raises(ValueError, match="sequence: at most 4096 samples"):
        core.Block("correlator", {"sequence": [1.0] * 8194})
