"""The commands of `carillon config`."""

from __future__ import annotations

from typing import Annotated

import typer

from carillon.cli_options import CellArgument, JsonOption, examples

config_app = typer.Typer(
    help="The configuration of a cell: what it may say, whether a file is right, what follows.",
    no_args_is_help=True,
)


@config_app.command(epilog=examples("carillon config check my-cell.yaml"))
def check(
    cells: Annotated[list[str], typer.Argument(help="Files or example names.", metavar="CELL")],
) -> None:
    """Check cells; every mistake is told with its file, line, key, value and range."""
    from carillon.commands.config import check as check_cells

    check_cells(cells)


@config_app.command(epilog=examples("carillon config show thesis-16x8"))
def show(cell: CellArgument, json: JsonOption = False) -> None:
    """Print every figure that follows from a cell: block sizes, rates, bandwidth, deadlines."""
    from carillon.commands.config import show as show_cell

    show_cell(cell, as_json=json)


@config_app.command(epilog=examples("carillon config schema > cell.schema.json"))
def schema() -> None:
    """Print the JSON Schema of a cell's file, for editors."""
    from carillon.commands.config import write

    write("schema")


@config_app.command(epilog=examples("carillon config example > my-cell.yaml"))
def example() -> None:
    """Print a cell with every key at its default and explained."""
    from carillon.commands.config import write

    write("example")


@config_app.command(epilog=examples("carillon config reference > docs/configuration.md"))
def reference() -> None:
    """Print the configuration reference as Markdown."""
    from carillon.commands.config import write

    write("reference")
