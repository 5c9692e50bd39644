"""The commands of `carillon bench`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from carillon.cli_options import CellArgument, JsonOption, examples
from carillon.errors import Status

bench_app = typer.Typer(invoke_without_command=True)


@bench_app.callback(
    epilog=examples("carillon bench --filter zeroforce", "carillon bench --compare")
)
def bench(
    context: typer.Context,
    pattern: Annotated[
        str, typer.Option("--filter", "--only", help='Regular expression: "group kernel shape".')
    ] = "",
    isa: Annotated[
        list[str] | None, typer.Option(help="Only this instruction set; may be given again.")
    ] = None,
    cell: Annotated[
        list[str] | None,
        typer.Option(help="Cells to run as whole frames from memory instead of the usual four."),
    ] = None,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare",
            help="Measure beside each peer that is installed (Armadillo, Eigen, FFTW, MKL).",
        ),
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Shorter, less exact.")] = False,
    csv: Annotated[Path | None, typer.Option(help="Write all rows there too.")] = None,
    list_only: Annotated[bool, typer.Option("--list", help="Only name what there is.")] = False,
    json: JsonOption = False,
) -> None:
    """Measure every kernel and whole frames on one core: time, rate, share of what it can do."""
    if context.invoked_subcommand is not None:
        return
    from carillon.bench import CELLS, Choice
    from carillon.commands.bench import bench as run_bench

    choice = Choice(pattern, tuple(isa or ()), tuple(cell or CELLS), quick, compare)
    run_bench(choice, as_json=json, csv_file=csv, list_only=list_only)


@bench_app.command(
    "cell",
    epilog=examples("carillon bench cell thesis-16x8 --json", "carillon bench cell my-cell.yaml"),
)
def bench_cell(
    cell: CellArgument,
    iterations: Annotated[int, typer.Option(min=1, max=100, help="Of the LDPC decoder.")] = 5,
    group: Annotated[
        int | None,
        typer.Option(
            min=1, max=16, help="Subcarriers that share a combiner, instead of the cell's."
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer frames.")] = False,
    json: JsonOption = False,
) -> None:
    """Measure a cell's whole chain on one core: core-ms per ms of air time, by stage.

    Frames come from memory, without the network and the runtime, and are decoded twice: with all
    iterations, and with early stop beside it. Every block is compared with what was sent; exit
    status 1 when one is wrong.
    """
    from carillon.bench import CellChoice
    from carillon.commands.bench import bench_cell as run_cell

    choice = CellChoice(iterations, group, quick)
    if not run_cell(cell, choice, as_json=json):
        raise typer.Exit(Status.FAILED)


@bench_app.command(
    "policies",
    epilog=examples(
        "carillon bench policies thesis-16x8",
        "carillon bench policies lan-8x4 --load 0.9 --virtual 8 --virtual 16",
    ),
)
def bench_policies(
    cell: CellArgument,
    workers: Annotated[
        int, typer.Option(min=0, max=128, help="Cores to use; 0: all there are.")
    ] = 0,
    load: Annotated[
        float | None,
        typer.Option(
            min=0.01,
            max=0.99,
            help="Of the cores: air time is stretched or shortened until they have it. Else the "
            "cell's own pace, or 0.6 where that is less.",
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0.1, max=3600, help="How long to measure, all policies together.")
    ] = 15.0,
    virtual: Annotated[
        list[int] | None,
        typer.Option(min=1, max=128, help="Also in virtual time on so many cores; again for more."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Compare scheduling policies on this machine's cores: latency, core time, synchronisation.

    Frames come from memory, policies take turns. Exit status 1 when a block was decoded wrong.
    """
    from carillon.commands.policies import Choice
    from carillon.commands.policies import bench_policies as run_policies

    choice = Choice(workers, load, seconds, tuple(virtual or ()))
    if not run_policies(cell, choice, as_json=json):
        raise typer.Exit(Status.FAILED)
