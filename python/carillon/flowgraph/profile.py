"""What the blocks of a graph cost on this machine, and the line I + N·Δ through it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from carillon import core, runfolder
from carillon.errors import InputError
from carillon.flowgraph.blocks import Block
from carillon.flowgraph.costs import Costs, Measured, NodeCosts
from carillon.flowgraph.graph import Graph
from carillon.flowgraph.wiring import rate_of

Setting = Literal["warm", "cold", "in-place"]
SETTINGS: tuple[Setting, ...] = ("warm", "cold", "in-place")
BATCHES = (1, 4, 16, 64, 256, 1024, 4096)
# Blocks that gnuradio_blocks.py knows.
THEIRS = (
    "rotator", "fir", "multiply", "add", "quadrature-demodulator", "squelch", "deemphasis",
)  # fmt: skip
_RESAMPLES = 200
_SYSTEM_PYTHON = "/usr/bin/python3"  # Debian's GNU Radio is a module of it

Values = NDArray[np.float64]
Raw = dict[tuple[str, Setting, int], Values]  # ns of jobs, by node, setting and batch


@dataclass(frozen=True)
class Point:
    """A node's batches of one size. Times in ns of a batch."""

    node: str
    of: str  # "carillon" or "gnuradio"
    setting: Setting
    batch: int
    median_ns: float
    mean_ns: float
    quantile_ns: float
    count: int


@dataclass(frozen=True)
class Line:
    """I + N·Δ through medians, by least squares of relative errors; intervals of 95 %."""

    node: str
    of: str
    setting: Setting
    initial_ns: float
    each_ns: float
    initial_interval: tuple[float, float] | None
    each_interval: tuple[float, float] | None
    residual: float  # the largest, as a share of what was measured


@dataclass(frozen=True)
class Profile:
    """Everything that was measured of a graph's blocks."""

    graph: str
    quantile: float
    machine: str
    points: list[Point]
    lines: list[Line]
    costs: Costs
    whole: bool = True  # not interrupted

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "graph": self.graph,
            "quantile": self.quantile,
            "machine": self.machine,
            "points": [asdict(point) for point in self.points],
            "lines": [asdict(line) for line in self.lines],
        }


def measurable(graph: Graph) -> dict[str, core.Block]:
    """Blocks by their nodes' names, but for those that wait for a file or a device; InputError if
    there are none."""
    graph.check(with_costs=False)
    found = {}
    for node, rate in zip(graph.nodes, graph.rates_hz, strict=True):
        if node.block is not None and not (shape := node.block.shape).has_device:
            found[node.name] = node.block.made(rate_of(shape, float(rate)))
    if not found:
        raise InputError(
            f"{graph.name}: no node has a block that can be measured; give them one, as in nbfm"
        )
    return found


def steps(graph: Graph, *, with_gnuradio: bool) -> int:
    """How many points there will be."""
    own = len(measurable(graph)) * len(SETTINGS)
    return (own + (len(_theirs(graph)) if with_gnuradio else 0)) * len(BATCHES)


def measure(
    graph: Graph, seconds: float, step: Callable[[], None], *, with_gnuradio: bool
) -> Profile:
    """Each size for `seconds` in each setting; `step` after each. When that raises
    KeyboardInterrupt it ends, with the blocks that it has measured; if there are none, it raises,
    too."""
    raw, whole = _measured_blocks(measurable(graph), seconds, step)
    measured = {name for name, _, _ in raw}
    blocks = {node.name: node.block for node in graph.nodes if node.name in measured}
    points = [
        Point(
            name,
            "carillon",
            setting,
            batch,
            float(np.median(values)),
            float(np.mean(values)),
            float(np.quantile(values, graph.quantile)),
            len(values),
        )
        for (name, setting, batch), values in raw.items()
    ]
    lines = [
        _line(name, setting, {batch: raw[name, setting, batch] for batch in BATCHES})
        for name in blocks
        for setting in SETTINGS
    ]
    if with_gnuradio and whole:
        theirs, whole = _their_points(graph, seconds, step)
        points += theirs
        lines += [_their_line(name, theirs) for name in dict.fromkeys(p.node for p in theirs)]
    machine = f"{runfolder.cpu_model()}, {core.active_isa()}"
    costs = Costs(
        machine=machine,
        quantile=shown(graph.quantile, points),
        nodes={name: _costs(name, block, points) for name, block in blocks.items()},
    )
    return Profile(graph.name, graph.quantile, machine, points, lines, costs, whole)


def _measured_blocks(
    blocks: Mapping[str, core.Block], seconds: float, step: Callable[[], None]
) -> tuple[Raw, bool]:
    """What was measured of whole blocks, and whether that is all."""
    raw: Raw = {}
    for name, block in blocks.items():
        own: Raw = {}
        try:
            for setting in SETTINGS:
                for batch in BATCHES:
                    own[name, setting, batch] = np.asarray(block.profile(batch, setting, seconds))
                    step()
        except KeyboardInterrupt:
            if not raw:
                raise
            return raw, False
        raw |= own
    return raw, True


def _their_points(
    graph: Graph, seconds: float, step: Callable[[], None]
) -> tuple[list[Point], bool]:
    """Of GNU Radio's blocks, as far as they are whole, and whether these are all."""
    found: list[Point] = []
    try:
        found.extend(_gnuradio(graph, seconds, step))
    except KeyboardInterrupt:
        counts = Counter(point.node for point in found)
        return [point for point in found if counts[point.node] == len(BATCHES)], False
    return found, True


def fit(batches: Sequence[int], ns: Values) -> tuple[float, float]:
    """I and Δ, neither negative, of least squares of relative errors."""
    n = np.asarray(batches, dtype=float)
    weight = 1 / np.maximum(ns, 1.0)
    (initial, each), *_ = np.linalg.lstsq(
        np.stack([weight, n * weight], axis=1), ns * weight, rcond=None
    )
    if initial < 0:
        return 0.0, float(np.sum(n * ns * weight**2) / np.sum((n * weight) ** 2))
    if each < 0:
        return float(np.sum(ns * weight**2) / np.sum(weight**2)), 0.0
    return float(initial), float(each)


def residual(batches: Sequence[int], ns: Values, initial: float, each: float) -> float:
    """The largest error of a line, as a share of what was measured."""
    line = initial + each * np.asarray(batches)
    return float(np.max(np.abs(line - ns) / np.maximum(ns, 1.0)))


def _line(name: str, setting: Setting, raw: dict[int, Values]) -> Line:
    batches = list(raw)
    medians = np.array([np.median(values) for values in raw.values()])
    initial, each = fit(batches, medians)
    random = np.random.default_rng(1)
    drawn = np.array(
        [
            fit(
                batches,
                np.array([np.median(random.choice(v, min(len(v), 500))) for v in raw.values()]),
            )
            for _ in range(_RESAMPLES)
        ]
    )
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return Line(
        name,
        "carillon",
        setting,
        initial,
        each,
        (float(low[0]), float(high[0])),
        (float(low[1]), float(high[1])),
        residual(batches, medians, initial, each),
    )


def _their_line(name: str, points: Sequence[Point]) -> Line:
    own = [point for point in points if point.node == name]
    batches, means = [point.batch for point in own], np.array([point.mean_ns for point in own])
    initial, each = fit(batches, means)
    error = residual(batches, means, initial, each)
    return Line(name, "gnuradio", "in-place", initial, each, None, None, error)


def _costs(name: str, block: Block | None, points: Sequence[Point]) -> NodeCosts:
    own = [p for p in points if (p.node, p.of, p.setting) == (name, "carillon", "in-place")]
    batches = [point.batch for point in own]
    return NodeCosts(
        cost=_measured(batches, [point.quantile_ns for point in own]),
        mean_cost=_measured(batches, [min(point.mean_ns, point.quantile_ns) for point in own]),
        block=None if block is None else block.work,
    )


def _measured(batches: Sequence[int], ns: Sequence[float]) -> Measured:
    """From size to size through what was measured, and never less for a larger batch; beyond the
    last size each execution costs what it does there on an average."""
    rising = np.maximum.accumulate(ns)
    slopes = np.diff(rising) / np.diff(batches)
    pieces = [(batch + 1, float(slope)) for batch, slope in zip(batches, slopes, strict=False)]
    pieces.append((batches[-1] + 1, float(rising[-1] / batches[-1])))
    first = float(rising[0])
    if slopes[0] > first:  # of a batch of one, nothing is an initial cost
        return Measured(initial_ns=0, each_ns=first, pieces=pieces)
    each = float(slopes[0])
    return Measured(initial_ns=first - each, each_ns=each, pieces=pieces[1:])


def shown(quantile: float, points: Sequence[Point]) -> float:
    """The quantile that so many batches of each size can show: one of them takes longer."""
    fewest = min(p.count for p in points if (p.of, p.setting) == ("carillon", "in-place"))
    return min(quantile, max(0.5, 1 - 1 / fewest))


def gnuradio_python() -> str | None:
    """The Python that has GNU Radio; nothing if there is none."""
    python = shutil.which(_SYSTEM_PYTHON)
    if python is None:
        return None
    done = subprocess.run(
        [python, "-c", "import gnuradio.blocks, gnuradio.analog, gnuradio.filter"],
        capture_output=True,
        check=False,
        timeout=60,
    )
    return python if done.returncode == 0 else None


def _theirs(graph: Graph) -> dict[str, dict[str, Any]]:
    """What gnuradio_blocks.py is to make, by nodes: blocks that it knows."""
    found: dict[str, dict[str, Any]] = {}
    for node in graph.nodes:
        if node.block is None or node.block.type not in THEIRS:
            continue
        taps = node.block.values.get("taps", [])
        found[node.name] = {
            "type": node.block.type,
            "samples": node.block.values.get("samples", "complex"),
            "complex_taps": node.block.values.get("complex_taps", False),
            "decimation": node.block.values.get("decimation", 1),
            "taps": taps["count"] if isinstance(taps, dict) else len(taps),
        }
    return found


def _gnuradio(graph: Graph, seconds: float, step: Callable[[], None]) -> Iterator[Point]:
    """The same blocks of GNU Radio: CPU time of the block's thread for each batch."""
    python = gnuradio_python()
    assert python is not None
    asked = {"blocks": _theirs(graph), "batches": BATCHES, "seconds": max(seconds, 0.2)}
    script = Path(__file__).with_name("gnuradio_blocks.py")
    with subprocess.Popen(
        [python, str(script), json.dumps(asked)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                found = json.loads(line)
                step()
                if found["cpu_ns"] is not None:
                    ns = float(found["cpu_ns"])
                    yield Point(
                        found["node"], "gnuradio", "in-place", found["batch"], ns, ns, ns, 1
                    )
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        raise InputError(f"{python}: GNU Radio's blocks could not be measured")
