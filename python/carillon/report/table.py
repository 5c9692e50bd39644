"""A table of the page."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from carillon.result import Distribution


def table(
    title: str,
    note: str,
    head: Sequence[str],
    rows: Iterable[Sequence[object]],
    after: str = "",
) -> str:
    """As HTML. The first cell of a row names it; `after`: HTML below the table."""
    cells = "".join(f"<tr>{_cells(row)}</tr>" for row in rows)
    names = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in head)
    about = f"<p>{html.escape(note)}</p>" if note else ""
    return (
        f"<section><h2>{html.escape(title)}</h2>{about}"
        f'<div class="scroll" tabindex="0" role="region" aria-label="{html.escape(title)}">'
        f"<table><thead><tr>{names}</tr></thead><tbody>{cells}</tbody></table></div>{after}"
        f"</section>"
    )


def _cells(row: Sequence[object]) -> str:
    first, *others = (html.escape(_text(cell)) for cell in row)
    return f'<th scope="row">{first}</th>' + "".join(f"<td>{text}</td>" for text in others)


def _text(cell: object) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, float):
        return f"{cell:.4g}"
    return str(cell)


def row_of(name: str, d: Distribution) -> list[object]:
    """A distribution in ms, as a row: p50, p90, p99, p99.9, p99.99, max and samples."""
    times = [d.p50, d.p90, d.p99, d.p999, d.p9999, d.max]
    return [name, *(None if ms is None else f"{ms:.4f}" for ms in times), d.samples]
