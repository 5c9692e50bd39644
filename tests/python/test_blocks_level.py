"""Blocks with feedback against SciPy and recursions by hand: one pole, squelch, AGC."""

from typing import Any

import numpy as np
import pytest
from carillon import core
from pieces import complexes, fed, figure, reals, same
from scipy import signal

RATE = 48_000.0


@pytest.mark.parametrize("time", [75e-6, 50e-6, 1e-2])
def test_deemphasis_is_scipys_bilinear_filter(time: float) -> None:
    b, a = signal.butter(1, 1 / (2 * np.pi * time), fs=RATE)
    x = reals(5000)
    values = {"time_s": time, "rate_hz": RATE}
    same("deemphasis", values, signal.lfilter(b, a, x.astype(float)), x, within=1e-6)


@pytest.mark.parametrize("samples", ["real", "complex"])
def test_a_dc_blocker_is_scipys_high_pass(samples: str) -> None:
    b, a = signal.butter(1, 30.0, "high", fs=RATE)
    x = 1 + (reals(5000) if samples == "real" else complexes(5000))
    values = {"cutoff_hz": 30.0, "rate_hz": RATE, "samples": samples}
    double = x.astype(float if samples == "real" else complex)
    same("dc-blocker", values, signal.lfilter(b, a, double), x, within=1e-5)


def test_corners_beyond_half_the_rate_are_refused() -> None:
    with pytest.raises(ValueError, match="cutoff_hz: must be less than half of rate_hz"):
        core.Block("dc-blocker", {"cutoff_hz": 24e3, "rate_hz": RATE})
    with pytest.raises(ValueError, match="time_s: must be more than 1/"):
        core.Block("deemphasis", {"time_s": 1e-6, "rate_hz": RATE})


def squelched(x: Any, level_db: float, a: float, ramp: int) -> Any:
    """Sample by sample."""
    power, step, y = 0.0, 0, np.zeros_like(x)
    for i, each in enumerate(x.astype(complex)):
        power += a * (abs(each) ** 2 - power)
        step = min(step + 1, ramp) if power >= 10 ** (level_db / 10) else max(step - 1, 0)
        y[i] = each * (0.5 - 0.5 * np.cos(np.pi * step / ramp))
    return y


def bursts() -> Any:
    x = 1e-3 * complexes(6000)
    x[1000:3000] += 1
    x[4500:4520] += 1
    return x


@pytest.mark.parametrize("ramp", [0, 1, 100])
def test_a_squelch_opens_where_the_power_is(ramp: int) -> None:
    x = bursts()
    a = 1 - np.exp(-1 / 48)
    expected = squelched(x, -20, a, max(ramp, 1))
    values = {"level_db": -20, "time_s": 1e-3, "ramp_s": ramp / RATE, "rate_hz": RATE}
    same("squelch", values, expected, x, within=1e-6)
    block = core.Block("squelch", values)
    y = block.run([x])
    assert np.all(y[:1000] == 0)
    assert figure(block, "passed") == pytest.approx(100 * np.mean(expected != 0))


def test_a_squelchs_level_changes_while_it_runs() -> None:
    x = np.ones(100, np.complex64)
    block = core.Block("squelch", {"level_db": 3, "time_s": 0, "rate_hz": RATE})
    assert not block.run([x]).any()
    block.set("level_db", -3)
    assert np.all(block.run([x]) == 1)
    assert figure(block, "passed") == 50
    assert figure(block, "power") == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("samples", ["real", "complex"])
def test_an_agc_follows_its_recursion(samples: str) -> None:
    x = (reals(3000) if samples == "real" else complexes(3000)) * np.float32(0.01)
    x[2000:] *= 30
    gain, expected = 1.0, np.zeros_like(x)
    for i, each in enumerate(x.astype(complex)):
        expected[i] = (gain * each).astype(x.dtype) if samples == "complex" else (gain * each).real
        gain = min(max(gain + 0.1 * (2 - abs(gain * each)), 0.0), 50.0)
    values: dict[str, float | str] = {
        "rate": 0.1,
        "reference": 2,
        "most_gain": 50,
        "samples": samples,
    }
    same("agc", values, expected, x, within=1e-4)
    block = core.Block("agc", values)
    block.run([x[:2000]])
    assert figure(block, "gain") == pytest.approx(20 * np.log10(50), abs=0.5)


FEEDBACK = {
    "deemphasis": {"time_s": 75e-6, "rate_hz": RATE},
    "dc-blocker": {"cutoff_hz": 30, "rate_hz": RATE},
    "squelch": {"level_db": -20, "rate_hz": RATE},
    "agc": {},
    "fm-modulator": {"deviation_hz": 5000, "rate_hz": RATE},
}


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", FEEDBACK)
def test_what_is_not_finite_counts_as_zero(name: str, bad: float) -> None:
    block = core.Block(name, FEEDBACK[name])
    is_complex = block.inputs[0][0] == "complex"
    x = complexes(2000) if is_complex else reals(2000)
    without = x.copy()
    x[500], without[500] = bad, 0
    if is_complex:
        x[600], without[600] = complex(1, bad), 1
    assert np.array_equal(fed(block, x), fed(core.Block(name, FEEDBACK[name]), without))
    assert figure(block, "replaced") == (2 if is_complex else 1)


@pytest.mark.parametrize("name", FEEDBACK)
def test_the_greatest_sample_is_forgotten(name: str) -> None:
    block = core.Block(name, FEEDBACK[name])
    is_complex = block.inputs[0][0] == "complex"
    x = np.ones(3_000_000, np.complex64 if is_complex else np.float32)
    x[:100] = np.finfo(np.float32).max
    y = block.run([x])
    assert np.all(np.isfinite(y[200:]))
    if name == "dc-blocker":
        assert abs(y[-1]) < 1e-3
    elif name == "deemphasis":
        assert y[-1] == pytest.approx(1)
    elif name == "agc":
        assert abs(y[-1]) == pytest.approx(1, abs=1e-3)
