"""Filters of flowgraphs that change rates and frequencies, against SciPy."""

from typing import Any

import numpy as np
import pytest
from carillon import core
from pieces import complexes, fed, reals, same
from scipy import signal

RATE = 1e6


def translated(x: Any, taps: Any, centre: float, decimation: int) -> Any:
    turned = x * np.exp(-2j * np.pi * centre / RATE * np.arange(len(x)))
    return signal.upfirdn(taps, turned, 1, decimation)[: len(x) // decimation]


@pytest.mark.parametrize("decimation", [1, 5, 64])
@pytest.mark.parametrize("centre", [0.0, 123_456.7, -400_000.0])
def test_a_translating_filter_shifts_then_filters(centre: float, decimation: int) -> None:
    taps = signal.firwin(63, 50e3, fs=RATE)
    x = complexes(5000 // decimation * decimation)
    values = {
        "taps": taps.tolist(),
        "centre_hz": centre,
        "decimation": decimation,
        "rate_hz": RATE,
    }
    same("translating-fir", values, translated(x, taps, centre, decimation), x, within=2e-6)


def test_a_translating_filter_is_tuned_without_a_jump() -> None:
    """As a rotator before a filter, whose phase goes on; the filter's memory is of the old one."""
    taps = signal.firwin(31, 50e3, fs=RATE).tolist()
    values = {"taps": taps, "centre_hz": 100e3, "decimation": 4, "rate_hz": RATE}
    block = core.Block("translating-fir", values)
    rotator = core.Block("rotator", {"frequency_hz": -100e3, "rate_hz": RATE})
    fir = core.Block("fir", {"taps": taps, "decimation": 4})
    x = complexes(4000)
    made, expected = [], []
    for part in np.split(x, 2):
        made.append(block.run([part]))
        expected.append(fir.run([rotator.run([part])]))
        block.set("centre_hz", -70e3)
        rotator.set("frequency_hz", 70e3)
    within = [slice(0, None), slice(8, None)]  # of each half
    for ours, theirs, settled in zip(made, expected, within, strict=True):
        assert np.max(np.abs(ours[settled] - theirs[settled])) < 2e-6


@pytest.mark.parametrize("samples", ["real", "complex"])
@pytest.mark.parametrize(
    ("up", "down", "count"),
    [(1, 1, 9), (3, 1, 40), (1, 4, 41), (2, 3, 2), (3, 2, 64), (147, 160, 2000), (25, 7, 300)],
)
def test_a_resampler_is_scipys(up: int, down: int, count: int, samples: str) -> None:
    x = (reals if samples == "real" else complexes)(3200 // down * down)
    taps = reals(count, seed=5) / np.float32(np.sqrt(count))
    double = x.astype(float if samples == "real" else complex)
    expected = signal.upfirdn(taps.astype(float), double, up, down)[: len(x) // down * up]
    values = {
        "taps": taps.tolist(),
        "interpolation": up,
        "decimation": down,
        "samples": samples,
    }
    same("resampler", values, expected, x, within=1e-5)


def test_a_resampler_reduces_its_ratio() -> None:
    block = core.Block("resampler", {"taps": [1.0], "interpolation": 48, "decimation": 36})
    assert block.inputs == [("complex", 3, 3, 0)] and block.output == ("complex", 4)
    x = complexes(30)
    assert np.array_equal(fed(block, x)[::4], x[::3])


def test_taps_are_limited() -> None:
    with pytest.raises(ValueError, match="taps: at most 65536 numbers"):
        core.Block("resampler", {"taps": [0.0] * 65537})


@pytest.mark.parametrize("kind", ["real", "real taps", "complex taps"])
@pytest.mark.parametrize("count", [40, 41, 64, 300, 1024, 1025])
def test_long_filters_are_scipys_however_they_are_done(count: int, kind: str) -> None:
    x = reals(9000) if kind == "real" else complexes(9000)
    taps = (complexes if kind == "complex taps" else reals)(count, seed=4)
    wide = np.complex128 if kind == "complex taps" else np.float64
    expected = signal.lfilter(taps.astype(wide), 1, x.astype(complex if kind != "real" else float))
    values = {
        "taps": taps.view(np.float32).tolist(),
        "samples": "real" if kind == "real" else "complex",
        "complex_taps": kind == "complex taps",
    }
    same("fir", values, expected, x, within=1e-6 * float(np.sum(np.abs(taps))))


@pytest.mark.parametrize(("channels", "count"), [(4, 33), (8, 8), (16, 200), (64, 63), (256, 2048)])
def test_a_channelizer_is_as_many_translating_filters(channels: int, count: int) -> None:
    x = complexes(channels * 150)
    taps = signal.firwin(count, 1 / channels) * channels / 4
    expected = [translated(x, taps, k * RATE / channels, channels) for k in range(channels)]
    values = {"channels": channels, "taps": taps.tolist()}
    same("channelizer", values, np.stack(expected, axis=1).ravel(), x, within=1e-5)


def test_a_picked_channel_has_what_was_in_it() -> None:
    turns = np.arange(16 * 400) * (3 / 16 + 0.001)
    x = np.exp(2j * np.pi * turns).astype(np.complex64)
    taps = signal.firwin(256, 1 / 16).tolist()
    made = core.Block("channelizer", {"channels": 16, "taps": taps}).run([x])
    levels = [
        np.max(np.abs(core.Block("pick", {"channels": 16, "channel": k}).run([made])[20:]))
        for k in range(16)
    ]
    assert np.argmax(levels) == 3 and levels[3] == pytest.approx(1, abs=0.01)
    assert max(levels[:2] + levels[5:]) < 1e-3


@pytest.mark.parametrize("channels", [6, 100])
def test_channels_are_a_power_of_two(channels: int) -> None:
    with pytest.raises(ValueError, match="channels: must be a power of two"):
        core.Block("channelizer", {"channels": channels, "taps": [1.0]})
