"""Carillon: real-time massive-MIMO baseband. Commands, configuration, studies and reports."""

from pathlib import Path

from carillon import core as core  # re-exported

__version__: str = core.version


def carillond() -> Path:
    """The real-time process, installed beside the compiled module."""
    return Path(core.__file__).parent / "bin" / "carillond"
