"""What `carillon mac` does: a cell, and a scheduler at both of its ports."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from carillon import cells, files, runfolder
from carillon.commands.bars import steps_bar
from carillon.commands.start import Output, start
from carillon.commands.tables import new_table, print_table
from carillon.config import Loaded, Run
from carillon.config.models import Grants
from carillon.config.sections import Data
from carillon.daemon import Interrupts
from carillon.errors import TooSlowError
from carillon.mac.build import Settings, scheduler_of, with_room
from carillon.mac.scheduler import Scheduler
from carillon.mac.serve import serve
from carillon.mac.summary import summary
from carillon.percent import percent
from carillon.port import Client, PortError, made_live

_LOOK_S = 0.2  # at progress


def mac(cell: str, settings: Settings, run: Run, folder: Path | None, *, as_json: bool) -> None:
    """Runs a cell and a scheduler of its frames; mac.json and mac.svg lie in the run's
    folder beside its report.

    Raises as `start`, with all of that written, and TooSlowError when nothing arrived.
    """
    runfolder.require_free(folder)
    output = Output(live=False, json=False, aside=as_json)
    with tempfile.TemporaryDirectory(prefix="carillon-") as sockets, Interrupts() as interrupts:
        loaded = _scheduled(cells.load(cell, live=True), Path(sockets), settings.harq)
        settings.require_fit(loaded.cell)
        loaded.check(run)
        path = folder or runfolder.new_path(Path("runs"), loaded.cell.name)
        file = path / "mac.json"
        try:
            start(
                loaded, run, path, output, interrupts,
                beside=lambda made: _scheduling(made, settings, interrupts, output.console),
            )  # fmt: skip
            require_any_in_time(json.loads(file.read_text(encoding="utf-8")))
        finally:
            if as_json and file.is_file():
                print(file.read_text(encoding="utf-8"), end="")


def require_any_in_time(results: dict[str, Any]) -> None:
    """Raises TooSlowError when there was something to send, and not one block came of it."""
    flows = results["flows"]
    decoded = sum(flow["blocks"]["good"] + flow["blocks"]["failed"] for flow in flows)
    if decoded == 0 and any(flow["bytes"]["arrived"] for flow in flows):
        late = results["refused"].get("late", 0)
        raise TooSlowError(
            f"not one block came ({results['frames']} frames on air, {late} messages too late); "
            "longer frames leave more time, and so do more cores"
        )


def _scheduled(loaded: Loaded, sockets: Path, processes: int) -> Loaded:
    """The same cell, whose frames a program at these sockets schedules."""
    data = Data(socket=str(sockets / "cell.sock"), users_socket=str(sockets / "users.sock"))
    cell = loaded.cell.model_copy(
        update={"grants": Grants(kind="port", harq_processes=processes), "data": data}
    )
    return replace(loaded, cell=made_live.with_room(with_room(cell)), slots=None)


@contextmanager
def _scheduling(
    made: runfolder.RunFolder, settings: Settings, interrupts: Interrupts, console: Console
) -> Iterator[None]:
    """While the block lasts, in a thread of its own; then its results are written and shown."""
    scheduler = scheduler_of(made.cell, settings, float(made.derived["frame_ms"]) / 1e3)
    over = threading.Event()
    failed: list[Exception] = []

    def work() -> None:
        try:
            _serve(made, scheduler, over)
        except Exception as error:  # raised again when the cell has been stopped
            failed.append(error)
            interrupts.count += 1

    threads = [
        threading.Thread(target=work, daemon=True),
        threading.Thread(target=_show_progress, args=(made, scheduler, over, console), daemon=True),
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
    if failed:
        raise failed[0]
    results = summary(made.cell.name, settings, scheduler)
    _write(made.path, results)
    _show(console, results)
    if late := results["refused"].get("late", 0):
        console.print(f"{late} messages came too late, see refused in mac.json", style="yellow")
    files_of = " and ".join(str(made.path / name) for name in ("mac.svg", "mac.json"))
    console.print(f"over time: {files_of}", soft_wrap=True)


def _serve(made: runfolder.RunFolder, scheduler: Scheduler, over: threading.Event) -> None:
    data = made.cell.data
    with _reached(data.socket, over) as port, _reached(data.users_socket, over) as users:
        if port is not None and users is not None:
            serve((port, users), scheduler)


@contextmanager
def _reached(socket: str, over: threading.Event) -> Iterator[Client | None]:
    """None: the cell ended first."""
    while not over.is_set():
        try:
            client = Client(socket, timeout=0.2)
        except PortError:
            continue
        with client:
            yield client
        return
    yield None


def _show_progress(
    made: runfolder.RunFolder, scheduler: Scheduler, over: threading.Event, console: Console
) -> None:
    seconds = made.run.seconds
    in_time = round(seconds / scheduler.frame_s) if seconds else 0
    total = min(filter(None, (made.run.frames, in_time)), default=None)
    with steps_bar(console) as progress:
        task = progress.add_task("frames", total=total)
        while not over.wait(_LOOK_S):
            progress.update(task, completed=scheduler.frames)


def _write(folder: Path, results: dict[str, Any]) -> None:
    text = json.dumps(results, indent=2, ensure_ascii=False) + "\n"
    files.write_text(folder / "mac.json", text)
    from carillon.plots.mac import draw  # with matplotlib, which takes its time

    draw(results, folder)


def _show(console: Console, results: dict[str, Any]) -> None:
    table = new_table(
        ["user", "direction"],
        [
            "Mbit/s",
            "BLER",
            "of blocks",
            "again",
            "MCS",
            "bits/RE",
            "SNR, dB",
            "waiting, kB",
            "dropped, kB",
        ],
    )
    for flow in results["flows"]:
        blocks, held = flow["blocks"], flow["bytes"]
        table.add_row(
            str(flow["user"]), flow["direction"], _number(flow["throughput_mbps"], ".3g"),
            "" if flow["bler"] is None else percent(flow["bler"]),
            str(blocks["good"] + blocks["failed"] - blocks["again"]), str(blocks["again"]),
            _number(flow["mean_mcs"], ".1f"),
            _number(flow["mean_bits_per_element"], ".2f"), _number(flow["snr_db"], ".1f"),
            f"{held['waiting'] / 1e3:.1f}", f"{held['dropped'] / 1e3:.1f}",
        )  # fmt: skip
    print_table(console, table)


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
