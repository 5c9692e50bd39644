"""`carillon demo --ip`: IP packets over the emulated air, between two network namespaces."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from carillon import cells, runfolder
from carillon.commands.demo import with_transport
from carillon.commands.start import Output, start
from carillon.commands.tables import new_table, print_table
from carillon.config import Loaded, Run, busiest
from carillon.config.errors import ConfigError
from carillon.config.models import Grants
from carillon.config.sections import Data
from carillon.daemon import Interrupts
from carillon.files import write_text
from carillon.mac.build import with_room as with_fastest_row
from carillon.percent import percent
from carillon.port import namespaces, traffic
from carillon.port.made_live import with_room
from carillon.port.namespaces import SERVER, USERS, Addresses, Namespaces
from carillon.result import Result, ScheduledFlow, Traffic
from carillon.results import TRAFFIC

_DEFAULT, _DEFAULT_SCHEDULED = "laptop-8x2", "ip/near-and-far-8x3"
_PATIENCE_S = 60.0


def demo(
    cell: str | None,
    policy: str | None,
    transport: Literal["shm", "udp"] | None,
    run: Run,
    folder: Path | None,
    output: Output,
) -> Result:
    """Runs a cell whose users are behind a TUN device, and real traffic over it. `policy`: of a
    scheduler of its frames; None: these are as the cell's file says.

    Raises NamespaceError where namespaces cannot be had, and else as `start`.
    """
    named = cells.load(cell or (_DEFAULT_SCHEDULED if policy else _DEFAULT), check=False, live=True)
    _require_sound(named, run)
    loaded = _with_devices(with_transport(scheduled(named, policy), transport))
    loaded.check(run)
    network = IPv4Network(f"{loaded.cell.data.network}/24")
    addresses = Addresses(network, loaded.cell.users)
    runfolder.require_free(folder)
    path = folder or runfolder.new_path(Path("runs"), loaded.cell.name)
    with Interrupts() as interrupts, Namespaces(addresses) as both:
        _explain(addresses, output)
        try:
            return start(
                loaded, run, path, output, interrupts,
                beside=lambda made: _traffic(both, run, made, output),
            )  # fmt: skip
        finally:  # also when it was stopped
            if flows := _scheduled_flows(path):
                _show(flows, output)


def _scheduled_flows(folder: Path) -> Sequence[ScheduledFlow]:
    """Of a run that got so far as to have a result."""
    file = folder / "result.json"
    if not file.is_file():
        return ()
    return Result.model_validate_json(file.read_bytes()).scheduler


def _require_sound(loaded: Loaded, run: Run) -> None:
    """Raises ConfigError of what is wrong whoever grants, and whoever owns the bits."""
    replace(loaded, cell=busiest(loaded.cell).model_copy(update={"data": Data()})).check(run)
    for letter, name in (("U", "uplink"), ("D", "downlink")):
        if letter not in loaded.cell.schedule:
            why = f"has no {letter}, but IP needs both directions; add {name} symbols"
            raise ConfigError([loaded.problem("schedule", why)])


def scheduled(loaded: Loaded, policy: str | None) -> Loaded:
    """The same cell with a scheduler, whose fastest row frames have room for; without one all users
    always have what there is."""
    cell = loaded.cell
    if policy is None and cell.grants.kind != "scheduler":
        return replace(loaded, cell=busiest(cell))
    grants = Grants.model_validate(
        {
            "kind": "scheduler",
            "policy": policy or cell.grants.policy,
            "target_bler": cell.grants.target_bler,
        }
    )
    cell = cell.model_copy(update={"grants": grants, "data": Data(network=cell.data.network)})
    return replace(loaded, cell=with_fastest_row(cell), slots=None)


def _with_devices(loaded: Loaded) -> Loaded:
    """The same cell with a device on either side, and room for frames that are made live."""
    cell = loaded.cell
    data = cell.data.model_copy(
        update={"tun": SERVER, "users_tun": USERS, "socket": "", "users_socket": ""}
    )
    return replace(loaded, cell=with_room(cell.model_copy(update={"data": data})))


def _explain(addresses: Addresses, output: Output) -> None:
    say = output.console.print
    last = addresses.user(addresses.users - 1)
    say(f"server {addresses.server} in namespace {SERVER}, users {addresses.user(0)} to {last} in "
        f"{USERS}; beside it, as root:", style="dim", soft_wrap=True)  # fmt: skip
    say(f"  ip netns exec {USERS} ping -I {addresses.user(0)} {addresses.server}", style="dim")
    for package in traffic.missing():
        say(f"{package} is not installed, and left out", style="yellow")


@contextmanager
def _traffic(
    both: Namespaces, run: Run, made: runfolder.RunFolder, output: Output
) -> Iterator[None]:
    """While the block lasts, in a thread of its own; what came of it lies in the run's folder."""
    users = both.addresses.users
    pings = traffic.PING_S * users
    spare = max(run.seconds - 2 - pings, 1) / (2 * users)  # a half for each direction
    exchange = traffic.Exchange(both.addresses, seconds=max(1.0, min(3.0, spare * 0.8)))
    failed: list[namespaces.NamespaceError] = []

    def work() -> None:
        waited = False
        try:
            if not namespaces.wait_for_devices(_PATIENCE_S, exchange.ending):
                return
            waited = True
            both.bring_up()
        except namespaces.NamespaceError as error:
            if not waited or both.have_devices():  # else the cell has ended
                failed.append(error)
            return
        exchange.run()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        exchange.end()
        thread.join()
        rows = TypeAdapter(list[Traffic]).dump_json(exchange.done, indent=2)
        write_text(made.path / TRAFFIC, rows.decode() + "\n")
    if failed:
        raise failed[0]
    for row in exchange.done:
        output.console.print(_sentence(row), soft_wrap=True)
    if left := exchange.left():
        output.console.print(
            f"no time was left for {', '.join(left)}; give more --seconds", style="yellow",
            soft_wrap=True,
        )  # fmt: skip


def _show(flows: Sequence[ScheduledFlow], output: Output) -> None:
    table = new_table(
        ["user", "direction"],
        ["blocks", "BLER", "late", "unheard", "resource blocks", "MCS", "SNR, dB", "offset, dB"],
    )
    for flow in flows:
        table.add_row(
            str(flow.user), flow.direction, str(flow.blocks),
            "" if flow.bler is None else percent(flow.bler), str(flow.late), str(flow.unheard),
            str(flow.resource_blocks),
            "" if flow.mean_mcs is None else f"{flow.mean_mcs:.1f}",
            "" if flow.snr_db is None else f"{flow.snr_db:.1f}", f"{flow.offset_db:.1f}",
        )  # fmt: skip
    print_table(output.console, table)


def _sentence(row: Traffic) -> str:
    if row.program == "ping":
        assert row.lost is not None
        times = "" if row.rtt_ms is None else f"{row.rtt_ms:.3g} ms there and back, "
        return f"user {row.user}: {times}{100 * row.lost:.3g} % of pings lost"
    way = {"up": "uplink", "down": "downlink"}[row.direction]
    return f"user {row.user}: {row.goodput_mbps:.3g} Mb/s of TCP in the {way}"
