"""Arithmetic of flowgraphs' blocks against NumPy."""

from typing import Any

import numpy as np
import pytest
from carillon import core
from pieces import complexes, reals, same

EDGES = np.array([0, 1, -1, 1j, -1j, 1 - 1j, -1e-15 - 1e-15j, 1e18 + 1e18j], np.complex64)


@pytest.mark.parametrize("samples", ["real", "complex"])
def test_two_inputs_are_added_and_multiplied(samples: str) -> None:
    draw = reals if samples == "real" else complexes
    a, b = draw(3000, seed=1), draw(3000, seed=2)
    wide = np.complex128 if samples == "complex" else np.float64
    values = {"samples": samples}
    same("add-two", values, a + b, a, b, within=0)
    same("multiply-two", values, a.astype(wide) * b, a, b, within=3e-6)


@pytest.mark.parametrize(
    ("to", "function", "within"),
    [
        ("real", np.real, 0),
        ("imaginary", np.imag, 0),
        ("magnitude", np.abs, 1e-6),
        ("power", lambda x: np.abs(x) ** 2, 1e-5),
        ("phase", np.angle, 1e-6),
    ],
)
def test_complex_samples_become_real(to: str, function: Any, within: float) -> None:
    x = complexes(3000)
    same("convert", {"to": to}, function(x.astype(complex)), x, within=within)
    at_edges = core.Block("convert", {"to": to}).run([EDGES])
    np.testing.assert_allclose(at_edges, function(EDGES.astype(complex)), rtol=1e-6, atol=1e-30)


def test_real_samples_become_complex() -> None:
    x = reals(3000)
    same("convert", {"to": "complex"}, x + 0j, x, within=0)


def test_what_it_converts_to_has_to_be_known() -> None:
    with pytest.raises(ValueError, match="to: must be one of real, imaginary, magnitude, power"):
        core.Block("convert", {"to": "polar"})
