"""Devices that a server holds in reserve until an overload asks for them."""

import json
from pathlib import Path

import pytest
from small_pool import SMALL
from test_simulate import complaints, run

RESERVE = SMALL.replace("count: 2}]", "count: 2}, {type: a100, count: 2, reserve: true}]", 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            RESERVE.replace("reserve: true", "reserve: 3"),
            "my.yaml:1: devices[1].reserve is 3 but must be true or false",
        ),
        (
            SMALL.replace("count: 2}]", "count: 2, reserve: true}]", 1),
            "my.yaml:1: devices are all in reserve but a server must have a device that is not",
        ),
        (
            RESERVE + "at_once: 2",
            "my.yaml:1: devices[1].reserve is true but a reserve joins only at the pace of the "
            "air, and at_once is 2",
        ),
        (
            RESERVE + "switch: {move_ms: 1, nacks: 2}",
            "my.yaml:5: switch.move_ms is between servers, but the file has none",
        ),
        (
            RESERVE + "switch: {nacks: 5, window: 4}",
            "my.yaml:5: switch.nacks is 5 but must be at most window, 4",
        ),
    ],
)
def test_an_impossible_reserve_is_told_with_file_and_line(
    tmp_path: Path, text: str, said: str
) -> None:
    (message,) = complaints(tmp_path, text)
    assert message == said


def test_a_reserve_that_nobody_asks_for_only_draws_idle_power(tmp_path: Path) -> None:
    """An A100 PCIe has a limit of 250 W, of which it draws a fifth."""
    (with_it,) = run(tmp_path, RESERVE + "policies: [frame-level]")["policies"]
    (without,) = run(tmp_path, SMALL + "policies: [frame-level]")["policies"]
    assert with_it["joins"] == []
    assert with_it["done"] == with_it["frames"]
    assert with_it["percentiles_ms"] == without["percentiles_ms"]
    assert with_it["sm_share_by_device"] == [*without["sm_share_by_device"], 0, 0]
    assert with_it["watts"] == pytest.approx(without["watts"] + 2 * 0.2 * 250)


def test_one_servers_reserve_joins_one_by_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = RESERVE.replace("uplink}", "uplink, count: 12}").replace("60", "150")
    text += "policies: [frame-level]\nswitch: {nacks: 2, window: 20, hold_ms: 15}\n"
    (row,) = run(tmp_path, text + "trace: {frames: 30}")["policies"]
    first, second = row["joins"]
    assert (first["device"], second["device"]) == (2, 3)
    assert second["at_ms"] >= first["at_ms"] + 15
    assert row["moves"] == []
    assert "frame-level: 2 joins from reserve: device 2 of server 0 at" in capsys.readouterr().out
    tree = json.loads((tmp_path / "out" / "trace.json").read_text())
    marks = [event for event in tree["traceEvents"] if event["ph"] == "i"]
    assert (marks[0]["pid"], marks[0]["ts"]) == (3, pytest.approx(1e3 * first["at_ms"]))
