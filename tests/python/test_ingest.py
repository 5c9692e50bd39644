"""`carillon ingest bench`: what it measures here, and what it says of what is not here."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from carillon import core, ingest
from carillon.cli import app
from carillon.ingest import Case, Row
from carillon.others import Others
from carillon.plots import ingest as picture
from hang import HANG_S
from typer.testing import CliRunner

RUNNER = CliRunner()
GPU, NIC = "0000:3b:00.0", "0000:3c:00.0"


def call(folder: Path, *words: str) -> dict[str, Any]:
    done = RUNNER.invoke(
        app, ["ingest", "bench", *words, "--seconds", "0.01", "--folder", str(folder), "--json"]
    )
    assert done.exit_code == 0, done.output
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def link(generation: int, lanes: int) -> dict[str, Any]:
    limit = core.link_limit(generation, lanes)
    return {"generation": generation, "lanes": lanes, "limit_mb_per_s": limit}


def around(now: dict[str, Any], *, root: str = "pci0000:3a") -> dict[str, Any]:
    """A machine with a GPU and a card, whose links could all be Gen4 x16."""
    devices = [
        {
            "address": address,
            "root": below,
            "gpu": address == GPU,
            "link": now,
            "narrowest": now,
            "most": link(4, 16),
        }
        for address, below in ((GPU, "pci0000:3a"), (NIC, root))
    ]
    paths = [
        {"name": "staged", "ready": True, "why": "", "needs": "a GPU"},
        {"name": "dma-buf", "ready": False, "why": "no card", "needs": "a card"},
    ]
    return {
        "devices": devices,
        "paths": paths,
        "gpu": GPU,
        "peer": NIC,
        "share_root": root == "pci0000:3a",
    }


def measured(path: str, mb_per_s: float, **more: Any) -> Row:
    ends_in = "host" if path in ingest.ON_HOST else "device"
    return Row(path, ends_in, channels=1, block_bytes=4096, mb_per_s=mb_per_s, **more)


def counted(**more: Any) -> dict[str, Any]:
    """What the engine says of 1000 blocks of 4 KB in a millisecond."""
    return {
        "error": "",
        "seconds": 1e-3,
        "blocks": 1000,
        "bytes": 4_096_000,
        "cpu_seconds": 5e-4,
        "source_cpu_seconds": 1e-4,
        "slots": 8,
        "checked": 1000,
        "wrong": 0,
        "lost_samples": 0,
        "out_of_order": 0,
        "dropped": 0,
    } | more


def test_the_slides_link_carries_1700_megabytes() -> None:
    assert core.link_limit(2, 4) == pytest.approx(1700)
    assert core.link_limit(0, 4) == 0.0


def test_the_published_gains_are_those_of_the_slides() -> None:
    gains = [f"{each.row()['gain']:.0%}" for each in ingest.PUBLISHED]
    assert gains == ["1%", "45%", "46%"]
    assert ingest.PUBLISHED[0].row()["limit_mb_per_s"] == pytest.approx(1700)
    assert ingest.PUBLISHED[2].row()["limit_mb_per_s"] is None


def test_everything_asked_for_is_measured_and_every_block_is_whole(tmp_path: Path) -> None:
    told = call(tmp_path, "--sizes", "4K,64K", "--channels", "1,3")
    rows = [row for row in told["rows"] if row["ends_in"] == "host"]
    shapes = [(row["path"], row["channels"], row["block_bytes"]) for row in rows]
    ready = ingest.ready_paths(told)
    on_host = [path for path in ready if path in ingest.ON_HOST]
    expected = [(p, c, b) for c in (1, 3) for b in (4096, 65536) for p in on_host]
    assert shapes == expected
    for row in rows:
        assert row["mb_per_s"] > 0
        assert row["gsps"] == pytest.approx(row["mb_per_s"] / 4000)
        assert row["checked"] >= 4
        assert row["wrong"] == row["lost_samples"] == row["out_of_order"] == 0
        assert row["of_limit"] is None  # no bus was crossed
    assert told["descriptor_ns"] > 0


def test_a_path_that_is_missing_has_a_row_with_reason_and_remedy(tmp_path: Path) -> None:
    told = call(tmp_path, "--sizes", "64", "--channels", "1")
    ready = {path["name"] for path in told["paths"] if path["ready"]}
    assert {path["name"] for path in told["paths"]} == {
        *("staged", "pinned-copy", "pinned-read"),
        *("card-host", "dma-buf", "peermem", "gpudev"),
    }
    missing = [row for row in told["rows"] if row["mb_per_s"] is None]
    assert {row["path"] for row in missing} == {p["name"] for p in told["paths"]} - ready
    assert all(row["why"] and row["needs"] and row["ends_in"] == "" for row in missing)
    if not core.cuda_machine()["devices"]:
        assert ready <= {"card-host"}


def test_results_are_files_too(tmp_path: Path) -> None:
    told = call(tmp_path, "--sizes", "64,4K", "--channels", "2")
    assert json.loads((tmp_path / "ingest.json").read_text(encoding="utf-8")) == told
    with (tmp_path / "ingest.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["path"] for row in rows] == [row["path"] for row in told["rows"]]
    assert (tmp_path / "ingest.png").stat().st_size > 10_000
    assert (tmp_path / "ingest.svg").is_file()


def test_the_table_says_what_was_not_measured(tmp_path: Path) -> None:
    words = ["--sizes", "64", "--channels", "1", "--seconds", "0.01", "--folder", str(tmp_path)]
    done = RUNNER.invoke(app, ["ingest", "bench", *words])
    assert done.exit_code == 0
    for part in (
        "pinned-host",
        "nothing there is a GPU",
        "Not measured here",
        "Published",
        "+45 %",
    ):
        assert part in done.output


@pytest.mark.parametrize("preset", ingest.PRESETS)
def test_a_preset_is_a_radios_channels_and_rate(preset: str) -> None:
    found = ingest.preset_cases(["pinned-host"], [4096], [preset])
    radio = ingest.PRESETS[preset]
    assert found == [Case("pinned-host", radio.channels, 4096, radio.msps, preset)]


def test_the_slowest_radio_is_followed_at_its_rate(tmp_path: Path) -> None:
    told = call(tmp_path, "--preset", "1x61.44", "--sizes", "64K")
    row = next(row for row in told["rows"] if row["path"] == "pinned-host")
    assert (row["preset"], row["channels"]) == ("1x61.44", 1)
    assert not (row["in_time"] and row["dropped"])
    assert row["spread"] is None
    assert row["mb_per_s"] < 4 * 245.76  # it does not go as fast as it can


@pytest.mark.parametrize(
    ("words", "key", "why"),
    [
        (["--sizes", "4Q"], "--sizes", "'4Q' is no size"),
        (["--sizes", ""], "--sizes", "'' is no size"),
        (["--sizes", "4K,100"], "--sizes", "'100' is not a multiple of 64"),
        (["--sizes", "128M"], "--sizes", "'128M'"),
        (["--channels", "9"], "--channels", "'9' is no number of channels from 1 to 8"),
        (["--channels", "0"], "--channels", "'0'"),
        (["--channels", "1", "--preset", "2x491"], "--channels", "its own channels"),
        (["--preset", "3x7"], "--preset", "3x7"),
        (["--seconds", "0"], "--seconds", "0.01"),
    ],
)
def test_an_error_names_the_option_and_the_value(words: list[str], key: str, why: str) -> None:
    done = RUNNER.invoke(app, ["ingest", "bench", *words], env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert key in done.output
    assert why in done.output


def test_a_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    done = RUNNER.invoke(app, ["ingest", "bench", "--folder", str(file)])
    assert str(file) in str(done.exception)
    assert done.exit_code == 1


def test_sizes_are_read_in_powers_of_1024() -> None:
    assert ingest.parse_sizes("64M, 4K,4KB,64,1MiB") == [64, 4096, 1 << 20, 64 << 20]
    assert [ingest.size_name(size) for size in (64, 4096, 64 << 20)] == ["64 B", "4 KB", "64 MB"]


def test_the_engine_refuses_what_it_cannot_do() -> None:
    with pytest.raises(ValueError, match="no path teleport"):
        core.ingest_measure("teleport", channels=1, block_bytes=64, seconds=0)
    with pytest.raises(ValueError, match="channels"):
        core.ingest_measure("pinned-host", channels=0, block_bytes=64, seconds=0)
    with pytest.raises(ValueError, match="block_bytes"):
        core.ingest_measure("pinned-host", channels=1, block_bytes=65, seconds=0)


def test_a_machine_without_sysfs_has_no_links(tmp_path: Path) -> None:
    found = core.ingest_surroundings(str(tmp_path))
    assert (found["devices"], found["gpu"], found["peer"]) == ([], None, None)


def test_rates_and_cpu_time_follow_from_what_was_counted() -> None:
    row = ingest.row_of(Case("staged", 2, 4096), [counted()])
    assert row.ends_in == "device"
    assert row.mb_per_s == pytest.approx(4096)
    assert row.gsps == pytest.approx(1.024)
    assert row.cores == pytest.approx(0.5)
    assert row.source_cores == pytest.approx(0.1)
    assert row.cpu_ns_per_block == pytest.approx(500)
    assert row.cpu_ns_per_sample == pytest.approx(500 / 1024)
    assert row.in_time is None
    paced = Case("staged", 2, 4096, 245.76, "2x491")
    assert ingest.row_of(paced, [counted()]).in_time is True
    assert ingest.row_of(paced, [counted(dropped=1)]).in_time is False


def test_a_devices_failure_is_told_in_its_row() -> None:
    row = ingest.row_of(Case("staged", 1, 4096), [counted(), counted(error="out of memory")])
    assert (row.why, row.mb_per_s, row.ends_in) == ("out of memory", None, "")


def test_only_what_crossed_the_link_has_a_share_of_it() -> None:
    rows = [measured("staged", 850), measured("staged-host", 850)]
    shares = [row.of_limit for row in ingest.with_limit(rows, 1700)]
    assert shares == [pytest.approx(0.5), None]
    assert ingest.with_limit(rows, None) == rows


def test_a_link_that_hides_the_path_is_warned_of() -> None:
    slow, fast = around(link(2, 4)), around(link(4, 16))
    assert ingest.limit_mb_per_s(slow) == pytest.approx(1700)
    rows = [measured("staged", 1690), measured("pinned-copy", 1700)]
    hidden = [text for text in ingest.warnings(slow, rows) if "hides" in text]
    assert len(hidden) == 1
    assert "1700 MB/s" in hidden[0]
    assert "1690" in hidden[0]
    assert not ingest.warnings(fast, rows)
    assert not [
        text for text in ingest.warnings(slow, [measured("staged", 900)]) if "hides" in text
    ]


def test_a_link_narrower_than_it_could_be_is_warned_of() -> None:
    found = ingest.warnings(around(link(3, 8)), [])
    assert [text.split(" ")[0] for text in found] == [GPU, NIC]
    assert "could have Gen4 x16" in found[0]
    assert "has Gen3 x8 (6695 MB/s)" in found[0]


def test_peers_of_two_root_complexes_are_warned_of() -> None:
    (warning,) = ingest.warnings(around(link(4, 16), root="pci0000:00"), [])
    assert GPU in warning
    assert NIC in warning
    assert "do not share a root complex" in warning


def test_damage_is_warned_of() -> None:
    rows = [measured("staged", 1, wrong=2, out_of_order=0, lost_samples=0)]
    assert "2 blocks damaged" in ingest.warnings(around(link(4, 16)), rows)[0]


def test_ctrl_c_leaves_the_results_of_what_is_measured(tmp_path: Path) -> None:
    folder = tmp_path / "made-when-it-begins"
    words = ["ingest", "bench", "--sizes", "64", "--seconds", "1", "--folder", str(folder)]
    with subprocess.Popen(
        [sys.executable, "-m", "carillon", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while not folder.exists() and process.poll() is None:
            time.sleep(0.1)
        time.sleep(1.5)  # of eight seconds
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=HANG_S)
    assert process.returncode == 130
    assert errors.endswith("carillon: stopped\n")
    told = json.loads((folder / "ingest.json").read_text(encoding="utf-8"))
    assert len([row for row in told["rows"] if row["ends_in"] == "host"]) < 8


def test_stopping_keeps_what_is_measured() -> None:
    cases = ingest.cases(["staged-host", "pinned-host"], [64], [1])
    done: list[str] = []

    def run(path: str, **_: Any) -> dict[str, Any]:
        done.append(path)
        return counted()

    rows = ingest.rows_of(list(ingest.measure(cases, 0.1, lambda: len(done) == 1, run)))
    assert [row.path for row in rows] == ["staged-host"]


def test_paths_take_turns_in_three_rounds_and_a_radio_has_one() -> None:
    def run(path: str, *, seconds: float, **_: Any) -> dict[str, Any]:
        done.append((path, seconds))
        return counted()

    done: list[tuple[str, float]] = []
    cases = ingest.cases(["staged-host", "pinned-host"], [64], [1])
    assert len(list(ingest.measure(cases, 0.3, lambda: False, run))) == 6
    assert [path for path, _ in done] == 3 * ["staged-host", "pinned-host"]
    assert [seconds for _, seconds in done] == pytest.approx(6 * [0.1])
    done.clear()
    radio = ingest.preset_cases(["pinned-host"], [4096], ["2x491"])
    list(ingest.measure(radio, 0.3, lambda: False, run))
    assert done == [("pinned-host", 0.3)]


def test_a_figure_is_its_median_round_and_the_spread_of_all() -> None:
    rounds = [counted(bytes=size, wrong=1) for size in (5_000_000, 2_000_000, 4_000_000)]
    row = ingest.row_of(Case("staged", 1, 4096), rounds)
    assert row.mb_per_s == pytest.approx(4000)
    assert row.spread == pytest.approx(0.75)
    assert (row.wrong, row.blocks, row.checked) == (3, 3000, 3000)
    assert ingest.row_of(Case("staged", 1, 4096), rounds[:1]).spread is None


def test_noise_and_a_busy_machine_are_warned_of() -> None:
    quiet = around(link(4, 16))
    (noisy,) = ingest.warnings(quiet, [measured("staged", 1, spread=s) for s in (0.3, 0.1, 0.9)])
    assert "2 of 3 figures" in noisy
    assert "up to 90 %" in noisy
    assert not ingest.warnings(quiet, [measured("staged", 1, spread=0.2)], others=0.0)
    (busy,) = ingest.warnings(quiet, [], others=0.5 * (os.cpu_count() or 1))
    assert "other programs took" in busy


def test_what_other_programs_take_is_what_is_not_ours(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    ticks = os.sysconf("SC_CLK_TCK")
    stat.write_text("cpu  0 0 0 999 0 0 0 0 50 0\n", encoding="utf-8")
    others = Others(stat)
    began = time.monotonic()
    assert others.cores() is None  # nothing is told to have run, this test included
    stat.write_text(f"cpu  {1000 * ticks} 0 0 999 0 0 0 0 50 0\n", encoding="utf-8")
    time.sleep(0.02)
    waited = time.monotonic() - began  # no longer than what it counts
    cores = others.cores()
    assert cores is not None
    assert 0 < cores * waited <= 1000 * (1 + 1e-9)
    assert Others(tmp_path / "none").cores() is None


def test_a_radios_verdict_is_in_words() -> None:
    case = Case("pinned-host", 2, 4096, 245.76, "2x491")
    kept, broken = (ingest.row_of(case, [counted(dropped=n)]) for n in (0, 1000))
    assert ingest.verdict(kept) == "kept"
    assert ingest.verdict(broken) == "dropped 50 %"
    assert ingest.verdict(measured("staged", 1)) == ""
    stalled = ingest.row_of(case, [counted(seconds=0.1)])  # of which it has sent a fiftieth
    assert stalled.in_time is False
    assert ingest.verdict(stalled) == "behind by 98 %"
    assert kept.asked_mb_per_s == pytest.approx(2 * 245.76 * 4)


def test_the_picture_of_radios_says_which_rates_were_kept(tmp_path: Path) -> None:
    case = Case("pinned-host", 2, 4096, 245.76, "2x491")
    rows = [ingest.row_of(case, [counted(bytes=1_900_000, dropped=n)]) for n in (0, 1000)]
    picture.draw(tmp_path, rows)
    svg = (tmp_path / "ingest.svg").read_text(encoding="utf-8")
    for words in ("1 of 2 kept", "kept, 1900 of 1966 MB/s", "dropped 50 %, 1900 of 1966 MB/s"):
        assert words in svg
    assert (tmp_path / "ingest.png").stat().st_size > 10_000
