"""The commands of `carillon flowgraph`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from carillon.cli_options import JsonOption, examples

flowgraph_app = typer.Typer(
    help="Flowgraphs that can promise a latency.",
    no_args_is_help=True,
    epilog=examples("carillon flowgraph plan nbfm --latency 5ms --cores 2"),
)

GraphArgument = Annotated[
    str, typer.Argument(help="A graph's YAML file, or the name of an example.", metavar="GRAPH")
]
CostsOption = Annotated[
    Path | None, typer.Option(help="Costs measured by carillon flowgraph profile.")
]


def _load_plugins(files: list[Path] | None) -> list[Path] | None:
    if files:
        from carillon.flowgraph.blocks import load_plugin

        for file in files:
            load_plugin(file)
    return files


PluginOption = Annotated[
    list[Path] | None,
    typer.Option(
        callback=_load_plugins,
        help="A shared library with blocks of your own; once for each.",
    ),
]


class How(StrEnum):
    """Ways to choose batches."""

    optimum = "optimum"
    rate_exploiting = "rate-exploiting"
    uniform = "uniform"


class Scheduling(StrEnum):
    """Of threads by the kernel."""

    other = "other"
    fifo = "fifo"
    deadline = "deadline"


class Who(StrEnum):
    """What runs a graph's nodes."""

    workers = "workers"
    blocks = "blocks"
    deadline = "deadline"


@flowgraph_app.callback()
def flowgraph() -> None:
    """Flowgraphs that can promise a latency."""


@flowgraph_app.command(epilog=examples("carillon flowgraph check nbfm"))
def check(graph: GraphArgument, plugin: PluginOption = None) -> None:
    """Say what is wrong with a graph, with the line, the node and the edge."""
    from carillon.flowgraph.commands import check as run

    run(graph)


@flowgraph_app.command(epilog=examples("carillon flowgraph show nbfm --draw nbfm.svg"))
def show(
    graph: GraphArgument,
    costs: CostsOption = None,
    draw: Annotated[
        Path | None, typer.Option(help="Draw it into this file: .svg, .png or .pdf.")
    ] = None,
    plugin: PluginOption = None,
    json: JsonOption = False,
) -> None:
    """Show how often each node of a graph executes."""
    from carillon.flowgraph.commands import show as run

    run(graph, costs, draw, as_json=json)


@flowgraph_app.command(
    epilog=examples(
        "carillon flowgraph plan nbfm --latency 5ms --cores 2",
        "carillon flowgraph plan nbfm --latency 1ms --front",
        "carillon flowgraph plan nbfm --method uniform --json",
        "carillon flowgraph plan --grc receiver.grc --latency 20ms --cores 2",
    )
)
def plan(
    context: typer.Context,
    graph: Annotated[
        str | None,
        typer.Argument(help="A graph's YAML file, or the name of an example.", metavar="[GRAPH]"),
    ] = None,
    latency: Annotated[
        str | None,
        typer.Option(
            help="End to end, as 5ms, 300us or 0.1s; the least that there is if neither "
            "this nor the graph's file says."
        ),
    ] = None,
    cores: Annotated[
        int | None, typer.Option(min=1, max=4096, help="Instead of what the file says.")
    ] = None,
    preemptive: Annotated[
        bool | None,
        typer.Option(
            "--preemptive/--non-preemptive", help="Whether a job may be interrupted by another."
        ),
    ] = None,
    method: Annotated[How, typer.Option(help="How batches are chosen.")] = How.optimum,
    costs: CostsOption = None,
    front: Annotated[
        bool, typer.Option("--front", help="Least utilization for each bound as well.")
    ] = False,
    folder: Annotated[
        Path | None, typer.Option(help="For the results; runs/flowgraph-NAME if not given.")
    ] = None,
    grc: Annotated[
        str | None,
        typer.Option(
            help="Instead of a graph: a flowgraph of GNU Radio, as .grc or as a Python program. It "
            "is run, measured, planned and run again.",
            metavar="FLOW",
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0.05, max=600, help="With --grc: of each measurement.")
    ] = 3.0,
    scheduling: Annotated[
        Scheduling, typer.Option(help="With --grc: of its threads by the kernel.")
    ] = Scheduling.other,
    rate: Annotated[
        list[str] | None,
        typer.Option(help="With --grc: samples a second of a source.", metavar="BLOCK=HZ"),
    ] = None,
    plugin: PluginOption = None,
    json: JsonOption = False,
) -> None:
    """Choose batches that keep a latency with the least CPU, and prove it.

    Exit status 3: no batches keep it.
    """  # fmt: skip
    from carillon.flowgraph.commands import Choice, make_plan
    from carillon.flowgraph.units import duration_ns

    try:
        latency_ns = None if latency is None else duration_ns(latency)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--latency") from None
    if (graph is None) == (grc is None):
        raise typer.BadParameter("name a graph, or a flowgraph by --grc", param_hint="GRAPH")
    if grc is not None:
        _refuse(context, ("preemptive", "method", "costs", "front", "plugin"), "without --grc")
    else:
        _refuse(context, ("seconds", "scheduling", "rate"), "with --grc")
    if grc is not None:
        from carillon.flowgraph.grc.command import Choice as GrcChoice
        from carillon.flowgraph.grc.command import plan_grc

        own = GrcChoice(latency_ns, cores, seconds, scheduling.value, rate or [])
        plan_grc(grc, own, folder, as_json=json)
    elif graph is not None:
        choice = Choice(latency_ns, cores, preemptive, method.value, costs, front)
        make_plan(graph, choice, folder, as_json=json)


def _refuse(context: typer.Context, names: tuple[str, ...], where: str) -> None:
    """Options that would do nothing."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name != "DEFAULT":
            raise typer.BadParameter(f"has a meaning only {where}", param_hint=f"--{name}")


@flowgraph_app.command(
    epilog=examples(
        "carillon flowgraph run nbfm --seconds 10",
        "carillon flowgraph run nbfm --plan runs/flowgraph-nbfm/plan.json --seconds 60 --json",
        "carillon flowgraph run nbfm --fast --seconds 60",
        "carillon flowgraph run nbfm --seconds 1 --set antenna.tone_hz=1000",
    )
)
def run(
    graph: GraphArgument,
    seconds: Annotated[
        float | None,
        typer.Option(min=1e-6, max=1e9, help="Of samples; until the sources end if not given."),
    ] = None,
    latency: Annotated[
        str | None,
        typer.Option(help="End to end, as 5ms; what the graph's file says if not given."),
    ] = None,
    cores: Annotated[
        int | None, typer.Option(min=1, max=4096, help="Instead of what the file says.")
    ] = None,
    method: Annotated[How, typer.Option(help="How batches are chosen.")] = How.optimum,
    costs: CostsOption = None,
    plan: Annotated[
        Path | None, typer.Option(help="A plan.json of carillon flowgraph plan, as it is.")
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(min=1, max=1 << 24, help="The same batch everywhere; nothing is promised."),
    ] = None,
    fast: Annotated[
        bool, typer.Option("--fast", help="As fast as it goes, not at the sources' rates.")
    ] = False,
    realtime: Annotated[
        bool, typer.Option("--realtime/--ordinary", help="Whether workers ask for SCHED_FIFO.")
    ] = True,
    threads: Annotated[
        Who,
        typer.Option(
            help="A worker for each core, by earliest deadline first; or a thread for each "
            "block, ordinary or under SCHED_DEADLINE."
        ),
    ] = Who.workers,
    changes: Annotated[
        Path | None,
        typer.Option(help="Parameters to change: a CSV file of node, parameter, value, at."),
    ] = None,
    prompt: Annotated[
        bool,
        typer.Option(
            "--prompt", help=r"Read changes while it runs: NODE PARAMETER VALUE \[at SAMPLE]."
        ),
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="A block's parameter in place of what the graph's file says; may be repeated.",
            metavar="NODE.PARAMETER=VALUE",
        ),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="For the results; runs/flowgraph-NAME if not given.")
    ] = None,
    plugin: PluginOption = None,
    json: JsonOption = False,
) -> None:
    """Run a graph in the batches of its plan, and say whether the bound held.

    Ctrl-C ends it: what the sources gave is worked off. Exit status 3: the bound did not hold; 130:
    it was stopped.
    """
    from carillon.flowgraph.run_command import RunChoice
    from carillon.flowgraph.run_command import run as start
    from carillon.flowgraph.units import duration_ns

    try:
        latency_ns = None if latency is None else duration_ns(latency)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--latency") from None
    if plan is not None and (cores, latency, batch) != (None, None, None):
        raise typer.BadParameter(
            "has its own cores, latency and batches; leave out --cores, --latency and --batch",
            param_hint="--plan",
        )
    choice = RunChoice(
        seconds, latency_ns, cores, method.value, costs, plan, batch, fast, realtime, threads.value,
        changes, prompt, settings or [],
    )  # fmt: skip
    start(graph, choice, folder, as_json=json)


@flowgraph_app.command(
    epilog=examples("carillon flowgraph blocks", "carillon flowgraph blocks fir")
)
def blocks(
    name: Annotated[str | None, typer.Argument(help="One of them; all if not given.")] = None,
    page: Annotated[
        bool, typer.Option("--page", help="All of them in Markdown, as in the documentation.")
    ] = False,
    plugin: PluginOption = None,
    json: JsonOption = False,
) -> None:
    """List the blocks that there are, with their parameters."""
    from carillon.flowgraph.block_list import tell

    tell(name, as_json=json, as_page=page)


@flowgraph_app.command(
    epilog=examples(
        "carillon flowgraph profile nbfm", "carillon flowgraph profile nbfm --seconds 0.05 --json"
    )
)
def profile(
    graph: GraphArgument,
    seconds: Annotated[
        float, typer.Option(min=0.001, max=60, help="For each block, setting and batch size.")
    ] = 0.3,
    gnuradio: Annotated[
        bool,
        typer.Option(
            "--gnuradio/--no-gnuradio", help="GNU Radio's blocks too, where it is installed."
        ),
    ] = True,
    folder: Annotated[
        Path | None, typer.Option(help="For the results; runs/flowgraph-profile-NAME if not given.")
    ] = None,
    plugin: PluginOption = None,
    json: JsonOption = False,
) -> None:
    """Measure what the blocks of a graph cost here: in the kernel, and in a job with its wake-up.

    Costs of jobs go to costs.json, for carillon flowgraph plan --costs.
    """
    from carillon.flowgraph.profile_command import measure

    measure(graph, seconds, folder, with_gnuradio=gnuradio, as_json=json)


@flowgraph_app.command(
    epilog=examples(
        "carillon flowgraph study --first 100 --graphs 100",
        "carillon flowgraph study --nodes 200 --divides 0.02 --graphs 10",
    )
)
def study(
    first: Annotated[int, typer.Option(min=0, help="Seed of the first graph.")] = 0,
    graphs: Annotated[int, typer.Option(min=1, max=1_000_000, help="How many graphs.")] = 1000,
    nodes: Annotated[
        int | None, typer.Option(min=2, max=1000, help="Of each graph; 8 to 20 if not given.")
    ] = None,
    divides: Annotated[
        float, typer.Option(min=0, max=1, help="Share of nodes that divide the rate.")
    ] = 0.1,
    folder: Annotated[
        Path | None,
        typer.Option(help="For the results; runs/study-batching-synthetic if not given."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Batch random graphs by every method: utilization against the bound.

    carillon study batching-synthetic is the same with 1000 graphs. Ctrl-C keeps what is known.
    """
    from carillon.flowgraph.study import Drawn
    from carillon.flowgraph.study import study as run

    ranges = (nodes, nodes) if nodes is not None else Drawn.nodes
    run(Drawn(first, graphs, ranges, divides), folder, as_json=json)
