"""Ways for samples into a GPU's memory: what is measured, what a machine lacks, what was published.

The published figures are of Orlando, "GPUDirect + SDR: How to Move One Billion Samples per Second
over PCIe" (GRCon 2019).
"""

from __future__ import annotations

import os
import re
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from carillon import core
from carillon.percent import percent

SIZES = "4K,64K,1M,16M,64M"
CHANNELS = "1,2,4,8"
MOST_CHANNELS = 8
LEAST_BYTES, MOST_BYTES = 64, 64 << 20
SAMPLE_BYTES = 4

# A path, and as much of it as needs no device. The first two need nothing at all.
ON_HOST = {
    "staged-host": "staged",
    "pinned-host": "pinned-copy, pinned-read",
    "card-host": "dma-buf, peermem",
}
ANYWHERE = ("staged-host", "pinned-host")
ROUNDS = 3
_HIDES = 0.95  # of the limit: faster than this no path can show itself
_NOISY = 0.25  # spread of a figure's rounds from which on it is doubtful
_BUSY = 0.1  # of a machine's cores, taken by others
# What a radio keeps, as in engine/fronthaul/gpu/source.hpp: rounds of blocks, and at least seconds.
_HELD_ROUNDS, _HELD_SECONDS = 8, 0.01
_COUNTS = (
    "blocks",
    "checked",
    "wrong",
    "lost_samples",
    "out_of_order",
    "dropped",
    "seconds",
)


@dataclass(frozen=True)
class Preset:
    """What a radio delivers: channels, and 10⁶ samples a second of each."""

    channels: int
    msps: float


# The radios of the slides.
PRESETS = {
    "4x245": Preset(4, 245.76),
    "2x491": Preset(2, 491.52),
    "1x61.44": Preset(1, 61.44),
}


@dataclass(frozen=True)
class Published:
    """A platform of the slides, MB/s; generation and lanes of its link, if they are told."""

    platform: str
    staged: float
    direct: float
    link: tuple[int, int] | None

    def row(self) -> dict[str, Any]:
        """With what follows from it."""
        limit = core.link_limit(*self.link) if self.link else None
        return {
            "platform": self.platform,
            "staged_mb_per_s": self.staged,
            "direct_mb_per_s": self.direct,
            "gain": self.direct / self.staged - 1,
            "limit_mb_per_s": limit,
        }


PUBLISHED = (
    Published("Core i7 and Quadro P2000, Gen2 x4", 1718, 1733, (2, 4)),
    Published("Core i7 and Quadro P2000, Gen3 x8", 3219, 4677, (3, 8)),
    Published("Xavier", 2079, 3035, None),
)


@dataclass(frozen=True)
class Case:
    """One thing to measure."""

    path: str
    channels: int
    block_bytes: int
    msps: float = 0.0  # of each channel; 0: as fast as it goes
    preset: str = ""

    @property
    def rounds(self) -> int:
        """How often it is measured: a radio's rate once, as what breaks it may be rare."""
        return 1 if self.preset else ROUNDS

    @property
    def asked_mb_per_s(self) -> float | None:
        """What the radio sends, of all channels together."""
        return self.channels * self.msps * SAMPLE_BYTES or None


@dataclass(frozen=True)
class Row:
    """What came of it, or of a path that is missing why there is nothing.

    Rates are of all channels together: 10⁶ bytes and 10⁹ samples a second. CPU times are the
    receiving thread's. Rates and times are the median round's, counts those of all rounds.
    """

    path: str
    ends_in: str  # host: up to the copy to a device; device; nothing: it could not be measured
    channels: int | None = None
    block_bytes: int | None = None
    preset: str = ""
    mb_per_s: float | None = None
    spread: float | None = None  # of mb_per_s: most less least of the rounds, over the median
    asked_mb_per_s: float | None = None  # of a preset: what the radio sends
    gsps: float | None = None
    cores: float | None = None
    source_cores: float | None = None  # of the thread that stands for the radio
    cpu_ns_per_block: float | None = None
    cpu_ns_per_sample: float | None = None
    of_limit: float | None = None  # of the GPU's link
    in_time: bool | None = None  # of a preset: all came, nothing was dropped
    blocks: int | None = None
    checked: int | None = None
    wrong: int | None = None
    lost_samples: int | None = None
    out_of_order: int | None = None
    dropped: int | None = None
    seconds: float | None = None
    why: str = ""
    needs: str = ""


def parse_sizes(text: str) -> list[int]:
    """Bytes of "4K,1M": powers of 1024. Raises ValueError, which names the part that is wrong."""
    sizes = []
    for part in text.split(","):
        found = re.fullmatch(r"([0-9]{1,9})([KM]?)i?B?", part.strip(), re.IGNORECASE)
        if not found:
            raise ValueError(f"'{part}' is no size; write 4096, 4K or 1M")
        size = int(found[1]) << {"": 0, "K": 10, "M": 20}[found[2].upper()]
        if not LEAST_BYTES <= size <= MOST_BYTES or size % 64:
            raise ValueError(f"'{part}' is not a multiple of 64 bytes from 64 to 64M")
        sizes.append(size)
    return sorted(set(sizes))


def parse_channels(text: str) -> list[int]:
    """Numbers of channels of "1,2,8". Raises ValueError, which names the part that is wrong."""
    counts = set()
    for part in text.split(","):
        word = part.strip()
        if not re.fullmatch(r"[0-9]{1,2}", word) or not 1 <= int(word) <= MOST_CHANNELS:
            raise ValueError(f"'{part}' is no number of channels from 1 to {MOST_CHANNELS}")
        counts.add(int(word))
    return sorted(counts)


def size_name(size: int) -> str:
    """4096 → 4 KB, as the slides write powers of 1024."""
    for unit, shift in (("MB", 20), ("KB", 10)):
        if size >= 1 << shift and size % (1 << shift) == 0:
            return f"{size >> shift} {unit}"
    return f"{size} B"


def ready_paths(around: Mapping[str, Any]) -> list[str]:
    """Those to measure: the host's own always."""
    return [*ANYWHERE, *(path["name"] for path in around["paths"] if path["ready"])]


def cases(paths: Sequence[str], sizes: Sequence[int], channels: Sequence[int]) -> list[Case]:
    """Every path with every size and number of channels, as fast as they go.

    Paths take turns, so that what else the machine does meets them alike.
    """
    return [Case(path, count, size) for count in channels for size in sizes for path in paths]


def preset_cases(paths: Sequence[str], sizes: Sequence[int], names: Sequence[str]) -> list[Case]:
    """Every path with every size at the rate of each radio."""
    radios = [(name, PRESETS[name]) for name in names]
    return [
        Case(path, radio.channels, size, radio.msps, name)
        for name, radio in radios
        for size in sizes
        for path in paths
    ]


def limit_mb_per_s(around: Mapping[str, Any]) -> float | None:
    """Of the GPU's link, as it is now; None where that is not known."""
    for device in around["devices"]:
        if device["address"] == around["gpu"]:
            return device["narrowest"]["limit_mb_per_s"] or None
    return None


def measure(
    to_measure: Sequence[Case],
    seconds: float,
    stopped: Callable[[], bool],
    run: Callable[..., dict[str, Any]] = core.ingest_measure,
) -> Iterator[tuple[Case, dict[str, Any]]]:
    """What the engine counts in each round of each case, until somebody stops it.

    A case's rounds lie apart, so that their spread tells of what changes meanwhile.
    """
    for turn in range(ROUNDS):
        for case in to_measure:
            if turn >= case.rounds:
                continue
            if stopped():
                return
            yield (
                case,
                run(
                    case.path,
                    channels=case.channels,
                    block_bytes=case.block_bytes,
                    seconds=seconds / case.rounds,
                    msps=case.msps,
                ),
            )


def rows_of(measured: Sequence[tuple[Case, Mapping[str, Any]]]) -> list[Row]:
    """A row for each case of which there is a round."""
    return [
        row_of(case, [found for each, found in measured if each == case])
        for case in dict.fromkeys(case for case, _ in measured)
    ]


def _rate(found: Mapping[str, Any]) -> float:
    return float(found["bytes"] / found["seconds"] / 1e6)


def row_of(case: Case, rounds: Sequence[Mapping[str, Any]]) -> Row:
    """The figures that follow from what the engine counted."""
    errors = [found["error"] for found in rounds if found["error"]]
    if errors:
        return Row(case.path, "", case.channels, case.block_bytes, case.preset, why=errors[0])
    rates = sorted(map(_rate, rounds))
    mb_per_s = statistics.median_low(rates)
    found = next(each for each in rounds if _rate(each) == mb_per_s)
    counts = {name: sum(each[name] for each in rounds) for name in _COUNTS}
    samples = found["bytes"] / SAMPLE_BYTES
    return Row(
        path=case.path,
        ends_in="host" if case.path in ON_HOST else "device",
        channels=case.channels,
        block_bytes=case.block_bytes,
        preset=case.preset,
        mb_per_s=mb_per_s,
        spread=(rates[-1] - rates[0]) / mb_per_s if len(rates) > 1 else None,
        asked_mb_per_s=case.asked_mb_per_s,
        gsps=mb_per_s / SAMPLE_BYTES / 1e3,
        cores=found["cpu_seconds"] / found["seconds"],
        source_cores=found["source_cpu_seconds"] / found["seconds"],
        cpu_ns_per_block=found["cpu_seconds"] * 1e9 / found["blocks"],
        cpu_ns_per_sample=found["cpu_seconds"] * 1e9 / samples,
        in_time=_in_time(case, counts, mb_per_s) if case.preset else None,
        **counts,
    )


def _in_time(case: Case, counts: Mapping[str, Any], mb_per_s: float) -> bool:
    """Nothing was dropped, and no more is missing than a radio may still hold.

    Twice that, since its stand-in begins late and is stopped within a round.
    """
    round_s = case.block_bytes / SAMPLE_BYTES / (case.msps * 1e6)
    held_s = 2 * max(_HELD_ROUNDS * round_s, _HELD_SECONDS)
    late_s = counts["seconds"] * _missing_share(mb_per_s, case.asked_mb_per_s)
    return not counts["dropped"] and not counts["lost_samples"] and late_s <= held_s


def _missing_share(mb_per_s: float | None, asked_mb_per_s: float | None) -> float:
    return 1 - (mb_per_s or 0) / asked_mb_per_s if asked_mb_per_s else 0.0


def dropped_share(row: Row) -> float:
    """Of the radio's blocks, those that it could not hold."""
    dropped = row.dropped or 0
    return dropped / max(dropped + (row.blocks or 0), 1)


def verdict(row: Row) -> str:
    """Whether a radio's rate was kept, in words; empty where there was no radio."""
    if row.in_time is None:
        return ""
    if row.in_time:
        return "kept"
    if row.dropped:
        return f"dropped {100 * dropped_share(row):.2g} %"
    return f"behind by {100 * _missing_share(row.mb_per_s, row.asked_mb_per_s):.2g} %"


def missing(around: Mapping[str, Any]) -> list[Row]:
    """A row for each path that this machine lacks."""
    return [
        Row(path["name"], "", why=path["why"], needs=path["needs"])
        for path in around["paths"]
        if not path["ready"]
    ]


def warnings(
    around: Mapping[str, Any], rows: Sequence[Row], others: float | None = None
) -> list[str]:
    """What a person should know before believing the figures; others: cores that others took."""
    found = _of_noise(rows, others)
    for row in rows:
        if row.wrong or row.out_of_order or (row.lost_samples and not row.preset):
            size = size_name(row.block_bytes or 0)
            found.append(
                f"{row.path}, {row.channels} x {size}: {row.wrong} blocks damaged, "
                f"{row.out_of_order} out of order, {row.lost_samples} samples lost"
            )
    for device in around["devices"]:
        if device["gpu"] or device["address"] == around["peer"]:
            found += _of_link(device)
    if around["gpu"] and around["peer"] and not around["share_root"]:
        found.append(
            f"the GPU {around['gpu']} and the network card {around['peer']} do not share a root "
            "complex, which direct paths need; put both below one"
        )
    return found + _hidden(limit_mb_per_s(around), rows)


def _of_noise(rows: Sequence[Row], others: float | None) -> list[str]:
    found = []
    cores = os.cpu_count() or 1
    if others is not None and others > _BUSY * cores:
        found.append(
            f"other programs took {others:.1f} of this machine's {cores} cores while this was "
            "measured: rates are lower than they could be, and radios' blocks dropped; stop them, "
            "and measure again"
        )
    spreads = [row.spread for row in rows if row.spread is not None]
    if spreads and max(spreads) > _NOISY:
        many = sum(spread > _NOISY for spread in spreads)
        found.append(
            f"{many} of {len(spreads)} figures differ by more than {percent(_NOISY)} from round to "
            f"round (up to {percent(max(spreads))}): do not compare them closer than that, or "
            "measure longer (--seconds)"
        )
    return found


def _of_link(device: Mapping[str, Any]) -> list[str]:
    now, most = device["narrowest"], device["most"]
    if not now["limit_mb_per_s"] or now["limit_mb_per_s"] >= most["limit_mb_per_s"]:
        return []
    return [
        f"{device['address']} could have {link_name(most)} but has {link_name(now)} on its way: a "
        "narrower slot, or a device that slows its link while it is idle"
    ]


def _hidden(limit: float | None, rows: Sequence[Row]) -> list[str]:
    """As with the slides' first link, over which staged was as fast as direct."""
    if limit is None:
        return []
    rates = [row.mb_per_s or 0.0 for row in rows if row.path == "staged"]
    best = max(rates, default=0.0)
    if best < _HIDES * limit:
        return []
    return [
        f"the GPU's link carries {limit:.0f} MB/s and staged alone reaches {best:.0f}: it hides "
        "which path is better, as Gen2 x4 did in the slides (1718 against 1733 MB/s)"
    ]


def link_name(link: Mapping[str, Any]) -> str:
    """Gen3 x8 (6695 MB/s)."""
    if not link["limit_mb_per_s"]:
        return "an unknown link"
    return f"Gen{link['generation']} x{link['lanes']} ({link['limit_mb_per_s']:.0f} MB/s)"


def with_limit(rows: Sequence[Row], limit: float | None) -> list[Row]:
    """Rows of a device with their share of its link; nothing crossed it for the others."""
    return [
        replace(row, of_limit=row.mb_per_s / limit)
        if limit and row.ends_in == "device" and row.mb_per_s
        else row
        for row in rows
    ]
