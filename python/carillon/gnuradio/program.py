"""A flowgraph that somebody wrote: a Python program with one top block."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from gnuradio import gr

from carillon.gnuradio.flow import FlowError


def load(file: Path) -> Any:
    """The only top block of a program, made."""
    spec = importlib.util.spec_from_file_location("flowgraph", file)
    if spec is None or spec.loader is None:
        raise FlowError("is no Python program")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(file.parent))  # where its own blocks lie
    spec.loader.exec_module(module)
    tops = [
        each
        for each in vars(module).values()
        if isinstance(each, type)
        and issubclass(each, gr.top_block)
        and each.__module__ == module.__name__
    ]
    if len(tops) != 1:
        raise FlowError(f"has {len(tops)} classes of gr.top_block; it must have one")
    if any(base.__name__ == "QWidget" for base in tops[0].__mro__):
        raise FlowError("has windows: set Generate Options to No GUI")
    return tops[0]()
