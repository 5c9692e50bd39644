"""`carillon demo --device cuda`, on a made-up GPU and on none."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from carillon import core
from carillon.commands.gpu_demo import demo
from carillon.config import Run
from carillon.daemon import RunError
from carillon.errors import InputError


def synthetic_run(failed: int) -> Callable[..., dict[str, Any]]:
    """As core.run_on_gpus, of a device that was never there."""

    def run(plan: str, frames: int, **options: Any) -> dict[str, Any]:
        assert "cell.antennas = 8" in plan
        assert options["policy"] == "adaptive"
        assert options["progress"](frames * options["cells"])
        done = {"done": True, "failed_blocks": 0, "devices": 1}
        records = [done | {"latency_us": 100.0 + i} for i in range(frames * options["cells"])]
        records[0] |= {"failed_blocks": failed}
        records[-1] |= {"done": False, "latency_us": 0.0}
        about = {"device": "synthetic GPU", "devices": options["partitions"], "sms": 66}
        return about | {"blocks": 2, "copies": 3, "frames": records}

    return run


@pytest.mark.parametrize("failed", [0, 1])
def test_results_are_shown_and_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    failed: int,
) -> None:
    monkeypatch.setattr(core, "run_on_gpus", synthetic_run(failed))
    folder = tmp_path / "run"
    assert demo("laptop-8x2", Run(frames=200), 2, folder, as_json=False) is (failed == 0)
    told = " ".join(capsys.readouterr().out.split())
    assert "2 × 66 SMs of synthetic GPU: 199 of 200 frames in time" in told
    assert f"{failed} of 398 blocks failed" in told
    result = json.loads((folder / "gpu.json").read_text(encoding="utf-8"))
    assert result["latency_us"]["mean"] == pytest.approx(100 + 198 / 2)
    assert result["latency_us"]["p9999"] is None  # 199 frames are too few
    assert result["failed_blocks"] == failed
    assert len((folder / "gpu.csv").read_text(encoding="utf-8").splitlines()) == 201
    assert (folder / "gpu.png").stat().st_size > 5000


def test_several_cells_are_the_same_one_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(core, "run_on_gpus", synthetic_run(0))
    assert demo("laptop-8x2", Run(frames=50), 1, tmp_path / "run", as_json=False, count=3)
    assert "3 × laptop-8x2 from pinned memory" in " ".join(capsys.readouterr().out.split())
    result = json.loads((tmp_path / "run" / "gpu.json").read_text(encoding="utf-8"))
    assert (result["cells"], result["frames"]) == (3, 150)


def test_what_is_impossible_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: Any, **__: Any) -> dict[str, Any]:
        raise RuntimeError("partitions: 9 are too many")

    monkeypatch.setattr(core, "run_on_gpus", refuse)
    monkeypatch.setattr(core, "cuda_machine", lambda: {"devices": [{"name": "synthetic GPU"}]})
    with pytest.raises(RunError, match="partitions: 9 are too many; leave --device out") as error:
        demo(None, Run(frames=5), 9, tmp_path / "run", as_json=False)
    assert error.value.status == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("limits", "frames"),
    [(Run(frames=7), 7), (Run(seconds=0.05), 50), (Run(frames=20, seconds=0.005), 5)],
)
def test_the_first_limit_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, limits: Run, frames: int
) -> None:
    monkeypatch.setattr(core, "run_on_gpus", synthetic_run(0))
    demo("laptop-8x2", limits, 1, tmp_path / "run", as_json=False)
    result = json.loads((tmp_path / "run" / "gpu.json").read_text(encoding="utf-8"))
    assert result["frames"] == frames


def test_without_a_limit_one_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="give --frames"):
        demo("laptop-8x2", Run(), 1, tmp_path / "run", as_json=False)


def test_cells_that_differ_are_told() -> None:
    words = ["demo", "--device", "cuda", "--cell", "laptop-8x2", "--cell", "lan-8x4"]
    done = subprocess.run(
        [sys.executable, "-m", "carillon", *words], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "has to be the same each time" in " ".join(done.stderr.split())


def test_partitions_are_of_a_gpu() -> None:
    words = ["demo", "--partitions", "4"]
    done = subprocess.run(
        [sys.executable, "-m", "carillon", *words], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "needs --device cuda" in done.stderr


@pytest.mark.skipif(bool(core.cuda_machine()["devices"]), reason="there is a GPU")
def test_without_a_gpu_it_says_why(tmp_path: Path) -> None:
    words = ["demo", "--device", "cuda", "--frames", "5", "--folder", str(tmp_path / "run")]
    done = subprocess.run(
        [sys.executable, "-m", "carillon", *words], capture_output=True, text=True
    )
    assert done.returncode == 77
    assert re.search(r"no GPU: .*; leave --device out to use the CPU", done.stderr)
    assert not (tmp_path / "run").exists()


@pytest.mark.skipif(not core.cuda_machine()["devices"], reason="there is no GPU")
def test_every_block_passes_on_this_machines_gpu(tmp_path: Path) -> None:
    assert demo("laptop-8x2", Run(frames=500), 1, tmp_path / "run", as_json=False)
