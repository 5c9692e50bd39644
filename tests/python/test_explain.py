"""Every late frame gets one true sentence."""

from pathlib import Path
from typing import Any

import pytest
from carillon import explain
from carillon.telemetry import CAUSES
from synthetic import (
    MS,
    SYMBOL_MS,
    Sections,
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
    (found,) = explain.late_frames(folder, folder.telemetry(), 10)
    assert (found.frame, found.cause) == (FRAME, cause)
    assert found.text.endswith(".")
    assert found.text.count(". ") == 0
    return found.text


def gap(start_ms: float, length_ms: float, thread: int = 1) -> dict[str, Any]:
    return {
        "start": round((FRAME + start_ms) * MS),
        "length": round(length_ms * MS),
        "thread": thread,
        "cause": 5,
    }


def test_a_slow_task_is_named_with_its_core_and_what_would_have_held(tmp_path: Path) -> None:
    end = UPLINK_DEADLINE + 0.2
    tasks = [
        packet_row(FRAME, 7, 0.575),
        task_row(FRAME, "EqualizeDemodulate", 7, 0.6, 1.2, thread=0),
        task_row(FRAME, "Decode", 7, 0.7, end, thread=1),
    ]
    text = explained(tmp_path, "processing", tasks, uplink_done=round(end * MS))
    assert text == (
        "Decode of symbol 7 on worker 1 (core 1) ended 0.2 ms after its deadline; after its last "
        "packet the frame took 1.67 core-ms on 2 workers, so uplink_budget_ms 1.2 would have held."
    )


def test_the_task_that_is_latest_against_its_own_symbols_deadline_is_named(tmp_path: Path) -> None:
    tasks = [
        task_row(FRAME, "Decode", 3, 0.5, 4 * SYMBOL_MS + 1.3),
        task_row(FRAME, "Decode", 7, 1.0, 8 * SYMBOL_MS + 1.1),
    ]
    text = explained(tmp_path, "processing", tasks)
    assert text.startswith("Decode of symbol 3 on worker 0 (core 0) ended 0.3 ms after")


def test_work_beyond_the_workers_says_how_many_would_do(tmp_path: Path) -> None:
    tasks = [task_row(FRAME, "Decode", 7, 0.6, 3.7, thread=t) for t in (0, 1)]
    text = explained(tmp_path, "processing", tasks, nack=1)
    assert "the frame was discarded" in text
    assert "or 7 workers would have held" in text


def test_a_refused_frame_says_that_the_ones_before_kept_the_workers(tmp_path: Path) -> None:
    text = explained(tmp_path, "processing", nack=1, uplink_done=0)
    assert text.startswith("It was refused before a task began: frames before it still kept all 2")


def test_a_late_downlink_says_which_lead_would_have_held(tmp_path: Path) -> None:
    ready = 9 * SYMBOL_MS - 0.25 + 0.1
    text = explained(
        tmp_path,
        "processing",
        [task_row(FRAME, "Precode", 9, 0.3, ready)],
        downlink_late_symbols=2,
        downlink_first=round(ready * MS),
    )
    assert text == (
        "2 downlink symbols left late: the first was ready at 0.493 ms of the frame, 0.1 ms after "
        "its deadline; downlink_lead_ms 0.15 would have held."
    )


def test_lost_packets_are_counted_and_silent_symbols_named(tmp_path: Path) -> None:
    tasks = [packet_row(FRAME, step, (step + 1) * SYMBOL_MS) for step in (0, 1, 2, 3, 4, 6, 7)]
    text = explained(tmp_path, "lost", tasks, missing_packets=8, uplink_failed=2)
    assert text.startswith("8 packets never came (of symbol 5 none did)")
    assert "2 of 2 blocks failed" in text


def test_a_late_packet_is_named_with_its_delay(tmp_path: Path) -> None:
    end = UPLINK_DEADLINE + 0.1
    tasks = [
        packet_row(FRAME, 6, 7 * SYMBOL_MS + 0.01),
        packet_row(FRAME, 7, 8 * SYMBOL_MS + 0.9),
        task_row(FRAME, "Decode", 7, 1.5, end),
    ]
    text = explained(tmp_path, "fronthaul", tasks)
    assert text == (
        "The last packet of symbol 7 came 0.9 ms after the symbol's air end; within 0.8 ms of it "
        "the frame would have held."
    )


@pytest.mark.parametrize(
    ("cause", "subject"),
    [("machine_stall", "The machine"), ("operating_system", "The operating system")],
)
def test_a_stall_is_told_with_its_core_length_and_effect(
    tmp_path: Path, cause: str, subject: str
) -> None:
    tasks = [task_row(FRAME, "Decode", 7, 0.6, UPLINK_DEADLINE + 1.0)]
    gaps = [gap(-5, 0.3), gap(0.3, 2.5), gap(0.4, 0.2, thread=0)]
    text = explained(tmp_path, cause, tasks, gaps)
    assert text == (
        f"{subject} did not run worker 1 (core 1) for 2.5 ms from 0.3 ms into the frame; without "
        "that it would have ended 1.5 ms before its deadline."
    )


def test_a_stall_that_only_cost_downlink_symbols_says_so(tmp_path: Path) -> None:
    tasks = [task_row(FRAME, "Precode", 9, 0.6, 0.8)]
    text = explained(tmp_path, "machine_stall", tasks, [gap(-0.2, 0.6)], downlink_late_symbols=1)
    assert text.endswith("from 0.2 ms before the frame, so that 1 downlink symbol left late.")


def test_a_backlog_names_the_stall_that_it_inherits(tmp_path: Path) -> None:
    tasks = [task_row(FRAME, "Decode", 7, 1.6, UPLINK_DEADLINE + 0.5)]
    text = explained(tmp_path, "machine_stall", tasks, [gap(-4.5, 3.0)])
    assert text.startswith(
        "It queued behind frames that were held up when the machine did not run worker 1 (core 1) "
        "for 3 ms, 4.5 ms before this frame began"
    )


def test_frames_in_time_are_not_explained(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, quiet_run())
    assert explain.late_frames(folder, folder.telemetry(), 10) == []


def test_a_late_frame_without_a_trace_still_gets_a_sentence(tmp_path: Path) -> None:
    for number, cause in enumerate(CAUSES):
        assert explained(tmp_path / str(number), cause, uplink_done=0)


def test_at_most_the_asked_number_of_frames_is_explained(tmp_path: Path) -> None:
    rows = [frame_row(n, completed=0, late_cause=3, nack=1) for n in range(10)]
    run = quiet_run()
    run.rows["frames"] = rows
    folder = run_folder(tmp_path, Sections(run.rows))
    assert [late.frame for late in explain.late_frames(folder, folder.telemetry(), 4)] == [
        0,
        1,
        2,
        3,
    ]
