"""A sweep as a person writes it."""

from typing import Annotated, Any, Literal

from pydantic import Field

from carillon.config.units import Base, key

Word = str | int | float | bool


class Mpi(Base):
    """Of engine mpi."""

    launcher: list[str] = key(
        ["mpiexec"],
        "What starts an MPI job, before `-n`: `[srun, --mpi=pmix]` on many Slurm clusters.",
        allowed="a list, each a word",
    )


class Dask(Base):
    """Of engine dask."""

    scheduler: str = key(
        "",
        "Address of a scheduler, `tcp://host:8786`; workers on this machine when empty.",
    )


class Plot(Base):
    """A picture of one column."""

    x: str = key("", "Parameter along the axis.", allowed="a parameter's name")
    y: str = key("", "Column to draw; with repeats their mean, and a band from least to most.")
    lines: str = key("", "Parameter with a line for each of its values.")
    panels: str = key("", "Parameter with a panel for each of its values.")
    scale: Literal["linear", "log"] = key("linear", "Of the column's axis.")


class Sweep(Base):
    """A command over a grid of parameters."""

    command: list[Word] = key(
        ...,
        "The words of the command, with `{parameter}` where a value goes; `{here}` is the folder "
        "of this file, `{seed}` the repeat's seed, `{{word}}` a literal `{word}`. It runs in a "
        "folder of its own.",
        allowed="a list, each a word or a number",
    )
    grid: dict[str, Any] = key(
        ...,
        "Parameters and their values: a list, or `start:step:stop` with both ends. The last one "
        "changes fastest. `a, b: [[1, 2], [3, 4]]` varies two together.",
        allowed="a mapping of parameters to lists of values",
    )
    repeats: int = key(1, "Runs of each point.", ge=1, le=10000)
    seed: int = key(1, "`{seed}` of the first repeat; the next ones count up.", ge=0, le=2**53)
    files: dict[str, str] = key(
        {},
        "Files that are written before the command runs, with `{parameter}` as in its words.",
        allowed="a mapping of file names to texts",
    )
    result: str = key(
        "stdout",
        "The JSON file that the command writes, in its folder; `stdout` is its standard output.",
    )
    columns: list[str] = key(
        [],
        "Values of the result that become columns, as `uplink.latency_ms.p99` or "
        "`points.0.bler`; all when empty.",
        allowed="a list, each text",
    )
    accept: list[Annotated[int, Field(ge=0, le=255)]] = key(
        [0],
        "Exit statuses with which the command has not failed.",
    )
    timeout_s: float = key(0.0, "Longest run; 0: no limit.", "s", ge=0, le=1e7)
    engine: Literal["processes", "mpi", "dask"] = key(
        "processes",
        "Who runs the commands: processes of this machine, an MPI job, or dask's workers.",
    )
    workers: int = key(
        0,
        "Commands at a time; 0: one for each core of this machine, or each thread of a dask "
        "scheduler.",
        ge=0,
        le=10000,
    )
    mpi: Mpi = Field(default_factory=Mpi, description="Of engine mpi.")
    dask: Dask = Field(default_factory=Dask, description="Of engine dask.")
    plot: Plot = Field(default_factory=Plot, description="A picture of one column; none if empty.")
