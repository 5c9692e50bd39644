"""Every late frame gets one true sentence."""

import csv
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from carillon import explain, report
from carillon.telemetry import CAUSES, DISCARDED, REFUSED
from synthetic import (
    MS,
    SYMBOL_MS,
    frame_row,
    packet_row,
    quiet_run,
    run_folder,
    task_row,
)

FRAME = 20
UPLINK_DEADLINE = 8 * SYMBOL_MS + 1.0


def explained(
    tmp_path: Path,
    cause: str,
    tasks: list[dict[str, Any]] | None = None,
    gaps: list[dict[str, Any]] | None = None,
    **changes: Any,
) -> str:
    run = quiet_run(frames=30)
    late = frame_row(FRAME, completed=0, late_cause=CAUSES.index(cause) + 1, **changes)
    run.rows["frames"][FRAME] = late
    run.rows["late_tasks"] = tasks or []
    run.rows["gaps"] = gaps or []
    folder = run_folder(tmp_path, run)
    (found,) = explain.late_frames(folder, folder.telemetry())
    assert (found.frame, found.cause) == (FRAME, cause)
    assert found.text.endswith(".")
    assert found.text.count(". ") == 0
    return found.text


def ns(ms: float) -> int:
    return round(ms * MS)


def gap(start_ms: float, length_ms: float, thread: int = 1) -> dict[str, Any]:
    return {
        "start": ns(FRAME + start_ms),
        "length": ns(length_ms),
        "thread": thread,
        "cause": 5,
    }


NOTHING: dict[str, Any] = dict.fromkeys(
    (
        "first_packet",
        "last_packet",
        "pilots_done",
        "combiner_done",
        "started",
        "uplink_done",
        "downlink_first",
        "downlink_done",
    ),
    0,
)


def test_a_slow_task_is_named_with_its_core_and_what_would_have_held(tmp_path: Path) -> None:
    end = UPLINK_DEADLINE + 0.2
    tasks = [
        packet_row(FRAME, 7, 0.575),
        task_row(FRAME, "EqualizeDemodulate", 7, 0.6, 1.2, thread=0),
        task_row(FRAME, "Decode", 7, 0.7, end, thread=1),
    ]
    text = explained(tmp_path, "processing", tasks, uplink_done=ns(end))
    assert text == (
        "Decode of symbol 7 on worker 1 (core 1) ended 0.2 ms after its deadline; after its last "
        "packet it took 1.67 core-ms on 2 workers; uplink_budget_ms 1.2 would have held."
    )


def test_the_task_that_is_latest_against_its_own_symbols_deadline_is_named(tmp_path: Path) -> None:
    tasks = [
        task_row(FRAME, "Decode", 3, 0.5, 4 * SYMBOL_MS + 1.3),
        task_row(FRAME, "Decode", 7, 1.0, 8 * SYMBOL_MS + 1.1),
    ]
    text = explained(tmp_path, "processing", tasks)
    assert text.startswith("Decode of symbol 3 on worker 0 (core 0) ended 0.3 ms after")


def test_a_late_uplink_without_a_trace_says_by_how_much(tmp_path: Path) -> None:
    text = explained(tmp_path, "processing", uplink_done=ns(UPLINK_DEADLINE + 0.25))
    assert text == (
        "Its uplink ended 0.25 ms after its deadline; uplink_budget_ms 1.25 would have held."
    )


def test_work_beyond_the_workers_says_how_many_would_do(tmp_path: Path) -> None:
    tasks = [
        task_row(FRAME, "Decode", 7, 0.6 + 0.9 * i, 1.5 + 0.9 * i, thread=t)
        for t in (0, 1)
        for i in range(4)
    ]
    text = explained(tmp_path, "processing", tasks, uplink_done=ns(4.2))
    assert text.endswith("would have held.")
    assert "took 7.2 core-ms on 2 workers; uplink_budget_ms 3.629 or 8 workers would" in text


def test_more_workers_are_not_promised_where_one_task_exceeds_the_budget(tmp_path: Path) -> None:
    tasks = [task_row(FRAME, "Decode", 7, 0.6, 3.7, thread=t) for t in (0, 1)]
    text = explained(tmp_path, "processing", tasks, uplink_done=ns(3.7))
    assert text.endswith("uplink_budget_ms 3.129 would have held.")


def test_a_frame_that_waited_for_another_names_it(tmp_path: Path) -> None:
    run = quiet_run(frames=30)
    run.rows["frames"][19]["ended"] = ns(2.5)
    end = UPLINK_DEADLINE + 0.2
    run.rows["frames"][20] |= {"completed": 0, "late_cause": 3, "uplink_done": ns(end)}
    run.rows["late_tasks"] = [task_row(FRAME, "Decode", 7, 1.5, end)]
    folder = run_folder(tmp_path, run)
    (found,) = explain.late_frames(folder, folder.telemetry())
    assert "on 2 workers, where frame 19 before it went on for 0.925 ms" in found.text
    assert found.late_ms == pytest.approx(0.2, rel=1e-5)


def test_a_frame_whose_work_began_late_says_so(tmp_path: Path) -> None:
    late: dict[str, Any] = {
        "nack": DISCARDED,
        "ended": ns(1.6),
        "started": ns(1.3),
        "uplink_done": ns(1.4),
    }
    text = explained(tmp_path, "processing", **late)
    assert text == (
        "It was discarded 1.6 ms into the frame; its first task began 1.23 ms after its first "
        "packet."
    )
    begun = {"started": 0, "uplink_done": 0}
    text = explained(tmp_path, "processing", **(late | begun))
    assert text == "It was discarded 1.6 ms into the frame before a task of it began."


def test_a_discarded_frame_says_when_and_what_it_was_at(tmp_path: Path) -> None:
    tasks = [task_row(FRAME, "UplinkFft", 6, 0.6, 1.4, thread=1)]
    text = explained(
        tmp_path, "processing", tasks, nack=DISCARDED, ended=ns(1.6), uplink_done=ns(1.4)
    )
    assert text == (
        "It was discarded 1.6 ms into the frame; the last that ran was UplinkFft of symbol 6 on "
        "worker 1 (core 1), until 1.4 ms into the frame; after its last packet it took 0.8 core-ms "
        "on 2 workers."
    )


def test_a_refused_frame_names_the_one_that_held_its_place(tmp_path: Path) -> None:
    run = quiet_run(frames=30)
    run.rows["frames"][12]["ended"] = ns(8.3)
    for number in (16, 20):  # the ring's place of frame 12
        refusal = {"completed": 0, "late_cause": 3, "nack": REFUSED, "ended": 0}
        run.rows["frames"][number] |= NOTHING | refusal
    folder = run_folder(tmp_path, run)
    found = explain.late_frames(folder, folder.telemetry())
    assert [late.frame for late in found] == [16, 20]
    assert found[1].text == (
        "It was refused before a task began: frame 12 held its place in the ring of 4 until 0.3 ms "
        "into the frame; more workers or a larger ring would have held."
    )


def test_a_refused_frame_that_nobody_opened_says_so(tmp_path: Path) -> None:
    text = explained(tmp_path, "processing", nack=REFUSED, **NOTHING)
    assert text.startswith("It was refused before a task began: no worker was free to open it")


def test_a_frame_that_was_refused_before_it_began_says_why(tmp_path: Path) -> None:
    refusal = NOTHING | {"ended": -ns(90)}
    text = explained(tmp_path, "fronthaul", nack=REFUSED, **refusal)
    assert text == (
        "It was refused 90 ms before it began by our clock, which packets of a backlog had set "
        "too late."
    )


def test_a_late_downlink_says_which_lead_would_have_held(tmp_path: Path) -> None:
    # Usually the combiner is ready at 0.25 ms and the first symbol 0.05 ms later.
    deadline = 9 * SYMBOL_MS - 0.25
    made = [task_row(FRAME, "Ifft", s, 0.5, 0.6) | {"count": 8} for s in (11, 12, 13)]
    text = explained(
        tmp_path,
        "processing",
        made,
        downlink_late_symbols=2,
        combiner_done=ns(deadline + 0.05),
        downlink_first=ns(0.55),
    )
    assert text == (
        "2 of its 5 downlink symbols were not ready 0.25 ms before going on air, symbol 9 first, "
        "due 0.393 ms into the frame; the combiner was ready 0.443 ms into the frame, 0.193 ms "
        "later than usual; downlink_lead_ms 0.15 would have held."
    )


def test_a_combiner_that_comes_too_late_for_any_lead_points_to_an_older_one(tmp_path: Path) -> None:
    text = explained(
        tmp_path,
        "processing",
        [task_row(FRAME, "ZeroForce", 1, 0.2, 0.8)],
        downlink_late_symbols=5,
        combiner_done=ns(0.8),
        downlink_first=0,
        downlink_done=0,
    )
    assert "ready at 0 ms" not in text
    assert text.endswith("0.55 ms later than usual; precoder_age 1 would not wait for it.")


def test_lost_packets_are_counted_and_silent_symbols_named(tmp_path: Path) -> None:
    tasks = [packet_row(FRAME, step, (step + 1) * SYMBOL_MS) for step in (0, 1, 2, 3, 4, 6, 7)]
    end = UPLINK_DEADLINE + 0.1
    text = explained(tmp_path, "lost", tasks, missing_packets=8, uplink_done=ns(end))
    assert text == (
        "8 of its 64 packets had not come 0.5 ms after their symbol's air end (none of symbol 5), "
        "when zeros replace them: its uplink ended 0.1 ms after its deadline; a link without loss "
        "would have held."
    )


def test_a_frame_of_which_nothing_came_has_no_time_of_a_first_packet(tmp_path: Path) -> None:
    silent: dict[str, Any] = {"first_packet": 0, "last_packet": 0, "missing_packets": 64}
    text = explained(tmp_path, "lost", downlink_late_symbols=5, **silent)
    assert text == (
        "None of its 64 packets had come 0.5 ms after their symbol's air end, "
        "when zeros replace them: 5 of its 5 downlink symbols were not ready; "
        "a link without loss would have held."
    )


def test_a_late_packet_is_named_with_its_delay(tmp_path: Path) -> None:
    end = UPLINK_DEADLINE + 0.1
    tasks = [
        packet_row(FRAME, 6, 7 * SYMBOL_MS + 0.01),
        packet_row(FRAME, 7, 8 * SYMBOL_MS + 0.9),
        task_row(FRAME, "Decode", 7, 1.5, end),
    ]
    text = explained(tmp_path, "fronthaul", tasks, uplink_done=ns(end))
    assert text == (
        "The last packet of symbol 7 came 0.9 ms after its air end: Decode of symbol 7 on worker 0 "
        "(core 0) ended 0.1 ms after its deadline; 0.8 ms after it would have held."
    )


@dataclass(frozen=True)
class Stalled:
    """A frame whose decoding ended 1 ms late, and a stall in it."""

    start_ms: float
    length_ms: float

    def explained(self, tmp_path: Path, cause: str) -> str:
        end = UPLINK_DEADLINE + 1.0
        tasks = [task_row(FRAME, "Decode", 7, 0.6, end)]
        gaps = [gap(0.4, 0.2, thread=0), gap(self.start_ms, self.length_ms)]
        return explained(tmp_path, cause, tasks, gaps, gap=2, uplink_done=ns(end))


LATE = "Decode of symbol 7 on worker 0 (core 0) ended 1 ms after its deadline"


@pytest.mark.parametrize(
    ("cause", "subject"),
    [("machine_stall", "The machine"), ("operating_system", "The operating system")],
)
def test_a_stall_is_told_with_its_core_length_and_effect(
    tmp_path: Path, cause: str, subject: str
) -> None:
    assert Stalled(0.3, 2.0).explained(tmp_path, cause) == (
        f"{subject} did not run worker 1 (core 1) for 2 ms from 0.3 ms into the frame: {LATE}; "
        "without that it would have held."
    )


def test_what_a_stall_took_before_the_frame_is_not_the_frames_excuse(tmp_path: Path) -> None:
    assert Stalled(-0.9, 1.5).explained(tmp_path, "machine_stall") == (
        "The machine did not run worker 1 (core 1) for 1.5 ms from 0.9 ms before the frame: "
        f"{LATE}; without that it would have ended 0.4 ms late."
    )


def test_a_backlog_names_the_stall_that_it_inherits(tmp_path: Path) -> None:
    assert Stalled(-4.5, 3.0).explained(tmp_path, "machine_stall") == (
        "It queued behind frames that were held up when the machine did not run worker 1 (core 1) "
        f"for 3 ms, 4.5 ms before this frame began: {LATE}."
    )


def test_a_stall_that_only_cost_downlink_symbols_says_so(tmp_path: Path) -> None:
    tasks = [task_row(FRAME, "Precode", 9, 0.6, 0.8)]
    text = explained(
        tmp_path, "machine_stall", tasks, [gap(-0.2, 0.6)], gap=1, downlink_late_symbols=1
    )
    assert text.endswith("from 0.2 ms before the frame: 1 of its 5 downlink symbols was not ready.")


def test_packets_that_a_stall_swallowed_are_counted(tmp_path: Path) -> None:
    changes = {"gap": 1, "missing_packets": 16, "downlink_late_symbols": 5}
    text = explained(tmp_path, "machine_stall", [], [gap(-0.2, 0.6)], **changes)
    assert text.endswith(
        "before the frame: 16 of its 64 packets were missing and 5 of its 5 downlink symbols were "
        "not ready."
    )


def test_a_frame_that_a_stall_let_nobody_open_says_so(tmp_path: Path) -> None:
    text = explained(
        tmp_path, "machine_stall", [], [gap(-0.2, 7.0)], gap=1, nack=REFUSED, **NOTHING
    )
    assert text.endswith("0.2 ms before the frame: it was refused before a task began.")


def test_a_gap_is_found_by_its_number_when_older_ones_are_gone(tmp_path: Path) -> None:
    run = quiet_run(frames=30)
    run.rows["frames"][FRAME] |= {"completed": 0, "late_cause": 5, "downlink_late_symbols": 1}
    run.rows["gaps"] = [gap(-n, 0.5) for n in (9, 8, 7, 6)]
    run.capacity["gaps"] = 2
    for number, found in ((4, "6 ms before this frame"), (1, "a gap that is no longer listed")):
        run.rows["frames"][FRAME]["gap"] = number
        folder = run_folder(tmp_path, run)
        (late,) = explain.late_frames(folder, folder.telemetry())
        assert found in late.text


def test_frames_in_time_are_not_explained(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, quiet_run())
    assert explain.late_frames(folder, folder.telemetry()) == []


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("nack", [0, REFUSED, DISCARDED])
def test_no_time_is_told_that_is_not_known(tmp_path: Path, cause: str, nack: int) -> None:
    text = explained(tmp_path, cause, nack=nack, **NOTHING, downlink_late_symbols=5 * (not nack))
    for untrue in (" 0 ms into", "at 0 ms", "before its deadline", "-"):
        assert untrue not in text.replace("core-ms", "")


def test_the_oldest_frame_of_a_full_trace_is_not_judged_by_the_tasks_left_of_it(
    tmp_path: Path,
) -> None:
    run = quiet_run(frames=30)
    for number in (19, 20):
        late = {"completed": 0, "late_cause": 3, "uplink_done": ns(UPLINK_DEADLINE + 0.3)}
        run.rows["frames"][number] |= late
    run.rows["late_tasks"] = [
        task_row(number, "Decode", 7, 0.6, end)
        for number in (19, 20)
        for end in (UPLINK_DEADLINE + 0.3, UPLINK_DEADLINE + 0.2)
    ]
    run.capacity["late_tasks"] = 3
    folder = run_folder(tmp_path, run)
    texts = [late.text for late in explain.late_frames(folder, folder.telemetry())]
    assert texts[0].startswith("Its uplink ended 0.3 ms")
    assert texts[1].startswith("Decode of symbol 7 on worker 0 (core 0) ended 0.3 ms")


def test_every_frame_of_a_minute_is_explained_in_the_table_and_some_on_the_page(
    tmp_path: Path,
) -> None:
    count = 60_000
    run = quiet_run(frames=5)
    run.rows["frames"] = [
        frame_row(
            n, completed=0, late_cause=3, uplink_done=ns(UPLINK_DEADLINE + 0.1 + n % 1000 / 1e3)
        )
        for n in range(count)
    ]
    run.rows["counters"][0] |= {"frames_seen": count, "frames_completed": 0}
    run.rows["late_tasks"] = [
        task_row(n, "Decode", 7, 1.0, UPLINK_DEADLINE + 0.1) for n in range(count - 8000, count)
    ]
    folder = run_folder(tmp_path, run)
    began = time.process_time()
    lates = explain.late_frames(folder, folder.telemetry())
    assert time.process_time() - began < 20  # about 2 s on a slow core
    assert len(lates) == count
    result = report.rebuild(folder)
    assert len(result.explanations) == 120
    assert [late.frame for late in result.explanations[:100]] == list(range(100))
    assert {late.frame % 1000 for late in result.explanations[100:]} == {999}
    with (tmp_path / "frames.csv").open(newline="", encoding="utf-8") as stream:
        texts = [row["explanation"] for row in csv.DictReader(stream)]
    assert texts == [late.text for late in lates]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("<b>Frame ") == 120
    assert "120 of 60000; the column <code>explanation</code> of frames.csv" in page
