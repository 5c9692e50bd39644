"""The commands. What they do lies in carillon.commands, which is imported when a command runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from carillon.cli_bench import bench_app
from carillon.cli_config import config_app
from carillon.cli_demo import DEMO_EXAMPLES, demo
from carillon.cli_flowgraph import flowgraph_app
from carillon.cli_ingest import ingest_app
from carillon.cli_mac import MAC_EXAMPLES, mac
from carillon.cli_net import net_app
from carillon.cli_options import (
    AveragingOption,
    CellArgument,
    CellsArgument,
    Engine,
    FolderOption,
    FramesOption,
    JsonOption,
    LiveOption,
    OutageOption,
    SecondsOption,
    Side,
    Transport,
    TransportOption,
    examples,
    kind_of,
)
from carillon.cli_power import power_app
from carillon.command_line import carry_out
from carillon.errors import InputError, Status
from carillon.streams import failure, patient

app = typer.Typer(
    help="Carillon: real-time massive-MIMO baseband on ordinary servers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_GROUPS = ((config_app, "config"), (bench_app, "bench"), (flowgraph_app, "flowgraph"))
for group, name in (*_GROUPS, (ingest_app, "ingest"), (net_app, "net"), (power_app, "power")):
    app.add_typer(group, name=name)


app.command(epilog=DEMO_EXAMPLES)(demo)
app.command(epilog=MAC_EXAMPLES)(mac)


@app.command(
    epilog=examples(
        "carillon run lan-8x4 --seconds 60",
        "carillon radio lan-8x4   # beside it",
        "carillon run north.yaml south.yaml   # several cells",
        "carillon run lan-8x4 --gpus 1",
    )
)
def run(
    cell: CellsArgument,
    frames: FramesOption = 0,
    seconds: SecondsOption = 0.0,
    transport: TransportOption = None,
    gpus: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=32,
            help="GPUs that work on frames, instead of runtime.gpus; cores do what they cannot.",
        ),
    ] = None,
    outage: OutageOption = 1e-3,
    averaging: AveragingOption = 10.0,
    folder: FolderOption = None,
    live: LiveOption = True,
    json: JsonOption = False,
) -> None:
    """Run a cell's baseband unit, until a limit or Ctrl-C; start the radio unit beside it.

    Samples come over UDP unless the cell's file or --transport says otherwise. Several cells share
    the cores; each has a run folder in the run's.
    """
    aim = (outage, averaging)
    _side("bbu", cell, frames, seconds, transport, folder, live, json, gpus, aim)


@app.command(
    epilog=examples("carillon radio lan-8x4 --seconds 60", "carillon radio north.yaml south.yaml")
)
def radio(
    cell: CellsArgument,
    frames: FramesOption = 0,
    seconds: SecondsOption = 0.0,
    transport: TransportOption = None,
    folder: FolderOption = None,
    live: LiveOption = True,
    json: JsonOption = False,
) -> None:
    """Emulate a cell's radio unit, its users and the channel, for a baseband unit elsewhere.

    Several cells have a radio unit each; name them in the order of `carillon run`.
    """
    _side("radio", cell, frames, seconds, transport, folder, live, json)


def _side(
    role: Literal["bbu", "radio"],
    cell: list[str],
    frames: int,
    seconds: float,
    transport: Transport | None,
    folder: Path | None,
    live: bool,
    json: bool,
    gpus: int | None = None,
    aim: tuple[float, float] = (1e-3, 10.0),
) -> None:
    from carillon.commands.run import run_side
    from carillon.commands.start import Output
    from carillon.config import Run, aiming

    run = aiming(Run(frames=frames, seconds=seconds), *aim)
    run_side(role, cell, kind_of(transport), run, folder, Output(live, json), gpus)


@app.command(
    epilog=examples(
        "carillon link rayleigh-16x4 --snr 0:1:20", "carillon link laptop-8x2 --snr -8:1:4 --harq"
    )
)
def link(
    cell: CellArgument,
    snr: Annotated[
        str, typer.Option(help="dB: start:step:stop, both ends included, or a list 0,5,10.")
    ],
    direction: Annotated[Side, typer.Option(help="Whose errors are counted.")] = Side.uplink,
    errors: Annotated[
        int, typer.Option(min=1, help="Block errors after which a point is done.")
    ] = 100,
    frames: Annotated[
        int, typer.Option(min=1, help="Frames after which it is done anyway.")
    ] = 1000,
    piece: Annotated[int, typer.Option(min=1, max=10**6, help="Frames of one piece of work.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same curve.")] = 1,
    samples: Annotated[
        bool,
        typer.Option("--samples", help="The uplink's 16-bit samples too, as in a run: slower."),
    ] = False,
    harq: Annotated[
        bool,
        typer.Option(
            "--harq", help="Uplink blocks after one to four transmissions, soft bits added up."
        ),
    ] = False,
    workers: Annotated[
        int, typer.Option(min=0, max=1024, help="Threads; 0: one for each core.")
    ] = 0,
    folder: Annotated[
        Path | None, typer.Option(help="Where curves lie and go on; runs/link-NAME if not given.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Error rates of a cell over SNR, without real time, on all cores.

    Ctrl-C stops it and shows what is measured; the same command goes on from there.
    """
    from carillon.commands.link import link as run_link
    from carillon.link import Rules, parse_range

    try:
        points = parse_range(snr)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--snr") from None
    if harq and (direction is not Side.uplink or samples):
        raise typer.BadParameter("is of the uplink, with samples as it is", param_hint="--harq")
    rules = Rules(errors, frames, piece, seed, direction.value, samples, harq)
    run_link(cell, points, rules, workers, folder, as_json=json)


@app.command(
    epilog=examples(
        "carillon calibrate lan-8x4",
        "carillon calibrate --gpu results/kernels.json --output h200.json",
    )
)
def calibrate(
    cell: Annotated[
        str | None,
        typer.Argument(help="A cell's YAML file, or the name of an example.", metavar="CELL"),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0.1, max=3600, help="How long to measure, at least three rounds.")
    ] = 10.0,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Where to keep it; by default where `plan` looks, for each cell one; of --gpu, "
            "device-profile.json beside it."
        ),
    ] = None,
    gpu: Annotated[
        Path | None,
        typer.Option(help="Instead of a cell: kernels.json of scripts/gpu-check, for a profile."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """What each stage of a cell costs on one core of this machine: I for a claim, Δ for a chunk.

    Stages run in place, in whole frames from memory, with claims of every size in turn. `!` marks a
    stage whose cost is not a line; `sizes` in the file tells what it is.

    --gpu makes what was measured of a GPU a device profile that `carillon simulate` loads, and
    holds simulated frames against measured ones. Status 1: one is off by more than 10 %, or none
    was measured.
    """
    if (cell is None) == (gpu is None):
        raise typer.BadParameter("name a cell, or --gpu and a file", param_hint="CELL")
    if gpu is not None:
        from carillon.commands.device_profile import calibrate as run_gpu

        if not run_gpu(gpu, output, as_json=json):
            raise typer.Exit(Status.FAILED)
    elif cell is not None:
        from carillon.commands.calibrate import calibrate as run_calibrate

        run_calibrate(cell, seconds, output, as_json=json)


@app.command(
    epilog=examples(
        "carillon plan lan-8x4",
        "carillon plan agora-64x16 --cores 32",
        "carillon plan lan-8x4 --search --seconds 1",
    )
)
def plan(
    cell: CellArgument,
    cores: Annotated[
        int, typer.Option(min=0, max=128, help="Of the machine; 0: as many as this one has.")
    ] = 0,
    speed: Annotated[
        float, typer.Option(min=0.01, max=100, help="Of its cores, against this machine's.")
    ] = 1.0,
    machine: Annotated[
        Path | None,
        typer.Option(
            help="A YAML file that describes another machine: cores, isa, clock_ghz, speed, name."
        ),
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(help="What `calibrate --output` wrote, here or on the other machine."),
    ] = None,
    search: Annotated[
        bool,
        typer.Option(
            "--search",
            help="Which users, bandwidth and modulation fit instead; each is calibrated.",
        ),
    ] = False,
    sweep: Annotated[
        bool, typer.Option("--sweep", help="Try every combination of job sizes beside the choice.")
    ] = False,
    seconds: Annotated[
        float, typer.Option(min=0.1, max=3600, help="For a calibration, where none is kept.")
    ] = 10.0,
    folder: Annotated[
        Path | None,
        typer.Option(help="Where plan.json and plan.png go; runs/plan-NAME if not given."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Can this machine, or another, carry this cell? How many cores, how late, which job sizes?

    Stages are measured on one core (see `calibrate`), their schedule is the engine's own in virtual
    time. Exit status 0: it fits, or with --search something does; 3: it does not.
    """
    from carillon.commands.plan import Choice
    from carillon.commands.plan import plan as run_plan
    from carillon.commands.plan_search import find
    from carillon.machine import MachineFile

    if machine is not None and (cores or speed != 1):
        raise typer.BadParameter("says cores and speed itself", param_hint="--machine")
    if search and (calibration is not None or sweep):
        raise typer.BadParameter("has no --calibration or --sweep", param_hint="--search")
    described = None if machine is None else MachineFile.load(machine)
    choice = Choice(cores, speed, described, calibration, seconds, sweep)
    fits = (find if search else run_plan)(cell, choice, folder, as_json=json)
    if not fits:
        raise typer.Exit(Status.TOO_SLOW)


@app.command(
    epilog=examples(
        "carillon validate lan-8x4", "carillon validate lan-8x4 laptop-8x2 --seconds 20"
    )
)
def validate(
    cell: Annotated[
        list[str] | None,
        typer.Argument(
            help="Cells' files, or names of examples; if none, all examples of less than 400 MB.",
            metavar="CELL",
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, max=128, help="On one worker, and on so many.")
    ] = 2,
    seconds: Annotated[
        float, typer.Option(min=0.1, max=600, help="For each calibration and each latency.")
    ] = 5.0,
    folder: Annotated[
        Path | None, typer.Option(help="Where tables and plots go; runs/validation if not given.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Hold what `plan` foretells against this machine: latencies, and the choice of job sizes.

    Cells run in real time from memory, without a network. Exit status 1: at the pace of the air,
    latencies are off by 10 % or more in the median, or unknown, or a choice of job sizes is more
    than 5 % worse than the best that there is.
    """
    from carillon.commands.validate import validate as run_validate

    if not run_validate(cell or [], workers, seconds, folder, as_json=json):
        raise typer.Exit(Status.FAILED)


@app.command(epilog=examples("carillon report runs/laptop-8x2-20260102-030405"))
def report(
    run: Annotated[Path, typer.Argument(help="A run folder.", metavar="RUN")],
    json: JsonOption = False,
) -> None:
    """Rebuild a run folder's report from its telemetry."""
    from carillon.commands.report import report as rebuild

    rebuild(run, as_json=json)


@app.command(
    epilog=examples(
        "carillon study millipede-5.1",
        "carillon study --list",
        "carillon study millipede-5.2 --most-cores 64",
    )
)
def study(
    name: Annotated[
        str | None, typer.Argument(help="One of the studies that --list shows.", metavar="NAME")
    ] = None,
    list_only: Annotated[bool, typer.Option("--list", help="Only name what there is.")] = False,
    most_cores: Annotated[
        int | None,
        typer.Option(min=1, max=128, help="Of a model: up to so many cores; 30 if not given."),
    ] = None,
    virtual: Annotated[
        bool,
        typer.Option("--virtual", help="Beside the model, the engine's policies in virtual time."),
    ] = False,
    frames: Annotated[
        int | None,
        typer.Option(
            min=4,
            max=1_000_000,
            help="Of each point; else 24 in virtual time, 8000 where it is measured and mostly "
            "20100 on a simulated pool.",
        ),
    ] = None,
    costs: Annotated[
        Path | None, typer.Option(help="What our kernels cost, instead of what was recorded.")
    ] = None,
    measured: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Of gpu-*: what scripts/gpu-check left, instead of docs/measurements. Of power-*: "
            "an earlier delays.json, instead of measuring.",
        ),
    ] = None,
    coefficients: Annotated[
        int | None, typer.Option(min=3, max=18, help="Of power-tables: at most so many.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Where the points go; runs/study-NAME if not given.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Ask a published experiment again, and show the published values beside ours.

    Every point says whether it is published, the model's, of virtual time, simulated on a pool of
    GPUs, measured here or there, or counted on a model of a processor. Status 77, of gpu-*: no GPU
    was measured; published values and CPUs' are shown all the same.
    """
    from carillon.commands.study import Choice, names
    from carillon.commands.study import study as run_study

    if list_only:
        names(as_json=json)
    elif name is None:
        raise typer.BadParameter("which study? carillon study --list names them", param_hint="NAME")
    else:
        choice = Choice(most_cores, virtual, frames, costs, measured, coefficients)
        run_study(name, choice, folder, as_json=json)


@app.command(
    epilog=examples(
        "carillon sweep link-snr",
        "carillon sweep my-sweep.yaml --workers 4",
        "carillon sweep my-sweep.yaml --engine mpi --workers 64",
    )
)
def sweep(
    name: Annotated[
        str, typer.Argument(help="A sweep's YAML file, or an example's name.", metavar="SWEEP")
    ],
    engine: Annotated[
        Engine | None, typer.Option(help="Who runs the commands, instead of what the file says.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=0, max=10000, help="Commands at a time; 0: one for each core."),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Do again what earlier calls have done.")
    ] = False,
    folder: Annotated[
        Path | None, typer.Option(help="Where results go and go on; runs/sweep-NAME if not given.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Run any command over a grid of parameters: one table, on the cores of one machine or many.

    Ctrl-C stops it; the same command goes on from there, and tries again what failed. Exit status
    1: a command failed.
    """
    from carillon.commands.sweep import Choice
    from carillon.commands.sweep import sweep as run_sweep

    choice = Choice(None if engine is None else engine.value, workers)
    if not run_sweep(name, choice, folder, fresh=fresh, as_json=json):
        raise typer.Exit(Status.FAILED)


@app.command(
    epilog=examples("carillon simulate four-a100", "carillon simulate my-pool.yaml --frames 100000")
)
def simulate(
    name: Annotated[
        str, typer.Argument(help="A study's YAML file, or an example's name.", metavar="STUDY")
    ],
    frames: Annotated[
        int | None,
        typer.Option(min=1, max=10_000_000, help="Of each cell; the warm-up is a tenth at most."),
    ] = None,
    workers: Annotated[
        int, typer.Option(min=0, max=1024, help="Processes; 0: one for each core.")
    ] = 0,
    folder: Annotated[
        Path | None,
        typer.Option(help="Where results and plots go; runs/simulate-NAME if not given."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Compare policies for a pool of GPUs on simulated ones, in virtual time.

    Nothing is computed: kernel times are assumed, or those of a device profile. A trace for
    Perfetto lies beside the results. Ctrl-C keeps the runs that are whole.
    """
    from carillon.commands.simulate import simulate as run_simulate

    run_simulate(name, frames, workers, folder, as_json=json)


@app.command(epilog=examples("carillon doctor", "carillon doctor --interface eth0 --fix"))
def doctor(
    seconds: Annotated[
        float,
        typer.Option(min=0, max=3600, help="How long to measure wake-ups and stalls; 0: not."),
    ] = 3.0,
    interface: Annotated[
        list[str] | None,
        typer.Option(help="A network interface; may be given again. Else those that are up."),
    ] = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Mend what can be put back without a restart; as root.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before --fix.")] = False,
    json: JsonOption = False,
) -> None:
    """Say whether this machine is fit for real time, what is not costs, and what mends it.

    Exit status 0: no check fails, though some may warn; 1: one does, or --fix could not begin.
    """
    from carillon.commands.doctor import Choice
    from carillon.commands.doctor import doctor as examine

    choice = Choice(seconds, tuple(interface or ()), fix, yes)
    if not examine(choice, as_json=json):
        raise typer.Exit(Status.FAILED)


def _version(asked: bool) -> None:
    if asked:
        from carillon import core

        print(f"carillon {core.version}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Carillon: real-time massive-MIMO baseband on ordinary servers."""
    from carillon import core

    try:
        core.active_isa()
    except RuntimeError as error:  # CARILLON_ISA names what this machine lacks
        raise InputError(str(error)) from None


def main() -> int:
    """Carries out the command line; the exit status."""
    sys.stdout, sys.stderr = patient(sys.stdout), patient(sys.stderr)
    status = carry_out(app)
    if error := failure(sys.stdout):
        reason = (error.strerror or str(error)).lower()
        print(f"carillon: standard output cannot be written: {reason}", file=sys.stderr)
        return max(status, int(Status.FAILED))
    return status
