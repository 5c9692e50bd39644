"""The live view of a run in a terminal."""

from __future__ import annotations

import time
from types import TracebackType

import numpy as np
from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from carillon import measures
from carillon.braille import scatter
from carillon.plots.latency import uplink_limit
from carillon.runfolder import RunFolder
from carillon.statistics import Values, percentile
from carillon.telemetry import CAUSES, Records, Telemetry, TelemetryError, thread_name

_PERIOD = 0.4  # s; drawing must not disturb a machine of two cores
_RECENT = 2000  # frames
_BLOCKS = " ▁▂▃▄▅▆▇█"
_SHARES = (
    ("busy", "blue"),
    ("overhead", "magenta"),
    ("network", "yellow"),
    ("emulating", "cyan"),
    ("spinning", "bright_black"),
)


class LiveView:
    """Draws a run's newest state; call update() as often as you like."""

    def __init__(self, folder: RunFolder, console: Console) -> None:
        self._folder = folder
        self._live = Live(Text("starting …"), console=console, auto_refresh=False, transient=True)
        self._drawn = 0.0
        self._before: Records | None = None

    def __enter__(self) -> LiveView:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._live.stop()

    def update(self, telemetry: Telemetry) -> None:
        """Draws, unless it has just drawn."""
        now = time.monotonic()
        if now - self._drawn < _PERIOD:
            return
        self._drawn = now
        try:
            self._live.update(self.draw(telemetry), refresh=True)
        except TelemetryError:
            return  # the file is still being laid out

    def draw(self, telemetry: Telemetry) -> RenderableType:
        """The whole picture."""
        count = telemetry.counters()
        frames = telemetry.read("frames", newest=_RECENT)
        threads = telemetry.read("threads")
        since = threads if self._before is None or len(self._before) != len(threads) else None
        moved = threads if since is not None else _difference(threads, self._before)
        self._before = threads
        return Group(
            self._title(count, telemetry.phase()),
            Columns([self._latency(frames), self._constellation(telemetry), _counts(count)]),
            _cores(telemetry.threads, moved),
        )

    def _title(self, count: dict[str, int], phase: str) -> Text:
        cell, run = self._folder.cell, self._folder.run
        seconds = count["frames_seen"] * self._folder.derived["frame_ms"] / 1e3
        goal = f" of {run.seconds:g}" if run.seconds else ""
        text = Text.assemble(
            (f" {cell.name} ", "bold reverse"), f"  {cell.antennas}×{cell.users}  "
        )
        text.append(f"{seconds:.1f}{goal} s on air, {count['frames_seen']} frames  ")
        return text.append(phase, style="dim")

    def _latency(self, frames: Records) -> Panel:
        times = measures.frame_times(frames, self._folder.derived["frame_ms"])
        limit = uplink_limit(self._folder, frames)
        lines: list[RenderableType] = []
        for name, values, until in (
            ("uplink", times.uplink, limit),
            ("downlink", times.downlink, limit),
        ):
            if len(values) and self._folder.derived[name]:
                lines += [_latency_line(name, values), Text(_histogram(values, until), "blue")]
        if limit is not None:
            lines.append(Text(f"0 … uplink deadline {limit:.2f} ms", style="dim"))
        lines += self._rates(frames)
        return Panel(Group(*lines), title="latency, ms", width=46, height=12)

    def _rates(self, frames: Records) -> list[RenderableType]:
        side = self._folder.derived["uplink"]
        blocks = int(frames["uplink_blocks"].sum())
        if not side or not blocks:
            return []
        share = 1 - int(frames["uplink_failed"].sum()) / blocks
        return [Text(f"uplink {share * side['ideal_rate_mbps']:.4g} Mb/s", style="bold")]

    def _constellation(self, telemetry: Telemetry) -> Panel:
        points = telemetry.read("constellation", newest=600)
        user = int(points["user"][-1]) if len(points) else 0
        own = points[points["user"] == user]
        picture = scatter(own["re"], own["im"], columns=20, rows=10, limit=1.5)
        return Panel(Text(picture, "cyan"), title=f"user {user}", width=24, height=12)


def _difference(now: Records, before: Records | None) -> Records:
    moved = now.copy()
    if before is not None:
        for name in (*(name for name, _ in _SHARES), "sleeping"):
            moved[name] = now[name] - before[name]
    return moved


def _latency_line(name: str, values: Values) -> Text:
    p50, p99 = percentile(values, 0.5), percentile(values, 0.99)
    shown = " ".join(
        f"{label} {value:.3f}" for label, value in (("p50", p50), ("p99", p99)) if value is not None
    )
    return Text(f"{name:9}{shown} max {values.max():.3f}")


def _histogram(values: Values, until: float | None, columns: int = 40) -> str:
    top = max(float(values.max()), until or 0.0, 1e-6)
    counts, _ = np.histogram(values, bins=columns, range=(0, top))
    # Square root: single late frames stay visible beside thousands.
    heights = np.sqrt(counts / max(int(counts.max()), 1)) * (len(_BLOCKS) - 1)
    return "".join(_BLOCKS[int(np.ceil(height))] for height in heights)


def _counts(count: dict[str, int]) -> Panel:
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(justify="right")
    alarm = "bold red"
    for cause in CAUSES:
        value = count[f"lates_{cause}"]
        style = alarm if value else ""
        table.add_row(Text(f"late: {cause.replace('_', ' ')}"), Text(str(value), style))
    for label, name in (
        ("refused (NACK)", "frames_nacked"),
        ("uplink blocks", "uplink_blocks"),
        ("  failed", "uplink_failed"),
        ("downlink blocks", "downlink_blocks"),
        ("  failed", "downlink_failed"),
    ):
        bad = name.endswith(("failed", "nacked")) and count[name]
        table.add_row(label, Text(str(count[name]), alarm if bad else ""))
    return Panel(table, title="counts", width=36, height=12)


def _cores(names: list[str], moved: Records, width: int = 60) -> Table:
    table = Table.grid(padding=(0, 1))
    for index, record in enumerate(moved):
        total = sum(float(record[name]) for name, _ in _SHARES) + float(record["sleeping"])
        if total <= 0:
            continue
        bar = Text()
        for name, colour in _SHARES:
            bar.append("█" * round(width * float(record[name]) / total), style=colour)
        busy = sum(float(record[n]) for n in ("busy", "overhead", "network", "emulating")) / total
        label = f"{thread_name(names, index)} @{int(record['core'])}"
        table.add_row(label, f"{busy:4.0%}", bar)
    legend = Text()
    for name, colour in _SHARES:
        legend.append("█", style=colour).append(f" {name}  ", style="dim")
    table.add_row("", "", legend)
    return table
