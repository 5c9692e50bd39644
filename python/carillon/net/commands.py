"""What `carillon net` does."""

from __future__ import annotations

import csv
import fcntl
import json
import select
import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from carillon import core, files, runfolder
from carillon.commands.bars import steps_bar
from carillon.commands.bench import circumstances
from carillon.commands.tables import new_table, print_table
from carillon.daemon import Interrupts
from carillon.net import coalescing
from carillon.net.coalescing import Coalescing, CoalescingError
from carillon.net.links import Link, LinkError, There, listening, serve
from carillon.net.measure import HALVINGS, Measure, StoppedError, Trips
from carillon.net.point import PUBLISHED, Point, Way
from carillon.others import Others

_POLL_S = 0.2
_GET_ADDRESS = 0x8915  # SIOCGIFADDR
_REDUCED = 0.5  # of the highest rate, where the asked one was not sustained


@dataclass(frozen=True)
class Choice:
    """What is measured; usecs: coalescing that is swept, none if empty."""

    points: tuple[Point, ...]
    ways: tuple[Way, ...]
    seconds: float
    usecs: tuple[float, ...]
    interface: str | None  # whose coalescing is set


@dataclass(frozen=True)
class Row:
    """A way at an MTU."""

    way: str
    mtu: int
    asked: Trips | None = None
    highest: Trips | None = None
    why: str = ""  # there is none


@dataclass(frozen=True)
class Swept:
    """A way at an MTU and a coalescing time."""

    way: str
    mtu: int
    usecs: float
    emulated: bool
    trips: Trips


def rtt(choice: Choice, link: Link, folder: Path | None, *, as_json: bool) -> bool:
    """Measures, writes result.json, rtt.csv and rtt.svg; whether any way sustained a rate.

    When stopped, what is known by then, and KeyboardInterrupt.
    """
    target = runfolder.made(folder or runfolder.new_path(Path("runs"), "net-rtt"))
    console = Console(stderr=as_json, highlight=False, markup=False)
    about, others = circumstances(), Others()
    rows: list[Row] = []
    swept: list[Swept] = []
    emulated = ""
    with Interrupts() as interrupts, steps_bar(Console(stderr=True)) as progress:
        cases = len(choice.ways) * len(choice.points)
        steps = cases * (2 + 2 * HALVINGS + len(choice.usecs))
        task = progress.add_task("measuring", total=steps)

        def told(what: str) -> None:
            progress.update(task, advance=1, description=what)

        measure = Measure(link, choice.seconds, lambda: interrupts.count > 0, told)
        try:
            for row in _rows(choice, measure):
                rows.append(row)
                done = len(rows) * (2 + 2 * HALVINGS)
                progress.update(task, completed=done)
            if choice.usecs:
                with _coalescing(choice.interface) as (setter, emulated):
                    swept.extend(_sweep(choice, rows, measure, setter))
        except StoppedError:
            pass
        stopped = interrupts.count > 0
    result = {
        **about,
        "version": core.version,
        "link": link.name,
        "stopped": stopped,
        "others_cores": others.cores(),
        "points": [_point(point) for point in choice.points],
        "seconds": choice.seconds,
        "coalescing": {"usecs": list(choice.usecs), "emulated": emulated},
        "published": [asdict(each) for each in PUBLISHED],
        "rows": [_row(row) for row in rows],
        "coalesced": [{**asdict(each), "trips": _trips(each.trips)} for each in swept],
    }
    _write(target, result, rows, swept)
    if as_json:
        print(json.dumps(result, indent=2, ensure_ascii=False))
    _show(console, choice, result, rows, swept)
    written = ["rtt.csv", *(name for name in ("rtt.svg",) if (target / name).exists())]
    console.print(f"results: {target / 'result.json'}, {', '.join(written)}", soft_wrap=True)
    if stopped:
        raise KeyboardInterrupt
    return any(row.highest is not None for row in rows)


def listen(place: tuple[str, int]) -> None:
    """Sends back what other hosts measure with, one at a time, until Ctrl-C."""
    with Interrupts() as interrupts, listening(place) as listener:
        print(f"listening at {place[0]}:{place[1]}; Ctrl-C ends it", flush=True)
        while not interrupts.count:
            if not select.select([listener], [], [], _POLL_S)[0]:
                continue
            control, (peer, _) = listener.accept()
            with control:
                print(f"{peer}: {serve(control)}", flush=True)
    raise KeyboardInterrupt


def _rows(choice: Choice, measure: Measure) -> Iterator[Row]:
    for point in choice.points:
        for way in choice.ways:
            try:
                asked, highest = measure.highest(way, point)
                yield Row(way.name, point.mtu, asked, highest)
            except LinkError as error:
                yield Row(way.name, point.mtu, why=str(error))


class _Setter:
    """Sets an interface's coalescing, or has the echo emulate it."""

    def __init__(self, interface: str | None, before: Coalescing | None) -> None:
        self.interface, self._before = interface, before
        self.emulated = before is None

    def held_us(self, usecs: float) -> float:
        """After which the echo releases packets; 0 where the card gathers them itself."""
        if self.interface is None or self._before is None:
            return usecs
        adaptive = None if self._before.adaptive_rx is None else False
        coalescing.write(self.interface, Coalescing(round(usecs), adaptive))
        return 0.0


@contextmanager
def _coalescing(interface: str | None) -> Iterator[tuple[_Setter, str]]:
    """What sets coalescing, and why it is emulated, if it is; afterwards it is as before."""
    with ExitStack() as stack:
        if interface is None:
            yield _Setter(None, None), "no interface of a card is between the ends"
            return
        try:
            before = stack.enter_context(coalescing.kept(interface))
            coalescing.write(interface, before)  # whether it can be set at all
        except CoalescingError as error:
            yield _Setter(interface, None), str(error)
            return
        yield _Setter(interface, before), ""


def _sweep(
    choice: Choice, rows: Sequence[Row], measure: Measure, setter: _Setter
) -> Iterator[Swept]:
    for point in choice.points:
        for way in choice.ways:
            row = next((row for row in rows if (row.way, row.mtu) == (way.name, point.mtu)), None)
            if row is None or row.highest is None:
                continue
            per_s = row.highest.asked_per_s * (1 if row.highest is row.asked else _REDUCED)
            for usecs in choice.usecs:
                trips = measure.at(way, point, per_s, setter.held_us(usecs))
                yield Swept(way.name, point.mtu, usecs, setter.emulated, trips)


def interface_of(address: str) -> str | None:
    """The network interface of this machine that has the address, unless it is the loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(asker, _GET_ADDRESS, struct.pack("16s24x", name.encode()))
            except OSError:
                continue
            if socket.inet_ntoa(answer[20:24]) == address:
                return None if address.startswith("127.") else name
    return None


def interface_to(link: Link) -> str | None:
    """The card's interface that a link goes through, if one does."""
    return interface_of(link.local_address()) if isinstance(link, There) else None


# --- Results --------------------------------------------------------------------------------------


def _point(point: Point) -> dict[str, Any]:
    names = ("per_s", "packets", "packet_samples", "packet_bytes", "wire_bytes")
    return {**asdict(point), **{name: getattr(point, name) for name in names}}


def _trips(trips: Trips | None) -> dict[str, Any] | None:
    if trips is None:
        return None
    return {**asdict(trips), "lost": trips.lost, "sustained": trips.sustained}


def _row(row: Row) -> dict[str, Any]:
    return {**asdict(row), "asked": _trips(row.asked), "highest": _trips(row.highest)}


_COLUMNS = (
    "way", "mtu", "usecs", "emulated", "asked_per_s", "sustained", "sent", "lost", "damaged",
    "mean_us", "std_us", "p50_us", "p99_us", "p999_us", "most_us", "echo_cores",
)  # fmt: skip


def _write(
    target: Path, result: dict[str, Any], rows: Sequence[Row], swept: Sequence[Swept]
) -> None:
    text = json.dumps(result, indent=2, ensure_ascii=False)
    files.write_text(target / "result.json", text + "\n")
    with files.table(target / "rtt.csv") as stream:
        writer = csv.DictWriter(stream, _COLUMNS, extrasaction="ignore")
        writer.writeheader()
        for row in rows:
            for trips in dict.fromkeys(t for t in (row.asked, row.highest) if t is not None):
                writer.writerow({"way": row.way, "mtu": row.mtu, **(_trips(trips) or {})})
        for each in swept:
            writer.writerow({**asdict(each), **(_trips(each.trips) or {})})
    if any(row.highest for row in rows):
        from carillon.net.plots import draw  # with matplotlib, which takes its time

        draw(result, target / "rtt.svg")


_FIGURES = ("exchanges/s", "mean", "deviation", "p50", "p99", "most", "lost", "echo's cores")


def _show(
    console: Console, choice: Choice, result: dict[str, Any], rows: Sequence[Row],
    swept: Sequence[Swept],
) -> None:  # fmt: skip
    for point in choice.points:
        own = [row for row in rows if row.mtu == point.mtu]
        if own:
            _show_point(console, point, own, result["link"])
    if swept:
        _show_swept(console, swept, result["coalescing"]["emulated"])
    notes = [note for row in rows for t in (row.asked, row.highest) if t for note in t.notes]
    for note in dict.fromkeys(notes):
        console.print(f"note: {note}", soft_wrap=True)


def _show_point(console: Console, point: Point, rows: Sequence[Row], link: str) -> None:
    console.print(
        f"\nMTU {point.mtu}, {point.msps:g} Msps, {point.samples} samples a TTI: "
        f"{point.per_s:.0f} exchanges/s of {point.packets} packets each way, over {link}; "
        "round trips in µs",
        soft_wrap=True,
    )
    table = new_table(["way"], [*_FIGURES, ""])
    for row in rows:
        trips = row.highest
        if trips is None:
            lost = row.asked.lost if row.asked else ""
            words = "no rate was sustained" if row.asked else "is not there"
            table.add_row(row.way, *len(_FIGURES[:-2]) * [""], str(lost), "", words)
            continue
        words = "sustained" if trips is row.asked else "the highest sustained"
        table.add_row(row.way, *_figures(trips), words)
    for each in PUBLISHED:
        if each.mtu == point.mtu:
            figures = (f"{50e6 / 368:.0f}", f"{each.mean_us:.1f}", f"{each.std_us:.1f}")
            table.add_row(f"paper: {each.configuration}", *figures, *5 * [""], "published")
    print_table(console, table)
    for row in rows:
        if row.why:
            console.print(f"  {row.way}: {row.why}", soft_wrap=True)


def _figures(trips: Trips) -> tuple[str, ...]:
    times = (trips.mean_us, trips.std_us, trips.p50_us, trips.p99_us, trips.most_us)
    words = ("" if time is None else f"{time:.1f}" for time in times)
    return (f"{trips.asked_per_s:.0f}", *words, str(trips.lost), f"{trips.echo_cores:.2f}")


def _show_swept(console: Console, swept: Sequence[Swept], why: str) -> None:
    kind = f"emulated by releasing packets in bursts, since {why}" if why else "set by ethtool"
    console.print(f"\nInterrupt coalescing, {kind}; round trips in µs", soft_wrap=True)
    table = new_table(["way", "MTU"], ["rx-usecs", *_FIGURES, ""])
    for each in swept:
        usecs = f"{each.usecs:g}" + " emulated" * each.emulated
        words = "" if each.trips.sustained else "not sustained"
        table.add_row(each.way, str(each.mtu), usecs, *_figures(each.trips), words)
    print_table(console, table)
