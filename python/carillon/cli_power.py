"""The commands of `carillon power`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from carillon.cli_options import (
    CellArgument,
    FolderOption,
    JsonOption,
    LiveOption,
    OutageOption,
    examples,
)
from carillon.errors import Status

Family = Literal["power", "exponential"]
TABLE_3 = [float(mhz) for mhz in range(1000, 2101, 100)]

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
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random draw.")] = 1,
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
        int, typer.Option(min=1, max=1000, help="Random starts of the fit of each subset.")
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


def _clocks(text: str | None) -> list[float]:
    """Of start:step:stop, or 1000,1500,2100; ascending."""
    from carillon.ranges import parse_numbers

    if text is None:
        return []
    try:
        found = parse_numbers(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="'--clocks'") from None
    if not all(1 <= clock <= 1e6 for clock in found):
        raise typer.BadParameter("has a clock that is not within 1 and 1000000 MHz",
                                 param_hint="'--clocks'")  # fmt: skip
    return sorted(set(found))


SysfsOption = Annotated[
    Path, typer.Option(help="Another tree, to try it; its journal is PATH.journal.")
]
ClocksOption = Annotated[
    str | None,
    typer.Option(
        help="MHz: a list like 1000,1500,2100, or start:step:stop. The highest is the machine as "
        "it is."
    ),
]
MarginOption = Annotated[
    float,
    typer.Option(
        min=1, help="Safety factor: so many times the predicted ratio may be at most P_out."
    ),
]


@power_app.command(
    epilog=examples(
        "carillon power learn lan-8x4",
        "carillon power learn lan-8x4 --cells-per-core 4 --clocks 800:50:2100",
        "carillon power learn lan-8x4 --live --clocks 300:300:2100 --seconds 20",
    )
)
def learn(
    cell: Annotated[
        list[str] | None,
        typer.Argument(help="YAML files, or names of examples.", metavar="CELL"),
    ] = None,
    clocks: ClocksOption = None,
    seconds: Annotated[
        float,
        typer.Option(
            min=0.5, help="Length of a run: one run of each cell, with --live one of each clock."
        ),
    ] = 10,
    ttis: Annotated[
        int, typer.Option(min=15, max=10**9, help="TTIs to play at each clock, in virtual time.")
    ] = 900_000,
    cells_per_core: Annotated[
        int,
        typer.Option(min=1, max=1000, help="How many such cells share a core, in virtual time."),
    ] = 1,
    live: Annotated[
        bool, typer.Option("--live", help="Run every clock, emulated, instead of virtual time.")
    ] = False,
    delays: Annotated[
        Path | None, typer.Option(help="delays.json of an earlier command, instead of cells.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="For the results; runs/power-learned if not given.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Learn how many TTIs are late at which clock.

    Measures the delays of each cell's frames in a run of both of its sides here, then plays as many
    TTIs as are asked for in virtual time, their work longer by as much as the clock is lower: 1000
    to 2100 MHz by 100 if --clocks is not given. A frame is a cell's TTI. The clock is emulated,
    with --live too: kernels' work is repeated.
    """
    from carillon.power.learn_commands import learn as start

    found = _clocks(clocks) or TABLE_3
    start(
        cell or [], found, seconds=seconds, ttis=ttis, per_core=cells_per_core, live_sweep=live,
        delays=delays, folder=folder, as_json=json,
    )  # fmt: skip


@power_app.command(epilog=examples("carillon power knee runs/power-learned/excess.csv"))
def knee(
    file: Annotated[
        Path,
        typer.Argument(
            help="excess.csv or points.csv of `power learn`, or models.json of `power model`."
        ),
    ],
    outage: OutageOption = 1e-3,
    margin: MarginOption = 2,
    rate: Annotated[float | None, typer.Option(min=0, help="Msps; all rates if not given.")] = None,
    clocks: ClocksOption = None,
    json: JsonOption = False,
) -> None:
    """Find the lowest clock at which few enough TTIs are late."""
    from carillon.power.learn_commands import knee as start

    start(file, outage, margin, rate, _clocks(clocks), as_json=json)


@power_app.command(
    epilog=examples(
        "carillon power govern lan-8x4 --predicted runs/power-learned/excess.csv --seconds 60",
        "carillon power govern lan-8x4 --predicted runs/power-learned/excess.csv --cpufreq",
    )
)
def govern(
    cell: CellArgument,
    predicted: Annotated[
        Path, typer.Option(help="excess.csv of `power learn`, or models.json of `power model`.")
    ],
    clocks: ClocksOption = None,
    outage: OutageOption = 1e-3,
    margin: MarginOption = 2,
    hold: Annotated[
        int, typer.Option(min=0, help="Frames at the highest clock after a late one.")
    ] = 100,
    settle: Annotated[int, typer.Option(min=1, help="Frames between two steps down.")] = 20,
    seconds: Annotated[float, typer.Option(min=0.5, help="Of the run.")] = 60,
    cpufreq: Annotated[
        bool,
        typer.Option("--cpufreq", help="Set the clocks of the run's cores instead of emulating."),
    ] = False,
    sysfs: SysfsOption = Path("/sys"),
    folder: FolderOption = None,
    live: LiveOption = True,
    json: JsonOption = False,
) -> None:
    """Run a cell at the lowest clock, emulated or real, at which few enough frames are late.

    Up at once after a late frame, down slowly, and never again soon to a clock that did not do.
    """
    from carillon.commands.start import Output
    from carillon.config.plan import Governor
    from carillon.power.learn_commands import govern as start

    start(
        cell, predicted, _clocks(clocks), Governor(outage, margin, hold, settle), seconds, folder,
        Output(live, json), sysfs if cpufreq else None,
    )  # fmt: skip


@power_app.command(
    epilog=examples(
        "carillon power mcs thesis-16x8",
        "carillon power mcs lan-8x4 --step 4 --cores 0.5 --users 0,1",
    )
)
def mcs(
    cell: CellArgument,
    step: Annotated[int, typer.Option(min=1, max=28, help="Try every Nth row.")] = 3,
    seconds: Annotated[float, typer.Option(min=0.5, help="Of each run.")] = 2,
    turns: Annotated[
        int, typer.Option(min=1, max=1000, help="Runs of each row, in turns; the least counts.")
    ] = 3,
    cores: Annotated[
        float | None,
        typer.Option(
            min=0.01,
            help="Core time that is available, in core-ms per ms at the full clock: a core at half "
            "its clock has 0.5. The row with the most goodput within it is named.",
        ),
    ] = None,
    users: Annotated[
        str | None,
        typer.Option(
            help="Whose rows are lowered, such as 0-2,7; all if not given.", metavar="LIST"
        ),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="For the results; runs/power-mcs-CELL if not given.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Measure what lower modulation and rate cost in goodput and save in core time.

    Runs the cell as it is, then with rows of its MCS table that carry less, in both directions, for
    all users or for some.
    """
    from carillon.doctor.machine import parse_cpus
    from carillon.power.mcs_commands import mcs as start

    chosen = set() if users is None else parse_cpus(users)
    if users is not None and not chosen:
        raise typer.BadParameter("is a list like 0-2,7", param_hint="'--users'")
    start(cell, step, seconds, turns, cores, chosen, folder, as_json=json)


@power_app.command(
    epilog=examples(
        "carillon power clock",
        "carillon power clock --set 1500 --cores 0-3 -- carillon demo --seconds 20",
        "carillon power clock --governor powersave --limits 1200:2400 -- carillon demo",
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
        str | None,
        typer.Option(help="Cores to set, such as 0-3,8; all if not given.", metavar="LIST"),
    ] = None,
    governor: Annotated[
        str | None, typer.Option(help="Of the kernel, such as powersave: one that it shows.")
    ] = None,
    limits: Annotated[
        str | None,
        typer.Option(help="Between which the governor chooses.", metavar="MHZ:MHZ"),
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
    sysfs: SysfsOption = Path("/sys"),
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
    setting = Setting(khz, governor, _limits_khz(limits), preference, turbo, wake_us, named)
    if khz is not None and (governor, limits) != (None, None):
        raise typer.BadParameter(
            "cannot be combined with --governor or --limits, which leave the choice to a governor",
            param_hint="'--set'",
        )
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


def _limits_khz(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    try:
        least, most = (round(float(mhz) * 1000) for mhz in text.split(":"))
    except (ValueError, OverflowError):
        least = most = 0
    if not 0 < least <= most <= 10**8:
        raise typer.BadParameter(
            "is two clocks like 1200:2400, the lower one first", param_hint="'--limits'"
        )
    return least, most
