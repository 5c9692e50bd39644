"""The commands of `carillon ingest`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from carillon.cli_options import JsonOption, examples
from carillon.errors import Status

ingest_app = typer.Typer(
    help="How samples get into a GPU's memory.",
    no_args_is_help=True,
    epilog=examples("carillon ingest bench"),
)


class Radio(StrEnum):
    """Radios of the slides: channels x 10⁶ samples a second of each."""

    four = "4x245"
    two = "2x491"
    one = "1x61.44"


@ingest_app.callback()
def ingest() -> None:
    """How samples get into a GPU's memory."""


@ingest_app.command(
    epilog=examples(
        "carillon ingest bench --sizes 4K,1M --channels 1,4", "carillon ingest bench --preset 4x245"
    )
)
def bench(
    sizes: Annotated[
        str | None,
        typer.Option(help="Bytes of a block, 64 to 64M. 4K,64K,1M,16M,64M; 1M with --preset."),
    ] = None,
    channels: Annotated[
        str | None, typer.Option(help="Numbers of channels, 1 to 8. 1,2,4,8 if not given.")
    ] = None,
    preset: Annotated[
        list[Radio] | None,
        typer.Option(help="A radio's rate instead of as fast as it goes; again for more."),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(
            min=0.01,
            max=60,
            help="How long each figure is measured, in three rounds; a radio in one.",
        ),
    ] = 0.3,
    folder: Annotated[
        Path | None, typer.Option(help="For the results; runs/ingest-DATE-TIME if not given.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Measure every way for samples into a GPU, or as far towards one as this machine goes.

    Known blocks are received, moved and checked. Ways that the machine lacks are listed with the
    reason and what they need. Exit status 1 when a block arrived damaged or a device
    failed. Ctrl-C keeps what is measured.
    """
    from carillon import ingest
    from carillon.commands.ingest import Choice
    from carillon.commands.ingest import bench as run_bench

    if preset and channels:
        raise typer.BadParameter("a preset has its own channels", param_hint="--channels")
    radios = tuple(radio.value for radio in preset or ())
    try:
        if sizes is None:
            sizes = "1M" if radios else ingest.SIZES
        lengths = ingest.parse_sizes(sizes)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--sizes") from None
    try:
        counts = ingest.parse_channels(ingest.CHANNELS if channels is None else channels)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--channels") from None
    choice = Choice(tuple(lengths), tuple(counts), radios, seconds)
    if not run_bench(choice, folder, as_json=json):
        raise typer.Exit(Status.FAILED)
