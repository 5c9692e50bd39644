"""`carillon study`: points from either source, beside what was published."""

import csv
import json
import math
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from carillon import core
from carillon.config import Cell
from carillon.models import CostError, Latency, Workload, thesis
from carillon.models.allocation import Goal
from carillon.plots.study import picture
from carillon.studies import STUDIES, Model, Request, VirtualTime, collect, read_preset, scheduling
from carillon.studies.bottlenecks import EXPERIMENTS
from carillon.studies.gpu import GPU_STUDIES
from carillon.studies.megastation import FIGURES
from carillon.studies.millipede import ANTENNAS, COSTS
from carillon.studies.presets import recorded, thesis_preset
from hang import HANG_S

PRESETS = {"thesis": thesis_preset((8,), ideal=False), "ours": read_preset()}


def carillon(*words: str) -> list[str]:
    return [sys.executable, "-m", "carillon", "study", *words]


REQUEST = Request("thesis", "core-groups", 8, 15)

# --- Studies --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Inverse:
    """Latencies that follow from the request alone, in place of a model."""

    name: str = "model"
    knows: frozenset[str] = frozenset(COSTS)

    def point(self, request: Request) -> Latency | None:
        if request.cores < 3:
            return None
        done = 5.0 + request.antennas / request.cores
        return Latency(5.0, 0.0, 0.5, 0.5 + 20 / request.cores, done, done - 4)


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_has_a_point_for_every_published_value(name: str) -> None:
    chosen = STUDIES[name]
    requests = chosen.ask(30)
    rows = [row for found in collect(chosen, Inverse(), requests, 2) for row in found]
    rows += chosen.closing(rows, dict.fromkeys(COSTS, PRESETS["thesis"]))
    known = {(row.policy, row.antennas, row.cores, row.measure) for row in rows}
    assert all(row.source == "model" for row in rows)
    for said in chosen.published:
        assert said.source == "published"
        assert said.note
        assert (said.policy, said.antennas, said.cores, said.measure) in known
    assert len({(r.costs, r.note, r.policy, r.antennas, r.cores, r.measure) for r in rows}) == len(
        rows
    )


def test_cores_needed_are_the_first_within_100_us() -> None:
    chosen = STUDIES["millipede-5.1"]
    requests = [Request("thesis", "earliest-frame", 2, cores) for cores in range(1, 31)]
    rows = [row for r in requests for row in chosen.read(r, Inverse().point(r), "model")]
    (needed,) = chosen.closing(rows, {})
    assert needed.value == 21  # 5 + 2 / 21 < 5.1
    (none,) = chosen.closing(rows[:15], {})
    assert (none.value, none.note) == (None, "more than 15")


def test_a_downlink_that_is_given_up_has_no_rate() -> None:
    given_up = Latency(5.0, 0.07, 0.6, 4.9, math.nan, math.nan)
    rows = STUDIES["millipede-5.2"].read(REQUEST, given_up, "virtual")
    assert [row.value for row in rows] == [None, None, None]


def test_the_plot_labels_model_and_published_values() -> None:
    chosen = STUDIES["millipede-5.4"]
    requests = [r for r in chosen.ask(16) if r.costs == "thesis" and r.cores > 13]
    rows = [row for r in requests for row in chosen.read(r, Model(PRESETS).point(r), "model")]
    rows += chosen.closing(rows, PRESETS)
    figure = picture(chosen, PRESETS, [*rows, *chosen.published])
    assert figure is not None
    texts = {text.get_text() for legend in figure.legends for text in legend.get_texts()}
    assert "earliest-frame, published" in texts
    assert "core-groups, model: Millipede, with contention" in texts
    assert picture(chosen, PRESETS, chosen.published) is None


# --- Costs ----------------------------------------------------------------------------------------


def test_recorded_costs_add_up_to_what_the_benchmark_measured() -> None:
    recorded_file = json.loads(recorded().read_text(encoding="utf-8"))
    preset = read_preset()
    for (antennas, direction), cell in preset.cells.items():
        work, costs = Workload.of(cell), preset.costs[antennas, direction]
        whole = sum(costs.stage(op).chunk_ns * chunks for op, chunks in work.instructions())
        measured = recorded_file["antennas"][str(antennas)][direction]["core_ms_per_ms"]
        assert whole * 1e-6 / work.frame_ms == pytest.approx(measured, rel=0.03)
    assert set(preset.cells) == {(n, d) for n in ANTENNAS for d in ("uplink", "downlink")}


def test_without_coding_only_coding_is_free() -> None:
    with_code, without = read_preset(), read_preset(coded=False)
    for key, costs in without.costs.items():
        free = {op for op, stage in costs.stages.items() if stage.free}
        assert free == {"Decode", "Encode"}
        kept = {op: s for op, s in with_code.costs[key].stages.items() if op not in free}
        assert kept == {op: s for op, s in costs.stages.items() if op not in free}


def test_a_bad_file_of_costs_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"antennas": {"8": {}}}')
    with pytest.raises(CostError, match=r"bad.json holds no costs of the thesis's cells"):
        read_preset(tmp_path / "bad.json")
    with pytest.raises(CostError, match=r"none.json: no such file"):
        read_preset(tmp_path / "none.json")


# --- Virtual time ---------------------------------------------------------------------------------

VIRTUAL = VirtualTime(PRESETS | {"ours-uncoded": read_preset(coded=False)}, 16)


@pytest.mark.parametrize(
    ("costs", "antennas", "cores", "direction"),
    [
        ("thesis", 8, 13, "uplink"),
        ("thesis", 8, 20, "uplink"),
        ("thesis", 8, 25, "downlink"),
        ("ours-uncoded", 8, 1, "uplink"),
        ("ours-uncoded", 8, 3, "uplink"),
        ("ours-uncoded", 32, 6, "uplink"),
    ],
)
def test_the_model_agrees_with_the_engine_in_virtual_time(
    costs: str, antennas: int, cores: int, direction: Goal
) -> None:
    request = Request(costs, "earliest-frame", antennas, cores, direction)
    found = VIRTUAL.point(request)
    expected = Model(VIRTUAL.presets).point(request)
    assert found is not None
    assert expected is not None
    # The engine begins with the first packet of a symbol, the model with the last; and only the
    # model has the time from an instruction to the next.
    transfer = Workload.of(thesis.uplink_cell(antennas)).symbol_bits / thesis.LINK_GBPS * 1e-6
    assert expected.pilot - transfer - 1e-3 < found.pilot < 1.01 * expected.pilot
    if direction == "uplink":
        assert found.uplink == pytest.approx(expected.uplink, rel=0.01)
    else:  # where zero-forcing in whole tiles takes a round more than in subcarriers
        assert found.downlink == pytest.approx(expected.downlink, rel=0.15)


def test_core_groups_in_virtual_time_are_the_best_that_can_be_found() -> None:
    request = Request("thesis", "core-groups", 8, 15)
    best = VIRTUAL.point(request)
    assert best is not None
    assert sum(group.cores for group in best.groups) == 15
    earliest = VIRTUAL.point(replace(request, policy="earliest-frame"))
    assert earliest is not None
    assert earliest.uplink < best.uplink
    # The model's own choice is one of those that were tried.
    chosen = Model(VIRTUAL.presets).point(request)
    assert chosen is not None
    assert best.uplink >= chosen.uplink


def test_what_cannot_keep_up_is_no_point() -> None:
    for policy in ("earliest-frame", "core-groups"):
        assert VIRTUAL.point(Request("thesis", policy, 8, 10)) is None  # 10.6 cores' work


def test_a_point_that_drops_frames_does_not_keep_up(monkeypatch: pytest.MonkeyPatch) -> None:
    simulate = core.simulate

    def dropping(*words: Any, **named: Any) -> dict[str, Any]:
        run = simulate(*words, **named)
        return run | {"completed": [False, *run["completed"][1:]]}

    request = Request("thesis", "earliest-frame", 8, 13)
    assert VIRTUAL.point(request) is not None
    monkeypatch.setattr(core, "simulate", dropping)
    assert VIRTUAL.point(request) is None


def test_a_job_below_a_chunk_is_claimed_within_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}
    simulate = core.simulate

    def listening(*words: Any, **named: Any) -> dict[str, Any]:
        asked.update(named)
        return simulate(*words, **named)

    monkeypatch.setattr(core, "simulate", listening)
    VIRTUAL.point(Request("thesis", "earliest-frame", 8, 15))
    by_opcode = {
        key: dict(zip(core.opcodes(), asked[key], strict=True)) for key in ("claim_ns", "chunk_ns")
    }
    claim, chunk = (by_opcode[key]["ZeroForce"] for key in ("claim_ns", "chunk_ns"))
    assert claim == pytest.approx(14 * 49)
    assert claim + chunk == pytest.approx(16 * (14.42 * 2.047e6 / 1200 + claim))
    assert by_opcode["chunk_ns"]["Decode"] <= 1


# --- The command ----------------------------------------------------------------------------------


def test_a_study_leaves_a_table_and_a_plot(tmp_path: Path) -> None:
    words = ["millipede-5.3", "--most-cores", "13", "--virtual", "--frames", "4", "--json"]
    words = carillon(*words, "--folder", str(tmp_path))
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert json.loads((tmp_path / "study.json").read_text(encoding="utf-8")) == told
    with (tmp_path / "study.csv").open(encoding="utf-8") as stream:
        assert len(list(csv.DictReader(stream))) == len(told["rows"])
    assert (tmp_path / "study.png").stat().st_size > 10_000
    assert "<svg" in (tmp_path / "study.svg").read_text(encoding="utf-8")
    assert {r["source"] for r in told["rows"]} == {"published", "model", "virtual"}


def test_ctrl_c_keeps_what_is_known(tmp_path: Path) -> None:
    folder = tmp_path / "stopped"
    words = carillon("millipede-5.1", "--folder", str(folder), "--most-cores", "128")
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        while run.poll() is None and not folder.exists():
            time.sleep(0.1)
        time.sleep(2)  # all of it takes minutes
        run.send_signal(signal.SIGINT)
        out, errors = run.communicate(timeout=HANG_S)
    assert run.returncode == 130
    assert errors == "carillon: stopped\n"
    assert "stopped early" in out
    rows = json.loads((folder / "study.json").read_text(encoding="utf-8"))["rows"]
    assert 4 <= len(rows) < len(STUDIES["millipede-5.1"].ask(128))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rack", "--costs", "mine.yaml"), "rack has no --costs"),
        (("megastation-15", "--virtual"), "megastation-15 has no --virtual"),
        (("megastation-8", "--most-cores", "8"), "megastation-8 has no --most-cores"),
        (("millipede-5.7", "--virtual"), "millipede-5.7 has no --virtual"),
        (("millipede-5.1", "--frames", "8"), "millipede-5.1 has --frames only with --virtual"),
    ],
)
def test_an_option_that_a_study_does_not_have_is_refused(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    done = subprocess.run(carillon(*words), capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_study_names_those_there_are(tmp_path: Path) -> None:
    done = subprocess.run(carillon("millipede-9"), capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert "there is no study 'millipede-9'; the studies are millipede-5.1, " in done.stderr
    assert list(tmp_path.iterdir()) == []
    listed = subprocess.run(carillon("--list"), capture_output=True, text=True, check=True)
    every = [
        *STUDIES,
        *EXPERIMENTS,
        *FIGURES,
        *GPU_STUDIES,
        scheduling.NAME,
        "rack",
        "batching-synthetic",
        "batching-nbfm",
        *(f"power-{n}" for n in range(4, 14)),
        "power-tables",
        "power-tti",
        "power-load",
        "power-day",
    ]
    assert [line.split()[0] for line in listed.stdout.splitlines()] == every
    which = subprocess.run(carillon(), capture_output=True, text=True)
    assert which.returncode == 2
    assert "--list" in which.stderr
    most = subprocess.run(carillon("millipede-5.1", "--frames", "1000001"), capture_output=True)
    assert most.returncode == 2
    assert b"--frames" in most.stderr


def test_a_cell_of_a_study_is_valid() -> None:
    for preset in PRESETS.values():
        for cell in preset.cells.values():
            assert isinstance(cell, Cell)
            assert Workload.of(cell).frame_ms == 5.0
