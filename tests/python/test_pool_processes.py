"""Processes of a pool study that are killed."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest
from carillon.config.pool import POLICIES
from carillon.pool import running, study
from hang import HANG_S

SMALL = """devices: [{type: a100, count: 2}]
cells: [{cell: 64x32-uplink}]
frames: 60
warm_up: 10
"""


class BreaksAtOnce(ProcessPoolExecutor):
    """Its first process is killed before the next one starts."""

    def submit(self, *what: Any, **named: Any) -> Any:
        future = super().submit(*what, **named)
        for process in multiprocessing.active_children():
            process.kill()
        assert isinstance(future.exception(timeout=HANG_S), BrokenProcessPool)
        return future


def test_a_process_that_is_killed_while_others_start_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "my.yaml"
    file.write_text(SMALL)
    monkeypatch.setattr(running, "ProcessPoolExecutor", BreaksAtOnce)
    known = study.load(file)
    requests = [running.Request(known, policy, 1) for policy in POLICIES]
    with pytest.raises(running.KilledError) as error:
        running.run_all(requests, 2, lambda _: None, lambda: False)
    assert error.value.outcomes == [None] * len(requests)
