"""The scripts for developers, as modules."""

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A script, which has no suffix, for the length of a test."""
    own = name.replace("-", "_")
    loader = SourceFileLoader(own, str(SCRIPTS / name))
    spec = spec_from_loader(own, loader)
    assert spec is not None
    module = module_from_spec(spec)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setitem(sys.modules, own, module)
    loader.exec_module(module)
    return module
