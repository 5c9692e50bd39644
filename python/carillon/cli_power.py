"""The commands of `carillon power`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from carillon.cli_options import JsonOption, examples

Family = Literal["power", "exponential"]

power_app = typer.Typer(
    help="How likely subframes are late over clock and load.",
    no_args_is_help=True,
    epilog=examples("carillon power model late.csv"),
)


@power_app.callback()
def power() -> None:
    """How likely subframes are late over clock and load."""


@power_app.command(epilog=examples("carillon power draw runs/drawn.csv --ttis 73 --seed 1"))
def draw(
    file: Annotated[Path, typer.Argument(help="The CSV file to write.")],
    ttis: Annotated[int, typer.Option(min=1, max=10**9, help="Subframes of each point.")] = 73,
    seed: Annotated[int, typer.Option(min=0, help="Of the draw.")] = 1,
) -> None:
    """Draw counts of late subframes from the published model, to try the others on.

    48 points: 12 clocks from 1000 to 2100 MHz, and the rates of 5, 10, 15 and 20 MHz of bandwidth.
    Nothing is measured.
    """
    from carillon.power.commands import draw as start

    start(file, ttis, seed)


@power_app.command(
    epilog=examples(
        "carillon power model runs/drawn.csv",
        "carillon power model runs/drawn.csv --family power --most 7",
    )
)
def model(
    file: Annotated[Path, typer.Argument(help="CSV: clock_mhz,rate_msps,ttis,late.")],
    family: Annotated[Family | None, typer.Option(help="One of them; both if not given.")] = None,
    most: Annotated[
        int, typer.Option(min=3, max=18, help="Coefficients up to which subsets are tried.")
    ] = 18,
    starts: Annotated[
        int, typer.Option(min=1, max=1000, help="Starts of chance for each subset.")
    ] = 4,
    folder: Annotated[
        Path | None, typer.Option(help="For the results; runs/power-FILE if not given.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Fit models of late subframes over clock and rate, and choose among all subsets of terms.

    A search that was stopped goes on when it is asked for again.
    """
    from carillon.power.commands import make_model

    make_model(file, family, most, starts, folder, as_json=json)
