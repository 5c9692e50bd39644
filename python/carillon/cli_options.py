"""Arguments and options that several commands have."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer


def examples(*lines: str) -> str:
    """For the end of a command's help, one command a line."""
    return "\n".join(["Example:" if len(lines) == 1 else "Examples:", *lines])


class Side(StrEnum):
    """Who sends."""

    uplink = "uplink"
    downlink = "downlink"


class Transport(StrEnum):
    """How samples travel."""

    shm = "shm"
    udp = "udp"


class Device(StrEnum):
    """What frames are received on."""

    cpu = "cpu"
    cuda = "cuda"


class Engine(StrEnum):
    """Who runs the commands of a sweep."""

    processes = "processes"
    mpi = "mpi"
    dask = "dask"


CellArgument = Annotated[
    str, typer.Argument(help="A cell's YAML file, or the name of an example.", metavar="CELL")
]
CellsArgument = Annotated[
    list[str], typer.Argument(help="YAML files, or names of examples.", metavar="CELL")
]
FramesOption = Annotated[
    int,
    typer.Option(
        min=0, help="Stop after so many frames, or --seconds if they are over first; 0: no limit."
    ),
]
SecondsOption = Annotated[
    float,
    typer.Option(
        min=0,
        help="Stop after so many seconds on air, or --frames if they come first; 0: no limit.",
    ),
]
LimitOption = Annotated[
    float | None,
    typer.Option(
        min=0,
        help="Stop after so many seconds on air, or --frames if they come first; 0: no limit. "
        "10 if neither is given.",
    ),
]
OutageOption = Annotated[
    float,
    typer.Option(
        min=1e-9, max=0.999, help="P_out: of all frames, those that may be late (docs/late.md)."
    ),
]
AveragingOption = Annotated[
    float,
    typer.Option(min=0.001, max=86400, help="Seconds over which late frames are held against it."),
]
TransportOption = Annotated[
    Transport | None,
    typer.Option(help="Shared memory or UDP, instead of what the cell's file says."),
]
FolderOption = Annotated[
    Path | None, typer.Option(help="Run folder; runs/NAME-DATE-TIME if not given.")
]
LiveOption = Annotated[
    bool, typer.Option("--live/--no-live", help="Show the run in the terminal while it lasts.")
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print JSON alone on standard output, words on the other.")
]


def kind_of(transport: Transport | None) -> Literal["shm", "udp"] | None:
    """Its name; None where the cell's file decides."""
    return None if transport is None else transport.value
