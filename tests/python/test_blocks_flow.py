"""Blocks that choose samples, and those that look at them."""

from typing import Any

import numpy as np
import pytest
from carillon import core
from pieces import complexes, fed, figure, reals, same


def drawn(samples: str, count: int) -> Any:
    return reals(count) if samples == "real" else complexes(count)


@pytest.mark.parametrize("samples", ["real", "complex"])
def test_zeros_follow_a_head(samples: str) -> None:
    block = core.Block("head", {"count": 1000, "samples": samples})
    x = drawn(samples, 1500)
    y = fed(block, x)
    assert np.array_equal(y[:1000], x[:1000]) and not y[1000:].any()
    assert figure(block, "left") == 0


@pytest.mark.parametrize("samples", ["real", "complex"])
@pytest.mark.parametrize("count", [0, 1, 300])
def test_skipped_samples_are_the_first(count: int, samples: str) -> None:
    x = drawn(samples, 2000)
    same("skip", {"count": count, "samples": samples}, x[count:], x, within=0)


@pytest.mark.parametrize("samples", ["real", "complex"])
@pytest.mark.parametrize("channel", [0, 2, 4])
def test_a_channel_is_picked(channel: int, samples: str) -> None:
    x = drawn(samples, 2000)
    values = {"channels": 5, "channel": channel, "samples": samples}
    same("pick", values, x[channel::5], x, within=0)


def test_a_channel_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="channel: must be below channels"):
        core.Block("pick", {"channels": 4, "channel": 4})


@pytest.mark.parametrize("samples", ["real", "complex"])
def test_a_probe_says_what_samples_are_like(samples: str) -> None:
    x = drawn(samples, 3000) + np.float32(0.5)
    dirty = x.copy()
    dirty[100:103] = np.nan, np.inf, -np.inf
    clean = np.delete(x, range(100, 103)).astype(complex)
    block = core.Block("probe", {"samples": samples})
    assert fed(block, dirty) is None
    power = np.mean(np.abs(clean) ** 2)
    assert figure(block, "samples") == 3000 and figure(block, "not finite") == 3
    assert figure(block, "mean") == pytest.approx(np.mean(clean.real))
    if samples == "complex":
        assert figure(block, "mean, imaginary") == pytest.approx(np.mean(clean.imag))
    assert figure(block, "rms") == pytest.approx(np.sqrt(power))
    assert figure(block, "peak") == pytest.approx(np.max(np.abs(clean)))
    assert figure(block, "power") == pytest.approx(10 * np.log10(power))


def test_a_probe_of_nothing_says_so() -> None:
    block = core.Block("probe")
    assert figure(block, "samples") == 0 and figure(block, "power") == -300
