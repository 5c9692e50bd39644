"""`carillon demo --device cuda`: cells from memory on this machine's GPUs, in real time."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from carillon import cells, core, files, runfolder
from carillon.commands.bench import circumstances
from carillon.commands.tables import new_table, print_table
from carillon.config import Run, plan_text
from carillon.daemon import Interrupts, RunError
from carillon.errors import InputError, NoDeviceError, TooSlowError
from carillon.statistics import Percentiles

_CELL = "laptop-8x2"


def demo(
    cell: str | None,
    run: Run,
    partitions: int,
    folder: Path | None,
    *,
    as_json: bool,
    count: int = 1,
) -> bool:
    """Runs so many of it, writes gpu.json, gpu.csv and gpu.png/.svg; whether no block failed.

    Raises NoDeviceError where there is none, TooSlowError when no frame was in time. When stopped,
    what is known by then, and KeyboardInterrupt.
    """
    runfolder.require_free(folder)
    loaded = cells.load(cell or _CELL)
    loaded.check(run)
    frame_ms = runfolder.describe(loaded.cell)["frame_ms"]
    frames = _frames(run, frame_ms)
    about = circumstances()
    with Interrupts() as interrupts:
        found = _carry_out(plan_text(loaded.cell, run), frames, count, partitions, interrupts)
    target = runfolder.made(folder or runfolder.new_path(Path("runs"), f"{loaded.cell.name}-gpu"))
    result = _result(about, loaded.cell.name, frame_ms, found) | {"cells": count}
    _write(target, result, found["frames"])
    if as_json:
        print(json.dumps(result, indent=2, ensure_ascii=False))
    _show(Console(stderr=as_json, highlight=False, markup=False), result, target)
    if interrupts.count:
        raise KeyboardInterrupt
    if not result["done"]:
        raise TooSlowError(f"none of {result['frames']} frames was in time")
    return not result["failed_blocks"]


def _frames(run: Run, frame_ms: float) -> int:
    """Whichever limit comes first."""
    limits = [run.frames] if run.frames else []
    if run.seconds:
        limits.append(max(1, round(run.seconds * 1e3 / frame_ms)))
    if not limits:
        raise InputError("--device cuda needs a limit: give --frames, or --seconds above 0")
    return min(limits)


def _carry_out(
    plan: str, frames: int, count: int, partitions: int, interrupts: Interrupts
) -> dict[str, Any]:
    columns = (TextColumn("frames"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("frames", total=frames * count)

        def progress(ended: int) -> bool:
            bar.update(task, completed=ended)
            return interrupts.count == 0

        try:
            return core.run_on_gpus(
                plan,
                frames,
                cells=count,
                policy="adaptive",
                partitions=partitions,
                progress=progress,
            )
        except (RuntimeError, ValueError) as error:
            kind = RunError if core.cuda_machine()["devices"] else NoDeviceError
            raise kind(f"{error}; leave --device out to use the CPU") from error


def _result(
    about: dict[str, Any], cell: str, frame_ms: float, found: dict[str, Any]
) -> dict[str, Any]:
    frames = found["frames"]
    latencies = np.array([each["latency_us"] for each in frames if each["done"]])
    return {
        **about,
        "version": core.version,
        "cell": cell,
        "frame_ms": frame_ms,
        "gpu": {name: found[name] for name in ("device", "devices", "sms")},
        "frames": len(frames),
        "done": len(latencies),
        "blocks": found["blocks"] * len(latencies),
        "failed_blocks": sum(each["failed_blocks"] for each in frames),
        "copies": found["copies"],
        "latency_us": vars(Percentiles.of(latencies)),
    }


def _write(target: Path, result: dict[str, Any], frames: list[dict[str, Any]]) -> None:
    text = json.dumps(result, indent=2, ensure_ascii=False)
    files.write_text(target / "gpu.json", text + "\n")
    with files.table(target / "gpu.csv") as stream:
        writer = csv.DictWriter(stream, ["done", "latency_us", "failed_blocks", "devices"])
        writer.writeheader()
        writer.writerows(frames)
    latencies = [each["latency_us"] for each in frames if each["done"]]
    if latencies:
        from carillon.plots import gpu as picture  # with matplotlib, which takes its time

        picture.draw_latency(target, latencies, result["gpu"]["device"])


def _show(console: Console, result: dict[str, Any], target: Path) -> None:
    gpu, latency = result["gpu"], result["latency_us"]
    console.print(
        f"{result['cells']} × {result['cell']} from pinned memory on "
        f"{gpu['devices']} × {gpu['sms']} SMs of {gpu['device']}: "
        f"{result['done']} of {result['frames']} frames in time, "
        f"{result['failed_blocks']} of {result['blocks']} blocks failed",
        soft_wrap=True,
    )
    names = ("mean", "p50", "p99", "p999", "p9999", "max")
    table = new_table(("from the last sample",), tuple(f"{name}, µs" for name in names))
    values = (latency[name] for name in names)
    table.add_row("latency", *("–" if each is None else f"{each:.1f}" for each in values))
    print_table(console, table)
    console.print(f"all frames: {target / 'gpu.csv'}, {target / 'gpu.png'}", soft_wrap=True)
