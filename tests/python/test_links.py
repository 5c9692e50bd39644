"""Nothing is written through a link, a pipe or a device that lies where a file of ours belongs."""

import os
import stat
from pathlib import Path

import pytest
from carillon import cli, files
from carillon.errors import InputError
from typer.testing import CliRunner


def refusal(*words: str) -> str:
    """Why a command line was refused before it did anything."""
    result = CliRunner().invoke(cli.app, words)
    assert isinstance(result.exception, InputError), result.output
    return str(result.exception)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("study millipede-5.1", "study.csv"),
        ("study millipede-5.1", files.MARK),
        ("study millipede-5.7", "study.png"),
        ("study megastation-8", "study.csv"),
        ("study megastation-15", "study.json"),
        ("study rack", "study.json"),
        ("sweep link-snr", "results.csv"),
        ("sweep link-snr", "tasks"),
        ("sweep link-snr", ".lock"),
        ("plan laptop-8x2", "plan.json"),
        ("plan laptop-8x2 --search", "search.json"),
        ("link laptop-8x2 --snr 20", "link.csv"),
        ("link laptop-8x2 --snr 20", "link.png"),
        ("simulate four-a100", "trace.json"),
        ("validate laptop-8x2", "validation.json"),
        ("ingest bench", "ingest.csv"),
        ("run laptop-8x2", "carillond.log"),
        ("radio laptop-8x2", "telemetry.bin"),
        ("demo --cell laptop-8x2", "plots"),
    ],
)
def test_a_link_in_a_folder_is_not_followed(tmp_path: Path, words: str, name: str) -> None:
    folder, target = tmp_path / "folder", tmp_path / "target"
    folder.mkdir()
    files.mark(folder)
    target.write_text("precious")
    link = folder / name
    link.unlink(missing_ok=True)
    link.symlink_to(target)
    before = set(folder.iterdir())
    told = refusal(*words.split(), "--folder", str(folder))
    assert told.startswith(f"{link} is neither a file nor a folder")
    assert target.read_text() == "precious"
    assert link.is_symlink()
    assert set(folder.iterdir()) == before


@pytest.mark.parametrize("words", ["calibrate laptop-8x2 --output", "bench --filter crc --csv"])
def test_a_pipe_is_not_replaced_by_a_result(tmp_path: Path, words: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    told = refusal(*words.split(), str(pipe))
    assert told.startswith(f"{pipe} is neither a file nor a folder")
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_link_that_comes_while_a_command_works_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    file = tmp_path / "result.json"
    partial = tmp_path / f".partial-{os.getpid()}-{file.name}"
    partial.symlink_to(target)
    files.write_text(file, "new")
    assert target.read_text() == "precious"
    assert file.read_text() == "new"
    file.unlink()
    file.symlink_to(target)
    with pytest.raises(InputError, match=f"{file} is neither"):
        files.write_text(file, "newer")
    assert target.read_text() == "precious"
