"""While reports are written, which takes a while, the terminal says so."""

import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from carillon import report, results
from carillon.commands import start
from carillon.commands.start import Output, finish
from carillon.result import Result
from carillon.runfolder import RunFolder
from synthetic import quiet_run, run_folder

WATCHED = """
from carillon.commands.bars import working
with working("writing 2 reports") as tell:
    tell("writing reports (1 of 2)")
print("done")
"""


def test_one_plain_line_says_that_the_report_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    finish(run_folder(tmp_path, quiet_run()), Output(live=False, json=False))
    out, err = capsys.readouterr()
    assert err == "writing the report\n"
    assert "writing" not in out


def test_reports_of_several_cells_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written: list[RunFolder] = []

    def rebuild(folder: RunFolder) -> Result:
        assert capsys.readouterr().err == ("" if written else "writing 2 reports\n")
        written.append(folder)
        return results.build(folder, folder.telemetry(), [])

    monkeypatch.setattr(report, "rebuild", rebuild)
    made = [run_folder(tmp_path / str(n), quiet_run()) for n in range(2)]
    start.write_reports(made)
    assert written == made


def everything(terminal: int) -> str:
    """What was written to a terminal that nobody has open any longer."""
    shown = b""
    with open(terminal, "rb", buffering=0) as stream, suppress(OSError):
        while piece := stream.read(4096):
            shown += piece
    return shown.decode()


def test_in_a_terminal_it_is_gone_when_it_is_done() -> None:
    terminal, inside = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", WATCHED],
        stdout=subprocess.PIPE,
        stderr=inside,
        env=os.environ | {"TERM": "xterm"},
        text=True,
        check=True,
    )
    os.close(inside)
    shown = everything(terminal)
    assert "writing reports (1 of 2)" in shown
    assert shown.endswith("\x1b[2K")  # the line is cleared
    assert done.stdout == "done\n"
