"""`carillon study gpu-*`: only what a file says was measured is called so. All here is made up."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import synthetic_gpu as gpu
from carillon.studies import gpu as studies
from test_cli import call

NAMES = (
    "gpu-stages",
    "gpu-shapes",
    "gpu-partitions",
    "gpu-ingest",
    "gpu-completion",
    "gpu-goals",
)
SEEN = {"what": "end of a kernel seen", "how": "by cudaEventQuery", "samples": 1000}
CHAIN = {"what": "device's time for a symbol", "how": "12 kernels of 2 µs, one by one"}
COMPLETION: list[dict[str, Any]] = [
    SEEN
    | {"p50_us": 1.1, "p90_us": 1.6, "p99_us": 2.4, "error_us": 0.7, "goal_us": 2}
    | {"verdict": "too close to tell", "note": ""},
    CHAIN
    | {"samples": 50, "p50_us": 36.0, "p90_us": 37.0, "p99_us": 40.0}
    | {"note": "1.40 × a graph of the frame; launches dominate"},
]
MET = {"what": "latency of 128x64 uplink, p99.99", "value": 0.25, "unit": "ms", "goal": 0.3}
UNKNOWN = {"what": "ingest by pinned-copy, 1 MiB", "value": None, "unit": "% of the bus"}
GOALS: list[dict[str, Any]] = [
    MET | {"error": 0, "at_least": False, "verdict": "met", "note": "of 20000 frames"},
    {"what": "cells sustained", "value": 3, "unit": "cells", "goal": 0, "verdict": ""},
]
FRAMES = [
    {"kernel": "uplink frame", "shape": "64x16, 10 launches", "us": 50.0},
    {"kernel": "uplink frame, 4 partitions of 32 SMs of 132", "shape": "128x32", "us": 80.0}
    | {"peer": "whole card", "peer_us": 40.0},
    {"kernel": "uplink frame, beside 8 GEMMs", "shape": "128x32", "us": 0.0},
    {"kernel": "uplink frame with its copies, 2 × 64 SMs of 132, adaptive", "us": 450.0}
    | {"shape": "128x32", "peer": "in one partition", "peer_us": 500.0},
]


def results(folder: Path, **other: Any) -> Path:
    """A folder as gpu-check leaves one, of a synthetic device."""
    cells = [gpu.cell("64x16-uplink", 300.0), gpu.cell("128x32-uplink", 700.0)]
    measured = {"rows": FRAMES, "completion": {"rows": COMPLETION}, "goals": GOALS}
    gpu.write(folder / "kernels.json", gpu.bench(*cells) | measured | other)
    told = {"device": {"name": gpu.NAME, "driver_version": "580.0"}}
    gpu.write(folder / "check.json", told)
    return folder


def made(name: str, folder: Path, source: Path) -> list[dict[str, str]]:
    """The rows of study.csv."""
    result = call("study", name, "--from", source, "--folder", folder)
    assert result.returncode == 0, result.stdout + result.stderr
    assert (folder / "study.png").is_file()
    with (folder / "study.csv").open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("name", NAMES)
def test_without_a_measurement_a_study_says_what_to_run(name: str, tmp_path: Path) -> None:
    result = call("study", name, "--from", tmp_path, "--folder", tmp_path / "out")
    assert result.returncode == 77
    assert f"no GPU was measured ({tmp_path} has no kernels.json)" in result.stderr
    assert f"`carillon study {name} --from results`" in result.stderr
    rows = json.loads((tmp_path / "out" / "study.json").read_text())["rows"]
    assert rows
    assert all(
        row["source"] in ("published", "goal") or "one core" in row["device"] for row in rows
    )


@pytest.mark.parametrize("name", NAMES)
def test_what_is_synthetic_is_never_called_measured(name: str, tmp_path: Path) -> None:
    rows = made(name, tmp_path / "out", results(tmp_path / "in"))
    own = [row for row in rows if row["device"] == gpu.NAME]
    assert own
    assert {row["source"] for row in own} == {"synthetic"}
    for row in own:
        assert (row["date"], row["driver"]) == ("2026-01-01", "580.0, CUDA 13.0")
        assert row["clocks"] == "SM 1980 MHz, memory 3201 MHz at most"


def test_stages_are_of_the_whole_frame_beside_the_cpus(tmp_path: Path) -> None:
    rows = made("gpu-stages", tmp_path / "out", results(tmp_path / "in"))
    own = {row["measure"]: row for row in rows if row["device"] == gpu.NAME}
    assert float(own["Decode"]["value"]) == pytest.approx(13 * gpu.TIMES["Decode"])
    assert float(own["ZeroForce"]["value"]) == pytest.approx(gpu.TIMES["ZeroForce"])
    assert float(own["frame"]["value"]) == 300.0
    cpu = {row["measure"]: row for row in rows if "one core" in row["device"]}
    assert cpu["Decode"]["source"] == "measured"
    cores = float(cpu["frame"]["value"]) / 300
    assert float(own["as many of our cores"]["value"]) == pytest.approx(cores)
    (published,) = [row for row in rows if row["source"] == "published"]
    assert (published["value"], published["unit"]) == ("10", "times")


def test_shapes_are_megastations_five(tmp_path: Path) -> None:
    rows = made("gpu-shapes", tmp_path / "out", results(tmp_path / "in"))
    own = [(row["what"], row["measure"]) for row in rows if row["device"] == gpu.NAME]
    assert own == [("128×32 uplink", "mean"), ("128×32 uplink", "p99")]  # too few for p99.99


def test_partitions_are_the_rows_that_say_on_what(tmp_path: Path) -> None:
    rows = made("gpu-partitions", tmp_path / "out", results(tmp_path / "in"))
    own = [row for row in rows if row["device"] == gpu.NAME]
    assert [(row["what"], row["measure"]) for row in own] == [  # one failed
        ("128x32 uplink frame", "4 partitions of 32 SMs of 132"),
        ("128x32 uplink frame with its copies", "2 × 64 SMs of 132, adaptive"),
    ]
    assert [row["note"] for row in own] == ["2.00 × whole card", "0.90 × in one partition"]


def test_ingest_is_the_rate_of_copies(tmp_path: Path) -> None:
    rows = made("gpu-ingest", tmp_path / "out", results(tmp_path / "in"))
    rates = [row for row in rows if row["unit"] == "GB/s" and row["device"] == gpu.NAME]
    assert [float(row["value"]) for row in rates] == pytest.approx([gpu.LINK] * 2)


def test_completion_is_told_with_error_and_verdict(tmp_path: Path) -> None:
    rows = made("gpu-completion", tmp_path / "out", results(tmp_path / "in"))
    seen, chain = [row for row in rows if row["device"] == gpu.NAME]
    assert (seen["measure"], seen["value"], seen["unit"]) == ("by cudaEventQuery", "1.6", "µs")
    assert seen["note"] == (
        "p90 of 1000; p50 1.10, p99 2.40, each ± 0.70; goal of 2 µs too close to tell"
    )
    assert (chain["value"], chain["unit"]) == ("37.0", "µs/symbol")
    assert chain["note"].endswith("; 1.40 × a graph of the frame; launches dominate")
    goals = [row for row in rows if row["source"] == "goal"]
    assert [row["value"] for row in goals] == ["2.0", "2.0"]


def test_goals_are_told_with_their_verdicts(tmp_path: Path) -> None:
    rows = made("gpu-goals", tmp_path / "out", results(tmp_path / "in"))
    met, figure = [row for row in rows if row["device"] == gpu.NAME]
    assert (met["measure"], met["value"], met["unit"]) == ("met", "0.25", "ms")
    assert met["note"] == "goal at most 0.3; of 20000 frames"
    assert (figure["measure"], figure["value"], figure["note"]) == ("figure", "3.0", "")
    goals = {row["what"]: float(row["value"]) for row in rows if row["source"] == "goal"}
    assert goals[met["what"]] == 0.3


def test_of_a_goal_that_was_not_measured_only_the_goal_is_shown(tmp_path: Path) -> None:
    unknown = UNKNOWN | {"goal": 90, "at_least": True, "verdict": "not measured", "note": "why"}
    figure = UNKNOWN | {"goal": 0}
    source = results(tmp_path / "in", goals=[unknown, figure])
    rows = made("gpu-goals", tmp_path / "out", source)
    (own,) = [row for row in rows if row["device"] == gpu.NAME]
    assert (own["source"], own["measure"], own["value"]) == ("goal", "not measured", "90.0")
    assert own["note"] == "goal at least 90; why"


def test_a_verdict_that_there_is_not_is_told(tmp_path: Path) -> None:
    wrong = {"completion": {"rows": [COMPLETION[0] | {"verdict": "nearly"}]}}
    source = results(tmp_path / "in", **wrong)
    result = call("study", "gpu-completion", "--from", source, "--folder", tmp_path / "out")
    assert result.returncode == 2
    assert "completion.rows[0].verdict is 'nearly' but must be met, missed" in result.stderr


def test_a_measurement_without_what_a_study_needs_is_told(tmp_path: Path) -> None:
    source = results(tmp_path / "in", rows=[])
    result = call("study", "gpu-partitions", "--from", source, "--folder", tmp_path / "out")
    assert result.returncode == 77
    assert "nothing of gpu-partitions is there" in result.stderr


def test_a_wrong_file_is_told_with_its_key(tmp_path: Path) -> None:
    source = results(tmp_path / "in", sms="many")
    result = call("study", "gpu-stages", "--from", source, "--folder", tmp_path / "out")
    assert result.returncode == 2
    assert "kernels.json: sms is 'many' but must be" in result.stderr


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    file = results(tmp_path) / "kernels.json"
    result = call("study", "gpu-stages", "--from", file, "--folder", tmp_path / "out")
    assert result.returncode == 2
    assert f"{file}: is a file; --from takes the folder that it is in" in result.stderr


def test_only_gpu_studies_read_a_measurement(tmp_path: Path) -> None:
    result = call("study", "megastation-8", "--from", tmp_path)
    assert result.returncode != 0
    assert "megastation-8 has no --from" in result.stderr


def test_what_is_stored_says_that_it_was_measured() -> None:
    for one in studies.measurements(None):
        assert one.bench.source == "measured", one.folder
