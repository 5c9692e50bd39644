"""Several servers behind a switch in `carillon simulate`."""

import csv
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from carillon import core
from carillon.commands import rack as command
from carillon.commands.simulate import simulate
from carillon.config import ConfigError
from carillon.pool import economy, plan, study
from carillon.pool.summary import LOST
from carillon.studies import rack

KEYS = [field.name for field in dataclasses.fields(rack.Point)]
TWO = """servers: [{devices: [{type: a100}], count: 2}]
cells: [{cell: 64x32-uplink, count: 2}]
policies: [frame-level]
frames: 60
warm_up: 0
jitter: {kernel: 0, launch: 0}
"""


def described(folder: Path, text: str = TWO) -> study.Described:
    file = folder / "my.yaml"
    file.write_text(text)
    return study.load(file)


def run(folder: Path, text: str) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """The only policy's row of result.json, and frames.csv."""
    file = folder / "my.yaml"
    file.write_text(text)
    simulate(str(file), None, 1, folder / "out", as_json=False)
    told = json.loads((folder / "out" / "result.json").read_text())
    with (folder / "out" / "frames.csv").open(newline="") as stream:
        return told["policies"][0], list(csv.DictReader(stream))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("devices: [{type: a100}]", "my.yaml:1: servers stand beside devices or links"),
        ("links: {}", "my.yaml:1: servers stand beside devices or links"),
        ("at_once: 2", "my.yaml:7: at_once is for one server alone"),
        (
            "switch: {nacks: 5, window: 3}",
            "my.yaml:7: switch.nacks is 5 but must be at most window, 3",
        ),
        (
            "faults: [{at_ms: 1, server: 2, event: lost}]",
            "my.yaml:7: faults[0].server is 2 but the servers are 0 to 1",
        ),
        (
            "faults: [{at_ms: 1, device: 2, event: lost}]",
            "my.yaml:7: faults[0].device is 2 but the devices are 0 to 1",
        ),
        (
            "faults: [{at_ms: 1, event: lost}]",
            "my.yaml:7: faults[0] must name either a device or a server",
        ),
        (
            "economy: {prices: {host: 1.0e+308}}",
            "my.yaml:7: economy.prices.host is 1e+308 but must be a number between 0 and",
        ),
        (
            "economy: {host_watts: 1.0e+308}",
            "my.yaml:7: economy.host_watts is 1e+308 but must be a number between 0 and 1000000",
        ),
        ("switch: {hold_ms: -1}", "my.yaml:7: switch.hold_ms is -1 but must be"),
        (
            "faults: [{at_ms: 1, device: 0, server: 0, event: lost}]",
            "my.yaml:7: faults[0] must name either a device or a server",
        ),
    ],
)
def test_an_impossible_rack_is_told_with_file_and_line(
    tmp_path: Path, line: str, said: str
) -> None:
    with pytest.raises(ConfigError) as error:
        described(tmp_path, TWO + line)
    assert str(error.value.problems[0]).replace(f"{tmp_path}/", "").startswith(said)


def test_a_home_is_one_of_the_servers(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cells\[0\].server is 2 but the servers are 0 to 1"):
        described(tmp_path, TWO.replace("count: 2}]\npol", "count: 2, server: 2}]\npol"))


def test_a_device_without_room_for_a_frame_is_told_where_the_file_has_it(tmp_path: Path) -> None:
    small = "}, {devices: [{type: a100}, {type: a100, memory_gbytes: 1.0e-4}]}]\ncells"
    with pytest.raises(ConfigError) as error:
        described(tmp_path, TWO.replace("}]\ncells", small))
    refusals = [str(problem).replace(f"{tmp_path}/", "") for problem in error.value.problems]
    assert len(refusals) == 1
    assert refusals[0].startswith(
        "my.yaml:1: servers[1].devices[1].memory_gbytes is 0.0001 GB but a frame's results take 0."
    )


def test_devices_are_numbered_over_all_servers(tmp_path: Path) -> None:
    text = TWO.replace("[{type: a100}], count: 2", "[{type: v100, count: 2}, {type: a100}]")
    text = text.replace("}]\ncells", "}, {devices: [{type: h200}]}]\ncells")
    found = plan.devices(described(tmp_path, text).study)
    assert [(server, place, device.type) for server, place, device in found] == [
        (0, 0, "v100"),
        (0, 1, "v100"),
        (0, 2, "a100"),
        (1, 0, "h200"),
    ]


def test_ports_bound_the_radio_units_that_a_rack_can_feed(tmp_path: Path) -> None:
    """S·RU/B < T, of two ports of 5 GB/s that are slower than the links behind them."""
    symbol = 64 * 2048 * 4
    one = study.bound(described(tmp_path, TWO + "switch: {gbytes_per_s: 5}"))
    assert one.units["pool-64x32-uplink"] == pytest.approx(2 * 5e9 * 1e-3 / (14 * symbol))
    assert one.load == pytest.approx(2 / one.units["pool-64x32-uplink"])


def test_power_and_price_are_what_the_file_assumes(tmp_path: Path) -> None:
    """An A100 PCIe has a limit of 250 W."""
    text = TWO + "economy: {host_watts: 500, idle_share: 0.1, prices: {host: 7, a100: 3}}"
    own = described(tmp_path, text).study
    assert economy.price(own) == 2 * (7 + 3)
    assert economy.watts(own, [0, 0]) == pytest.approx(2 * (500 + 25))
    assert economy.watts(own, [1, 0.5]) == pytest.approx(2 * 500 + 250 + 25 + 112.5)


def test_what_is_lost_is_a_reason_of_the_engine() -> None:
    assert set(LOST) <= set(core.reasons())


def test_a_lost_server_costs_what_was_there_and_what_came_until_its_unit_moved(
    tmp_path: Path,
) -> None:
    """It dies in frame 20; frame 21 still goes there; frame 22 starts during the move."""
    text = TWO + (
        "faults: [{at_ms: 20.3, server: 0, event: lost, noticed_ms: 1}]\n"
        "switch: {move_ms: 1, gbytes_per_s: 100}\n"
    )
    row, frames = run(tmp_path, text)
    assert row["lost"] == {"its server was lost": 2, "between two servers": 1}
    assert row["nacked"] == {}
    assert row["done"] == 117
    (move,) = row["moves"]
    assert (move["origin"], move["target"], move["why"]) == (0, 1, "its server was lost")
    assert (move["decided_ms"], move["served_ms"]) == pytest.approx((21.3, 22.3))
    lost = [(float(frame["began_ms"]), frame["server"]) for frame in frames if frame["done"] == "0"]
    assert lost == [(20.0, "0"), (21.0, "0"), (22.0, "")]
    assert {frame["server"] for frame in frames if float(frame["began_ms"]) > 22.5} == {"1"}
    assert (tmp_path / "out" / "servers.png").read_bytes().startswith(b"\x89PNG")


def test_a_lone_server_that_is_lost_is_told_as_the_loss_that_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It dies in frame 15 of 60, and there is no other."""
    alone = TWO.replace("servers: [{devices: [{type: a100}], count: 2}]", "devices: [{type: a100}]")
    whole, _ = run(tmp_path, alone)
    assert " lost " not in capsys.readouterr().out
    row, _ = run(tmp_path, alone + "faults: [{at_ms: 15.5, server: 0, event: lost}]")
    assert row["lost"] == {"its server was lost": 90}
    assert row["nacked"] == {}
    assert [server["lost"] for server in row["servers"]] == [90]
    assert row["done"] == 30
    assert row["frames_per_s"] == pytest.approx(whole["frames_per_s"] / 4, rel=0.05)
    assert row["sm_share"] == pytest.approx(whole["sm_share"] / 4, rel=0.05)
    assert row["watts"] < whole["watts"]
    lines = capsys.readouterr().out.splitlines()
    (heading,) = [line.split() for line in lines if line.startswith("policy")]
    (told,) = [line.split() for line in lines if line.startswith("frame-level")]
    assert heading[1:4] == ["done", "NACKed", "lost"]
    assert told[1:4] == ["30", "0", "90"]


def test_servers_have_their_part_of_every_figure(tmp_path: Path) -> None:
    text = TWO.replace("count: 2}]\npol", "count: 6, server: 0}]\npol")
    row, frames = run(tmp_path, text)
    for server in row["servers"]:
        own = [frame for frame in frames if frame["server"] == str(server["server"])]
        assert server["frames"] == len(own)
        assert server["done"] == sum(frame["done"] == "1" for frame in own)
    between = sum(frame["server"] == "" for frame in frames)
    assert sum(server["frames"] for server in row["servers"]) + between == row["frames"] == 360
    assert row["moves"]
    assert all(move["why"] == "overload" for move in row["moves"])
    assert row["servers"][0]["sm_share"] > 0
    assert 0 < row["servers"][1]["port_share"] < row["servers"][0]["port_share"] < 1


def test_the_reserve_joins_before_a_unit_moves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of six units, one A100 carries fewer than four."""
    text = TWO.replace("[{type: a100}]", "[{type: a100}, {type: a100, reserve: true}]")
    text = text.replace("count: 2}]\npol", "count: 6, server: 0}]\npol").replace("60", "200")
    row, frames = run(tmp_path, text)
    (join,) = row["joins"]
    assert (join["seed"], join["server"], join["device"]) == (1, 0, 1)
    assert 0 <= join["unit"] < 6
    assert all(move["decided_ms"] >= join["at_ms"] + 20 for move in row["moves"])
    assert row["sm_share_by_device"][1] > 0
    assert row["sm_share_by_device"][3] == 0  # of the other server's reserve
    assert row["done"] + sum(row["nacked"].values()) + sum(row["lost"].values()) == 6 * 200
    late = [frame for frame in frames if float(frame["began_ms"]) > 100]
    assert all(frame["done"] == "1" for frame in late)
    out = capsys.readouterr().out
    told = f"frame-level: 1 joins from reserve: device 1 of server 0 at {join['at_ms']:g} ms"
    assert f"{told} (for unit {join['unit']})" in out


def test_a_rack_serves_as_many_units_as_miss_no_more_than_one_frame_in_a_thousand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked with ever more units until there are too many; then nobody asks again."""
    for module in (rack, command):
        monkeypatch.setattr(module, "POLICIES", ("task-level",))
    command.study(30, tmp_path, as_json=False)
    told = json.loads((tmp_path / "study.json").read_text())
    assert told["simulated"] is True
    assert told["degrees"]["a100"]["by"] == "procedure"
    points = [rack.Point(**{key: point[key] for key in KEYS}) for point in told["points"]]
    found = {}
    for name in rack.RACKS:
        own = [point for point in points if point.rack == name]
        assert [point.units for point in own] == list(range(1, len(own) + 1))
        assert [point.served for point in own] == [True] * (len(own) - 1) + [False]
        best = rack.most(points, name, "task-level")
        assert best is own[-2]
        assert best.price * best.units == 2 * (20_000 + 4 * 10_000)
        found[name] = best.units
    assert found["one of two lost"] < found["two servers"] <= found["faster links"]
    with (tmp_path / "study.csv").open(newline="") as stream:
        assert len(list(csv.DictReader(stream))) == len(points)
    assert (tmp_path / "study.png").read_bytes().startswith(b"\x89PNG")
