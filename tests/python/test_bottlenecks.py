"""Millipede's figures 5.6 to 5.9, measured: what is made of the measurements."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from carillon import bench, core
from carillon.plots.bottlenecks import picture
from carillon.studies import bottlenecks, ports
from carillon.studies.bottlenecks import EXPERIMENTS, Choice, Frames
from carillon.studies.ports import PortsError
from carillon.studies.presets import thesis_preset


def go_on(what: str, share: float) -> bool:
    return True


def drawn(antennas: int = 8, cores: int = 2) -> Frames:
    """Frames of 10 ms on two cores: 12 ms of kernels, 3 of them decoding."""
    busy = np.zeros((5, len(core.opcodes())))
    for op, ms in (("UplinkFft", 4), ("ZeroForce", 2), ("EqualizeDemodulate", 3), ("Decode", 3)):
        busy[:, core.opcodes().index(op)] = ms
    spent = {"scheduling": 0.17, "claiming": 0.34, "arriving": 0.0}
    turns = {kind: np.array([ms, ms]) for kind, ms in spent.items()}
    return Frames(antennas, cores, np.full(5, 10.0), busy, turns)


def test_synchronisation_is_what_is_left_of_all_cores_without_decoding() -> None:
    shares = {row.measure: row.value for row in bottlenecks._shares(drawn())}
    assert shares["outside_kernels_share"] == pytest.approx(1 - 9 / 17)
    assert shares["synchronisation_share"] == pytest.approx(0.51 / 17)
    assert shares["claiming_share"] == pytest.approx(0.02)


def test_shares_by_ablation_add_up() -> None:
    parts = bottlenecks.parts({"in place": 10.0, "without stores": 9.0, "compute": 6.0})
    assert parts == pytest.approx({"load": 0.3, "compute": 0.6, "store": 0.1})


def test_the_fitted_contention_explains_some_of_the_published_share() -> None:
    presets = {"thesis": thesis_preset((8, 16, 32), ideal=False)}
    shares = {row.antennas: row.value for row in bottlenecks._modelled(presets)}
    assert set(shares) == {8, 16, 32}
    assert all(share is not None and 0 < share < 0.2 for share in shares.values())


def test_frames_are_measured_in_turns_until_stopped() -> None:
    asked: list[str] = []

    def twice(what: str, share: float) -> bool:
        asked.append(what)
        return len(asked) < 4  # samples of both, one turn of the first

    found = bottlenecks.frames_of([(8, 1), (16, 1)], 1000, twice)
    assert [(f.antennas, f.cores) for f in found] == [(8, 1)]
    assert (found[0].kernels_ms() <= found[0].work_ms()).all()
    assert asked[2] == "8×8 on 1 cores"


@pytest.mark.parametrize("name", ["millipede-5.6", "millipede-5.7", "millipede-5.8"])
def test_an_experiment_has_a_point_for_each_curve(name: str) -> None:
    rows = list(EXPERIMENTS[name].measure(Choice(frames=4, quick=True), go_on))
    measures = {row.measure for row in rows}
    assert {row.source for row in rows} == {"measured"}
    if name == "millipede-5.6":
        assert {"round_us", "chunk_ns", "instruction_us", "synchronisation_share"} <= measures
        assert {row.policy for row in rows if row.measure == "round_us"} == {
            "earliest-frame",
            "static",
        }
    else:
        for function in bottlenecks.STAGES:
            assert {f"{function}_ms", f"{function}_task_us"} <= measures
            assert {f"{function}_{part}_share" for part in bottlenecks.PARTS} <= measures
    antennas = {row.antennas for row in rows if row.measure == "doZF_ms"}
    assert antennas == {"millipede-5.7": {8}, "millipede-5.8": {8, 16, 32, 64}}.get(name, set())
    figure = picture(EXPERIMENTS[name], [*rows, *EXPERIMENTS[name].published])
    assert all(axes.has_data() for axes in figure.axes)


# --- Ports ----------------------------------------------------------------------------------------


def has_mca() -> bool:
    try:
        return bool(ports.mca())
    except PortsError:
        return False


def test_only_the_innermost_loops_count() -> None:
    function = [
        (0, "xor %eax,%eax"),
        (2, "vaddps %ymm0,%ymm1,%ymm1"),
        (6, "jne 2 <f+2>"),
        (8, "inc %rax"),
        (10, "jb 0 <f>"),
        (12, "jmp 20 <f+20>"),
        (20, "ret"),
    ]
    assert ports.innermost(function) == [["vaddps %ymm0,%ymm1,%ymm1", "jne 2 <f+2>"]]


def test_a_loop_that_only_fetches_is_part_of_the_one_around_it() -> None:
    function = [
        (0, "prefetchw (%rax)"),
        (3, "jne 0 <f>"),
        (5, "vmulps %ymm0,%ymm1,%ymm1"),
        (9, "jb 0 <f>"),
    ]
    assert ports.innermost(function) == [[text for _, text in function]]


@pytest.mark.skipif(not has_mca(), reason="llvm-mca is not installed")
def test_a_loop_of_dependent_additions_waits_for_each() -> None:
    chained = ports.analyse("f", "", ["addss %xmm0,%xmm1", "jne 0 <f>"], "znver3")
    assert chained.cycles == pytest.approx(3, abs=0.2)  # the addition's latency on Zen 3
    assert chained.bound == "dependencies"
    free = [f"vaddps %ymm{i},%ymm{i},%ymm{i + 8}" for i in range(8)]
    wide = ports.analyse("f", "", [*free, "jne 0 <f>"], "znver3")
    assert wide.arithmetic == 8
    assert wide.cycles == pytest.approx(4, abs=0.3)  # two adders
    assert wide.bound.startswith("port")


@pytest.mark.skipif(not has_mca(), reason="llvm-mca is not installed")
def test_every_loop_is_found_in_the_program() -> None:
    rows = list(EXPERIMENTS["millipede-5.9"].measure(Choice(), go_on))
    assert {row.source for row in rows} == {"static"}
    cycles = [row for row in rows if row.measure.endswith("cycles")]
    assert len(cycles) == len(ports.LOOPS)
    for row in cycles:
        assert row.value is not None
        loop = row.measure.removesuffix("cycles")
        fused = next(r.value for r in rows if r.measure == f"{loop}arithmetic")
        assert fused is not None
        assert fused > 0
        assert row.value >= fused / 2  # two multiply-adds a cycle at most
    assert picture(EXPERIMENTS["millipede-5.9"], rows).axes[0].has_data()


def test_a_missing_tool_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(PortsError, match="apt install llvm"):
        ports.mca()
    ports._named.cache_clear()
    with pytest.raises(PortsError, match="apt install binutils"):
        ports.loop(bench.program(), "avx2", *ports.LOOPS[0])


# --- The command ----------------------------------------------------------------------------------


def test_a_measured_study_leaves_a_table_and_a_plot(tmp_path: Path) -> None:
    words = ["study", "millipede-5.7", "--frames", "4", "--json", "--folder", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "carillon", *words], capture_output=True, text=True, check=True
    )
    told = json.loads(done.stdout)
    assert json.loads((tmp_path / "study.json").read_text(encoding="utf-8")) == told
    assert {row["source"] for row in told["rows"]} == {"measured", "published"}
    assert (tmp_path / "study.png").stat().st_size > 10_000
    listed = subprocess.run(
        [sys.executable, "-m", "carillon", "study", "--list"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "millipede-5.9" in listed.stdout
