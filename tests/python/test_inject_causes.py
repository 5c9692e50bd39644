"""`scripts/inject-causes`: what it asks for, how it judges, and a short run."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import developer_scripts
import pytest
from hang import HANG_S


def run(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(developer_scripts.SCRIPTS / "inject-causes"), *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=HANG_S, check=False, env=os.environ
    )


def test_late_frames_belong_to_the_harm_before_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = developer_scripts.load("inject-causes", monkeypatch)
    file = tmp_path / "frames.csv"
    causes = {39: "processing", 40: "lost", 41: "lost", 42: "lost", 61: "fronthaul", 60: "lost"}
    with file.open("w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["frame", "late_cause"])
        table.writerows([n, causes.get(n, "none")] for n in range(80))
    outcome, rows = script.judge("lost", script.HARMS["lost"], [40, 48, 60], file)
    assert (outcome.harms, outcome.late) == (3, 2)
    assert (outcome.late_frames, outcome.named_rightly) == (4, 3)
    assert outcome.others == {"fronthaul": 1}
    assert [row[2] for row in rows] == [40, 41, 60, 61]  # 39: before, 42: long after
    assert "75.0 %" in str(outcome)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nosuch"], "no harm 'nosuch'; there are: lost, fronthaul,"),
        (["lost", "--faults", "0"], "--faults: at least 1"),
        (["lost", "--folder", "/"], "/ is there already"),
    ],
)
def test_what_it_cannot_do_it_says(words: list[str], says: str) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert says in done.stderr


@pytest.mark.realtime
def test_every_harm_is_counted_and_every_late_frame_listed(tmp_path: Path) -> None:
    """Whether it is named rightly depends on what else the machine does meanwhile."""
    folder = tmp_path / "causes"
    done = run("lost", "operating-system", "--faults", "5", "--folder", folder)
    if os.geteuid() != 0 or len(os.sched_getaffinity(0)) < 2:
        assert done.returncode == 2, done.stderr
        return
    assert done.returncode in (0, 1), done.stderr
    outcomes = json.loads((folder / "causes.json").read_text())
    with (folder / "causes.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [each["harm"] for each in outcomes] == ["lost", "operating-system"]
    for each in outcomes:
        listed = [row for row in rows if row["harm"] == each["harm"]]
        assert len(listed) == each["late_frames"]
        assert each["named_rightly"] + sum(each["others"].values()) == each["late_frames"]
        assert each["late"] <= each["harms"] <= 5
