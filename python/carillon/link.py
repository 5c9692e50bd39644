"""BER, BLER and EVM curves of a cell, without real time, on all cores.

Points are cut into pieces with seeds of their own, so that a curve does not depend on the number of
workers, and a stopped one goes on where it was.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Literal

from carillon import core
from carillon.errors import InputError
from carillon.ranges import parse_numbers
from carillon.statistics import decibels, ratio, wilson

LEAST_SNR, MOST_SNR = -60, 80  # dB, as of radio.snr_db


class CurveError(InputError):
    """A file that holds no curve, though it says so."""


@dataclass
class Point:
    """Counts at one SNR; all sums, so that pieces add up."""

    snr_db: float
    pieces: int = 0
    frames: int = 0
    blocks: int = 0
    block_errors: int = 0
    raw_bits: int = 0
    raw_errors: int = 0
    iterations: int = 0
    code_blocks: int = 0
    symbols: int = 0
    error_power: float = 0.0
    noise_power: float = 0.0
    known_error: float = 0.0
    known_symbols: int = 0
    # With HARQ: blocks that were still wrong after two, three and four transmissions.
    block_errors_2: int = 0
    block_errors_3: int = 0
    block_errors_4: int = 0

    def add(self, counts: dict[str, float]) -> None:
        """One more piece."""
        self.pieces += 1
        for name in _SUMS:
            count = type(getattr(self, name))(counts.get(name, 0))
            setattr(self, name, getattr(self, name) + count)

    @property
    def bler(self) -> float | None:
        return ratio(self.block_errors, self.blocks)

    @property
    def ber(self) -> float | None:
        return ratio(self.raw_errors, self.raw_bits)

    @property
    def evm_percent(self) -> float | None:
        """From the nearest constellation point: what a receiver can know."""
        return _percent(self.error_power, self.symbols)

    @property
    def known_evm_percent(self) -> float | None:
        """From the symbol that was sent."""
        return _percent(self.known_error, self.known_symbols)

    @property
    def errors_after(self) -> tuple[int, ...]:
        """Blocks that were wrong after one transmission, two, three and four."""
        return (self.block_errors, self.block_errors_2, self.block_errors_3, self.block_errors_4)

    def row(self, *, harq: bool = False) -> dict[str, object]:
        """A CSV row: the counts, then what follows from them."""
        if harq:
            return self._harq_row()
        low, high = wilson(self.block_errors, self.blocks)
        ber_low, ber_high = wilson(self.raw_errors, self.raw_bits)
        return asdict(self) | {
            "bler": self.bler,
            "bler_low": low,
            "bler_high": high,
            "ber": self.ber,
            "ber_low": ber_low,
            "ber_high": ber_high,
            "evm_percent": self.evm_percent,
            "known_evm_percent": self.known_evm_percent,
            "snr_after_db": decibels(ratio(self.symbols, self.noise_power)),
            "mean_iterations": ratio(self.iterations, self.code_blocks),
        }

    def _harq_row(self) -> dict[str, object]:
        """Of HARQ nothing but blocks is counted."""
        row: dict[str, object] = {"snr_db": self.snr_db, "pieces": self.pieces}
        row |= {"frames": self.frames, "blocks": self.blocks}
        for sent, errors in enumerate(self.errors_after, 1):
            low, high = wilson(errors, self.blocks)
            row |= {_errors_after(sent): errors, f"bler_{sent}": ratio(errors, self.blocks)}
            row |= {f"bler_{sent}_low": low, f"bler_{sent}_high": high}
        return row


def _errors_after(transmissions: int) -> str:
    """Name of their count."""
    return "block_errors" if transmissions == 1 else f"block_errors_{transmissions}"


def _percent(power: float, symbols: int) -> float | None:
    mean = ratio(power, symbols)
    return None if mean is None else 100 * mean**0.5


_KEY = "study"  # column of what study_key() gives
_SUMS = [f.name for f in fields(Point) if f.name not in ("snr_db", "pieces")]


@dataclass(frozen=True)
class Rules:
    """When a point is good enough, and the size of a piece."""

    block_errors: int = 100
    most_frames: int = 1000
    piece: int = 10
    seed: int = 1
    direction: Literal["uplink", "downlink"] = "uplink"
    samples: bool = False  # the uplink passes through OFDM transforms and 16-bit samples
    harq: bool = False  # uplink blocks are sent up to four times, and their soft bits added up

    def errors(self, point: Point) -> int:
        """What has to become so many: with HARQ what is wrong after the last transmission."""
        return point.errors_after[-1] if self.harq else point.block_errors

    def done(self, point: Point) -> bool:
        """Enough errors to know the rate, or enough frames to stop looking for them."""
        return self.errors(point) >= self.block_errors or point.frames >= self.most_frames


def parse_range(text: str) -> list[float]:
    """SNRs in dB: start:step:stop, both ends included, or a list with commas."""
    numbers = parse_numbers(text)
    if not all(LEAST_SNR <= number <= MOST_SNR for number in numbers):
        raise ValueError(f"'{text}' leaves {LEAST_SNR} to {MOST_SNR} dB")
    return numbers


def piece_seed(seed: int, snr_db: float, piece: int) -> int:
    """Seeds that have nothing to do with each other, the same on every machine."""
    digest = hashlib.sha256(f"{seed} {snr_db:.9g} {piece}".encode()).digest()
    return int.from_bytes(digest[:6], "little")


def _piece(
    idle: SimpleQueue[core.Link | core.Harq], plan: str, snr_db: float, rules: Rules, seed: int
) -> dict[str, float]:
    try:
        simulator = idle.get_nowait()
    except Empty:
        simulator = core.Harq(plan) if rules.harq else core.Link(plan, samples=rules.samples)
    counts = simulator.point(snr_db, rules.piece, seed)
    idle.put(simulator)
    if rules.harq:
        errors = {_errors_after(sent): count for sent, count in enumerate(counts["errors"], 1)}
        return errors | {"blocks": counts["blocks"], "frames": counts["frames"]}
    side: dict[str, float] = counts["downlink"] if rules.direction == "downlink" else counts
    return {name: side[name] for name in _SUMS if name in side} | {"frames": counts["frames"]}


def simulate(
    plan: str,
    points: list[Point],
    rules: Rules,
    pool: Executor,
    workers: int,
    on_progress: Callable[[Point], None],
    stopped: Callable[[], bool] = lambda: False,
) -> None:
    """Adds pieces to the points until each is done or `stopped` says so.

    Pieces are added in order, so that the counts of a curve are the same however many run at once.
    """
    running: dict[Future[dict[str, float]], tuple[int, int]] = {}
    idle: SimpleQueue[core.Link | core.Harq] = (
        SimpleQueue()
    )  # to make one takes as long as some frames
    for index, point in enumerate(points):
        given, ready = point.pieces, dict[int, dict[str, float]]()
        while not rules.done(point) and not stopped():
            while len(running) < workers and given * rules.piece < rules.most_frames:
                seed = piece_seed(rules.seed, point.snr_db, given)
                future = pool.submit(_piece, idle, plan, point.snr_db, rules, seed)
                running[future] = (index, given)
                given += 1
            finished, _ = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
            for future in finished:
                _, place = running.pop(future)
                ready[place] = future.result()
            while point.pieces in ready and not rules.done(point):
                point.add(ready.pop(point.pieces))
                on_progress(point)
        for future in running:
            future.cancel()
        if stopped():
            return  # without the pieces under way, which may take long
        wait(running)
        running.clear()


def read_csv(file: Path, key: str) -> dict[float, Point]:
    """Points of an earlier run with the same `key` (see study_key); none where it differs.

    Raises CurveError for a file that was damaged since.
    """
    if not file.is_file():
        return {}
    with file.open(newline="", encoding="utf-8", errors="replace") as stream:
        rows = list(csv.DictReader(stream))
        if not rows or rows[0].get(_KEY) not in (key, None):
            return {}
        try:
            points = [_point(row) for row in rows]
        except (KeyError, TypeError, ValueError) as error:
            raise CurveError(f"{file} is damaged; delete it to measure anew ({error!r})") from error
    return {point.snr_db: point for point in points}


def _point(row: dict[str, str]) -> Point:
    point = Point(float(row["snr_db"]), pieces=int(row["pieces"]))
    for name in _SUMS:
        if name in row or name in ("frames", "blocks", "block_errors"):
            setattr(point, name, type(getattr(point, name))(row[name]))
    return point


def write_csv(file: Path, key: str, points: Iterable[Point], *, harq: bool = False) -> None:
    """Replaces the file in one step, so that a stop in between loses nothing."""
    rows = [point.row(harq=harq) | {_KEY: key} for point in points]
    partial = file.with_suffix(".partial")
    with partial.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    partial.replace(file)


def study_key(plan: str, rules: Rules) -> str:
    """What a point depends on besides its SNR, and what is counted of it."""
    text = f"{plan} {rules.piece} {rules.seed} {rules.direction} {rules.samples} {_SUMS}"
    text += " harq" * rules.harq
    return hashlib.sha256(text.encode()).hexdigest()[:16]
