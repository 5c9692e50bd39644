"""What a pool's file says of faults, and what becomes of its warm-up."""

import json
from pathlib import Path

import pytest
from carillon.commands.simulate import simulate
from carillon.config import ConfigError
from carillon.pool import study

POOL = """devices: [{type: a100, count: 2}]
cells: [{cell: 32x8-uplink}]
frames: 60
warm_up: 10
policies: [frame-level]
"""


def pool(folder: Path, more: str = "") -> Path:
    file = folder / "my.yaml"
    file.write_text(POOL + more)
    return file


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        (
            "- {at_ms: 5, device: 1, event: lost}\n- {at_ms: 4, device: 1, event: back}",
            "my.yaml:8: faults[1].event is back but device 1 is not lost or hung at 4 ms",
        ),
        (
            "- {at_ms: 1, device: 0, event: hung}\n- {at_ms: 2, device: 0, event: back}\n"
            "- {at_ms: 3, device: all, event: back}",
            "my.yaml:9: faults[2].event is back but no device is lost or hung at 3 ms",
        ),
        (
            "- {at_ms: 1, device: 0, event: lost}\n- {at_ms: 2, server: 0, event: back}",
            "my.yaml:8: faults[1].event is back but server 0 is not lost at 2 ms",
        ),
        (
            "- {at_ms: 1, device: 7, event: back}",
            "my.yaml:7: faults[0].device is 7 but the devices are 0 to 1",
        ),
    ],
)
def test_what_was_not_lost_cannot_come_back(tmp_path: Path, faults: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        study.load(pool(tmp_path, f"faults:\n{faults}"))
    assert [str(one).replace(f"{tmp_path}/", "") for one in error.value.problems] == [said]


@pytest.mark.parametrize(
    "faults",
    [
        "- {at_ms: 2, device: 0, event: back}\n- {at_ms: 1, device: all, event: lost}",
        "- {at_ms: 2, device: 0, event: hung}\n- {at_ms: 2, device: all, event: back}",
        "- {at_ms: 1, server: 0, event: lost}\n- {at_ms: 2, server: 0, event: back}",
    ],
)
def test_what_was_lost_or_hung_may_come_back(tmp_path: Path, faults: str) -> None:
    assert study.load(pool(tmp_path, f"faults:\n{faults}")).study.faults


def test_a_warm_up_that_few_frames_leave_no_room_for_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for frames, note in ((60, "warm_up is 6 instead of 10: at most a tenth"), (100, "")):
        simulate(str(pool(tmp_path)), frames, 1, tmp_path / "out", as_json=False)
        told = json.loads((tmp_path / "out" / "result.json").read_text())
        assert told["configuration"]["warm_up"] == frames // 10
        assert told["policies"][0]["frames"] == frames - frames // 10
        said = capsys.readouterr().err
        assert note in said and ("note:" in said) == bool(note)
