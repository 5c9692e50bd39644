"""Studies of real GPUs: what was measured on them, beside CPUs and published values.

Nothing here is simulated. Rows come from folders that `scripts/gpu-check` leaves, whose results are
stored under docs/measurements/; what such a file calls synthetic stays so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from carillon.config import ConfigError, Problem
from carillon.config.device_profile import Bench, BenchCell
from carillon.errors import InputError, NoDeviceError
from carillon.pool import profile as profiles

BENCH, CHECK = "kernels.json", "check.json"
_CPU_CELLS = {"agora-64x16": "64×16", "hydra-128x32": "128×32", "256x128": "256×128"}
_CPU_GROUP, _CPU_ITERATIONS = 16, 5
_SHAPES = ("64×32", "128×32", "128×64", "256×64", "256×128")  # MegaStation's five
_AGORA_CORES = 60
_GOAL_US = 2.0  # of bench/cuda/latency.hpp
_GOALS = (  # of bench/cuda/measure_goals.cpp and goals.cpp
    ("latency of 128x64 uplink, p99.99", "at most", 0.3, "ms"),
    ("latency of 256x128 uplink, p99.99", "at most", 0.8, "ms"),
    ("end of a kernel seen, p90", "at most", _GOAL_US, "µs"),
    ("host's time for an issue, p90", "at most", _GOAL_US, "µs"),
    ("copies and ingest of 1 MB and more", "at least", 90.0, "% of the bus"),
)
_AIM = "what we aim at, nobody's measurement"
_KINDS = {
    "PilotFft": "P",
    "UplinkFft": "U",
    "EqualizeDemodulate": "U",
    "Decode": "U",
    "Encode": "D",
    "Precode": "D",
    "Ifft": "D",
}


class NotMeasuredError(NoDeviceError):
    """No GPU was measured, and what would do so."""


@dataclass(frozen=True)
class Row:
    """A value, and where it is from. source: published, goal, measured, or synthetic."""

    source: str
    what: str
    measure: str
    value: float
    unit: str
    device: str = ""
    date: str = ""
    driver: str = ""
    clocks: str = ""
    note: str = ""


@dataclass(frozen=True)
class Measurement:
    """A folder that gpu-check left; check: what nvidia-smi said of the device."""

    folder: Path
    bench: Bench
    check: Mapping[str, str]

    def row(self, what: str, measure: str, value: float, unit: str, note: str = "") -> Row:
        """With device, driver, clocks and date."""
        bench = self.bench
        driver = self.check.get("driver_version", "")
        cuda = f"CUDA {bench.driver // 1000}.{bench.driver % 1000 // 10}"
        return Row(
            source=bench.source,
            what=what,
            measure=measure,
            value=value,
            unit=unit,
            device=bench.device,
            date=bench.date,
            driver=f"{driver}, {cuda}" if driver else cuda,
            clocks=f"SM {bench.sm_mhz} MHz, memory {bench.memory_mhz} MHz at most",
            note=note,
        )


@dataclass(frozen=True)
class GpuStudy:
    """beside: published values and CPUs' measurements."""

    name: str
    title: str
    of: Callable[[Measurement], Iterator[Row]]
    beside: Callable[[Sequence[Row]], Iterator[Row]]


def stored() -> Path:
    """docs/measurements of the source tree that this runs from."""
    return Path(__file__).parents[3] / "docs" / "measurements"


def measurements(folder: Path | None) -> list[Measurement]:
    """Of one folder, or of those below docs/measurements; raises ConfigError of a wrong file."""
    if folder is not None and folder.exists() and not folder.is_dir():
        message = "is a file; --from takes the folder that it is in"
        raise ConfigError([Problem(str(folder), 0, "", message)])
    places = [folder] if folder is not None else sorted(stored().glob("*/"))
    return [_measurement(place) for place in places if (place / BENCH).is_file()]


def _measurement(folder: Path) -> Measurement:
    check: Any = {}
    if (folder / CHECK).is_file():
        try:
            check = json.loads((folder / CHECK).read_text(encoding="utf-8"))
        except ValueError as error:
            raise InputError(f"{folder / CHECK}: is not JSON: {error}") from error
    told = check.get("device", {}) if isinstance(check, dict) else {}
    known = {str(key): str(value) for key, value in told.items()} if isinstance(told, dict) else {}
    return Measurement(folder, profiles.read(Bench, folder / BENCH), known)


def how_to_measure(study: GpuStudy, folder: Path | None) -> str:
    """What is missing, and what to do."""
    where = f"{folder} has no {BENCH}" if folder else "docs/measurements has none"
    return (
        f"no GPU was measured ({where}): run `scripts/gpu-check --folder results` on a machine "
        f"with one, then `carillon study {study.name} --from results`"
    )


# --- Stages ---------------------------------------------------------------------------------------


def _stages(measurement: Measurement) -> Iterator[Row]:
    for cell in measurement.bench.cells:
        if (name := _name(cell)).split()[0] != "64×16":
            continue
        schedule = _schedule(cell)
        for opcode in cell.opcodes:
            if opcode.kernels and opcode.us:
                times = schedule.count(_KINDS[opcode.opcode]) if opcode.opcode in _KINDS else 1
                note = f"{times} × {opcode.us:.2f} µs alone" if times > 1 else "alone"
                yield measurement.row(name, opcode.opcode, times * opcode.us, "µs/frame", note)
        if cell.frame_us:
            note = f"frame alone, with its copies; mean of {cell.frame_us.frames}"
            yield measurement.row(name, "frame", cell.frame_us.mean, "µs/frame", note)


def _beside_stages(measured: Sequence[Row]) -> Iterator[Row]:
    note = f"one V100 beside {_AGORA_CORES} cores of Agora, 64×16: figure 13"
    yield _published("64×16", "speed-up over a CPU", 10, "times", note)
    cpu = [row for row in _cpu_rows() if row.what == "64×16 uplink"]
    yield from cpu
    yield from _speed_ups(measured, cpu)


def _speed_ups(measured: Sequence[Row], cpu: Sequence[Row]) -> Iterator[Row]:
    """How many of our CPU's cores do a frame in the time that a GPU takes for it."""
    whole = [row.value for row in cpu if row.measure == "frame"]
    for row in measured:
        if row.what == "64×16 uplink" and row.measure == "frame" and whole:
            note = f"our core-µs of a frame over the GPU's µs; figure 13: 10 × {_AGORA_CORES} cores"
            values = {"measure": "as many of our cores", "value": whole[0] / row.value}
            yield Row(**(vars(row) | values | {"unit": "cores", "note": note}))


def _cpu_rows() -> Iterator[Row]:
    """Of our own kernels on one core: the newest file that has the cell."""
    found: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for file in sorted(stored().glob("*.json")):
        tree = json.loads(file.read_text(encoding="utf-8"))
        for cell in tree.get("cells", []):
            if (cell["group"], cell["iterations"]) == (_CPU_GROUP, _CPU_ITERATIONS):
                found[cell["cell"]] = file.name, cell
    for name, shape in _CPU_CELLS.items():
        if name in found:
            yield from _cpu_cell(shape, name, *found[name])


def _cpu_cell(shape: str, name: str, file: str, cell: Mapping[str, Any]) -> Iterator[Row]:
    machine = cell["machine"]
    device = f"one core, {machine['cpu']}, {machine['isa']}"
    times = {op: stage["us_per_frame"] for op, stage in cell["stages"].items()}
    times["frame"] = cell["us_per_frame"]
    for measure, value in times.items():
        note = f"{name}, from memory: {file}"
        yield Row(
            "measured", f"{shape} uplink", measure, value, "core-µs/frame", device,
            cell["date"][:10], note=note,
        )  # fmt: skip


# --- Shapes ---------------------------------------------------------------------------------------


def _shapes(measurement: Measurement) -> Iterator[Row]:
    for cell in measurement.bench.cells:
        name, frame = _name(cell), cell.frame_us
        if frame is None or name.split()[0] not in _SHAPES:
            continue
        note = f"{frame.frames} frames alone, samples all there, with copies"
        yield measurement.row(name, "mean", frame.mean / 1e3, "ms", note)
        yield measurement.row(name, "p99", frame.p99 / 1e3, "ms", note)
        if frame.p9999 is not None:
            yield measurement.row(name, "p99.99", frame.p9999 / 1e3, "ms", note)


def _beside_shapes(measured: Sequence[Row]) -> Iterator[Row]:
    note = "four A100, from the frame's start on air (1 ms): §5.2, the least and the most of five"
    for way, most in (("uplink", 3.6), ("downlink", 3.5)):
        yield _published(f"five shapes, {way}, least", "p99.99", 1.2, "ms", note)
        yield _published(f"five shapes, {way}, most", "p99.99", most, "ms", note)
    for row in _cpu_rows():
        if row.measure == "frame" and row.what.split()[0] in _SHAPES:
            values = {"measure": "mean", "value": row.value / 1e3, "unit": "core-ms/frame"}
            yield Row(**(vars(row) | values))


# --- Partitions and load --------------------------------------------------------------------------


def _partitions(measurement: Measurement) -> Iterator[Row]:
    """Frames on part of the device: rows that name a frame and, after a comma, on what.

    Those with copies are a pool's executor's, of which some are divided between partitions.
    """
    for row in measurement.bench.rows:
        name, _, what = row.kernel.partition(", ")
        if "frame" not in name or not what or row.us == 0:
            continue
        note = f"{row.us / row.peer_us:.2f} × {row.peer}" if row.peer_us else ""
        yield measurement.row(f"{row.shape} {name}", what, row.us, "µs/frame", note)


def _beside_partitions(measured: Sequence[Row]) -> Iterator[Row]:
    note = "128×32, half of an A100's SMs taken by spinning threads: §3.2, figure 4"
    yield _published("128×32", "frame takes longer, at most", 7.3, "%", note)
    note = "of SMs: below that, performance drops significantly: §3.2"
    yield _published("128×32", "least free", 20, "%", note)
    note = "frames/s on two A100 with half of the SMs each, over those of one: §3.3, figure 5"
    for policy, up, down in (("frame-level", 34.1, 30.6), ("task-level", -48.2, -52.2)):
        yield _published("128×32 uplink, divided", f"more with {policy}", up, "%", note)
        yield _published("128×32 downlink, divided", f"more with {policy}", down, "%", note)


# --- Ingest ---------------------------------------------------------------------------------------


def _ingest(measurement: Measurement) -> Iterator[Row]:
    for cell in measurement.bench.cells:
        load = next((one for one in cell.opcodes if one.opcode == "Load"), None)
        if load is None or load.us == 0 or "U" not in _schedule(cell):
            continue
        schedule = _schedule(cell)
        symbols = schedule.count("P") + schedule.count("U")
        rate, name = load.bytes / load.us / 1e3, _name(cell)
        note = "a symbol's samples from pinned host memory"
        yield measurement.row(name, "into the GPU", rate, "GB/s", note)
        note = f"{symbols * load.bytes / 1e6:.1f} MB"
        yield measurement.row(name, "a frame's samples", symbols * load.us, "µs", note)


def _beside_ingest(measured: Sequence[Row]) -> Iterator[Row]:
    for platform, staged, direct in (("1, take 2", 3219, 4677), ("2", 2079, 3035)):
        note = "samples of an SDR card, GPUDirect + SDR"
        what = f"platform {platform}"
        yield _published(what, "through the host's memory", staged / 1e3, "GB/s", note)
        yield _published(what, "straight into the GPU", direct / 1e3, "GB/s", note)


# --- Completion and launches ----------------------------------------------------------------------


def _completion(measurement: Measurement) -> Iterator[Row]:
    for row in measurement.bench.completion.rows:
        unit = "µs/symbol" if "symbol" in row.what else "µs"
        error = f", each ± {row.error_us:.2f}" if row.error_us else ""
        note = f"p90 of {row.samples}; p50 {row.p50_us:.2f}, p99 {row.p99_us:.2f}{error}"
        if row.goal_us:
            note += f"; goal of {row.goal_us:g} µs {row.verdict}"
        if row.note:
            note += f"; {row.note}"
        yield measurement.row(row.what, row.how, row.p90_us, unit, note)


def _beside_completion(measured: Sequence[Row]) -> Iterator[Row]:
    for what in ("end of a kernel seen", "host's time for an issue"):
        yield Row("goal", what, "at most", _GOAL_US, "µs", note=f"for 9 of 10; {_AIM}")


# --- Goals ----------------------------------------------------------------------------------------


def _goals(measurement: Measurement) -> Iterator[Row]:
    """Every goal with its verdict, and figures; of what could not be measured the goal itself."""
    for goal in measurement.bench.goals:
        aim = f"goal at {'least' if goal.at_least else 'most'} {goal.goal:g}" if goal.goal else ""
        error = f"± {goal.error:.2g}" if goal.error else ""
        note = "; ".join(part for part in (aim, error, goal.note) if part)
        if goal.value is not None:
            yield measurement.row(goal.what, goal.verdict or "figure", goal.value, goal.unit, note)
        elif goal.goal:
            row = measurement.row(goal.what, goal.verdict, goal.goal, goal.unit, note)
            yield replace(row, source="goal")


def _beside_goals(measured: Sequence[Row]) -> Iterator[Row]:
    for what, measure, value, unit in _GOALS:
        yield Row("goal", what, measure, value, unit, note=_AIM)


# --------------------------------------------------------------------------------------------------


def _published(what: str, measure: str, value: float, unit: str, note: str) -> Row:
    return Row("published", what, measure, value, unit, note=note)


def _cell(cell: BenchCell) -> Mapping[str, str]:
    return profiles.keys_of(cell.format)


def _schedule(cell: BenchCell) -> str:
    return _cell(cell).get("cell.schedule", "")


def _name(cell: BenchCell) -> str:
    return profiles.name_of(_cell(cell))


GPU_STUDIES = {
    study.name: study
    for study in (
        GpuStudy(
            "gpu-stages",
            "a frame's stages on a GPU and on a CPU core, 64×16: MegaStation's figure 13",
            _stages,
            _beside_stages,
        ),
        GpuStudy(
            "gpu-shapes",
            "frames of MegaStation's five shapes on a GPU",
            _shapes,
            _beside_shapes,
        ),
        GpuStudy(
            "gpu-partitions",
            "frames on parts of a GPU, and beside somebody else's work",
            _partitions,
            _beside_partitions,
        ),
        GpuStudy(
            "gpu-ingest",
            "samples into a GPU's memory",
            _ingest,
            _beside_ingest,
        ),
        GpuStudy(
            "gpu-completion",
            "how soon the host sees the end of a kernel, and what launches cost it",
            _completion,
            _beside_completion,
        ),
        GpuStudy(
            "gpu-goals",
            "what we aim at on a GPU, and what was measured of it",
            _goals,
            _beside_goals,
        ),
    )
}
