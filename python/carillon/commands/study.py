"""`carillon study`: a published experiment, its plot, the published values beside ours."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from rich.console import Console
from rich.table import Table

from carillon import resources, runfolder
from carillon.commands.bars import steps_bar
from carillon.commands.tables import print_table
from carillon.daemon import Interrupts
from carillon.errors import InputError
from carillon.flowgraph import nbfm_study
from carillon.flowgraph import study as batching
from carillon.power import fits as power_fits
from carillon.power import studies as power_studies
from carillon.studies import (
    STUDIES,
    Model,
    Request,
    Row,
    Source,
    Study,
    VirtualTime,
    collect,
    rack,
    scheduling,
)
from carillon.studies.bottlenecks import EXPERIMENTS
from carillon.studies.gpu import GPU_STUDIES
from carillon.studies.megastation import FIGURES
from carillon.studies.millipede import ANTENNAS, COSTS
from carillon.studies.presets import Preset, read_preset, thesis_preset
from carillon.studies.study import write_rows


@dataclass(frozen=True)
class Choice:
    """How a study is to be made."""

    most_cores: int | None = None  # None: 30
    virtual: bool = False  # beside the model
    frames: int | None = None  # of a point; None: what suits it
    costs: Path | None = None  # of our own kernels; those that come with Carillon if not given
    measured: Path | None = None  # folder of a GPU's measurement; None: docs/measurements
    coefficients: int | None = None  # of power-tables' models; None: 18


_OPTIONS = {"most_cores": "most-cores", "measured": "from"}


def names(*, as_json: bool) -> None:
    """Lists all studies."""
    every = {study.name: study.title for study in STUDIES.values()}
    every |= {measured.name: measured.title for measured in EXPERIMENTS.values()}
    every |= {figure.name: figure.title for figure in FIGURES.values()}
    every |= {measured.name: measured.title for measured in GPU_STUDIES.values()}
    every[scheduling.NAME] = scheduling.TITLE
    every[rack.NAME] = rack.TITLE
    every[batching.NAME] = batching.TITLE
    every[nbfm_study.NAME] = nbfm_study.TITLE
    every |= power_studies.TITLES
    if as_json:
        print(json.dumps(every, indent=2, ensure_ascii=False))
        return
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, title in every.items():
        table.add_row(name, title)
    print_table(Console(highlight=False, markup=False), table)


def study(name: str, choice: Choice, folder: Path | None, *, as_json: bool) -> None:
    """Makes a study: study.csv, study.json, study.png and study.svg in its folder.

    When it is stopped, all that is known by then, and KeyboardInterrupt.
    """
    _check(name, choice)
    if name in FIGURES:
        from carillon.commands.megastation import study as pool_study

        pool_study(FIGURES[name], choice.frames, folder, as_json=as_json)
        return
    if name in GPU_STUDIES:
        from carillon.commands.gpu_studies import study as gpu_study

        gpu_study(GPU_STUDIES[name], choice.measured, folder, as_json=as_json)
        return
    if name == scheduling.NAME:
        from carillon.commands.scheduling import study as timed_study

        timed_study(choice.frames, folder, as_json=as_json)
        return
    if name == rack.NAME:
        from carillon.commands.rack import study as rack_study

        rack_study(choice.frames, folder, as_json=as_json)
        return
    if name == batching.NAME:
        batching.study(batching.Drawn(), folder, as_json=as_json)
        return
    if name == nbfm_study.NAME:
        nbfm_study.study(folder, as_json=as_json)
        return
    if name in power_studies.TITLES:
        power_studies.study(
            name, choice.frames, choice.measured, folder, most=choice.coefficients, as_json=as_json
        )
        return
    presets = _presets(choice.costs)
    if name in EXPERIMENTS:
        from carillon.commands.experiment import experiment
        from carillon.studies import bottlenecks

        modelled = {known: presets[known] for known in ("thesis", "ours-uncoded")}
        frames = choice.frames or bottlenecks.Choice.frames
        measured = bottlenecks.Choice(frames, presets=modelled)
        experiment(name, measured, folder, as_json=as_json)
        return
    chosen = STUDIES[name]
    sources: list[Source] = [Model(presets)]
    if choice.virtual:
        sources.append(VirtualTime(presets, _virtual_frames(choice)))
    target = runfolder.made(folder or Path("runs") / f"study-{name}")
    console = Console(stderr=as_json, highlight=False, markup=False)
    requests = chosen.ask(choice.most_cores or 30)
    with Interrupts() as interrupts:
        rows = _sorted(
            row
            for source in sources
            for row in _collect(chosen, source, requests, console, interrupts)
        )
    rows += chosen.closing(rows, presets)
    rows += chosen.published
    write_rows(target, _about(chosen, choice, presets, rows), rows)
    from carillon.plots import study as study_plot  # with matplotlib, which takes its time

    study_plot.draw(target, chosen, presets, rows)
    if as_json:
        print(json.dumps(_about(chosen, choice, presets, rows), indent=2, ensure_ascii=False))
    else:
        print_table(console, _table(rows, presets))
        console.print(f"all points: {target / 'study.csv'}, {target / 'study.png'}", soft_wrap=True)
    if interrupts.count:
        console.print("stopped early; points are missing", style="dim")
        raise KeyboardInterrupt


def _check(name: str, choice: Choice) -> None:
    """InputError of a study that there is not, or of an option that it does not have."""
    every = (
        *STUDIES,
        *EXPERIMENTS,
        *FIGURES,
        *GPU_STUDIES,
        scheduling.NAME,
        rack.NAME,
        batching.NAME,
        nbfm_study.NAME,
        *power_studies.TITLES,
    )
    if name not in every:
        raise InputError(f"there is no study '{name}'; the studies are {', '.join(every)}")
    has = {"frames"}
    if name in EXPERIMENTS:
        has = {"frames", "costs"}
    elif name in STUDIES:
        has = {option.name for option in fields(choice)} - {"measured", "coefficients"}
    elif name in GPU_STUDIES:
        has = {"measured"}
    elif name in power_studies.TITLES:
        has = {"frames", "measured"} | ({"coefficients"} if name == power_fits.TABLES else set())
    elif name in (batching.NAME, nbfm_study.NAME):
        has = set()
    for option in fields(choice):
        if option.name not in has and getattr(choice, option.name) != option.default:
            raise InputError(f"{name} has no --{_OPTIONS.get(option.name, option.name)}")
    if name in STUDIES and choice.frames and not choice.virtual:
        raise InputError(f"{name} has --frames only with --virtual: a model has none")


def _virtual_frames(choice: Choice) -> int:
    """Every repetition is the same, once the pipeline is full."""
    return choice.frames or 24


def _presets(costs: Path | None) -> dict[str, Preset]:
    made = (
        thesis_preset(ANTENNAS, ideal=True),
        thesis_preset(ANTENNAS, ideal=False),
        read_preset(costs),
        read_preset(costs, coded=False),
    )
    return dict(zip(COSTS, made, strict=True))


def _collect(
    chosen: Study,
    source: Source,
    requests: Sequence[Request],
    console: Console,
    interrupts: Interrupts,
) -> list[Row]:
    rows: list[Row] = []
    requests = [request for request in requests if request.costs in source.knows]
    with steps_bar(console) as progress:
        task = progress.add_task(f"{chosen.name}, {source.name}", total=len(requests))
        for found in collect(chosen, source, requests, resources.cores().count):
            rows += found
            progress.update(task, advance=1 if found else 0)
            if interrupts.count:
                break
    return rows


def _sorted(rows: Iterable[Row]) -> list[Row]:
    """In an order that does not depend on which process was first."""

    def order(row: Row) -> tuple[object, ...]:
        measure, costs = row.measure, COSTS.index(row.costs)
        return row.source, measure, costs, row.policy, row.antennas, row.cores or 0, row.note

    return sorted(rows, key=order)


def _about(
    chosen: Study, choice: Choice, presets: dict[str, Preset], rows: Sequence[Row]
) -> dict[str, object]:
    return {
        "study": chosen.name,
        "title": chosen.title,
        "frames_in_virtual_time": _virtual_frames(choice) if choice.virtual else 0,
        "costs": {name: preset.label for name, preset in presets.items()},
        "rows": [asdict(row) for row in rows],
    }


def _table(rows: Sequence[Row], presets: dict[str, Preset]) -> Table:
    """Every published value, and what we have for the same point."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name, justify in (("policy", "left"), ("M×K", "left"), ("cores", "right")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for name in ("measure", "from", "value"):
        table.add_column(name, justify="right" if name == "value" else "left")
    for said in rows:
        if said.source != "published":
            continue
        point = (said.policy, said.antennas, said.cores, said.measure)
        cells = (said.policy, f"{said.antennas}×8", str(said.cores or ""), said.measure)
        table.add_row(*cells, f"published, {said.note}", _digits(said))
        for row in rows:
            if row.source != "published" and point == _point(row):
                label = f"{row.source}, {presets[row.costs].label}"
                label += f", {row.note}" if row.note and row.value is not None else ""
                table.add_row("", "", "", "", label, _digits(row))
    return table


def _point(row: Row) -> tuple[str, int, int | None, str]:
    return row.policy, row.antennas, row.cores, row.measure


def _digits(row: Row) -> str:
    if row.value is None:
        return row.note if row.measure == "cores_needed" else "too few cores"
    return f"{row.value:.4g}"
