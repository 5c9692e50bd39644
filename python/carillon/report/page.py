"""report.html: one page that needs nothing else."""

from __future__ import annotations

import html
import re
from importlib.resources import files
from pathlib import Path
from string import Template

import yaml

from carillon.plots import PLOTS
from carillon.report import tables, tiles
from carillon.result import Result
from carillon.runfolder import RunFolder
from carillon.telemetry import Telemetry


def page(folder: RunFolder, telemetry: Telemetry, result: Result, drawn: dict[str, Path]) -> str:
    """The whole report as HTML."""
    template = Template(files("carillon.report").joinpath("page.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=html.escape(result.name),
        description=html.escape(folder.cell.description),
        about=html.escape(_about(folder, result)),
        verdict=tiles.verdict_banner(result),
        tiles=tiles.tiles(folder, result),
        plots="\n".join(figure(name, file, PLOTS[name][1]) for name, file in drawn.items()),
        tables="\n".join(tables.sections(folder, result)),
        configuration=html.escape(_yaml(folder)),
        log=_log(folder),
        files="result.json, frames.csv",
        version=html.escape(result.version),
    )


def _about(folder: RunFolder, result: Result) -> str:
    side = {"both": "baseband and emulated radio", "bbu": "baseband unit", "radio": "radio unit"}
    return " · ".join(
        [
            f"{folder.cell.antennas} antennas × {folder.cell.users} users",
            f"{result.seconds:.4g} s of air time",
            side[result.role],
            {"shm": "shared memory", "udp": "UDP"}[result.transport],
            f"{result.cpu}, {result.machine.get('cores')} cores, {result.machine.get('isa')}",
            *filter(None, [folder.run.power.words]),
            result.started.replace("T", " "),
        ]
    )


# A colour of a drawing, as matplotlib writes it.
_COLOUR = re.compile(r"(?<=: )#([0-9a-f]{6})(?=[;\"])")


def figure(name: str, file: Path, about: str) -> str:
    """A drawing within the page."""
    svg = file.read_text(encoding="utf-8")
    svg = svg[svg.index("<svg") :]
    svg = _COLOUR.sub(r"var(--\1,#\1)", svg)  # the page may replace it
    # Ids of one drawing must not meet those of another on the page.
    for attribute in ('id="', 'href="#', "url(#"):
        svg = svg.replace(attribute, f"{attribute}{name}-")
    caption = html.escape(about)
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{caption}"', 1)
    return (
        f'<figure class="{name}"><div class="scroll" tabindex="0">{svg}</div>'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _yaml(folder: RunFolder) -> str:
    tree = folder.cell.model_dump(mode="json")
    return yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)


def _log(folder: RunFolder) -> str:
    """What the process said, where it said anything."""
    try:
        text = folder.log_file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
    if not text:
        return ""
    newest = "\n".join(text.splitlines()[-60:])
    return f"<details><summary>Messages</summary><pre>{html.escape(newest)}</pre></details>"
