"""`carillon simulate`: its file, what it leaves, and what its figures say."""

import csv
import json
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from carillon import core
from carillon.commands.simulate import simulate
from carillon.config import ConfigError
from carillon.config.plan import key_values
from carillon.config.pool import POLICIES, PROFILES, DeviceType, PoolStudy
from carillon.pool import plan, running, study, summary
from carillon.statistics import percentile
from small_pool import SMALL


def described(folder: Path, text: str = SMALL) -> study.Described:
    file = folder / "my.yaml"
    file.write_text(text)
    return study.load(file)


def run(folder: Path, text: str = SMALL, workers: int = 1) -> dict[str, Any]:
    """result.json of a study; the rest lies in `folder`/out."""
    file = folder / "my.yaml"
    file.write_text(text)
    simulate(str(file), None, workers, folder / "out", as_json=False)
    told: dict[str, Any] = json.loads((folder / "out" / "result.json").read_text())
    return told


def complaints(folder: Path, text: str) -> list[str]:
    with pytest.raises(ConfigError) as error:
        described(folder, text)
    return [str(problem).replace(f"{folder}/", "") for problem in error.value.problems]


def outcome(**columns: Any) -> running.Outcome:
    """Of made-up frames."""
    count = len(columns["began"])
    known: dict[str, Any] = {
        "cell": np.zeros(count, np.uint16),
        "devices": np.ones(count, np.uint16),
        "server": np.zeros(count, np.uint16),
        "done": np.ones(count, bool),
        "why": np.zeros(count, np.uint8),
    }
    numbers: dict[str, Any] = {"tasks": 0, "copies": 0, "again": 0, "end": 0.0}
    named: dict[str, Any] = {"policy": "scoreboard", "seed": 1, "busy": [0.5], "stages": {}}
    named |= {"ports": [], "moves": [], "joins": [], "memory": [0]}
    return running.Outcome(**(named | numbers | known | columns))


# --- The file -------------------------------------------------------------------------------------


def test_the_file_knows_what_the_engine_knows() -> None:
    assert list(POLICIES) == core.pool_policies()
    known = core.device_types()
    assert list(get_args(DeviceType)) == [kind["name"] for kind in known if not kind["host"]]
    assert list(PROFILES) == core.pool_profiles()


def test_an_unknown_key_is_told_with_file_and_line(tmp_path: Path) -> None:
    found = complaints(tmp_path, SMALL.replace("count", "number"))
    assert found == [
        "my.yaml:1: devices[0].number is not a key; the keys here are type, count, chassis, "
        "queues, reserved_sms, memory_gbytes, reserve"
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("at_once: 9", "my.yaml:5: at_once is 9 but must be at most ring, 8"),
        (
            "at_once: 2\nfaults: [{at_ms: 1, server: 0, event: lost}]",
            "my.yaml:6: faults[0].server is 0 but a server is lost only at the pace of the air, "
            "and at_once is 2",
        ),
        (
            "at_once: 2\nfaults: [{at_ms: 1, device: all, event: lost}]",
            "my.yaml:6: faults[0].device is all but all devices are lost only at the pace of the "
            "air, and at_once is 2",
        ),
        ("seeds: [1, 1]", "my.yaml:5: seeds names one twice"),
        (
            "faults: [{at_ms: 1, device: 2, event: lost}]",
            "my.yaml:5: faults[0].device is 2 but the devices are 0 to 1",
        ),
        (
            "background: [{device: 0, ctas: 8, warps: 32, registers: 72, mflop: 1}]",
            "my.yaml:5: background[0].registers is 72: 32 warps with so many fit no SM; "
            "at most 64 would",
        ),
        (
            "background: [{device: 0, ctas: 8, warps: 4, mflop: 0}]",
            "my.yaml:5: background[0].mflop is 0 but a kernel must do something: at least 0.01, "
            "or kbytes at least 1",
        ),
        (
            "deadline_ms: 0.5",
            "my.yaml:5: deadline_ms is 0.5 ms but the last symbol to receive ends after 1 ms",
        ),
        (
            "ring: 9\napart_ms: 1.0e+300",
            "my.yaml:6: apart_ms is 1e+300 but must be a number between 0 and 1000000",
        ),
        ("switch: {move_ms: 3}", "my.yaml:5: switch is between servers, but the file has none"),
        (
            "scoreboard: {degree: {v100: 0.5}}",
            "my.yaml:5: scoreboard.degree.v100 is given but the devices are a100; delete it",
        ),
        (
            "policies: [adaptive]\ntrace: {policy: scoreboard}",
            "my.yaml:6: trace.policy is scoreboard but must be one of policies, adaptive",
        ),
        ("profile: .", "my.yaml:5: profile is '.', neither megastation nor roofline nor a file"),
        ("policies: [best]", "my.yaml:5: policies[0] is 'best' but must be frame-level, "),
    ],
)
def test_an_impossible_pool_is_told_with_file_and_line(
    tmp_path: Path, line: str, said: str
) -> None:
    assert complaints(tmp_path, SMALL + line)[0].startswith(said)


def test_devices_cells_and_sms_have_limits(tmp_path: Path) -> None:
    text = SMALL.replace("count: 2", "count: 2, reserved_sms: 108").replace("warm_up: 10", "")
    assert complaints(tmp_path, text) == [
        "my.yaml:1: devices[0].reserved_sms is 108 but must be less than the 108 SMs of a device, "
        "a100"
    ]
    text = "devices: []\ncells: [{cell: 64x32-uplink, count: 64}, {cell: 64x32-uplink}]"
    assert complaints(tmp_path, text) == [
        "my.yaml:1: devices are 0 in all but must be between 1 and 64",
        "my.yaml:2: cells are 65 in all but must be between 1 and 64",
    ]
    assert (
        "neither a file nor an example"
        in complaints(tmp_path, SMALL.replace("64x32-uplink", "64x31-uplink"))[0]
    )


def test_a_cell_whose_frames_differ_is_none_for_devices(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "antennas: 8\nusers: 2\nradio: {frames: 2}\n"
        "grants: {kind: list, frames: 2, list: [{user: 0, slot: 0, blocks: 2}]}\n"
    )
    assert complaints(tmp_path, SMALL.replace("64x32-uplink", "own.yaml")) == [
        "my.yaml:2: cells[0].cell.grants.frames is 2, but devices do the same in every frame"
    ]


def test_the_engine_says_which_key_of_a_pool_plan_is_wrong(tmp_path: Path) -> None:
    whole = described(tmp_path)
    plans = [served.plan for served in whole.served]

    def wrong(**keys: object) -> list[tuple[str, str]]:
        found = core.validate_pool(plans, key_values(plan.pool_plan(whole) | keys))
        return [(one.key, one.message) for one in found]

    assert wrong() == []
    assert wrong(ring=65) == [("ring", "is 65 but must be between 1 and 64")]
    assert wrong(colour="red") == [("colour", "is not a key of a pool plan")]
    (found,) = wrong(policy="best")
    assert found[0] == "policy" and found[1].startswith("is 'best' but must be one of frame-level")
    with pytest.raises(ValueError, match="plan_texts must be as many as the pool plan has cells"):
        core.simulate_pool([], key_values(plan.pool_plan(whole)))


def test_a_cell_may_lie_beside_the_study(tmp_path: Path) -> None:
    family = described(tmp_path, SMALL.replace("64x32-uplink", "pool/64x32-uplink"))
    assert family.served == described(tmp_path).served
    (tmp_path / "own.yaml").write_text("name: mine\nantennas: 8\nusers: 2\n")
    text = SMALL.replace("64x32-uplink", "own.yaml")
    assert described(tmp_path, text).served[0].cell.name == "mine"


def test_chassis_hang_on_the_switch_and_devices_on_their_chassis(tmp_path: Path) -> None:
    text = SMALL.replace("count: 2", "chassis: 3}, {type: v100, chassis: 1")
    nodes, node_of = plan.fabric(described(tmp_path, text).study.rack()[0])
    assert [(node["name"], node["parent"]) for node in nodes[1:]] == [
        ("switch", 0),
        ("chassis 1", 1),
        ("chassis 3", 1),
        ("device 0", 3),
        ("device 1", 2),
    ]
    assert node_of == [4, 5]
    assert (nodes[1]["bytes_per_s"], nodes[1]["latency_ns"]) == (64e9, 500.0)


# --- What it says ---------------------------------------------------------------------------------


def test_the_bound_is_that_of_the_samples_of_a_frame(tmp_path: Path) -> None:
    """§5.4: S·RU/B < T. Samples have two 16-bit parts, 14 symbols come in 1 ms."""
    one = study.bound(described(tmp_path))
    symbol = 64 * 2048 * 4
    assert one.units["pool-64x32-uplink"] == pytest.approx(64e9 * 1e-3 / (14 * symbol))
    assert one.load == pytest.approx(1 / one.units["pool-64x32-uplink"])
    alone = study.bound(described(tmp_path, SMALL.replace("count: 2", "count: 1")))
    assert alone.gbytes_per_s == 25


def test_a_run_leaves_a_folder_that_says_it_is_simulated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = run(tmp_path, SMALL + "trace: {policy: task-level, frames: 3}")
    assert told["simulated"] is True
    assert "megastation" in told["about"]
    assert told["version"] == core.version
    assert PoolStudy.model_validate(told["configuration"]) == described(tmp_path).study.model_copy(
        update={"trace": PoolStudy.model_validate(told["configuration"]).trace}
    )
    assert [row["policy"] for row in told["policies"]] == list(POLICIES)
    assert all(row["done"] == row["frames"] == 50 for row in told["policies"])
    out = capsys.readouterr().out
    assert "simulated in virtual time" in out
    assert "p99.99" in out
    for name in ("latency", "policies"):
        assert (tmp_path / "out" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (tmp_path / "out" / f"{name}.svg").is_file()


def test_the_figures_are_those_of_the_frames(tmp_path: Path) -> None:
    told = run(tmp_path)
    with (tmp_path / "out" / "frames.csv").open(newline="") as stream:
        frames = list(csv.DictReader(stream))
    assert len(frames) == 5 * 60
    for row in told["policies"]:
        own = [frame for frame in frames if frame["policy"] == row["policy"]]
        late = sorted(own, key=lambda frame: float(frame["began_ms"]))[10:]
        mean = np.mean([float(frame["latency_ms"]) for frame in late])
        assert row["mean_ms"] == pytest.approx(mean)
        assert row["frames_per_s"] == pytest.approx(1000, rel=0.05)
        assert row["percentiles_ms"]["p99"] is None  # of 50 frames
        assert row["percentiles_ms"]["p50"] is not None


def test_results_do_not_depend_on_the_number_of_processes(tmp_path: Path) -> None:
    text = SMALL + "seeds: [1, 2]\npolicies: [adaptive, task-level]"
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder, workers in zip(folders, (1, 2), strict=True):
        folder.mkdir()
        run(folder, text, workers)
    one, two = (
        [(folder / "out" / name).read_bytes() for name in ("frames.csv", "trace.json")]
        for folder in folders
    )
    assert one == two
    assert len(one[0].splitlines()) == 1 + 2 * 2 * 60


def test_the_trace_shows_every_task_where_it_ran(tmp_path: Path) -> None:
    run(tmp_path, SMALL + "trace: {policy: task-level, frames: 3}\n")
    tree = json.loads((tmp_path / "out" / "trace.json").read_text())
    assert tree["otherData"]["simulated"] is True
    tasks = [event for event in tree["traceEvents"] if event["ph"] == "X"]
    graph = core.pool_graph(described(tmp_path).served[0].plan)
    assert len(tasks) == 3 * len(graph)
    assert {task["pid"] for task in tasks} == {1, 2}
    assert {task["args"]["placed"] for task in tasks} == {"where it is done first"}
    one_after_the_other(tree)


def test_the_trace_is_of_a_policy_that_ran(tmp_path: Path) -> None:
    run(tmp_path, SMALL + "policies: [adaptive]\n")
    tree = json.loads((tmp_path / "out" / "trace.json").read_text())
    assert tree["otherData"]["policy"] == "adaptive"
    tasks = [event for event in tree["traceEvents"] if event["ph"] == "X"]
    apart = [task["args"]["expected_end"] - task["ts"] - task["dur"] for task in tasks]
    assert np.median(np.abs(apart)) < 20  # µs: nothing else is in the way


@pytest.mark.parametrize("kind", ["a100", "v100"])
@pytest.mark.parametrize("degree", [0.5, 1])
def test_a_type_of_device_is_too_busy_at_its_own_degree(
    kind: str, degree: float, tmp_path: Path
) -> None:
    """Not even an idle one has more than all of its SMs free."""
    pool = f"devices: [{{type: {kind}, count: 1}}]\ncells: [{{cell: 64x32-uplink}}]\n"
    pool += f"policies: [scoreboard]\nframes: 40\nscoreboard: {{degree: {{{kind}: {degree}}}}}\n"
    run(tmp_path, pool)
    tree = json.loads((tmp_path / "out" / "trace.json").read_text())
    placed = {task["args"]["placed"] for task in tree["traceEvents"] if task["ph"] == "X"}
    assert ("room where its predecessor ran" in placed) == (degree < 1)


def one_after_the_other(tree: dict[str, Any]) -> None:
    ends: dict[tuple[int, int], float] = {}
    for event in tree["traceEvents"]:
        track = (event["pid"], event["tid"])
        if event["ph"] == "X":
            assert event["ts"] >= ends[track]
            ends[track] = event["ts"] + event["dur"]
        elif event["name"] == "thread_name":
            ends[track] = 0


def test_in_a_trace_what_overlaps_has_tracks_of_its_own(tmp_path: Path) -> None:
    fault = "faults: [{at_ms: 20.5, device: 0, event: lost}]"
    run(tmp_path, SMALL + "trace: {policy: adaptive, frames: 30}\n" + fault)
    tree = json.loads((tmp_path / "out" / "trace.json").read_text())
    one_after_the_other(tree)
    names = {event["args"]["name"] for event in tree["traceEvents"] if event["ph"] == "M"}
    assert "queue 30" in names
    assert "queue 30 (2)" in names  # issued again, each in a stream of its own


def test_a_deadline_that_cannot_be_met_refuses_every_frame(tmp_path: Path) -> None:
    told = run(tmp_path, SMALL + "deadline_ms: 1.01\npolicies: [frame-level]")
    (row,) = told["policies"]
    assert row["done"] == 0
    assert sum(row["nacked"].values()) == row["frames"] == 50
    assert row["mean_ms"] is None
    assert row["percentiles_ms"]["p50"] == "never"


def test_without_memory_frames_are_refused(tmp_path: Path) -> None:
    text = (
        SMALL.replace("count: 2}", "count: 2, memory_gbytes: 0.05}", 1) + "policies: [frame-level]"
    )
    (row,) = run(tmp_path, text + "\nat_once: 8")["policies"]
    assert row["nacked"]["no memory left"] > 0
    assert 0 < row["done"] < row["frames"]
    assert all(0 < taken <= 0.05e9 for taken in row["memory_bytes_by_device"])


def test_a_key_that_may_be_null_says_what_else_it_may_be(tmp_path: Path) -> None:
    (message,) = complaints(tmp_path, SMALL.replace("count: 2}", "memory_gbytes: -1}", 1))
    assert "memory_gbytes is -1 but must be a number between 1e-06 and 10000 or null" in message
    fault = "faults: [{at_ms: 1, device: any, event: lost}]"
    found = complaints(tmp_path, SMALL + fault)
    assert all("faults[0].device is 'any' but must be" in message for message in found)


def test_memory_that_holds_no_frame_is_an_error(tmp_path: Path) -> None:
    text = SMALL.replace("[{", "\n  - {type: h200}\n  - {", 1).replace("}]\nc", "}\nc")
    text = text.replace("count: 2}", "count: 2, memory_gbytes: 0.0001}")
    (message,) = complaints(tmp_path, text)
    assert message.startswith(
        "my.yaml:3: devices[1].memory_gbytes is 0.0001 GB but a frame's results take 0.0"
    )
    servers = SMALL.replace("devices: [{", "servers: [{devices: [{type: a100}]}, {devices: [{")
    servers = servers.replace("count: 2}]", "memory_gbytes: 0.0001}]}]")
    (message,) = complaints(tmp_path, servers)
    assert message.startswith("my.yaml:1: servers[1].devices[0].memory_gbytes is 0.0001 GB but")


def test_a_lost_device_costs_time_and_no_frames(tmp_path: Path) -> None:
    whole = SMALL + "policies: [task-level]\n"
    fault = "faults: [{at_ms: 20.5, device: 0, event: lost}, {at_ms: 40, device: 0, event: back}]"
    folders = [tmp_path / "whole", tmp_path / "lost"]
    rows = []
    for folder, text in zip(folders, (whole, whole + fault), strict=True):
        folder.mkdir()
        rows.append(run(folder, text)["policies"][0])
    assert [row["done"] for row in rows] == [50, 50]
    assert rows[0]["issued_again"] == 0
    assert rows[1]["issued_again"] > 0
    assert rows[1]["sm_share_by_device"][0] < rows[0]["sm_share_by_device"][0]


def test_the_hosts_cores_serve_while_the_interconnect_is_lost(tmp_path: Path) -> None:
    fault = (
        "faults: [{at_ms: 20.5, device: all, event: lost}, {at_ms: 40, device: all, event: back}]"
    )
    text = SMALL.replace("64x32", "32x8") + "policies: [frame-level, adaptive]\n" + fault
    rows = run(tmp_path, text)["policies"]
    assert all(row["done"] < 40 for row in rows)
    for row in run(tmp_path, text + "\nfallback_cores: 64")["policies"]:
        assert row["done"] == 50
        *devices, host = row["sm_share_by_device"]
        assert host > 0
        assert min(devices) > 0
    with (tmp_path / "out" / "frames.csv").open() as stream:
        meanwhile = [
            frame for frame in csv.DictReader(stream) if 21 <= float(frame["began_ms"]) < 38
        ]
    assert [frame["done"] for frame in meanwhile] == 2 * 17 * ["1"]


def test_a_saturated_pool_ends_more_frames(tmp_path: Path) -> None:
    told = run(tmp_path, SMALL + "at_once: 4\npolicies: [frame-level]")
    assert told["policies"][0]["frames_per_s"] > 1200


# --- Statistics -----------------------------------------------------------------------------------


def test_a_refused_frame_is_later_than_all() -> None:
    """Else a policy that refuses its worst frames would look the best."""
    done = np.ones(20_000, bool)
    done[[7, 9, 11]] = False
    one = outcome(began=np.arange(20_000.0), latency=np.full(20_000, 1.5), done=done)
    values = summary.latencies([one], 0)
    assert np.isinf(values).sum() == 3
    assert percentile(values, 0.9999) == np.inf
    assert percentile(values, 0.999) == 1.5


def test_the_warm_up_is_the_first_frames_of_each_cell() -> None:
    one = outcome(
        began=np.array([1.0, 0.0, 0.5, 2.0, 1.5]),
        latency=np.arange(5.0),
        cell=np.array([0, 0, 1, 0, 1], np.uint16),
    )
    assert summary.settled(one, 1).tolist() == [True, False, False, True, True]
