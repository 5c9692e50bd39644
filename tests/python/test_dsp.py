"""Kernels of flowgraphs against SciPy and NumPy."""

from typing import Any

import numpy as np
import pytest
from carillon import core
from scipy import signal

RANDOM = np.random.default_rng(3)


def samples(count: int) -> Any:
    return (RANDOM.normal(size=count) + 1j * RANDOM.normal(size=count)).astype(np.complex64)


def reals(count: int) -> Any:
    return RANDOM.normal(size=count).astype(np.float32)


@pytest.mark.parametrize("decimation", [1, 2, 5, 7])
@pytest.mark.parametrize("taps", [1, 2, 31, 64, 115])
@pytest.mark.parametrize("kind", ["real", "real taps", "complex taps"])
def test_a_filter_is_scipys(kind: str, taps: int, decimation: int) -> None:
    x = reals(1003) if kind == "real" else samples(1003)
    h = samples(taps) if kind == "complex taps" else reals(taps)
    expected = signal.lfilter(h.astype(complex), 1, x.astype(complex))[taps - 1 :: decimation]
    y = core.fir(x, h, decimation)
    assert y.dtype == x.dtype and len(y) == len(expected)
    assert np.max(np.abs(y - expected)) < 1e-6 * np.sum(np.abs(h)) * np.max(np.abs(x))


def test_a_filter_of_too_few_samples_has_no_output() -> None:
    assert len(core.fir(samples(9), reals(10))) == 0
    assert len(core.fir(samples(10), reals(10))) == 1


# Large enough that the memory of a copy would be given back, and something else be there.
@pytest.mark.parametrize("draw", [samples, reals])
def test_arrays_may_be_views_of_any_stride(draw: Any) -> None:
    x, h = samples(100_000)[::-2], draw(60_000)[::-2]
    expected = core.fir(np.ascontiguousarray(x), np.ascontiguousarray(h))
    assert np.array_equal(core.fir(x, h), expected)


@pytest.mark.parametrize("count", [0, 1, 7, 33, 1003])
def test_constants_multiply_and_add(count: int) -> None:
    x, z = reals(count), samples(count)
    assert np.array_equal(core.multiply_constant(x, 1.5), np.float32(1.5) * x)
    assert np.array_equal(core.add_constant(x, -0.3), x + np.float32(-0.3))
    assert np.array_equal(core.multiply_constant(z, 0.5), np.float32(0.5) * z)
    assert np.array_equal(core.add_constant(z, 1 - 2j), z + np.complex64(1 - 2j))
    product = core.multiply_constant(z, 0.3 - 2j)
    np.testing.assert_allclose(product, (0.3 - 2j) * z.astype(complex), rtol=1e-6, atol=1e-30)
    assert product.dtype == np.complex64 and core.add_constant(x, 1).dtype == np.float32


@pytest.mark.parametrize("step", [0.0, 0.1, -0.37, 2.5])
def test_a_rotator_turns(step: float) -> None:
    x = samples(1000)
    expected = x * np.exp(2j * np.pi * (0.3 + step * np.arange(1000)))
    assert np.max(np.abs(core.rotate(x, step, 0.3) - expected)) < 1e-6 * np.max(np.abs(x))


def test_a_demodulator_gives_the_angle_between_samples() -> None:
    # A tone of 3 kHz deviation at 48 ksps has a frequency that is a cosine.
    time = np.arange(4800) / 48e3
    x = np.exp(1j * 3 * np.sin(2 * np.pi * 1e3 * time)).astype(np.complex64)
    y = core.quadrature_demodulate(x, 48e3 / (2 * np.pi * 3e3))
    middle = time[:-1] + 0.5 / 48e3
    assert np.max(np.abs(y - np.cos(2 * np.pi * 1e3 * middle))) < 1e-3
    exact = np.angle(x[1:].astype(complex) * np.conj(x[:-1].astype(complex)))
    assert np.max(np.abs(core.quadrature_demodulate(x) - exact)) < 1e-6


@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.int16])
def test_another_dtype_is_refused_by_its_name(dtype: Any) -> None:
    x = np.ones(100, dtype)
    name = np.dtype(dtype).name
    for call in (
        lambda: core.fir(x, reals(3)),
        lambda: core.multiply_constant(x, 2),
        lambda: core.add_constant(x, 2),
        lambda: core.rotate(x, 0.1),
        lambda: core.quadrature_demodulate(x),
    ):
        with pytest.raises(TypeError, match=f"must be an array of complex64, not {name}"):
            call()
    with pytest.raises(TypeError, match=f"taps must be an array of float32, not {name}"):
        core.fir(samples(100), x)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="a tap at least"):
        core.fir(samples(10), np.zeros(0, np.float32))
    with pytest.raises(ValueError, match="a decimation of one"):
        core.fir(samples(10), reals(2), 0)
    for call in core.multiply_constant, core.add_constant:
        with pytest.raises(ValueError, match="x is real, so that the constant must be"):
            call(reals(10), 1j)
    with pytest.raises(ValueError, match="finite"):
        core.rotate(samples(10), float("nan"))
    with pytest.raises(ValueError, match="one dimension"):
        core.rotate(samples(10).reshape(2, 5), 0.1)
    with pytest.raises(ValueError, match="there is no block"):
        core.Block("none")
    with pytest.raises(ValueError, match="setting must be"):
        core.Block("fir", {"taps": [1.0]}).profile(1, "hot", 0.001)
