"""MegaStation's α: found by its procedure unless the file gives it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import synthetic_gpu as gpu
from carillon import core
from carillon.commands.simulate import simulate
from carillon.config.pool import DeviceType
from carillon.pool import degree, profile, running, study

POOL = """devices: [{type: a100, count: 2}]
cells: [{cell: 64x32-uplink}]
policies: [scoreboard]
frames: 40
warm_up: 0
trace: {frames: 0}
"""
SMS = {kind["name"]: kind["sms"] for kind in core.device_types()}


def described(folder: Path, text: str = POOL) -> study.Described:
    file = folder / "my.yaml"
    file.write_text(text)
    return study.load(file)


def found(folder: Path, text: str, capsys: pytest.CaptureFixture[str]) -> tuple[Any, str]:
    """The result, and what was printed beside it."""
    (folder / "my.yaml").write_text(text)
    simulate(str(folder / "my.yaml"), None, 1, folder / "out", as_json=True)
    printed = capsys.readouterr()
    assert json.loads(printed.out) == json.loads((folder / "out" / "result.json").read_text())
    return json.loads(printed.out), printed.err


def test_latency_falls_with_the_share_of_sms_that_is_free(tmp_path: Path) -> None:
    drop = degree.drops("a100", described(tmp_path), study.simulate)
    values = [drop(free) for free in (1, 10, 27, 54, 72, 81, 90, 108)]
    assert values == sorted(values, reverse=True)
    assert values[-1] == 0
    assert values[0] > 10  # as the paper has it, with one SM


@pytest.mark.parametrize("kernels", ["megastation", "roofline"])
@pytest.mark.parametrize("kind", ["v100", "a100"])
def test_a_tenth_of_performance_is_lost_and_no_more(
    kind: DeviceType, kernels: str, tmp_path: Path
) -> None:
    text = POOL.replace("a100", kind) + f"profile: {kernels}\n"
    pool = described(tmp_path, text)
    least = int(study.degrees(pool)[kind].share * SMS[kind])  # as the engine has it
    drop = degree.drops(kind, pool, study.simulate)
    assert drop(least) <= 0.1 < drop(least - 1)


@pytest.mark.parametrize("kind", ["v100", "a100", "h100", "h200"])
def test_a_share_is_as_many_sms_for_the_engine_as_were_free(kind: str) -> None:
    for least in range(1, SMS[kind] + 1):
        share = degree._share(least, SMS[kind])
        assert share <= 1
        assert int(share * SMS[kind]) == least


def test_each_type_has_its_own_and_the_files_number_comes_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = POOL.replace("count: 2}", "count: 2}, {type: v100}")
    told, printed = found(tmp_path, text + "scoreboard: {degree: {v100: 0.3}}\n", capsys)
    share = told["degrees"]["a100"]["share"]
    assert told["degrees"] == {
        "a100": {
            "share": share,
            "by": "procedure",
            "cells": [f"pool-{name}" for name in degree.CELLS],
        },
        "v100": {"share": 0.3, "by": "file"},
    }
    assert told["configuration"]["scoreboard"]["degree"]["a100"] is None
    said = f"by MegaStation's procedure (pool-128x32-uplink, pool-128x32-downlink): a100 {share:g}"
    assert f"scoreboard's α {said}; as the file has it: v100 0.3\n" in printed


def test_what_is_found_serves_as_what_the_file_says(tmp_path: Path) -> None:
    """In this process as in others, which are told."""
    pool = described(tmp_path)
    share = study.degrees(pool)["a100"].share
    text = POOL + f"scoreboard: {{degree: {{a100: {share}}}}}\n"
    given = study.simulate(described(tmp_path, text), "scoreboard", 1)
    assert study.simulate(pool, "scoreboard", 1)["latency"].tolist() == given["latency"].tolist()
    request = running.Request(pool, "scoreboard", 1)
    (outcome,) = running.run_all([request], 1, lambda ended: None, lambda: False)
    assert outcome is not None
    assert outcome.latency.tolist() == given["latency"].tolist()


def test_it_is_found_once_and_only_for_scoreboard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(degree, "_found", {})
    told, printed = found(tmp_path, POOL.replace("scoreboard", "task-level"), capsys)
    assert told["degrees"] == {}
    assert "α" not in printed
    assert not degree._found
    first = study.degrees(described(tmp_path, POOL))

    def never(*args: object) -> None:
        raise AssertionError

    monkeypatch.setattr(degree, "drops", never)
    assert study.degrees(described(tmp_path, POOL + "apart_ms: 0.5\n")) == first


def test_a_device_profile_without_figure_4s_cells_is_asked_for_the_studys_own(
    tmp_path: Path,
) -> None:
    made = profile.of_bench(gpu.write(tmp_path / "kernels.json", gpu.bench()))
    profile.save(made, tmp_path / "device.json")
    text = POOL.replace("a100", "h200").replace("64x32", "64x16") + "profile: device.json\n"
    pool = described(tmp_path, text)
    one = study.degrees(pool)["h200"]
    assert one.cells == ("pool-64x16-uplink",)
    assert 0 < one.share <= 1
    twice = replace(pool, served=pool.served * 2)
    assert study.degrees(twice)["h200"] == one
