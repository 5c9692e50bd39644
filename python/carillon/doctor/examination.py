"""What `carillon doctor --json` prints. The JSON Schema is made from these models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from carillon import core, doctor, runfolder
from carillon.doctor.finding import Level
from carillon.doctor.stalls import CpuStalls

VERSION: Literal[1] = 1


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Finding(_Model):
    """One check."""

    topic: str
    level: Level = Field(description="skip: this machine has no such thing, or does not say")
    fact: str
    cost: str = Field(description="what it costs a cell; empty unless warn or fail")
    advice: str = Field(description="in words; may end before the command")
    command: str = Field(description="as root; empty where no command mends it")
    fixable: bool = Field(description="--fix would mend it, reversibly, without a restart")


class Stalls(_Model):
    """One CPU, measured napping and spinning in turns as a worker does."""

    cpu: int
    fifo: bool = Field(description="SCHED_FIFO was granted")
    seconds: float
    wakeups: int = Field(description="naps of 500 µs")
    wakeup_p50_us: float = Field(description="how late naps ended")
    wakeup_p99_us: float
    wakeup_max_us: float
    gaps: int = Field(description="of 10 µs or more between two readings of the clock")
    longest_us: float
    stalls: int = Field(description="gaps of 200 µs or more")
    stalls_of_system: int = Field(description="of which another thread had the core")
    stalled: float = Field(description="share of the time in stalls")


class Change(_Model):
    """What --fix did."""

    command: str = Field(description="that does the same")
    undo: str = Field(description="that puts the setting back as it was")
    error: str = Field(description="why it could not be done; empty when it was")


class Examination(_Model):
    """A machine's fitness for real time."""

    schema_version: Literal[1] = VERSION
    version: str = Field(description="of Carillon")
    machine: dict[str, Any]
    verdict: Literal["pass", "warn", "fail"] = Field(description="the worst level of the findings")
    findings: list[Finding] = Field(description="after the changes, if any were made")
    stalls: list[Stalls] = Field(description="empty when nothing was measured")
    changes: list[Change] = Field(description="empty without --fix")


def examination(
    findings: Sequence[doctor.Finding], measured: Sequence[CpuStalls], done: Sequence[doctor.Done]
) -> Examination:
    """All that was found, measured and done."""
    return Examination(
        version=core.version,
        machine=runfolder.machine(),
        verdict=verdict(findings),
        findings=[_finding(finding) for finding in findings],
        stalls=[_stalls(one) for one in measured],
        changes=[
            Change(command=one.change.command, undo=one.change.undo, error=one.error)
            for one in done
        ],
    )


def verdict(findings: Sequence[doctor.Finding]) -> Literal["pass", "warn", "fail"]:
    """The worst level."""
    levels = {finding.level for finding in findings}
    return "fail" if "fail" in levels else "warn" if "warn" in levels else "pass"


def _finding(finding: doctor.Finding) -> Finding:
    return Finding(
        topic=finding.topic,
        level=finding.level,
        fact=finding.fact,
        cost=finding.cost,
        advice=finding.advice,
        command=finding.command,
        fixable=bool(finding.changes),
    )


def _stalls(one: CpuStalls) -> Stalls:
    return Stalls(
        cpu=one.cpu,
        fifo=one.fifo,
        seconds=one.seconds,
        wakeups=len(one.wakeups_ns),
        wakeup_p50_us=one.wakeup_us(50),
        wakeup_p99_us=one.wakeup_us(99),
        wakeup_max_us=one.wakeup_us(100),
        gaps=len(one.gaps_ns),
        longest_us=one.longest_us,
        stalls=len(one.stalls),
        stalls_of_system=sum(of_system for _, of_system in one.stalls),
        stalled=one.stalled,
    )


def schema() -> str:
    """The JSON Schema of an examination."""
    tree = Examination.model_json_schema()
    tree["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    tree["title"] = f"Carillon doctor, version {VERSION}"
    return json.dumps(tree, indent=2, ensure_ascii=False) + "\n"
