"""A radio link in double precision, written plainly from the standards: what the engine is held to.

Nothing here comes from the engine. Arrays are indexed [antenna], [user], [subcarrier] as named in
each docstring; LLRs are natural and positive for bit 0.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Values = NDArray[np.complex128]
Bits = NDArray[np.uint8]

DATA = Path(__file__).resolve().parent.parent / "data"


def constellation(bits: int) -> tuple[Values, Bits]:
    """All points of 38.211 5.1 with unit mean energy, and their labels [point, bits]."""
    labels = (np.arange(2**bits)[:, None] >> np.arange(bits)[::-1] & 1).astype(np.uint8)
    signs = 1.0 - 2.0 * labels.astype(np.float64)

    def axis(column: Reals) -> Reals:  # (1-2b0)[4-(1-2b2)[2-(1-2b4)]] for three bits
        value = np.ones(len(column))
        for n in range(column.shape[1] - 1, -1, -1):
            step = 2 ** (column.shape[1] - 1 - n)
            value = column[:, n] * (value if step == 1 else step - value)
        return value

    points = axis(signs[:, 0::2]) + 1j * axis(signs[:, 1::2])
    return points / np.sqrt(np.mean(np.abs(points) ** 2)), labels


def modulate(coded: Bits) -> Values:
    """Symbols of labels [..., bits]."""
    bits = coded.shape[-1]
    points, _ = constellation(bits)
    return points[coded @ (1 << np.arange(bits)[::-1])]


def max_log(symbols: Values, noise: Reals, bits: int) -> Reals:
    """LLRs [..., bits] from the nearest point with either value of each bit."""
    points, labels = constellation(bits)
    distance = np.abs(symbols[..., None] - points) ** 2
    llrs = [
        distance[..., labels[:, i] == 1].min(-1) - distance[..., labels[:, i] == 0].min(-1)
        for i in range(bits)
    ]
    return np.stack(llrs, -1) / noise[..., None]


def lifting_set(lifting: int) -> int:
    """Row of 38.212 table 5.3.2-1: Z is a power of two times 2, 3, 5, 7, 9, 11, 13 or 15."""
    odd = lifting
    while odd % 2 == 0:
        odd //= 2
    return [1, 3, 5, 7, 9, 11, 13, 15].index(odd)


@dataclass(frozen=True)
class Ldpc:
    """38.212 5.3.2. Posteriors and bits are [column, Z, block], the first two columns included."""

    base_graph: int
    lifting: int

    @cached_property
    def rows(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """For each row its columns [edge] and the bits that its checks contain [edge, Z]."""
        table = np.loadtxt(
            DATA / f"ldpc_bg{self.base_graph}.csv", delimiter=",", skiprows=1, dtype=np.int64
        )
        shifts = table[:, 2 + lifting_set(self.lifting)] % self.lifting
        bits = (np.arange(self.lifting) + shifts[:, None]) % self.lifting
        return [
            (table[table[:, 0] == row, 1], bits[table[:, 0] == row])
            for row in range(table[-1, 0] + 1)
        ]

    @property
    def columns(self) -> int:
        return 68 if self.base_graph == 1 else 52

    @property
    def info_columns(self) -> int:
        return 22 if self.base_graph == 1 else 10

    def checks(self, bits: NDArray[np.bool_], rows: int) -> NDArray[np.bool_]:
        """Which blocks satisfy the first rows."""
        good = np.ones(bits.shape[-1], dtype=bool)
        for columns, at in self.rows[:rows]:
            good &= ~np.logical_xor.reduce(bits[columns[:, None], at]).any(0)
        return good

    def decode(self, llrs: Reals, iterations: int, offset: float = 0.5) -> NDArray[np.bool_]:
        """Layered offset-min-sum: decided bits of channel LLRs [column, Z, block]."""
        sent = np.flatnonzero(llrs.any((1, 2)))[-1] + 1
        rows = max(4, int(sent) - self.info_columns)
        decided = llrs < 0
        left = np.arange(llrs.shape[-1])
        posterior = llrs.copy()
        messages = [np.zeros((*at.shape, len(left))) for _, at in self.rows[:rows]]
        for _ in range(iterations):
            for (columns, at), message in zip(self.rows[:rows], messages, strict=True):
                place = (columns[:, None], at)
                to_check = posterior[place] - message
                message[:] = _check(to_check, offset)
                posterior[place] = to_check + message
            decided[..., left] = posterior < 0
            going = ~self.checks(posterior < 0, rows)
            left, posterior = left[going], posterior[..., going]
            messages = [message[..., going] for message in messages]
            if len(left) == 0:
                break
        return decided


def _check(to_check: Reals, offset: float) -> Reals:
    """What a check tells each of its bits: the others' smallest magnitude and parity."""
    magnitude = np.abs(to_check)
    before = np.minimum.accumulate(magnitude)
    after = np.minimum.accumulate(magnitude[::-1])[::-1]
    magnitude[0], magnitude[-1] = after[1], before[-2]
    np.minimum(before[:-2], after[2:], out=magnitude[1:-1])
    negative = to_check < 0
    flips = np.logical_xor.reduce(negative)[None] ^ negative
    magnitude = np.maximum(magnitude - offset, 0.0)
    return np.negative(magnitude, where=flips, out=magnitude)


@dataclass(frozen=True)
class Cell:
    """An uplink with one pilot symbol per user and one code block per user and frame."""

    antennas: int
    users: int
    fft_size: int
    subcarriers: int
    data_symbols: int
    bits: int  # of a constellation symbol
    code: Ldpc
    fillers: int
    iterations: int

    @property
    def coded_bits(self) -> int:
        return self.subcarriers * self.data_symbols * self.bits


@dataclass(frozen=True)
class Counts:
    """Of one frame."""

    raw_error_rate: float
    block_error_rate: float


def simulate(cell: Cell, snr_db: float, frames: int, seed: int) -> Iterator[Counts]:
    """Frames in flat Rayleigh fading, zero-forcing with estimated channel and noise."""
    generator = np.random.default_rng(seed)
    for first in range(0, frames, _BATCH):
        batch = range(min(_BATCH, frames - first))
        llrs = np.stack([_frame(cell, 10 ** (snr_db / 10), generator) for _ in batch])
        wrong = _wrong_blocks(cell, llrs.reshape(-1, cell.coded_bits))
        for frame, blocks in zip(llrs, wrong.reshape(-1, cell.users), strict=True):
            yield Counts(float(np.mean(frame < 0)), float(np.mean(blocks)))


_BATCH = 8  # frames decoded together, so that NumPy has long loops


def _frame(cell: Cell, snr: float, generator: np.random.Generator) -> Reals:
    """LLRs [user, coded bit] of a frame, descrambled.

    The code is linear and its decoder symmetric: the codeword of zeros, scrambled, stands for all.
    """
    mask = generator.integers(0, 2, (cell.users, cell.coded_bits), dtype=np.uint8)
    pilots = np.exp(2j * np.pi * generator.random(cell.subcarriers))
    received = _air(cell, snr, _transmitted(cell, mask, pilots), generator)
    return _uplink(cell, received, pilots) * (1.0 - 2.0 * mask)


def _transmitted(cell: Cell, mask: Bits, pilots: Values) -> Values:
    """Users' grids [user, symbol, subcarrier]."""
    labels = mask.reshape(cell.users, cell.bits, -1).transpose(0, 2, 1)  # 38.212 5.4.2.2
    data = modulate(labels).reshape(cell.users, cell.data_symbols, cell.subcarriers)
    turns = np.eye(cell.users)[:, :, None] * pilots
    return np.concatenate([turns, data], 1)


def _bins(cell: Cell) -> NDArray[np.int64]:
    return (np.arange(cell.subcarriers) - cell.subcarriers // 2) % cell.fft_size


def _air(cell: Cell, snr: float, sent: Values, generator: np.random.Generator) -> Values:
    """All bins at the antennas [antenna, symbol, bin]; noise has unit variance.

    A flat channel has no memory, so that there is no need for a prefix.
    """
    shape = (cell.antennas, sent.shape[1], cell.fft_size)
    channel = _normal(generator, (cell.antennas, cell.users)) * np.sqrt(snr)
    grid = np.zeros(shape, dtype=complex)
    grid[:, :, _bins(cell)] = np.tensordot(channel, sent, 1)
    samples = np.fft.ifft(grid, norm="ortho") + _normal(generator, shape)
    return np.fft.fft(samples, norm="ortho")


def _normal(generator: np.random.Generator, shape: tuple[int, ...]) -> Values:
    parts = generator.standard_normal((2, *shape)) * np.sqrt(0.5)
    return np.asarray(parts[0] + 1j * parts[1])


def _uplink(cell: Cell, received: Values, pilots: Values) -> Reals:
    """LLRs [user, coded bit] of least squares, zero-forcing and max-log.

    Each estimate is as noisy as its pilot, and all users' symbols, of unit energy, carry that on.
    """
    used = received[:, :, _bins(cell)]
    unused = np.setdiff1d(np.arange(cell.fft_size), _bins(cell))
    noise = np.mean(np.abs(received[:, : cell.users, unused]) ** 2)
    channel = (used[:, : cell.users] / pilots).transpose(2, 0, 1)  # [subcarrier, antenna, user]
    inverse = np.linalg.inv(channel.conj().transpose(0, 2, 1) @ channel)
    combiner = inverse @ channel.conj().transpose(0, 2, 1)
    symbols = np.einsum("kua,ask->usk", combiner, used[:, cell.users :])
    variance = noise * (1 + cell.users) * np.einsum("kuu->uk", inverse).real
    llrs = max_log(symbols, np.broadcast_to(variance[:, None], symbols.shape), cell.bits)
    return llrs.reshape(cell.users, -1, cell.bits).transpose(0, 2, 1).reshape(cell.users, -1)


def _wrong_blocks(cell: Cell, llrs: Reals) -> NDArray[np.bool_]:
    """Decodes [block, coded bit], redundancy version 0: coded bits fill the codeword in order."""
    code = cell.code
    info = code.info_columns * code.lifting
    known = np.arange(info - cell.fillers, info)
    places = np.setdiff1d(np.arange(2 * code.lifting, code.columns * code.lifting), known)
    posterior = np.zeros((code.columns * code.lifting, len(llrs)))
    posterior[places[: cell.coded_bits]] = llrs.T
    posterior[known] = 1e3
    decided = code.decode(posterior.reshape(code.columns, code.lifting, -1), cell.iterations)
    wrong = decided[: code.info_columns].reshape(info, -1)[: info - cell.fillers]
    return np.asarray(wrong.any(0))
