"""GNU Radio and Carillon beside each other, in the same minutes: by turns, and the best of each.

    python bench/gnuradio/beside.py --seconds 5 --turns 3

Six filters of 64 taps in series, as fast as they go, on one core and on all; and the receiver of
narrowband FM at 240 000 samples a second, as each runs it by itself, and in batches of 1 ms. GNU
Radio's latencies are of all samples, Carillon's of the oldest sample of each job. Writes JSON to
standard output and a table to standard error.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from carillon.flowgraph.grc import runs
from carillon.flowgraph.grc.blocks import flow_of
from carillon.flowgraph.grc.command import example
from carillon.flowgraph.grc.latency import seen

SPEED = Path(__file__).with_name("speed.py")
FILTERS = ("fir_filter_ccf", "fft_filter_ccf")
IN_SERIES = 6
TAPS = [(place + 1) / 4096 for place in range(64)]  # as in speed.py
BATCH = 4096  # samples of a job, where nothing is due
OF_A_MS = 240  # samples of the receiver
IN_A_MS = "batches of 1 ms"
PLAN_OF_A_MS = ("--method", "rate-exploiting", "--latency", "1.99ms")  # 220


@dataclass(frozen=True)
class Throughput:
    """Of the chain of filters."""

    of: str
    cores: int
    msps: float
    cpu_ns_per_sample: float


@dataclass(frozen=True)
class Pace:
    """Of the paced receiver; latencies from a sample's due time."""

    of: str
    cores_used: float
    p50_ms: float
    p99_ms: float
    max_ms: float


def gnuradio_throughput(kind: str, cores: int, seconds: float) -> Throughput:
    """Of GNU Radio's filter of that kind."""
    found = _speed("chain", "--filter", kind, "--cores", str(cores), "--seconds", str(seconds))
    return Throughput(f"GNU Radio {kind}", cores, found["msps"], found["cpu_ns_per_sample"])


def gnuradio_pace(program: Path, seconds: float, most: int | None = None) -> Pace:
    """Of the receiver with GNU Radio's own settings, or at most so many samples at a time."""
    words = ["--most", str(most)] if most else []
    found = _speed("receiver", str(program), "--seconds", str(seconds), *words)
    own = seen(flow_of("nbfm", found), found)
    of = f"GNU Radio, {IN_A_MS}" if most else "GNU Radio"
    return _pace(of, own.all_cores, (own.quantile_ns(q) for q in (0.5, 0.99, 1.0)))


def carillon_throughput(result: Mapping[str, Any], cores: int) -> Throughput:
    """Of `carillon flowgraph run --fast --json`, of a chain that makes one sample of one."""
    samples = result["nodes"][-1]["executions"]
    cpu_ns = sum(result["worker_cpu"]) * result["seconds"] * 1e9
    msps = samples / result["seconds"] / 1e6
    return Throughput("Carillon", cores, msps, cpu_ns / samples)


def carillon_pace(result: Mapping[str, Any], of: str = "Carillon") -> Pace:
    """Of `carillon flowgraph run --json`; of its sinks the one that is latest."""
    sink = max(result["sinks"], key=lambda each: float(each["longest_ns"]))
    times = (float(sink[name]) for name in ("p50_ns", "p99_ns", "longest_ns"))
    return _pace(of, sum(result["worker_cpu"]), times)


def _pace(of: str, cores: float, times_ns: Iterator[float]) -> Pace:
    p50, p99, longest = (ns / 1e6 for ns in times_ns)
    return Pace(of, cores, p50, p99, longest)


def chain() -> dict[str, Any]:
    """The filters as Carillon's graph, in YAML's subset JSON."""
    names = ["source", *(f"filter-{place + 1}" for place in range(IN_SERIES)), "sink"]
    block = {"type": "fir", "taps": TAPS}
    nodes: list[dict[str, Any]] = [{"name": name, "block": block} for name in names]
    nodes[0] |= {"rate_hz": 1e6, "block": {"type": "null-source"}}
    nodes[-1] |= {"block": {"type": "null-sink"}}
    edges = [{"from": a, "to": b} for a, b in pairwise(names)]
    return {"name": "six-filters", "nodes": nodes, "edges": edges}


def _speed(*words: str) -> dict[str, Any]:
    return _json([runs.python(), str(SPEED), *words])


def _json(words: Sequence[str]) -> dict[str, Any]:
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode not in (0, 3):  # 3: a bound did not hold
        sys.exit(f"{' '.join(words)}: {done.stderr.strip()}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _turn(asked: argparse.Namespace, folder: Path) -> Iterator[Throughput | Pace]:
    """Each measurement once."""
    graph = folder / "six-filters.yaml"
    graph.write_text(json.dumps(chain()), encoding="utf-8")
    ours = [*asked.carillon.split(), "flowgraph", "run", "--folder", str(folder / "run"), "--json"]
    for cores in sorted({1, len(os.sched_getaffinity(0))}):
        for kind in FILTERS:
            yield gnuradio_throughput(kind, cores, asked.seconds)
        if asked.carillon:
            words = ["--fast", "--ordinary", "--batch", str(BATCH), "--cores", str(cores)]
            samples = f"--seconds={asked.seconds * 20}"  # of 1 Msps: some seconds' work
            yield carillon_throughput(_json([*ours, str(graph), *words, samples]), cores)
    program = runs.compiled(example("nbfm"), folder)
    yield gnuradio_pace(program, asked.seconds)
    yield gnuradio_pace(program, asked.seconds, OF_A_MS)
    if asked.carillon:
        words = ["nbfm", "--seconds", str(asked.seconds)]
        yield carillon_pace(_json([*ours, *words, "--latency", asked.latency]))
        yield carillon_pace(_json([*ours, *words, *PLAN_OF_A_MS]), f"Carillon, {IN_A_MS}")


def best(found: Sequence[Throughput | Pace]) -> list[Throughput | Pace]:
    """The fastest of each throughput, and of each pace the one with the least p99."""
    kept: dict[tuple[str, int], Throughput | Pace] = {}
    for each in found:
        key = (each.of, each.cores if isinstance(each, Throughput) else 0)
        known = kept.get(key)
        if known is None or _merit(each) > _merit(known):
            kept[key] = each
    return list(kept.values())


def _merit(each: Throughput | Pace) -> float:
    return each.msps if isinstance(each, Throughput) else -each.p99_ms


def _tell(found: Sequence[Throughput | Pace]) -> None:
    for each in found:
        if isinstance(each, Throughput):
            words = f"{each.msps:8.2f} Msps  {each.cpu_ns_per_sample:8.1f} ns of CPU a sample"
            print(f"{each.of:26} {each.cores} cores  {words}", file=sys.stderr)
        else:
            words = f"{each.cores_used:8.4f} cores used  p50 {each.p50_ms:7.3f} ms"
            words += f"  p99 {each.p99_ms:7.3f} ms  max {each.max_ms:7.3f} ms"
            print(f"{each.of:26} receiver  {words}", file=sys.stderr)


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=5.0, help="of each measurement")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--latency", default="20ms", help="that Carillon's receiver keeps")
    parser.add_argument("--carillon", default="carillon", help="the program; '': not measured")
    asked = parser.parse_args()
    found: list[Throughput | Pace] = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(asked.turns):
            found += _turn(asked, Path(folder))
    kept = best(found)
    _tell(kept)
    json.dump([asdict(each) for each in kept], sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
