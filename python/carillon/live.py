"""The live view of a run in a terminal."""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from carillon import measures
from carillon.braille import scatter
from carillon.percent import percent
from carillon.plots.latency import uplink_limit
from carillon.power import delays as measure
from carillon.power.delays import moving_ratio
from carillon.runfolder import RunFolder
from carillon.statistics import Values, percentile
from carillon.telemetry import CAUSES, Records, Telemetry, TelemetryError, thread_name

_PERIOD = 0.4  # s; drawing must not disturb a machine of two cores
_RECENT = 2000  # frames
_BLOCKS = " ▁▂▃▄▅▆▇█"
# A glyph for each, so that they differ without colour too.
_SHARES = (
    ("busy", "█", "blue"),
    ("overhead", "▓", "magenta"),
    ("network", "▒", "yellow"),
    ("emulating", "░", "cyan"),
    ("spinning", "·", "bright_black"),
)
_COUNTS_WIDTH, _COUNTS_HEIGHT = 34, 12
_WIDE = 110  # columns that three panels need beside each other


@dataclass(frozen=True)
class _Room:
    """How a terminal's columns and rows are shared out. Panels have a frame of one."""

    width: int
    panel: int  # rows of the panels
    latency: int  # columns of that panel
    scatter: int  # rows of dots
    bars: int  # columns for the threads' bars
    threads: int  # rows for them

    @staticmethod
    def of(console: Console, threads: int) -> _Room:
        width, height = console.size
        if width < _WIDE:  # the constellation stands below, beside the threads
            scatter = max(2, min(7, height - _COUNTS_HEIGHT - 6))
            latency = max(24, width - _COUNTS_WIDTH)
            bars, rows = width - 2 * scatter - 35, max(1, height - _COUNTS_HEIGHT - 4)
            return _Room(width, _COUNTS_HEIGHT, latency, scatter, bars, rows)
        panel = max(_COUNTS_HEIGHT, min(22, height - threads - 5))
        latency = width - _COUNTS_WIDTH - 2 * (panel - 2) - 4
        rows = max(1, height - panel - 4)
        return _Room(width, panel, latency, panel - 2, width - 32, rows)

    @property
    def wide(self) -> bool:
        return self.width >= _WIDE


class View:
    """Draws the newest state of a run's cells; call update() as often as you like."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(
            Text("starting …"),
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stderr=sys.stderr.isatty(),  # a file gets what is meant for it
        )
        self._drawn = 0.0

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._live.stop()

    def update(self, cells: list[Telemetry]) -> None:
        """Draws, unless it has just drawn."""
        now = time.monotonic()
        if now - self._drawn < _PERIOD:
            return
        self._drawn = now
        try:
            self._live.update(self.draw(*cells), refresh=True)
        except TelemetryError:
            return  # the file is still being laid out

    def draw(self, *cells: Telemetry) -> RenderableType:
        """The whole picture."""
        raise NotImplementedError


class LiveView(View):
    """One cell, in detail."""

    def __init__(self, folder: RunFolder, console: Console) -> None:
        super().__init__(console)
        self._folder = folder
        self._before: Records | None = None

    def draw(self, *cells: Telemetry) -> RenderableType:
        """Latency, counts, constellation and cores."""
        (telemetry,) = cells
        count = telemetry.counters()
        frames = telemetry.read("frames", newest=_RECENT)
        threads = telemetry.read("threads")
        before = self._before if self._before is not None else np.zeros_like(threads)
        moved = _difference(threads, before) if len(before) == len(threads) else threads
        self._before = threads
        room = _Room.of(self._console, len(threads))
        counts = self._counts(telemetry, count, room)
        top: list[RenderableType] = [self._latency(frames, room), counts]
        bottom: list[RenderableType] = [_cores(telemetry.threads, moved, room)]
        (top if room.wide else bottom).insert(room.wide, self._constellation(telemetry, room))
        delays = self._delays(frames)
        return Group(self._title(count, telemetry.phase()), _beside(top), _beside(bottom), delays)

    def _delays(self, frames: Records) -> Text:
        """T_BS, T_OS and T_f of the newest frames, on a line."""
        own = measure.delays(frames, measure.received_by(self._folder.derived["symbols"]))
        shown = []
        for name, delay in (("T_BS", own.t_bs), ("T_OS", own.t_os), ("T_f", own.t_f)):
            known = delay[np.isfinite(delay)] / 1e6
            p50, p99 = percentile(known, 0.5), percentile(known, 0.99)
            if p50 is not None and p99 is not None:
                shown.append(f"{name} {p50:.3f}, p99 {p99:.3f}")
        return Text("   ".join(shown) + " ms" * bool(shown), no_wrap=True, overflow="ellipsis")

    def _title(self, count: dict[str, int], phase: str) -> Text:
        cell, run = self._folder.cell, self._folder.run
        seconds = count["frames_seen"] * self._folder.derived["frame_ms"] / 1e3
        goal = f" of {run.seconds:g}" if run.seconds else ""
        text = Text.assemble(
            (f" {cell.name} ", "bold reverse"), f"  {cell.antennas}×{cell.users}  "
        )
        text.append(f"{seconds:.1f}{goal} s on air, {count['frames_seen']} frames  ")
        if clock := run.power.words:
            text.append(f"{clock}  ")
        return text.append(phase, style="dim")

    def _latency(self, frames: Records, room: _Room) -> Panel:
        derived = self._folder.derived
        times = measures.frame_times(frames, derived["frame_ms"])
        limits = {"uplink": uplink_limit(self._folder, frames), "downlink": self._downlink_limit()}
        shown = {
            name: values
            for name, values in (("uplink", times.uplink), ("downlink", times.downlink))
            if len(values) and derived[name]
        }
        marks = {name[0].upper(): limit for name in shown if (limit := limits[name]) is not None}
        top = max([1e-6, *marks.values(), *(float(values.max()) for values in shown.values())])
        columns, rows = room.latency - 4, (room.panel - 6) // 2
        lines: list[RenderableType] = []
        for name, values in shown.items():
            lines += [
                _latency_line(name, values),
                Text(histogram(values, top, columns, rows), "blue"),
            ]
        if shown:
            lines.append(Text(_axis(marks, top, columns), style="dim"))
        return Panel(Group(*lines), title="latency, ms", width=room.latency, height=room.panel)

    def _downlink_limit(self) -> float | None:
        due = [s["deadline_ms"] for s in self._folder.derived["symbols"] if s["kind"] == "D"]
        return min(due) if due and min(due) > 0 else None

    def _late_ratio(self, telemetry: Telemetry) -> Text:
        """Over the averaging time, or since the start, against the target."""
        run = self._folder.run
        text = _newest_ratio(self._folder, telemetry)
        if not text:
            return text
        target = run.power.governor.outage
        return text.append(f" of {run.averaging_s:g} s, P_out {100 * target:.3g} %", "default")

    def _counts(self, telemetry: Telemetry, count: dict[str, int], room: _Room) -> Panel:
        table = Table.grid(padding=(0, 1), expand=True)
        table.add_column()
        table.add_column(justify="right")
        for cause in CAUSES:
            _row(table, cause.replace("_", " "), count[f"lates_{cause}"])
        _row(table, "refused, discarded", count["frames_nacked"])
        for name, unchecked in (("uplink", 0), ("downlink", count["downlink_unverified"])):
            checked, failed = count[f"{name}_blocks"], count[f"{name}_failed"]
            _row(table, f"{name} failed", failed, f" of {checked}")
            if (side := self._folder.derived[name]) and checked:
                rate = (checked - failed) / (checked + unchecked) * side["ideal_rate_mbps"]
                if self._folder.cell.grants.live:  # blocks have all sizes
                    rate = self._scheduled_mbps(telemetry, count, name)
                table.add_row(f"{name} Mb/s", Text(f"{rate:.4g}", "bold"))
        return Panel(
            table,
            title="late frames",
            subtitle=self._late_ratio(telemetry),
            width=_COUNTS_WIDTH,
            height=room.panel,
        )

    def _scheduled_mbps(self, telemetry: Telemetry, count: dict[str, int], name: str) -> float:
        """Of payload that was delivered, since the start."""
        air_ms = max(count["frames_seen"], count["frames_sent"]) * self._folder.derived["frame_ms"]
        bits = float(telemetry.read("users")[f"{name}_bits"].sum())
        return bits / air_ms / 1e3 if air_ms else 0.0

    def _constellation(self, telemetry: Telemetry, room: _Room) -> Panel:
        points = telemetry.read("constellation", newest=600)
        user = int(points["user"][-1]) if len(points) else 0
        own = points[points["user"] == user]
        # Dots are square: a character is about twice as high as wide.
        picture = scatter(own["re"], own["im"], 2 * room.scatter, room.scatter, limit=1.5)
        width, height = 2 * room.scatter + 4, room.scatter + 2
        return Panel(Text(picture, "cyan"), title=f"user {user}", width=width, height=height)


def _newest_ratio(folder: RunFolder, telemetry: Telemetry) -> Text:
    """Late frames over the averaging time, red above the target; empty without frames."""
    run = folder.run
    averaged = math.ceil(run.averaging_s * 1e3 / folder.derived["frame_ms"])
    moving = moving_ratio(telemetry.read("frames", newest=averaged), run.averaging_s)
    if len(moving.ratio) == 0:
        return Text()
    ratio = float(moving.ratio[-1])
    above = ratio > run.power.governor.outage
    return Text.assemble((f"{100 * ratio:.3g} %", "bold red" if above else ""))


def _beside(parts: list[RenderableType]) -> Table:
    table = Table.grid()
    table.add_row(*parts)
    return table


def _stacked(*parts: RenderableType) -> Table:
    table = Table.grid()
    for part in parts:
        table.add_row(part)
    return table


def _difference(now: Records, before: Records) -> Records:
    moved = now.copy()
    for name in (*(name for name, _, _ in _SHARES), "sleeping"):
        moved[name] = now[name] - before[name]
    return moved


def _latency_line(name: str, values: Values) -> Text:
    p50, p99 = percentile(values, 0.5), percentile(values, 0.99)
    shown = " ".join(
        f"{label} {value:.3f}" for label, value in (("p50", p50), ("p99", p99)) if value is not None
    )
    return Text(f"{name:9}{shown} max {values.max():.3f}", no_wrap=True)


_COUNTS = ("frames", "in time", "late", "of these refused", "skipped", "p99 ms", "late now")
_RADIO_COUNTS = ("sent", "skipped", "blocks checked", "failed", "unverified")


class CellsView(View):
    """Several cells, a line each, and the cores that they share."""

    def __init__(self, folders: list[RunFolder], console: Console) -> None:
        super().__init__(console)
        self._folders = folders
        self._before: Records | None = None

    def draw(self, *cells: Telemetry) -> RenderableType:
        """A table of the cells above the threads' bars."""
        table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
        radio = self._folders[0].run.role == "radio"
        for heading in ("cell", "id", "s on air", *(_RADIO_COUNTS if radio else _COUNTS)):
            table.add_column(heading, justify="left" if heading == "cell" else "right")
        for folder, telemetry in zip(self._folders, cells, strict=True):
            line = _radio_line if radio else _line
            table.add_row(folder.cell.name, str(folder.cell.cell_id), *line(folder, telemetry))
        if not radio:
            run = self._folders[0].run
            target = f"late now: of the last {run.averaging_s:g} s; "
            target += f"P_out {100 * run.power.governor.outage:.3g} %"
            table.caption, table.caption_justify = target, "left"
        threads = cells[0].read("threads")
        before = self._before if self._before is not None else np.zeros_like(threads)
        moved = _difference(threads, before) if len(before) == len(threads) else threads
        self._before = threads
        room = _Room.of(self._console, len(threads))
        return Group(table, _cores(cells[0].threads, moved, room))


def _line(folder: RunFolder, telemetry: Telemetry) -> list[RenderableType]:
    """Seconds on air, then what _COUNTS names."""
    count, frame_ms = telemetry.counters(), folder.derived["frame_ms"]
    times = measures.frame_times(telemetry.read("frames", newest=_RECENT), frame_ms)
    p99 = percentile(times.uplink, 0.99)
    return [
        f"{count['frames_seen'] * frame_ms / 1e3:.1f}",
        *(str(count[f"frames_{name}"]) for name in ("seen", "completed")),
        str(count["frames_seen"] - count["frames_completed"]),
        *(str(count[f"frames_{name}"]) for name in ("nacked", "skipped")),
        "" if p99 is None else f"{p99:.3f}",
        _newest_ratio(folder, telemetry),
    ]


def _radio_line(folder: RunFolder, telemetry: Telemetry) -> list[RenderableType]:
    """Seconds on air, then what _RADIO_COUNTS names."""
    count, frame_ms = telemetry.counters(), folder.derived["frame_ms"]
    return [
        f"{count['frames_sent'] * frame_ms / 1e3:.1f}",
        *(str(count[f"frames_{name}"]) for name in ("sent", "skipped")),
        *(str(count[f"downlink_{name}"]) for name in ("blocks", "failed", "unverified")),
    ]


def histogram(values: Values, top: float, columns: int, rows: int) -> str:
    """How often which value from 0 to `top` is; lines of block characters."""
    counts, _ = np.histogram(values, bins=columns, range=(0, top))
    # Square root: single late frames stay visible beside thousands.
    levels = len(_BLOCKS) - 1
    heights = np.ceil(np.sqrt(counts / max(int(counts.max()), 1)) * rows * levels).astype(int)
    return "\n".join(
        "".join(_BLOCKS[min(max(height - base, 0), levels)] for height in heights)
        for base in range((rows - 1) * levels, -1, -levels)
    )


def _axis(marks: dict[str, float], top: float, columns: int) -> str:
    """From 0 to `top`, with the deadlines' letters at their places."""
    after = f"{top:.2f}; {', '.join(marks)}: deadlines" if marks else f"{top:.2f}"
    line = ["─"] * columns
    for letter, at in marks.items():
        line[min(int(at / top * columns), columns - 1)] = letter
    return "".join(line) + "\n0" + after.rjust(columns - 1)


def _row(table: Table, label: str, bad: int, rest: str = "") -> None:
    table.add_row(label, Text.assemble((str(bad), "bold red" if bad else ""), rest))


def _cores(names: list[str], moved: Records, room: _Room) -> Table:
    table = Table.grid(padding=(0, 1))
    shown = len(moved) if len(moved) <= room.threads else room.threads - 1
    for index, record in enumerate(moved[:shown]):
        total = sum(float(record[name]) for name, _, _ in _SHARES) + float(record["sleeping"])
        if total <= 0:
            continue
        bar = Text(no_wrap=True)
        for name, glyph, colour in _SHARES:
            bar.append(glyph * round(room.bars * float(record[name]) / total), style=colour)
        busy = sum(float(record[n]) for n in ("busy", "overhead", "network", "emulating")) / total
        label = f"{thread_name(names, index)} @{int(record['core'])}"
        table.add_row(label, f"{percent(busy):>5}", bar)
    if shown < len(moved):
        table.add_row(f"and {len(moved) - shown} more")
    legend = Text(no_wrap=True, overflow="ellipsis")
    for name, glyph, colour in _SHARES:
        legend.append(glyph, style=colour).append(f" {name} ", style="dim")
    return _stacked(table, legend)
