"""What a sweep leaves: results.csv in the grid's order, and sweep.json with how it came about."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from carillon import core, runfolder
from carillon.sweep.grid import Described
from carillon.sweep.task import Outcome, Scalar, Task, read_result

FORMAT = 1
Row = dict[str, Scalar | None]


def leaves(value: Any, prefix: str = "") -> Iterator[tuple[str, Scalar | None]]:
    """Every scalar of a JSON value by its dotted path: `points.0.bler`."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for name, inner in items:
            yield from leaves(inner, f"{prefix}.{name}" if prefix else str(name))
    else:
        yield prefix or "result", value


def rows(described: Described, tasks: Sequence[Task], outcomes: Mapping[str, Outcome]) -> list[Row]:
    """A row for each task in the grid's order: parameters, outcome, columns.

    Rows have the same keys, whatever the results hold; what a result lacks is None.
    """
    found: list[tuple[Row, Row]] = []
    for task in tasks:
        outcome = outcomes.get(task.key)
        head: Row = {**task.parameters, "outcome": outcome.state if outcome else "missing"}
        good = outcome is not None and outcome.state == "ok"
        found.append((head, dict(leaves(read_result(task))) if good else {}))
    heads = [*described.parameters, "outcome"]
    names = described.sweep.columns or list(dict.fromkeys(n for _, values in found for n in values))
    titles = {name: f"result.{name}" if name in heads else name for name in names}
    return [head | {titles[name]: values.get(name) for name in names} for head, values in found]


def unknown(described: Described, table: Sequence[Row]) -> list[str]:
    """Columns that were asked for and that no result has."""
    if not any(row["outcome"] == "ok" for row in table):
        return []
    return [name for name in described.sweep.columns if all(row.get(name) is None for row in table)]


def write_csv(file: Path, table: Sequence[Row]) -> None:
    """The table, whole or not at all."""
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, fieldnames=list(table[0]))
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in table)
    replace(file, stream.getvalue())


def about(
    described: Described, tasks: Sequence[Task], outcomes: Mapping[str, Outcome]
) -> dict[str, Any]:
    """sweep.json: the whole configuration, versions, and how each task ended."""
    ended = [outcomes.get(task.key) for task in tasks]
    return {
        "format": FORMAT,
        "version": core.version,
        "written": datetime.now(UTC).isoformat("T", "seconds"),
        "file": str(described.file),
        "machine": runfolder.machine(),
        "configuration": described.sweep.model_dump(mode="json"),
        "tasks_total": len(tasks),
        "tasks_ok": sum(outcome is not None and outcome.state == "ok" for outcome in ended),
        "tasks_missing": ended.count(None),
        "tasks": [
            {
                "folder": str(Path(task.folder.parent.name) / task.folder.name),
                "parameters": dict(task.parameters),
                "command": list(task.command),
                "outcome": asdict(outcome) if outcome else None,
            }
            for task, outcome in zip(tasks, ended, strict=True)
        ],
    }


def write_about(file: Path, what: Mapping[str, Any]) -> None:
    replace(file, json.dumps(what, indent=2, ensure_ascii=False) + "\n")


def replace(file: Path, text: str) -> None:
    """Writes a file in one step, so that a stop in between loses nothing."""
    partial = file.with_name(f"{file.name}.partial")
    with partial.open("w", encoding="utf-8", newline="") as stream:
        stream.write(text)
    partial.replace(file)


def _cell(value: Scalar | None) -> Scalar | None:
    return str(value).lower() if isinstance(value, bool) else value
