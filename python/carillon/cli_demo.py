"""`carillon demo`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from carillon.cli_options import (
    AveragingOption,
    Device,
    FolderOption,
    FramesOption,
    JsonOption,
    LimitOption,
    LiveOption,
    OutageOption,
    TransportOption,
    examples,
    kind_of,
)
from carillon.errors import Status

DEMO_EXAMPLES = examples(
    "carillon demo --seconds 20",
    "carillon demo --cell lan-8x4 --transport udp",
    "carillon demo --cell laptop-8x2 --cell laptop-8x2",
    "carillon demo --device cuda",
    "sudo carillon demo --ip",
    "sudo carillon demo --ip --policy proportional-fair",
)


class PolicyName(StrEnum):
    """Of the scheduler in the engine (GrantPolicy)."""

    round_robin = "round-robin"
    proportional_fair = "proportional-fair"


def demo(
    cell: Annotated[
        list[str] | None,
        typer.Option(
            help="A cell's file or an example's name; else one that fits this machine. Given "
            "again: several cells that share the cores."
        ),
    ] = None,
    frames: FramesOption = 0,
    seconds: LimitOption = None,
    transport: TransportOption = None,
    device: Annotated[
        Device,
        typer.Option(
            help="cuda: on this machine's GPUs, samples from pinned memory; --cell again and again "
            "is as many of the same cell."
        ),
    ] = Device.cpu,
    partitions: Annotated[
        int, typer.Option(min=1, max=64, help="Of the first GPU's SMs, as so many devices.")
    ] = 1,
    ip: Annotated[
        bool,
        typer.Option(
            "--ip",
            help="Give each user an address, and run ping and iperf3 over the air between two "
            "network namespaces; as root.",
        ),
    ] = False,
    policy: Annotated[
        PolicyName | None,
        typer.Option(
            help="With --ip: a scheduler decides in each frame which users send and receive, where "
            "and how fast, by what waits for whom and by their SNR."
        ),
    ] = None,
    outage: OutageOption = 1e-3,
    averaging: AveragingOption = 10.0,
    folder: FolderOption = None,
    live: LiveOption = True,
    json: JsonOption = False,
) -> None:
    """Emulate a cell on this machine, run it in real time, show it, write a report.

    Ctrl-C ends it early and still writes the report. --device cuda needs a GPU, without which it
    ends with status 77.
    """
    from carillon.commands.demo import demo as run_demo
    from carillon.commands.demo import demo_cells
    from carillon.commands.start import Output
    from carillon.config import Run, aiming

    seconds = (0.0 if frames else 10.0) if seconds is None else seconds
    run = aiming(Run(frames=frames, seconds=seconds), outage, averaging)
    output = Output(live, json)
    if ip and (device is Device.cuda or (cell and len(cell) > 1)):
        raise typer.BadParameter("is for one cell on cores", param_hint="'--ip'")
    if policy and not ip:
        raise typer.BadParameter("needs --ip", param_hint="'--policy'")
    if partitions > 1 and device is not Device.cuda:
        raise typer.BadParameter("needs --device cuda", param_hint="'--partitions'")
    if device is Device.cuda:
        from carillon.commands.gpu_demo import demo as run_gpu_demo

        if cell and len(set(cell)) > 1:
            raise typer.BadParameter(
                "has to be the same each time with --device cuda", param_hint="'--cell'"
            )
        name, count = (cell[0], len(cell)) if cell else (None, 1)
        if not run_gpu_demo(name, run, partitions, folder, as_json=json, count=count):
            raise typer.Exit(Status.FAILED)
    elif ip:
        from carillon.port.ip_demo import demo as run_ip_demo

        name = cell[0] if cell else None
        chosen = policy.value if policy else None
        run_ip_demo(name, chosen, kind_of(transport), run, folder, output)
    elif cell and len(cell) > 1:
        demo_cells(cell, kind_of(transport), run, folder, output)
    else:
        run_demo(cell[0] if cell else None, kind_of(transport), run, folder, output)
