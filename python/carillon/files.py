"""Folders that Carillon may write over."""

from __future__ import annotations

from pathlib import Path

MARK = ".carillon"


def mark(folder: Path) -> None:
    """Makes it Carillon's."""
    text = "Made by carillon, which may write over what it left in this folder.\n"
    (folder / MARK).write_text(text, encoding="utf-8")
