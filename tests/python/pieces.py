"""Blocks of flowgraphs that are fed bit by bit, as a runtime feeds them."""

from typing import Any

import numpy as np
from carillon import core

SIZES = (1, 7, 0, 64, 3, 256, 31, 1000)  # in turn


def complexes(count: int, seed: int = 3) -> Any:
    """Gaussian, of variance 1 in each part, complex64."""
    random = np.random.default_rng(seed)
    return (random.normal(size=count) + 1j * random.normal(size=count)).astype(np.complex64)


def reals(count: int, seed: int = 3) -> Any:
    return np.random.default_rng(seed).normal(size=count).astype(np.float32)


def fed(block: core.Block, *inputs: Any) -> Any:
    """What it makes of inputs of equal lengths that come in pieces."""
    made, done, turn = [], 0, 0
    while done < len(inputs[0]):
        piece = SIZES[turn % len(SIZES)]
        made.append(block.run([x[done : done + piece] for x in inputs]))
        done, turn = done + piece, turn + 1
    return None if made[0] is None else np.concatenate(made)


def figure(block: core.Block, name: str) -> float:
    (found,) = (value for its, value, _ in block.figures() if its == name)
    return found


def same(block: str, values: dict[str, Any], expected: Any, *inputs: Any, within: float) -> None:
    """A block makes what is expected, in one piece as in many."""
    for made in (
        core.Block(block, values).run(list(inputs)),
        fed(core.Block(block, values), *inputs),
    ):
        assert made.dtype == (np.complex64 if np.iscomplexobj(expected) else np.float32)
        assert len(made) == len(expected)
        assert np.max(np.abs(made - expected)) <= within
