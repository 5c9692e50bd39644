"""`carillon simulate`: policies beside each other on a pool of simulated devices."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from carillon import core, examples, files, runfolder
from carillon.commands.tables import print_table
from carillon.daemon import Interrupts
from carillon.percent import percent
from carillon.pool import profile as profiles
from carillon.pool import trace
from carillon.pool.degree import Degree, by_type, sentence
from carillon.pool.economy import price
from carillon.pool.plan import hardware
from carillon.pool.running import NOWHERE, KilledError, Outcome, Request, run_all
from carillon.pool.study import Bound, Described, bound, degrees, has_reserve, load
from carillon.pool.summary import Summary, summarize

_COUNTS = ("done", "NACKed", "lost")
_COLUMNS = ("mean ms", "p50", "p99", "p99.99", "frames/s", "devices", "copies")
_MOST_MOVES = 6  # and joins, that are printed of each policy


def simulate(
    name: str, frames: int | None, workers: int, folder: Path | None, *, as_json: bool
) -> None:
    """Runs every policy with every seed; writes result.json, frames.csv, trace.json and plots.

    When it is stopped, what is whole by then, and KeyboardInterrupt; when one of its processes is
    killed, that and KilledError.
    """
    described = load(examples.resolve("pools", name), frames)
    _tell_of_warm_up(described)
    feeds = bound(described)
    target = runfolder.made(
        folder or Path("runs") / f"simulate-{runfolder.file_name(described.name)}"
    )
    console = Console(stderr=as_json, highlight=False, markup=False)
    console.print(described.about, soft_wrap=True)
    console.print(_fed(feeds), soft_wrap=True)
    study = described.study
    found_degrees = degrees(described) if "scoreboard" in study.policies else {}
    if found_degrees:
        console.print(sentence(found_degrees), soft_wrap=True)
    requests = [
        Request(described, policy, seed) for policy in study.policies for seed in study.seeds
    ]
    killed = None
    with Interrupts() as interrupts:
        try:
            found = _run(described.name, requests, workers, console, interrupts)
        except KilledError as error:
            found, killed = error.outcomes, error
    outcomes = [outcome for outcome in found if outcome is not None]
    if outcomes:
        summaries = summarize(described, outcomes)
        about = _about(
            described, feeds, found_degrees, summaries, whole=len(outcomes) == len(requests)
        )
        files = _write(target, described, about, outcomes, summaries)
        if as_json:
            print(json.dumps(about, indent=2, ensure_ascii=False))
        print_table(console, _table(summaries, described.kernel_times))
        if study.servers:
            _tell_of_servers(console, described, summaries)
        if has_reserve(study):
            for one in summaries:
                console.print(_joins(one), soft_wrap=True)
        console.print(f"simulated: {', '.join(map(str, files))}", soft_wrap=True)
    if len(outcomes) < len(requests):
        what = "runs are missing" if outcomes else "no run is whole, nothing was written"
        console.print(f"stopped early; {what}", style="dim")
        raise killed or KeyboardInterrupt


def _tell_of_warm_up(described: Described) -> None:
    used, asked = described.study.warm_up, described.asked_warm_up
    if used < asked:
        text = f"warm_up is {used} instead of {asked}: at most a tenth of the frames of --frames"
        print(f"note: {text}", file=sys.stderr)


def _run(
    title: str,
    requests: Sequence[Request],
    workers: int,
    console: Console,
    interrupts: Interrupts,
) -> Sequence[Outcome | None]:
    """With a bar of the frames that have ended."""
    with frames_bar(console) as progress:
        bar = progress.add_task(title, total=sum(request.frames for request in requests))
        return run_all(
            requests,
            workers,
            lambda ended: progress.update(bar, completed=ended),
            lambda: interrupts.count > 0,
        )


def frames_bar(console: Console) -> Progress:
    """Of frames that have ended."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


@contextmanager
def runs_with_bar(
    title: str, frames: int | None, console: Console, interrupts: Interrupts
) -> Iterator[Callable[[list[Request]], list[Outcome | None]]]:
    """What carries out one list of requests after another under a bar of `frames` in all."""
    with frames_bar(console) as progress:
        bar = progress.add_task(title, total=frames)
        before = 0

        def carry_out(requests: list[Request]) -> list[Outcome | None]:
            nonlocal before
            outcomes = run_all(
                requests,
                0,
                lambda ended: progress.update(bar, completed=before + ended),
                lambda: interrupts.count > 0,
            )
            before += sum(request.frames for request in requests)
            return outcomes

        yield carry_out


def _fed(feeds: Bound) -> str:
    """S·RU/B < T, as numbers of radio units."""
    most = ", ".join(f"{units:.1f} of {name}" for name, units in feeds.units.items())
    text = f"links that all share carry {feeds.gbytes_per_s:g} GB/s each way: samples of fewer"
    text += f" radio units than {most} (S·RU/B < T); these fill {percent(feeds.load)}"
    return text + (": TOO MUCH, frames will be refused" if feeds.load >= 1 else "")


def _about(
    described: Described,
    feeds: Bound,
    found: dict[str, Degree],
    summaries: Sequence[Summary],
    *,
    whole: bool,
) -> dict[str, object]:
    study = described.study
    used = {kind for _, kind in hardware(study)}
    return {
        "simulated": True,
        "about": described.about,
        "kernel_times": described.kernel_times,
        "device_profile": described.profile and profiles.described(described.profile),
        "name": described.name,
        "version": core.version,
        "written": datetime.now(UTC).isoformat("T", "seconds"),
        "whole": whole,
        "configuration": study.model_dump(mode="json"),
        "cells": [
            {"count": one.count, "configuration": one.cell.model_dump(mode="json")}
            for one in described.served
        ],
        "device_types": [kind for kind in core.device_types() if kind["name"] in used],
        "degrees": by_type(found),
        "fabric_bound": vars(feeds),
        "price": price(study),
        "policies": [summary.row() for summary in summaries],
    }


def _write(
    target: Path,
    described: Described,
    about: dict[str, object],
    outcomes: Sequence[Outcome],
    summaries: Sequence[Summary],
) -> list[Path]:
    """The files that were written."""
    from carillon.plots import pool as picture  # with matplotlib, which takes its time

    text = json.dumps(about, indent=2, ensure_ascii=False)
    with files.whole(target / "result.json") as partial:
        partial.write_text(text + "\n", encoding="utf-8")
    _write_frames(target / "frames.csv", outcomes)
    names = ["result.json", "frames.csv"]
    if described.study.trace.frames:
        trace.write(target / "trace.json", described)
        names.append("trace.json")
    names += picture.draw(target, described, outcomes, summaries)
    return [target / name for name in names]


def _write_frames(file: Path, outcomes: Sequence[Outcome]) -> None:
    reasons = core.reasons()
    with files.table(file) as stream:
        writer = csv.writer(stream)
        writer.writerow(
            ["policy", "seed", "cell", "began_ms", "latency_ms", "done", "why", "devices", "server"]
        )
        for one in outcomes:
            columns = (one.cell, one.began, one.latency, one.done, one.why, one.devices, one.server)
            for cell, began, latency, done, why, used, server in zip(
                *(column.tolist() for column in columns), strict=True
            ):
                row = (cell, round(began, 6), latency, int(done), reasons[why], used)
                where = "" if server == NOWHERE else server
                writer.writerow((one.policy, one.seed, *row, where))


def _table(summaries: Sequence[Summary], kernel_times: str) -> Table:
    """Of lost frames only where there are some."""
    counts = _COUNTS if any(one.lost for one in summaries) else _COUNTS[:-1]
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("policy")
    for name in (*counts, *_COLUMNS, "SM use", "kernel times"):
        table.add_column(name, justify="right")
    for one in summaries:
        latencies = [one.mean_ms, *(one.percentiles_ms[p] for p in ("p50", "p99", "p9999"))]
        frames = (one.done, sum(one.nacked.values()), sum(one.lost.values()))
        table.add_row(
            one.policy,
            *map(str, frames[: len(counts)]),
            *(milliseconds(value) for value in latencies),
            f"{one.frames_per_s:.0f}",
            "–" if one.devices_per_frame is None else f"{one.devices_per_frame:.2f}",
            f"{one.copies_per_frame:.2f}",
            percent(one.sm_share, 1),
            kernel_times,
        )
    return table


def _tell_of_servers(console: Console, described: Described, summaries: Sequence[Summary]) -> None:
    console.print()
    print_table(console, _servers(summaries))
    for one in summaries:
        console.print(_moves(one), soft_wrap=True)
    cost = price(described.study) / described.units
    drawn = ", ".join(f"{one.policy} {one.watts / described.units:.0f} W" for one in summaries)
    text = f"a radio unit's share, assumed (economy): {cost:.0f} of the price; {drawn}"
    console.print(text, soft_wrap=True)


def _servers(summaries: Sequence[Summary]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("policy")
    for name in ("server", "frames", "done", "NACKed", "lost", "SM use", "port use"):
        table.add_column(name, justify="right")
    for one in summaries:
        for own in one.servers:
            counts = (own.server, own.frames, own.done, own.nacked, own.lost)
            port = "–" if own.port_share is None else percent(own.port_share, 1)
            table.add_row(one.policy, *map(str, counts), percent(own.sm_share, 1), port)
        between = sum(one.lost.values()) - sum(own.lost for own in one.servers)
        if between:
            table.add_row(one.policy, "none", str(between), "0", "0", str(between))
    return table


def _moves(one: Summary) -> str:
    """The first ones."""
    told = [
        f"unit {move.unit} {move.origin} → {move.target} at {move.decided_ms:g} ms ({move.why})"
        for move in one.moves
    ]
    return _first(f"{one.policy}: {len(told)} moves", told)


def _joins(one: Summary) -> str:
    """The first ones."""
    told = [
        f"device {join.device} of server {join.server} at {join.at_ms:g} ms (for unit {join.unit})"
        for join in one.joins
    ]
    return _first(f"{one.policy}: {len(told)} joins from reserve", told)


def _first(text: str, told: Sequence[str]) -> str:
    more = ["… (result.json)"] if len(told) > _MOST_MOVES else []
    return f"{text}: {', '.join([*told[:_MOST_MOVES], *more])}" if told else text


def milliseconds(value: float | None) -> str:
    """– where too few frames are known, ∞ where the frame was never done."""
    if value is None:
        return "–"
    return "∞" if math.isinf(value) else f"{value:.3f}"
