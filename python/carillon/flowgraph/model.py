"""A flowgraph as a person writes it in YAML."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from carillon.config.units import Base, key

_MOST = 1e12  # ns of a cost: a quarter of an hour


class Piece(Base):
    """From an execution of a batch on, what each one costs."""

    from_execution: int = key(..., "The first one that costs this.", ge=2, le=1_000_000_000)
    each_ns: float = key(..., "Of each.", "ns", ge=0, le=_MOST)


class CostSection(Base):
    """What a batch of executions takes: an initial cost, and each execution's own."""

    initial_us: float = key(..., "Of each batch: the wake-up and the call.", "µs", ge=0, le=1e9)
    each_ns: float = key(..., "Of each execution.", "ns", ge=0, le=_MOST)
    pieces: list[Piece] = key([], "Where it changes with the batch.")


class NodeSection(Base):
    """A block that executes when enough samples are there."""

    name: str = Field(min_length=1, max_length=64, description="Its name.")
    rate_hz: float | None = key(
        None, "Of a source: executions a second, one sample each.", "1/s", ge=1e-9, le=1e18
    )
    block: dict[str, Any] | None = key(
        None, "What it computes: `type`, and its parameters; carillon flowgraph blocks lists them."
    )
    cost: CostSection | None = key(
        None, "A high quantile of what it takes; needed for a plan, if no profile has it."
    )
    mean_cost: CostSection | None = key(None, "The same on an average.")


class EdgeSection(Base):
    """Samples from one node to another."""

    from_: str = Field(alias="from", min_length=1, description="The node that makes them.")
    to: str = Field(min_length=1, description="The node that reads them.")
    produce: int | None = key(
        None,
        "An execution of the first puts so many on it; null: what its block makes, or 1.",
        ge=0,
    )
    threshold: int | None = key(
        None, "The second waits for so many; null: as its block does, or what it consumes.", ge=0
    )
    consume: int | None = key(
        None,
        "An execution of the second takes so many away; null: as its block does, or 1.",
        ge=0,
    )


class DemandSection(Base):
    """What a plan is to keep."""

    latency_ms: float | None = key(
        None, "From a sample's arrival to the last of what comes of it.", "ms", ge=1e-6, le=1e9
    )
    cores: int = key(1, "Cores that take jobs by earliest deadline first.", ge=1, le=4096)
    preemptive: bool = key(True, "Whether a job may be interrupted by an earlier deadline.")


class GraphFile(Base):
    """A flowgraph: nodes, edges, and what is asked of it."""

    name: str = Field("", max_length=64, description="Its name; the file's if not given.")
    quantile: float = key(
        0.999, "Of costs: no more than so many take longer. A bound is as good as they are.",
        ge=0.5, le=1,
    )  # fmt: skip
    nodes: list[NodeSection] = Field(min_length=1, description="In any order.")
    edges: list[EdgeSection] = key([], "In any order.")
    demand: DemandSection = Field(default_factory=DemandSection, description="Of plans.")
