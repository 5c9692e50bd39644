"""Late TTIs over clocks: what is measured, played in virtual time, predicted and governed."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from carillon import cells, cli
from carillon.errors import InputError, NoDeviceError
from carillon.power.learn import Row, excess, in_virtual_time, points
from carillon.power.measured import CellDelays, rate_msps, read_delays, standstills, write_delays
from carillon.power.operating_point import FFT_SIZE, operating_point
from carillon.power.points import Points, write_points
from carillon.power.prediction import rates, read_prediction
from sysfs_tree import make_tree, snapshot
from typer.testing import CliRunner, Result

MS = 1e6  # ns


def delays(
    work_us: float = 300, system: tuple[float, ...] = (0.0,), cell: str = "one"
) -> CellDelays:
    return CellDelays(
        cell, 7.68, MS, 4 * MS, np.full(10, work_us * 1e3), np.array(system), np.array([1e3])
    )


def test_a_standstill_is_its_first_frames_and_counts_once() -> None:
    frames = np.array([(0,), (1000,), (2000,), (3000,)], dtype=[("air_start", "<i8")])
    gap = [("start", "<i8"), ("length", "<i8")]
    # Two threads at once, one that outlasts a frame, one before the first.
    gaps = np.array([(100, 300), (200, 100), (1500, 1200), (1600, 1000), (-50, 60)], dtype=gap)
    assert standstills(frames, gaps).tolist() == [10 + 300, 1200, 0, 0]
    assert standstills(frames, gaps[:0]).tolist() == [0, 0, 0, 0]


def test_delays_are_read_as_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "delays.json"
    write_delays(file, [delays(), delays(100, (0.0, 5e6), "two")], {"cores": 2})
    one, two = read_delays(file)
    assert (one.cell, two.cell, two.rate_msps) == ("one", "two", 7.68)
    assert one.processing.tolist() == [300e3] * 10
    assert two.system.tolist() == [0, 5e6]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "holds no measured delays"),
        ('{"format": 7, "cells": []}', "has format 7"),
        ('{"format": 1, "cells": []}', "holds no cell"),
        ('{"format": 1, "cells": [{"cell": "a"}]}', "holds no measured delays"),
    ],
)
def test_a_damaged_file_of_delays_is_refused(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "delays.json"
    file.write_text(text)
    with pytest.raises(InputError, match=words):
        read_delays(file)


@pytest.mark.parametrize("bad", [[], [-1.0], [float("nan")], [[1.0]], ["x"]])
def test_times_that_make_no_sense_are_refused(tmp_path: Path, bad: list[Any]) -> None:
    file = tmp_path / "delays.json"
    write_delays(file, [delays()], {})
    tree = json.loads(file.read_text())
    tree["cells"][0]["system"] = bad
    file.write_text(json.dumps(tree))
    with pytest.raises(InputError, match="holds no measured delays"):
        read_delays(file)


@pytest.mark.parametrize(
    ("key", "bad"),
    [
        ("tti_ns", -1), ("tti_ns", 0.5), ("tti_ns", "x"), ("tti_ns", None), ("tti_ns", 1e13),
        ("response_ns", 1e15), ("rate_msps", float("nan")), ("rate_msps", -3), ("cell", None),
        ("processing", [True]), ("processing", ["1e5"]), ("processing", [1e13]),
    ],
)  # fmt: skip
def test_numbers_that_make_no_sense_are_refused(tmp_path: Path, key: str, bad: object) -> None:
    file = tmp_path / "delays.json"
    write_delays(file, [delays()], {})
    tree = json.loads(file.read_text())
    tree["cells"][0][key] = bad
    file.write_text(json.dumps(tree))
    with pytest.raises(InputError, match="holds no measured delays"):
        read_delays(file)


def test_drawing_writes_over_points_only(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text("# A page\n")
    done = CliRunner().invoke(cli.app, ["power", "draw", str(file)])
    assert isinstance(done.exception, InputError)
    assert file.read_text() == "# A page\n"
    file.unlink()
    for _ in range(2):
        assert CliRunner().invoke(cli.app, ["power", "draw", str(file)]).exit_code == 0


def test_a_lower_clock_makes_all_late_and_the_highest_none() -> None:
    # 300 µs at 2000 MHz are 3 ms at 200 MHz: three times what a TTI has.
    rows = list(in_virtual_time([delays()], [200, 1000, 2000], 1500))
    assert [row.clock_mhz for row in rows] == [200, 1000, 2000]
    assert rows[0].ratio > 0.6
    assert [row.late for row in rows[1:]] == [0, 0]
    assert {row.ttis for row in rows} == {1500}


def test_cells_of_a_core_share_its_time() -> None:
    # Four of 300 µs do not fit in a millisecond, three do.
    ratios = [
        next(iter(in_virtual_time([delays()], [2000], 3000, per_core))).ratio for per_core in (3, 4)
    ]
    assert ratios[0] == 0
    assert ratios[1] > 0.1


def test_standstills_are_told_from_work() -> None:
    (row,) = in_virtual_time([delays(300, (0.0,) * 99 + (6 * MS,))], [2000], 15_000)
    assert row.by_system == row.late > 0


def row(clock: float, late: int, cell: str = "one") -> Row:
    return Row(cell, clock, 7.68, 1000, late, 0, 0, late / 1000, 0)


def test_the_excess_is_what_lower_clocks_cost() -> None:
    rows = [row(1000, 500), row(2000, 3), row(1500, 2), row(1000, 9, "two"), row(2000, 0, "two")]
    assert points(rows).late.tolist() == [500, 3, 2, 9, 0]
    assert excess(rows).late.tolist() == [497, 0, 0, 9, 0]


def counts(tmp_path: Path, late: list[int], rate: float = 7.68) -> Path:
    file = tmp_path / "points.csv"
    clocks = np.array([2000.0, 1000.0, 1500.0, 1200.0])[: len(late)]
    ttis = np.full(len(late), 10_000)
    write_points(file, Points(clocks, np.full(len(late), rate), ttis, np.array(late)))
    return file


def test_the_knee_is_where_all_higher_clocks_do_as_well(tmp_path: Path) -> None:
    # A dip at 1200 MHz below what 1500 MHz does is chance, or a model's.
    prediction = read_prediction(counts(tmp_path, [0, 5000, 30, 4]), None, [])
    assert prediction.clocks == (1000, 1200, 1500, 2000)
    assert prediction.envelope == (0.5, 0.003, 0.003, 0)
    assert prediction.knee(1e-3, 2) == 2000
    assert prediction.knee(1e-2, 2) == 1200
    assert prediction.knee(1e-2, 4) == 2000


def test_no_clock_may_meet_the_target(tmp_path: Path) -> None:
    assert read_prediction(counts(tmp_path, [90, 5000]), None, []).knee(1e-3, 1) is None


def test_a_model_is_asked_at_the_clocks_that_are_named(tmp_path: Path) -> None:
    # exp(-f / 100): g1 = 1, g2 = -f, g3 = 100.
    model = {
        "family": "exponential", "count": 3, "coefficients": {"c1": 1, "c8": -1, "c13": 100},
        "mse": 1e-3, "aic": 0, "bic": 0, "pole": False,
    }  # fmt: skip
    file = tmp_path / "models.json"
    reach = {"clock_mhz": [400, 1000], "rate_msps": [7.68, 30.72]}
    file.write_text(json.dumps({"families": [{"usable": model, "without_poles": [model]}]} | reach))
    prediction = read_prediction(file, 7.68, [500, 1000])
    assert prediction.late == pytest.approx((np.exp(-5), np.exp(-10)))
    with pytest.raises(InputError, match="name the clocks to predict for by --clocks"):
        read_prediction(file, None, [])
    with pytest.raises(InputError, match="name --rate"):
        rates(file)
    for rate, clocks in ((7.68, [300.0, 500.0]), (7.68, [500.0, 2000.0]), (99.0, [500.0])):
        with pytest.raises(InputError, match="and says nothing of"):
            read_prediction(file, rate, clocks)
    for bad in ({"coefficients": [1]}, {"family": "other"}, {"mse": "x"}, {"more": 1}):
        broken = {"families": [{"usable": model | bad, "without_poles": []}]} | reach
        file.write_text(json.dumps(broken))
        with pytest.raises(InputError, match="holds no models"):
            read_prediction(file, 7.68, [500])
    file.write_text(json.dumps({"families": [{"usable": None, "without_poles": []}]} | reach))
    with pytest.raises(InputError, match="no model without a pole"):
        read_prediction(file, 7.68, [500])


@pytest.mark.parametrize(
    ("rate", "clocks", "words"),
    [(30.72, [], "no counts at 30.72 Msps, only at 7.68"), (7.68, [1300.0], "at 1300 MHz")],
)
def test_what_was_not_counted_is_not_predicted(
    tmp_path: Path, rate: float, clocks: list[float], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        read_prediction(counts(tmp_path, [0, 1]), rate, clocks)


def test_operating_points_are_the_papers_but_for_what_is_said() -> None:
    for mhz in FFT_SIZE:
        cell = operating_point(mhz, 25).cell
        assert (cell.antennas, cell.users, cell.uplink.iterations) == (1, 1, 5)
        assert rate_msps(cell) == pytest.approx(7.68 * mhz / 5)
        assert cell.deadlines.uplink_budget_ms == 4


def test_learn_writes_what_was_late_from_delays_of_before(tmp_path: Path) -> None:
    file = tmp_path / "delays.json"
    write_delays(file, [delays(), delays(100, cell="two")], {})
    target = tmp_path / "learned"
    words = [
        "power", "learn", "--delays", str(file), "--clocks", "200,2000", "--ttis", "1500",
        "--folder", str(target), "--json",
    ]  # fmt: skip
    done = CliRunner().invoke(cli.app, words)
    assert done.exit_code == 0, done.output
    tree = json.loads((target / "learned.json").read_text())
    assert "virtual time" in tree["source"]
    assert [each["late"] > 0 for each in tree["rows"]] == [True, False, False, False]
    with (target / "learned.csv").open() as stream:
        assert len(list(csv.DictReader(stream))) == 4
    assert (target / "late.svg").read_text().startswith("<?xml")
    knee = CliRunner().invoke(cli.app, ["power", "knee", str(target / "excess.csv"), "--json"])
    # Two cells have the same rate.
    assert isinstance(knee.exception, InputError)
    assert "two counts at the same clock" in str(knee.exception)


def test_learn_asks_for_cells_or_delays(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli.app, ["power", "learn", "--folder", str(tmp_path / "no")])
    assert isinstance(done.exception, InputError)
    assert "name cells to measure, or --delays" in str(done.exception)
    done = CliRunner().invoke(cli.app, ["power", "learn", "lan-8x4", "--clocks", "0,5"])
    assert done.exit_code == 2
    assert "'--clocks'" in done.output


def test_knee_tells_where_it_is(tmp_path: Path) -> None:
    file = counts(tmp_path, [0, 5000, 30, 4])
    done = CliRunner().invoke(cli.app, ["power", "knee", str(file), "--outage", "0.01", "--json"])
    (rate,) = json.loads(done.output)["rates"]
    assert (rate["rate_msps"], rate["knee_mhz"]) == (7.68, 1200)
    done = CliRunner().invoke(cli.app, ["power", "knee", str(file)])
    assert done.exit_code == 0
    assert "2000" in done.output and "the lowest clock at which 2 times" in done.output


def test_a_governed_run_counts_each_frame_at_its_clock(tmp_path: Path) -> None:
    # Which frames are late depends on the machine; that they add up does not.
    loaded = cells.load("laptop-8x2")
    file = counts(tmp_path, [0, 1], rate_msps(loaded.cell))
    target = tmp_path / "governed"
    words = [
        "power", "govern", "laptop-8x2", "--predicted", str(file), "--seconds", "1",
        "--outage", "0.4", "--folder", str(target), "--no-live",
    ]  # fmt: skip
    done = CliRunner().invoke(cli.app, words)
    assert (target / "governed.json").exists(), done.output
    told = json.loads((target / "governed.json").read_text())
    assert told["emulated"] is True
    assert sum(told["frames_at_mhz"].values()) == told["frames"] > 0
    assert set(told["frames_at_mhz"]) <= {"1000", "2000"}
    assert 1000 <= told["mean_clock_mhz"] <= 2000
    assert told["stalled"] <= told["late"] <= told["frames"]
    result = json.loads((target / "result.json").read_text())
    assert result["frames"]["seen"] == told["frames"]
    assert result["clock"]["emulated"] is True
    drawn = (target / "plots" / "latency.svg").read_text()
    assert "governed emulated clock, 1000 to 2000 MHz" in drawn


def governed_by_cpufreq(tmp_path: Path, sysfs: Path) -> Result:
    file = counts(tmp_path, [0, 9000, 1], rate_msps(cells.load("laptop-8x2").cell))
    words = [
        "power", "govern", "laptop-8x2", "--predicted", str(file), "--seconds", "1", "--no-live",
        "--outage", "0.4", "--settle", "1", "--folder", str(tmp_path / "governed"), "--cpufreq",
        "--sysfs", str(sysfs), "--clocks", "1500,2000",
    ]  # fmt: skip
    return CliRunner().invoke(cli.app, words)


trees_have_our_cores = pytest.mark.skipif(
    not os.sched_getaffinity(0) <= {0, 1}, reason="the trees have cores 0 and 1"
)


@trees_have_our_cores
@pytest.mark.parametrize("kind", ["acpi-cpufreq", "intel_pstate-active"])
def test_a_run_may_be_governed_by_cpufreq_which_is_as_before_then(
    tmp_path: Path, kind: str
) -> None:
    sysfs = make_tree(kind, tmp_path / "sys")
    before = snapshot(sysfs)
    done = governed_by_cpufreq(tmp_path, sysfs)
    told = json.loads((tmp_path / "governed" / "governed.json").read_text())
    assert told["emulated"] is False and "emulated" not in done.output
    assert "1500" in told["frames_at_mhz"]
    assert set(told["frames_at_mhz"]) <= {"1500", "2000"}
    result = json.loads((tmp_path / "governed" / "result.json").read_text())
    assert result["clock"] == {
        "emulated": False, "governed": True, "mhz": [1500, 2000], "fixed_mhz": None,
    }  # fmt: skip
    page = (tmp_path / "governed" / "report.html").read_text()
    assert "governed clock, 1500 to 2000 MHz" in page
    assert sum(told["frames_at_mhz"].values()) == told["frames"] > 0
    assert snapshot(sysfs) == before
    assert not list(tmp_path.glob("*.journal"))


@trees_have_our_cores
def test_what_a_killed_run_set_is_put_back_by_the_next_start(tmp_path: Path) -> None:
    sysfs = make_tree("acpi-cpufreq", tmp_path / "sys")
    before = snapshot(sysfs)
    file = counts(tmp_path, [0, 9000, 1], rate_msps(cells.load("laptop-8x2").cell))
    process = subprocess.Popen(
        [sys.executable, "-m", "carillon", "power", "govern", "laptop-8x2", "--predicted", file,
         "--clocks", "1500,2000", "--seconds", "600", "--no-live", "--cpufreq", "--sysfs", sysfs,
         "--folder", tmp_path / "governed"],
        start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        governor = sysfs / "devices/system/cpu/cpufreq/policy0/scaling_governor"
        while governor.read_text() != "userspace\n":
            assert process.poll() is None
            time.sleep(0.01)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert len(children) == 1
        os.kill(int(children[0]), signal.SIGKILL)  # carillond, before it can put anything back
    finally:
        process.kill()
        process.wait()
    assert snapshot(sysfs) != before
    done = CliRunner().invoke(cli.app, ["power", "clock", "--restore", "--sysfs", str(sysfs)])
    assert done.exit_code == 0, done.output
    assert snapshot(sysfs) == before


def test_a_tree_whose_name_a_plan_cannot_hold_is_refused(tmp_path: Path) -> None:
    sysfs = make_tree("acpi-cpufreq", tmp_path / "a #b")
    done = governed_by_cpufreq(tmp_path, sysfs)
    assert isinstance(done.exception, InputError)
    assert "rename it" in str(done.exception)


def test_where_no_clock_can_be_set_none_is_governed(tmp_path: Path) -> None:
    done = governed_by_cpufreq(tmp_path, make_tree("none", tmp_path / "sys"))
    assert isinstance(done.exception, NoDeviceError)


@trees_have_our_cores
def test_a_clock_that_there_is_not_ends_a_governed_run_before_it_begins(tmp_path: Path) -> None:
    sysfs = make_tree("acpi-cpufreq", tmp_path / "sys")
    file = sysfs / "devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq"
    file.write_text("1600000\n")
    before = snapshot(sysfs)
    done = governed_by_cpufreq(tmp_path, sysfs)
    assert done.exception is not None and "2000 MHz" in done.output + str(done.exception)
    assert snapshot(sysfs) == before


def test_governing_another_cell_than_was_counted_is_refused(tmp_path: Path) -> None:
    file = counts(tmp_path, [0, 1], 1.0)
    words = ["power", "govern", "laptop-8x2", "--predicted", str(file)]
    done = CliRunner().invoke(cli.app, words)
    assert isinstance(done.exception, InputError)
    assert "run `carillon power learn laptop-8x2`" in str(done.exception)
