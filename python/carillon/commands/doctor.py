"""`carillon doctor`: examines, mends where asked to, measures, tells."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from carillon import doctor as checks
from carillon.daemon import Interrupts, RunError
from carillon.doctor import Done, Finding, Machine, network, stalls
from carillon.doctor.examination import examination, verdict
from carillon.doctor.stalls import CpuStalls

_MARKS = {"pass": "[green]✔[/]", "warn": "[yellow]![/]", "fail": "[red]✘[/]", "skip": "[dim]–[/]"}
_VERDICTS = {
    "pass": "fit for real time",
    "warn": "fit for real time, with reservations",
    "fail": "not fit for real time",
}


@dataclass(frozen=True)
class Choice:
    """What `carillon doctor` was asked for."""

    seconds: float  # of measuring stalls; 0: none
    interfaces: tuple[str, ...] = ()  # those that are up, when empty
    fix: bool = False
    yes: bool = False


def doctor(choice: Choice, *, as_json: bool) -> bool:
    """Prints every finding; True unless one of them rules real time out.

    Raises RunError when --fix may not or cannot be carried out, KeyboardInterrupt when stopped.
    """
    machine = Machine()
    words = Console(stderr=as_json, highlight=False)
    interfaces = choice.interfaces or tuple(network.interfaces(machine))
    _require(machine, interfaces)
    findings = checks.examine(machine, interfaces)
    done: list[Done] = []
    if choice.fix and any(finding.changes for finding in findings):
        _permit(findings, choice, words)
        done = checks.fix(machine, findings)
        _tell_changes(done, words)
        findings = checks.examine(machine, interfaces)
    elif choice.fix:
        words.print("nothing to change that --fix may change", soft_wrap=True)
    measured = _measure(machine, choice.seconds)
    findings += checks.judge(measured)
    if as_json:
        print(examination(findings, measured, done).model_dump_json(indent=2))
    else:
        _tell(findings, words, fixed=choice.fix)
    return verdict(findings) != "fail"


def _require(machine: Machine, interfaces: Sequence[str]) -> None:
    there = machine.names("sys/class/net")
    for name in interfaces:
        if name not in there:
            raise typer.BadParameter(
                f"{name} is not here; there are: {', '.join(there) or 'none'}",
                param_hint="--interface",
            )


def _permit(findings: Sequence[Finding], choice: Choice, words: Console) -> None:
    """Returns when the changes may be made."""
    if os.geteuid() != 0:
        line = shlex.join(["sudo", sys.executable, "-m", "carillon", *sys.argv[1:]])
        raise RunError(f"--fix changes settings of the system, which only root may: {line}")
    if choice.yes:
        return
    words.print("would change:")
    for finding in findings:
        for change in finding.changes:
            words.print(f"  {escape(change.command)}", soft_wrap=True)
    if not sys.stdin.isatty():
        raise RunError("--fix asks before it changes these; where nobody can answer add --yes")
    if not typer.confirm("change them?", err=words.stderr):
        raise RunError("nothing was changed")


def _tell_changes(done: Sequence[Done], words: Console) -> None:
    """What was done and how to undo it, until the machine restarts."""
    for one in done:
        mark = "[red]✘[/]" if one.error else "[green]✔[/]"
        words.print(f"{mark} {escape(one.change.command)}", soft_wrap=True)
        if one.error:
            words.print(f"  not changed: {escape(one.error)}", soft_wrap=True)
        else:
            words.print(f"  [dim]undo: {escape(one.change.undo)}[/]", soft_wrap=True)
    words.print("These last until the machine restarts.\n")


def _measure(machine: Machine, seconds: float) -> list[CpuStalls]:
    cpus = checks.to_measure(machine)
    if not seconds or not cpus:
        return []
    with Interrupts() as interrupts, _progress(seconds) as bar:

        def watch(passed: float) -> bool:
            bar.update(bar.task_ids[0], completed=min(passed, seconds))
            return not interrupts.count

        measured = stalls.measure(cpus, seconds, watch)
    if interrupts.count:
        raise KeyboardInterrupt
    return measured


@contextmanager
def _progress(seconds: float) -> Iterator[Progress]:
    console = Console(stderr=True)
    columns = (TextColumn("measuring stalls"), BarColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        bar.add_task("stalls", total=seconds)
        yield bar


def _tell(findings: Sequence[Finding], words: Console, *, fixed: bool) -> None:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for finding in findings:
        lines = [escape(finding.fact)]
        if finding.cost:
            lines.append(f"[dim]costs: {escape(finding.cost)}[/]")
        remedy = ": ".join(filter(None, (finding.advice, finding.command)))
        if remedy:
            lines.append(f"[dim]→ {escape(remedy)}[/]")
        table.add_row(_MARKS[finding.level], finding.topic, "\n".join(lines))
    words.print(table)
    counts = {level: sum(f.level == level for f in findings) for level in ("warn", "fail")}
    verdict_ = _VERDICTS[verdict(findings)]
    words.print(f"\n{verdict_}: {counts['fail']} fail, {counts['warn']} warn", soft_wrap=True)
    fixable = sum(bool(finding.changes) for finding in findings)
    if fixable and not fixed:
        words.print(f"{fixable} of them can be mended now by --fix, as root", soft_wrap=True)
