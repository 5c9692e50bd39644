"""`carillon report`: the page anew, from a run folder."""

from __future__ import annotations

from pathlib import Path

from carillon import runfolder
from carillon.commands.start import Output, finish
from carillon.result import Result


def report(path: Path, *, as_json: bool) -> Result:
    """Rebuilds every file of a run's report."""
    folder = runfolder.open_folder(path)
    try:
        return finish(folder, Output(live=False, json=as_json))
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:  # in `machine` or others
        raise runfolder.RunFolderError(f"{path}: run.json is damaged: {error!r}") from error
