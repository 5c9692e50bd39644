"""Blocks with a file or device, driven as a runtime does it."""

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from carillon import core
from hang import wait_until
from numpy.typing import NDArray

Samples = NDArray[Any]
Values = dict[str, bool | int | float | str | Sequence[float]]
PIECES = (1, 1000, 7, 4096, 333)
ROOT = Path(__file__).resolve().parents[2]


def recording(name: str) -> Path:
    """A real one; the test is skipped where there are none."""
    for folder in (ROOT, ROOT.parent):
        file = folder / "shared" / "reference" / "recordings" / name
        if file.exists():
            return file
    pytest.skip("the recordings are not here")


def numpy_type(datatype: str) -> np.dtype:
    order = ">" if datatype.endswith("_be") else "<"
    bits = int(datatype.split("_")[0][2:])
    return np.dtype(f"{order}{datatype[1]}{bits // 8}")


def as_samples(numbers: Samples, datatype: str) -> Samples:
    """By SigMF's rule: integers are fractions, and the middle of unsigned ones is 0."""
    kind = numpy_type(datatype)
    values = numbers.astype(np.float64)
    if kind.kind != "f":
        half = 2.0 ** (8 * kind.itemsize - 1)
        values = (values - (half if kind.kind == "u" else 0)) / half
    values = values.astype(np.float32)
    return values.view(np.complex64) if datatype[0] == "c" else values


def some_numbers(datatype: str, count: int = 6000) -> Samples:
    kind = numpy_type(datatype)
    random = np.random.default_rng(len(datatype))
    if kind.kind == "f":
        return random.standard_normal(count).astype(kind)
    info = np.iinfo(kind)
    numbers = random.integers(
        info.min, info.max, count, dtype=kind.newbyteorder("="), endpoint=True
    )
    numbers[:2] = info.min, info.max
    return numbers.astype(kind)


def read_all(block: core.Block, most: int | None = None) -> Samples:
    """Starts a source and reads it to its end, or `most` samples of it, in uneven pieces."""
    block.start()
    return read_on(block, most)


def read_on(block: core.Block, most: int | None = None) -> Samples:
    found = [block.make(0)]
    left = most
    for piece in cycle(PIECES):
        if left == 0:
            break
        wait_until(lambda: block.ready() > 0 or block.over())
        if block.ready() == 0:
            break
        count = min(piece, block.ready(), piece if left is None else left)
        found.append(block.make(count))
        left = None if left is None else left - count
    return np.concatenate(found)


def write_on(block: core.Block, samples: Samples) -> None:
    done = 0
    for piece in cycle(PIECES):
        if done == len(samples) or block.failure():
            return
        wait_until(lambda: block.ready() > 0 or block.failure() != "")
        part = samples[done : done + min(piece, block.ready())]
        block.run([part])
        done += len(part)


def write_all(block: core.Block, samples: Samples) -> None:
    block.start()
    write_on(block, samples)
    block.finish()


def figures(block: core.Block) -> dict[str, float]:
    return {name: value for name, value, _ in block.figures()}
