"""The commands of `carillon net`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from carillon.cli_options import JsonOption, examples
from carillon.errors import Status

net_app = typer.Typer(
    help="What the network alone costs.",
    no_args_is_help=True,
    epilog=examples("carillon net rtt"),
)


class WayName(StrEnum):
    """Ways through the kernel, as in carillon.net.point."""

    kernel = "kernel"
    socket = "socket"
    busy_poll = "busy-poll"
    io_uring = "io-uring"
    af_xdp = "af-xdp"


class Over(StrEnum):
    """What lies between the ends on one machine."""

    cable = "cable"
    loopback = "loopback"


@net_app.callback()
def net() -> None:
    """What the network alone costs."""


@net_app.command(
    epilog=examples(
        "carillon net rtt --way kernel --way io-uring",
        "carillon net rtt --listen 192.168.1.2:9100   # on one host",
        "carillon net rtt 192.168.1.2:9100 --coalesce 10:10:300   # on the other",
    )
)
def rtt(
    peer: Annotated[
        str | None,
        typer.Argument(
            help="Where --listen runs; both ends on this machine if not given.",
            metavar="[ADDRESS:PORT]",
        ),
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(
            help="Send back what another host measures with, until Ctrl-C; whoever reaches it can.",
            metavar="ADDRESS:PORT",
        ),
    ] = None,
    way: Annotated[
        list[WayName] | None,
        typer.Option(help="Through the kernel; again for more; all if not given."),
    ] = None,
    mtu: Annotated[
        list[int] | None,
        typer.Option(min=96, max=65535, help="Bytes; again for more; 604 and 8028 if not given."),
    ] = None,
    msps: Annotated[
        float, typer.Option(min=1e-6, max=1e4, help="Samples a second, in millions.")
    ] = 50.0,
    samples: Annotated[int, typer.Option(min=1, max=100_000, help="Of a TTI.")] = 368,
    seconds: Annotated[
        float, typer.Option(min=0.01, max=3600, help="How long each rate is measured.")
    ] = 1.0,
    over: Annotated[
        Over | None,
        typer.Option(
            help="On one machine: a virtual cable between two network namespaces, which takes "
            "root, or the loopback. A cable where it can be had."
        ),
    ] = None,
    coalesce: Annotated[
        str | None,
        typer.Option(
            help="Then sweep interrupt coalescing over µs: start:step:stop or a list; the paper's "
            "table 3 has 10:10:300. Emulated where no card can be set.",
        ),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="For the results; runs/net-rtt-DATE-TIME if not given.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Round trips of a TTI's samples at the paper's operating point, beside its tables 9 and 10.

    Where a rate is not sustained, the highest that is: nothing is lost, and sending keeps up. Exit
    status 3: none was. Ctrl-C keeps what is measured, and coalescing is put back.
    """
    from carillon.net import commands, links, point

    usecs = _usecs(coalesce)
    if listen is not None:
        if peer is not None:
            raise typer.BadParameter("is for the host that measures", param_hint="ADDRESS:PORT")
        commands.listen(links.parse_place(listen))
    if peer is not None and over is not None:
        raise typer.BadParameter("is for one machine", param_hint="--over")
    link: links.Link = (
        links.here(None if over is None else over.value)
        if peer is None
        else links.There(links.parse_place(peer))
    )
    choice = commands.Choice(
        points=tuple(point.Point(msps, samples, each) for each in dict.fromkeys(mtu or point.MTUS)),
        ways=tuple(each for each in point.WAYS if not way or each.name in way),
        seconds=seconds,
        usecs=usecs,
        interface=commands.interface_to(link),
    )
    if not commands.rtt(choice, link, folder, as_json=json):
        raise typer.Exit(Status.TOO_SLOW)


def _usecs(text: str | None) -> tuple[float, ...]:
    from carillon.ranges import parse_numbers

    try:
        usecs = parse_numbers(text) if text else []
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--coalesce") from None
    if any(not 0 <= each <= 1e6 for each in usecs):
        raise typer.BadParameter(f"'{text}' is not within 0 to 1000000 µs", param_hint="--coalesce")
    return tuple(usecs)
