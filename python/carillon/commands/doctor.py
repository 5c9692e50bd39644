"""`carillon doctor`."""

from __future__ import annotations

import json
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from carillon.doctor import examine

_MARKS = {"good": "[green]✔[/]", "fair": "[yellow]![/]", "bad": "[red]✘[/]"}


def doctor(*, as_json: bool) -> bool:
    """Prints every finding; True unless one of them rules real time out."""
    findings = examine()
    if as_json:
        print(json.dumps([asdict(f) for f in findings], indent=2, ensure_ascii=False))
    else:
        table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
        for finding in findings:
            text = finding.fact + (f"\n[dim]→ {finding.advice}[/]" if finding.advice else "")
            table.add_row(_MARKS[finding.level], finding.topic, text)
        Console(highlight=False).print(table)
    return all(finding.level != "bad" for finding in findings)
