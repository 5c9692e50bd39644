"""From records to result.json, frames.csv, trace.json, plots and the page."""

import csv
import json
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from carillon import files, report, result, results, runfolder, trace
from carillon.commands import report as command
from carillon.config import aiming
from carillon.errors import InputError
from carillon.plots import style
from carillon.plots.constellation import pam_levels
from carillon.result import Result
from carillon.statistics import wilson
from synthetic import MS, frame_row, quiet_run, run_folder

SCHEMA = Path(result.__file__).parent / "schemas" / "result.schema.json"


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    folder = run_folder(tmp_path_factory.mktemp("run"), quiet_run())
    return folder.path, report.rebuild(folder)


def test_the_result_says_what_the_records_hold(quiet: tuple[Path, Result]) -> None:
    _, r = quiet
    assert (r.frames.sent, r.frames.completed, r.frames.nacked) == (50, 50, 0)
    assert r.seconds == pytest.approx(0.05)
    assert (r.uplink.blocks, r.uplink.blocks_failed, r.uplink.bler) == (100, 0, 0.0)
    assert r.uplink.rate_mbps == pytest.approx(2.0)  # 2 users × 1000 bits a millisecond
    assert r.uplink.latency_ms.p50 == pytest.approx(0.7)
    assert r.uplink.latency_ms.p9999 is None
    assert r.uplink.latency_ms.samples == 50
    assert r.uplink.raw_ber == pytest.approx(0.01)
    assert r.uplink.evm_percent == pytest.approx(10.0)
    assert r.uplink.snr_db == pytest.approx(20.0)
    assert r.uplink.iterations == pytest.approx(3.0)
    assert r.downlink.latency_ms.max == pytest.approx(0.3)
    assert r.downlink.achievable_rate_mbps == pytest.approx(0.7 * 2.0)
    assert r.downlink.evm_percent == pytest.approx(20.0)
    assert r.workers == 2
    assert r.cores.kernels == pytest.approx(0.25)
    assert r.core_ms_per_ms == pytest.approx(0.27)  # spinning is not in it
    assert r.cores.emulator == pytest.approx(0.04)
    assert r.threads[0].spinning == pytest.approx(0.5)
    assert r.threads[2].roles == ["radio", "users"]
    assert sum(stage.share for stage in r.stages) == pytest.approx(1.0)
    assert r.stages[0].us_per_chunk == pytest.approx(2.5)
    assert r.pacing is not None
    assert (r.pacing.mean_us, r.pacing.deviation_us) == pytest.approx((0.2, 0.1))
    assert r.finished
    assert r.configuration["antennas"] == 8
    assert r.seed == 1


def test_blocks_that_failed_are_not_delivered(tmp_path: Path) -> None:
    run = quiet_run()
    run.rows["counters"][0] |= {
        "uplink_failed": 25,
        "downlink_blocks": 40,
        "downlink_failed": 2,
        "downlink_unverified": 60,
    }
    run.rows["users"] = [dict(run.rows["users"][0]) | {"uplink_failed": 25}, run.rows["users"][1]]
    folder = run_folder(tmp_path, run)
    r = results.build(folder, folder.telemetry(), [])
    assert r.uplink.rate_mbps == pytest.approx(2.0 * 75 / 100)
    assert r.uplink.bler == pytest.approx(0.25)
    assert r.uplink.bler_interval[0] < 0.25 < r.uplink.bler_interval[1]
    assert r.downlink.bler == pytest.approx(2 / 40)  # of those that were checked
    assert (r.downlink.blocks, r.downlink.blocks_unverified) == (100, 60)
    assert [user.downlink.blocks_unverified for user in r.users] == [30, 30]
    assert "downlink: 38 of 100 blocks, 60 unverified, " in "\n".join(report.summary(r))


def test_a_frame_without_downlink_achieves_nothing(tmp_path: Path) -> None:
    run = quiet_run()
    silent = {"downlink_first": 0, "downlink_done": 0, "downlink_late_symbols": 5}
    for number in range(25):
        run.rows["frames"][number] |= silent | {"completed": 0, "late_cause": 3}
    folder = run_folder(tmp_path, run)
    r = results.build(folder, folder.telemetry(), [])
    assert r.downlink.latency_ms.samples == 25
    assert r.downlink.achievable_rate_mbps == pytest.approx(0.7 * 2.0 / 2)


def test_core_time_is_of_the_time_on_air(tmp_path: Path) -> None:
    run = quiet_run()
    run.rows["counters"][0]["ended"] = 90 * MS  # it drained for a while
    folder = run_folder(tmp_path, run)
    assert results.build(folder, folder.telemetry(), []).cores.kernels == pytest.approx(0.25)
    run.rows["frames"][-1]["air_start"] = 99 * MS  # frames that nobody saw went by
    folder = run_folder(tmp_path, run)
    assert results.build(folder, folder.telemetry(), []).cores.kernels == pytest.approx(0.125)


def test_each_side_speaks_of_what_it_saw(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, quiet_run())
    r = results.build(folder, folder.telemetry(), [])
    sent = r.model_copy(update={"role": "radio", "packets": r.packets | {"sent": 1}})
    radio = report.summary(sent)
    assert radio[0] == "50 frames sent, no block failed."
    nothing = sent.model_copy(update={"packets": r.packets | {"sent": 0}})
    assert report.summary(nothing)[0] == "No packet of 50 frames could be sent."
    assert [line.partition(":")[0] for line in radio[1:]] == ["downlink"]
    assert "latency" not in radio[1]
    bbu = report.summary(r.model_copy(update={"role": "bbu"}))
    assert "uplink: 100 of 100 blocks" in bbu[1]
    assert bbu[2].startswith("downlink: latency")


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("laptop-8x2", "laptop-8x2"),
        ("../a/b", "a-b"),
        ("My lab!", "My-lab"),
        ("..", "cell"),
        ("ü" * 999, "ü" * 48),
    ],
)
def test_a_run_folder_stays_in_its_place_whatever_the_cells_name(
    tmp_path: Path, name: str, stem: str
) -> None:
    path = runfolder.new_path(tmp_path, name)
    assert path.parent == tmp_path
    assert path.name.startswith(f"{stem}-2")


def test_a_run_without_frames_has_no_figures_but_a_result(tmp_path: Path) -> None:
    run = quiet_run(frames=0)
    for name in ("tasks", "constellation"):
        run.rows[name] = []
    folder = run_folder(tmp_path, run)
    r = report.rebuild(folder)
    assert (r.frames.seen, r.core_ms_per_ms, r.uplink.latency_ms.p50) == (0, None, None)
    assert r.delays is None
    assert "No frame was seen." in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_run_that_was_cut_short_says_so(tmp_path: Path) -> None:
    run = quiet_run()
    run.rows["counters"][0]["phase"] = 1
    folder = run_folder(tmp_path, run)
    assert not report.rebuild(folder).finished
    assert "cut short" in (tmp_path / "report.html").read_text(encoding="utf-8")


def skipping(path: Path, **counters: int) -> Result:
    run = quiet_run()
    run.rows["counters"][0] |= {"frames_skipped": 3} | counters
    return report.rebuild(run_folder(path, run))


def test_skipped_frames_are_told_and_never_all_in_time(tmp_path: Path) -> None:
    r = skipping(tmp_path)
    why = "the radio skipped 3, since its thread did not run."
    assert report.summary(r)[0] == f"50 frames in time, no block failed; {why}"
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f'<p class="verdict fair">{report.summary(r)[0]}</p>' in page
    assert '<th scope="row">frames skipped by the radio</th><td>3</td>' in page
    late = skipping(tmp_path, frames_completed=49, lates_processing=1)
    told = f"1 of 50 frames late (1 processing), no block failed; {why}"
    assert report.summary(late)[0] == told
    assert '<p class="verdict bad">' in (tmp_path / "report.html").read_text(encoding="utf-8")
    radio = r.model_copy(update={"role": "radio", "packets": r.packets | {"sent": 1}})
    assert report.summary(radio)[0] == f"50 frames sent, no block failed; {why}"


def test_frames_in_time_without_some_packets_are_told(tmp_path: Path) -> None:
    run = quiet_run()
    for frame in run.rows["frames"][:3]:
        frame["missing_packets"] = 16
    run.rows["frames"][2]["completed"] = 0
    r = report.rebuild(run_folder(tmp_path, run))
    assert r.frames.incomplete == 2
    assert report.summary(r)[0].endswith(", 2 frames in time lacked packets.")


def test_frames_that_gpus_had_are_counted(tmp_path: Path) -> None:
    run = quiet_run()
    run.rows["counters"][0] |= {"frames_sent_away": 40, "frames_handed_back": 2}
    r = report.rebuild(run_folder(tmp_path, run))
    assert (r.frames.sent_to_gpus, r.frames.handed_back) == (40, 2)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<th scope="row">frames sent to GPUs</th><td>40</td>' in page
    assert '<th scope="row">of these, handed back to the cores</th><td>2</td>' in page


def test_a_run_whose_frames_were_all_skipped_says_so(tmp_path: Path) -> None:
    r = skipping(tmp_path, frames_sent=0, frames_seen=0, frames_completed=0)
    told = "No frame was seen; the radio skipped 3, since its thread did not run."
    assert report.summary(r)[0] == told
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f'<p class="verdict bad">{told}</p>' in page


def test_result_json_is_the_result_and_follows_its_schema(quiet: tuple[Path, Result]) -> None:
    path, r = quiet
    assert Result.model_validate_json((path / "result.json").read_text(encoding="utf-8")) == r


def test_a_schedulers_flows_are_told(tmp_path: Path) -> None:
    run = quiet_run()
    flow = {"user": 1, "down": 1, "blocks": 50, "resource_blocks": 400, "mcs_sum": 4200,
            "good": 36, "failed": 4, "late": 3, "snr_db": 7.5, "offset_db": -1.0,
            "measured": 1}  # fmt: skip
    run.rows["flows"] = [{"user": 0}, flow]
    idle, told = report.rebuild(run_folder(tmp_path, run)).scheduler
    assert (idle.direction, idle.bler, idle.mean_mcs, idle.snr_db) == ("uplink", None, None, None)
    assert (told.direction, told.bler, told.mean_mcs, told.snr_db) == ("downlink", 0.1, 10.5, 7.5)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<h2>Scheduler</h2>" in page
    assert "<td>10.0 %</td>" in page


def test_the_schema_is_current() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == result.schema()


def test_frames_csv_has_a_row_for_each_frame(quiet: tuple[Path, Result]) -> None:
    path, _ = quiet
    with (path / "frames.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 50
    assert rows[3]["frame"] == "3"
    assert int(rows[3]["air_start_ns"]) == 3 * MS
    assert float(rows[3]["uplink_done_ms"]) == pytest.approx(0.775)
    assert rows[3]["late_cause"] == "none"


def test_frames_csv_has_delays_and_the_clock(tmp_path: Path) -> None:
    run = quiet_run()
    run.rows["frames"][1] |= {"stood_still": 250_000, "clock_mhz": 1500, "last_packet": 0}
    report.rebuild(run_folder(tmp_path, run))
    with (tmp_path / "frames.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert float(rows[0]["t_bs_ms"]) == pytest.approx(0.5)
    assert float(rows[0]["t_f_ms"]) == pytest.approx(0.575 - 8 / 14, abs=1e-6)
    assert (rows[0]["t_os_ms"], rows[0]["clock_mhz"]) == ("0.000000", "0")
    assert (rows[1]["t_os_ms"], rows[1]["t_f_ms"]) == ("0.250000", "")
    assert rows[1]["clock_mhz"] == "1500"


def test_the_result_has_the_delays_and_how_often_frames_were_late(tmp_path: Path) -> None:
    run = quiet_run()
    for number in (7, 8, 30):
        run.rows["frames"][number] |= {"completed": 0, "late_cause": 3, "kernels": 900_000}
    run.rows["frames"][8] |= {"nack": 2}
    folder = run_folder(tmp_path, run)
    folder = replace(folder, run=aiming(folder.run, outage=0.05, averaging_s=0.02))
    own = report.rebuild(folder).delays
    assert own is not None
    assert (own.frames, own.late.frames, own.late.ratio) == (50, 3, 0.06)
    assert own.late.interval == wilson(3, 50)
    assert own.by_cause["processing"].frames == 3
    assert {name: each.frames for name, each in own.by_class.items() if each.frames} == {
        "whole": 47, "too_late": 2, "discarded": 1,
    }  # fmt: skip
    assert {name: each.frames for name, each in own.by_class["discarded"].by_cause.items()} == {
        "processing": 1
    }
    assert (own.bursts, own.longest_burst) == (2, 2)
    assert (own.t_bs_ms.p50, own.t_bs_ms.max) == (0.5, 0.9)
    assert own.joint.t_bs_edges_ms == [0.5, 0.9]
    assert [(b.frames, b.late, b.late_ratio) for b in own.joint.bins] == [(47, 0, 0), (3, 3, 1)]
    # 20 frames at a time: two late ones are in those that end with frames 20 to 26.
    assert (own.outage.newest.frames, own.outage.of_frames) == (1, 20)
    assert (own.outage.highest, own.outage.above_target) == (0.1, 7 / 30)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Late frames came in 2 bursts, the longest of 2." in page
    assert '<th scope="row">0.5 … 0.9</th>' in page


def test_nacks_csv_names_frame_user_and_cause(tmp_path: Path) -> None:
    sections = quiet_run()
    overload = {"kind": 1, "cell": 5, "frame": 7, "user": 0xFFFFFFFF, "cause": 3}
    blocks = [
        {"kind": 2, "cell": 5, "frame": 7, "user": 1, "process": 4, "cause": c} for c in (3, 0)
    ]
    sections.rows["nacks"] = [overload, *blocks]
    report.rebuild(run_folder(tmp_path, sections))
    lines = (tmp_path / "nacks.csv").read_text(encoding="utf-8").split()
    assert lines == [
        "kind,cell,frame,user,harq_process,cause",
        "overload_nack,5,7,,,processing",
        "harq_nack,5,7,1,4,processing",
        "harq_nack,5,7,1,4,crc",
    ]


def test_the_trace_shows_tasks_packets_and_deadlines(quiet: tuple[Path, Result]) -> None:
    path, _ = quiet
    events = json.loads((path / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    categories = [event.get("cat") for event in events]
    assert categories.count("task") == 4 * 16
    assert categories.count("packet") == 4 * 8
    assert categories.count("frame") == 4
    assert categories.count("deadline") == 8
    assert all(event["ts"] >= 0 for event in events if event.get("cat") in ("task", "packet"))
    decode = next(event for event in events if event["name"] == "Decode")
    assert decode["dur"] == pytest.approx(125.0)
    assert decode["args"] == {"frame": 46, "step": 7, "first": 0, "count": 4}
    names = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
    assert "core 1: worker 1" in names


def test_the_trace_keeps_to_the_format_of_trace_viewers(tmp_path: Path) -> None:
    run = quiet_run()
    run.rows["frames"][48]["air_start"] -= 40  # the clock follows the radio's
    task = next(row for row in run.rows["tasks"] if row["opcode"] == 4)
    gap = {"start": task["start"] - 9000, "length": 50_000, "thread": task["thread"], "cause": 5}
    run.rows["gaps"] = [gap]
    folder = run_folder(tmp_path, run)
    trace.write(tmp_path / "trace.json", folder, folder.telemetry())
    events = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    timed = [event for event in events if event["ph"] != "M"]
    assert {(event["pid"], event["tid"]) for event in timed} <= named
    assert all(tid > 0 for _, tid in named)  # 0 is the idle thread
    assert timed[0]["ts"] >= 0
    assert [event["ts"] for event in timed] == sorted(event["ts"] for event in timed)
    for track in named:
        own = [e for e in timed if e.get("dur") and (e["pid"], e["tid"]) == track]
        own = [event for event in own if event["cat"] != "task"]  # these as the threads left them
        ends = [event["ts"] + event["dur"] for event in own]
        assert all(end <= e["ts"] + 1e-6 for end, e in zip(ends, own[1:], strict=False)), track
    assert sum(event.get("cat") == "gap" for event in timed) == 1


def test_an_empty_trace_is_an_empty_list(tmp_path: Path) -> None:
    run = quiet_run()
    run.rows["tasks"] = []
    folder = run_folder(tmp_path, run)
    assert trace.write(tmp_path / "trace.json", folder, folder.telemetry()) == 0


class _Links(HTMLParser):
    """What a page would load from elsewhere, and the elements left open."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.ids: list[str] = []
        self.headings: list[int] = []
        self.unreachable = 0  # things that scroll, out of the keyboard's reach
        self.unnamed = 0  # pictures without a text

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag in ("img", "script", "link", "iframe", "image"):
            source = values.get("src") or values.get("href") or values.get("xlink:href") or ""
            self.loaded += [source] if not source.startswith("data:") else []
        if identity := values.get("id"):
            self.ids.append(identity)
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self.headings.append(int(tag[1]))
        self.unreachable += values.get("class") == "scroll" and values.get("tabindex") != "0"
        self.unnamed += tag == "svg" and not (
            values.get("role") == "img" and "aria-label" in values
        )


def test_the_page_needs_nothing_else(quiet: tuple[Path, Result]) -> None:
    path, _ = quiet
    page = (path / "report.html").read_text(encoding="utf-8")
    parser = _Links()
    parser.feed(page)
    assert parser.loaded == []
    assert len(parser.ids) == len(set(parser.ids))
    assert page.count("<svg") == 6
    assert "All 50 frames in time, no block failed." in page
    assert "$" not in page.split("<style>")[0]


def test_the_page_can_be_used_without_a_mouse_and_without_seeing_it(
    quiet: tuple[Path, Result],
) -> None:
    path, _ = quiet
    parser = _Links()
    parser.feed((path / "report.html").read_text(encoding="utf-8"))
    assert parser.headings[0] == 1
    assert set(parser.headings[1:]) == {2}
    assert parser.unreachable == parser.unnamed == 0


def test_the_page_may_replace_every_colour_of_a_picture(quiet: tuple[Path, Result]) -> None:
    path, _ = quiet
    page = (path / "report.html").read_text(encoding="utf-8")
    drawings = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    fixed = [re.findall(r"(?:fill|stroke): *#", drawing) for drawing in drawings]
    assert fixed == [[]] * 6
    dark = page[page.index("prefers-color-scheme") : page.index("</style>")]
    replaced = set(re.findall(r"--([0-9a-f]{6}):", dark))
    base = {colour[1:] for colour in (style.INK, style.QUIET, style.LINE, style.PAPER)}
    others = {style.ACCENT, style.SECOND, style.ALARM, *style.STAGES.values()}
    assert base <= replaced <= base | {colour[1:] for colour in others}


@pytest.mark.parametrize(
    ("bits", "levels"),
    [(2, [1]), (4, [1, 3]), (6, [1, 3, 5, 7]), (8, list(range(1, 16, 2)))],
)
def test_the_ideal_points_are_those_of_the_standard(bits: int, levels: list[int]) -> None:
    scale = {2: 2, 4: 10, 6: 42, 8: 170}[bits] ** 0.5  # 38.211 5.1.3 to 5.1.6
    expected = sorted(sign * level / scale for level in levels for sign in (-1, 1))
    assert pam_levels(bits) == pytest.approx(expected)


def test_plots_are_written_as_png_and_svg(quiet: tuple[Path, Result]) -> None:
    path, _ = quiet
    names = {"latency", "frames", "delays", "timeline", "stages", "constellation"}
    for kind in ("png", "svg"):
        assert {file.stem for file in (path / "plots").glob(f"*.{kind}")} == names
    assert (path / "plots" / "latency.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_escapes_what_people_wrote(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, quiet_run())
    cell = folder.cell.model_copy(update={"description": "<script>alert(1)</script>"})
    report.rebuild(runfolder.RunFolder(**(vars(folder) | {"cell": cell})))
    assert "<script>" not in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_report_is_the_same_when_rebuilt_from_the_folder(tmp_path: Path) -> None:
    first = report.rebuild(run_folder(tmp_path, quiet_run()))
    assert report.rebuild(runfolder.open_folder(tmp_path)) == first


def test_late_frames_are_explained_on_the_page(tmp_path: Path) -> None:
    run = quiet_run()
    run.rows["frames"][7] = frame_row(7, completed=0, nack=1, late_cause=3)
    run.rows["counters"][0] |= {"frames_completed": 49, "frames_nacked": 1, "lates_processing": 1}
    folder = run_folder(tmp_path, run)
    report.rebuild(folder)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "1 of 50 frames late (1 processing), no block failed." in page
    assert "<b>Frame 7</b> (processing): It was refused before a task began" in page


def test_a_folder_that_lacks_a_figure_is_told(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, quiet_run())
    for damaged in (replace(folder, derived={}), replace(folder, derived={"frame_ms": "x"})):
        runfolder.write_about(damaged)
        with pytest.raises(runfolder.RunFolderError, match=r"run\.json is damaged: \w+Error"):
            command.report(tmp_path, as_json=False)


def test_a_folder_without_a_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(runfolder.RunFolderError, match="holds no run"):
        runfolder.open_folder(tmp_path)


@pytest.mark.parametrize(
    "name", ["result.json", ".partial-result.json", "plots", "plots/frames.png"]
)
def test_links_in_a_run_folder_are_not_followed(tmp_path: Path, name: str) -> None:
    folder = run_folder(tmp_path / "run", quiet_run())
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (folder.path / files.MARK).touch()
    link = folder.path / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(elsewhere / ("" if name == "plots" else "new"))
    writes: tuple[Callable[[], object], ...] = (
        lambda: report.rebuild(folder),
        lambda: runfolder.create(folder.path, folder.cell, folder.run),
    )
    for write in writes:
        with pytest.raises(InputError, match=f"{link} is neither a file nor a folder"):
            write()
    assert not list(elsewhere.iterdir())
    assert link.is_symlink()


def test_a_report_without_room_names_the_file_and_leaves_none_cut(tmp_path: Path) -> None:
    run = quiet_run()
    run.rows["tasks"] *= 4  # so that the trace is larger than what is written before it
    folder = run_folder(tmp_path / "run", run)
    report.rebuild(folder)
    trace_file = folder.path / "trace.json"
    room = trace_file.stat().st_size - 1  # a limit on the size of files stands for a full disk
    before = trace_file.read_bytes()

    def narrow() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    words = [sys.executable, "-m", "carillon", "report", str(folder.path)]
    done = subprocess.run(words, capture_output=True, text=True, preexec_fn=narrow)
    assert done.returncode == 1
    assert done.stderr == (
        "writing the report\n"
        f"carillon: {trace_file}: file too large; the run is recorded, and `carillon report "
        f"{folder.path}` writes its report when that is mended\n"
    )
    assert trace_file.read_bytes() == before
    assert not list(folder.path.rglob(".partial-*"))
