"""The commands of `carillon power`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from carillon.cli_options import JsonOption, examples
from carillon.errors import Status

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


@power_app.command(
    epilog=examples(
        "carillon power clock",
        "carillon power clock --set 1500 --cores 0-3 -- carillon demo --seconds 20",
        "carillon power clock --no-turbo --wake-us 20 -- carillon demo",
        "carillon power clock --restore",
    )
)
def clock(
    command: Annotated[
        list[str] | None,
        typer.Argument(help="Behind --: runs with what is set.", metavar="COMMAND"),
    ] = None,
    mhz: Annotated[
        float | None, typer.Option("--set", min=1, max=100_000, help="The clock.", metavar="MHZ")
    ] = None,
    cores: Annotated[
        str | None, typer.Option(help="Whose: 0-3,8. All if not given.", metavar="LIST")
    ] = None,
    preference: Annotated[
        str | None,
        typer.Option(help="Between energy and performance: a name that the command shows."),
    ] = None,
    turbo: Annotated[
        bool | None, typer.Option("--turbo/--no-turbo", help="Of all cores.", show_default=False)
    ] = None,
    wake_us: Annotated[
        int | None,
        typer.Option(min=0, max=10**6, help="How long a core may take to leave an idle state."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="JSON: the command's status, time and energy.")
    ] = None,
    restore: Annotated[
        bool, typer.Option("--restore", help="Only put back what a killed command left.")
    ] = False,
    sysfs: Annotated[
        Path, typer.Option(help="Another tree, to try it; its journal is PATH.journal.")
    ] = Path("/sys"),
    json: JsonOption = False,
) -> None:
    """Show which clocks this machine offers, or run a command at one.

    What was found is put back when the command ends, also after Ctrl-C; after SIGKILL the next
    `carillon power clock` does that. The exit status is the command's; 77 where no clock can be
    set.
    """
    from carillon.doctor.machine import parse_cpus
    from carillon.power import clock_commands
    from carillon.power.clock import Setting

    named = None if cores is None else parse_cpus(cores)
    if named is not None and not named:
        raise typer.BadParameter("is a list like 0-3,8", param_hint="'--cores'")
    khz = None if mhz is None else round(mhz * 1000)
    setting = Setting(khz, preference, turbo, wake_us, named)
    if restore or not command:
        if not setting.is_empty or cores is not None or output is not None:
            raise typer.BadParameter("needs a COMMAND, behind --", param_hint="what is set")
        if restore and command:
            raise typer.BadParameter("runs no command", param_hint="'--restore'")
        if not restore:
            clock_commands.show(sysfs, as_json=json)
        elif not clock_commands.restore(sysfs):
            raise typer.Exit(Status.FAILED)
        return
    if setting.is_empty:
        raise typer.BadParameter("needs --set or another setting", param_hint="COMMAND")
    if json:
        raise typer.BadParameter("standard output is the command's", param_hint="'--json'")
    raise typer.Exit(clock_commands.run_at(command, setting, sysfs, output))
