"""Decoders of what is in the recordings, apart from all that they are to check: of the frequencies
or magnitudes that a receiver's graph makes, the frames whose checksums are right.

Symbols are found as in the recordings' own rx.py, which is where the constants come from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Bits = Sequence[int]


def whole(bits: Bits) -> int:
    """The first bit is the greatest."""
    return int("".join(map(str, bits)), 2)


def packed(bits: Bits, order: str = "big") -> bytes:
    """Eight to a byte; what is left over is left out."""
    array = np.array(bits[: len(bits) // 8 * 8], np.uint8)
    return np.packbits(array, bitorder="little" if order == "little" else "big").tobytes()


def crc(bits: Bits, width: int, polynomial: int, start: int) -> int:
    """Bit by bit, the greatest of the polynomial left out."""
    value = start
    for bit in bits:
        feeds = value >> (width - 1) ^ bit
        value = (value << 1) & ((1 << width) - 1) ^ (polynomial if feeds else 0)
    return value


def bits_of(data: bytes) -> Bits:
    """The first bit of a byte is its greatest."""
    return [int(bit) for bit in np.unpackbits(np.frombuffer(data, np.uint8))]


def middles(found: NDArray[np.bool_], apart: float) -> Iterator[float]:
    """Of the runs of samples where something was found."""
    places = np.flatnonzero(found)
    if len(places):
        for own in np.split(places, np.flatnonzero(np.diff(places) > apart) + 1):
            yield float(own.mean())


def agreement(x: Reals, word: str, length: float) -> NDArray[np.int64]:
    """How many signs fit a word of bits, so many samples each, that begins at each sample."""
    count = len(x) - int(len(word) * length) - 1
    starts = [int(k * length) for k in range(len(word))]
    fits = [(x[at : at + count] > 0) == (bit == "1") for at, bit in zip(starts, word, strict=True)]
    return np.asarray(np.sum(fits, axis=0, dtype=np.int64))


def sliced(x: Reals, length: float, at: float, count: int) -> list[int]:
    """Signs of so many bits, the first at `at`; crossings between two keep the clock."""
    bits: list[int] = []
    while len(bits) < count and round(at + length) + 1 < len(x):
        first = round(at)
        bits.append(int(x[first] > 0))
        own = x[first : round(at + length) + 1]
        crossed = np.flatnonzero((own[:-1] > 0) != (own[1:] > 0))
        if len(crossed) == 1:
            (k,) = crossed
            place = first + k + own[k] / (own[k] - own[k + 1])
            at += 0.1 * (place - (at + length / 2))
        at += length
    return bits


def spino_packets(frequency: Reals, rate_hz: float) -> list[bytes]:
    """9600 bits a second: a word of 32 bits, then 16 bytes, as many as the last two of 18 say, and
    a CRC."""
    length = rate_hz / 9600
    x = np.convolve(frequency - np.median(frequency), np.ones(7) / 7, "same")
    found = []
    for at in middles(agreement(x, f"{0x2EFC9827:032b}", length) >= 31, 100):
        data = packed(sliced(x, length, at + 32 * length, 242 * 8))
        packet = data[: 16 + int.from_bytes(data[16:18], "little")]
        if crc(bits_of(packet[:-2]), 16, 0x1021, 0) == int.from_bytes(packet[-2:], "little"):
            found.append(packet)
    return found


_THREE_OF_SIX = "16 0D 0E 0B 1C 19 1A 13 2C 25 26 23 34 31 32 29"
_HALVES = {int(chips, 16): half for half, chips in enumerate(_THREE_OF_SIX.split())}


def _is_mbus_block(block: bytes) -> bool:
    own = crc(bits_of(block[:-2]), 16, 0x3D65, 0) ^ 0xFFFF
    return len(block) > 2 and own == int.from_bytes(block[-2:], "big")


def _mbus_bytes(chips: Bits) -> bytes:
    """Of chips up to the first six that are no code."""
    halves = []
    for k in range(0, len(chips) - 5, 6):
        half = _HALVES.get(whole(chips[k : k + 6]))
        if half is None:
            break
        halves.append(half)
    return bytes(a << 4 | b for a, b in zip(halves[::2], halves[1::2], strict=False))


def mbus_telegrams(x: Reals) -> list[tuple[bytes, int]]:
    """Wireless M-Bus, mode T, 16 samples a chip: telegrams without their CRCs, and how many of
    their blocks are right. A block has 16 bytes and two of CRC; the first has 10, of which the
    first says how many bytes follow."""
    found = []
    for at in middles(agreement(x, "01010101010000111101", 16) == 20, 200):
        data = _mbus_bytes(sliced(x, 16, at + 20 * 16, 290 * 12))
        if not _is_mbus_block(data[:12]):
            continue
        left, blocks = data[0] - 9, [data[:12]]
        for begin in range(12, 12 + 18 * -(-left // 16), 18):
            blocks.append(data[begin:][: min(16, left - (begin - 12) // 18 * 16) + 2])
        telegram = b"".join(block[:-2] for block in blocks)
        found.append((telegram, sum(map(_is_mbus_block, blocks))))
    return found


def mode_s_frames(magnitude: Reals) -> list[tuple[int, int, str]]:
    """Of 2 MHz: (sample, downlink format, bytes in hex) where dump1090's preamble is, and the CRC
    of a squitter is 0."""
    m, n = magnitude, len(magnitude) - 240
    rises = ((0, 1), (2, 1), (2, 3), (0, 3), (0, 4), (0, 5), (0, 6), (7, 8), (9, 8), (9, 6))
    preamble = np.logical_and.reduce([m[a : a + n] > m[b : b + n] for a, b in rises])
    found = []
    for at in np.flatnonzero(preamble):
        bits = (m[at + 16 : at + 240 : 2] > m[at + 17 : at + 240 : 2]).astype(int).tolist()
        kind = whole(bits[:5])
        bits = bits[: 112 if kind >= 16 else 56]
        if kind in (11, 17, 18) and crc(bits[:-24], 24, 0xFFF409, 0) == whole(bits[-24:]):
            found.append((int(at), kind, packed(bits).hex()))
    return found


def afsk_levels(audio: Reals, rate_hz: float) -> Reals:
    """Bell 202: how much more there is of 1200 Hz than of 2200 Hz, in a bit's time."""
    width = round(rate_hz / 1200)
    time = np.arange(len(audio)) / rate_hz
    low, high = (
        np.abs(np.convolve(audio * np.exp(-2j * np.pi * tone * time), np.ones(width), "same"))
        for tone in (1200, 2200)
    )
    return np.asarray(low - high)


def descrambled(bits: Bits) -> list[int]:
    """G3RUH: 1 + x^12 + x^17."""
    return [a ^ b ^ c for a, b, c in zip(bits[17:], bits[5:], bits, strict=False)]


def ax25_frames(bits: Bits) -> list[bytes]:
    """Of levels, whose changes are zeros: what is between flags and has a right FCS, without it."""
    text = "".join("1" if a == b else "0" for a, b in pairwise(bits))
    found = []
    for part in re.split("0?1111110", text):  # flags may share a 0
        data = packed([int(bit) for bit in part.replace("111110", "11111")], "little")
        own = [int(bit) for bit in np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")]
        # Over a frame and its FCS the CRC is always this.
        if len(data) > 16 and crc(own, 16, 0x1021, 0xFFFF) == 0x1D0F:
            found.append(data[:-2])
    return found


_SYNC = np.array([-3, 1, -3, 3, -3, -3, 3, 3, -1, 3], float)
_SYMBOLS = 192  # of a frame


def _viterbi(pairs: Sequence[tuple[int | None, int | None]]) -> list[int]:
    """Of the code with the polynomials 1 + D^3 + D^4 and 1 + D + D^2 + D^4, from state 0 to state
    0; nothing is known of a bit that is None."""
    costs: dict[int, tuple[int, list[int]]] = {0: (0, [])}
    for pair in pairs:
        further: dict[int, tuple[int, list[int]]] = {}
        for state, (cost, path) in costs.items():
            last = [state >> k & 1 for k in (3, 2, 1, 0)]  # the latest first
            for bit in (0, 1):
                coded = bit ^ last[2] ^ last[3], bit ^ last[0] ^ last[1] ^ last[3]
                own = cost + sum(
                    known is not None and known != sent
                    for known, sent in zip(pair, coded, strict=True)
                )
                end = bit << 3 | state >> 1
                if end not in further or own < further[end][0]:
                    further[end] = own, [*path, bit]
        costs = further
    return costs[0][1]


def _whitening(count: int) -> list[int]:
    """Of each symbol of a frame whether its sign is changed: x^9 + x^4 + 1, after the sync."""
    bits = [0, 0, 1, 0, 0, 1, 1, 1, 0]
    while len(bits) < count:
        bits.append(bits[-9] ^ bits[-5])
    return bits[:count]


def _nxdn_frame(symbols: Reals) -> tuple[int, int] | None:
    """Link channel and 26 bits of the slow channel, if their checks are right."""
    sync = symbols[:10]
    scale = np.polyfit(_SYNC, sync, 1)
    own = ((symbols - scale[1]) / scale[0])[10:]
    signs = (own < 0).astype(int) ^ _whitening(len(own))
    bits = np.stack([signs, (np.abs(own) > 2).astype(int)], 1).ravel().tolist()
    link = bits[:16:2]
    coded = iter([bits[16 + column + 5 * row] for column in range(5) for row in range(12)])
    sent = [None if k % 6 == 5 else next(coded) for k in range(72)]
    slow = _viterbi(list(zip(sent[::2], sent[1::2], strict=True)))
    if link[7] != sum(link[:4]) % 2 or crc(slow[:26], 6, 0x27, 0x3F) != whole(slow[26:32]):
        return None
    return whole(link), whole(slow[:26])


def nxdn_frames(frequency: Reals) -> list[tuple[int, int, int]]:
    """2400 symbols a second at 48 kHz: (sample, link channel, slow channel) of the frames whose
    checks are right."""
    x = np.convolve(frequency, np.ones(10) / 10, "same")
    at = np.arange(len(x) - 20 * _SYMBOLS)
    heard = np.stack([x[at + 20 * k] for k in range(10)])
    heard -= heard.mean(0)
    wanted = _SYNC - _SYNC.mean()
    likeness = wanted @ heard / np.sqrt((wanted @ wanted) * (heard**2).sum(0) + 1e-12)
    found = []
    places = np.flatnonzero(likeness > 0.95)
    for near in np.split(places, np.flatnonzero(np.diff(places) > 20) + 1):
        first = int(near[np.argmax(likeness[near])])
        if (frame := _nxdn_frame(x[first + 20 * np.arange(_SYMBOLS)])) is not None:
            found.append((first, *frame))
    return found
