"""`carillon mac`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from carillon.cli_options import (
    CellArgument,
    FolderOption,
    FramesOption,
    JsonOption,
    LimitOption,
    examples,
)

MAC_EXAMPLES = examples(
    "carillon mac examples/data-port/scheduled-8x4.yaml",
    "carillon mac lan-8x4 --policy round-robin --load 2",
)


class PolicyName(StrEnum):
    """Policies, as in carillon.mac.policies."""

    round_robin = "round-robin"
    proportional_fair = "proportional-fair"


class ArrivalsName(StrEnum):
    """How bytes come."""

    constant = "constant"
    poisson = "poisson"


def mac(
    cell: CellArgument,
    policy: Annotated[
        PolicyName, typer.Option(help="Who gets a slot's resource blocks.")
    ] = PolicyName.proportional_fair,
    target_bler: Annotated[
        float,
        typer.Option(min=1e-4, max=0.5, help="Share of blocks that may fail: rates settle there."),
    ] = 0.1,
    load: Annotated[
        list[float] | None,
        typer.Option(
            min=0,
            metavar="MBPS",
            help="What comes for each user in each direction; given again: one for each user. "
            "Always more than can be sent if not given.",
        ),
    ] = None,
    arrivals: Annotated[
        ArrivalsName,
        typer.Option(help="poisson: packets of 1500 bytes at random times; constant: bytes."),
    ] = ArrivalsName.poisson,
    seed: Annotated[int, typer.Option(min=0, help="Of random arrivals.")] = 1,
    harq: Annotated[
        int,
        typer.Option(
            min=0,
            max=16,
            metavar="PROCESSES",
            help="HARQ processes of each user's uplink: what failed is sent again, up to three "
            "times, and combined with what was received before. 0: it is sent anew.",
        ),
    ] = 8,
    frames: FramesOption = 0,
    seconds: LimitOption = None,
    folder: FolderOption = None,
    json: JsonOption = False,
) -> None:
    """Run a cell, and a program that schedules each of its frames.

    An example, and no standard's MAC. It takes the place of the file's grants and data; the cell is
    as the file says else. Ctrl-C ends it early and still writes and shows what was measured.
    """
    from carillon.commands.mac import mac as run_mac
    from carillon.config import Run
    from carillon.mac.build import Settings

    seconds = (0.0 if frames else 10.0) if seconds is None else seconds
    settings = Settings(policy.value, target_bler, tuple(load or ()), arrivals.value, seed, harq)
    run_mac(cell, settings, Run(frames=frames, seconds=seconds), folder, as_json=json)
