"""The examples that come with Carillon, by kind (cells, pools, sweeps) and name."""

from __future__ import annotations

from pathlib import Path

from carillon.config import ConfigError, Problem


def folder(kind: str) -> Path:
    """Where examples of a kind lie: in the package, or in the source tree it runs from."""
    package = Path(__file__).parent
    installed = package / kind
    return installed if installed.is_dir() else package.parents[1] / "examples" / kind


def names(kind: str) -> list[str]:
    """Names of all examples of a kind."""
    return sorted(file.stem for file in folder(kind).glob("*.yaml"))


def resolve(kind: str, text: str) -> Path:
    """A file: a path, or the name of an example. Raises ConfigError."""
    text = text or "''"
    path = Path(text)
    example = folder(kind) / f"{text.removesuffix('.yaml')}.yaml"
    if path.is_dir():
        hint = f"is a folder, not a {kind.removesuffix('s')}'s file"
    elif path.exists():
        return path
    elif path.is_symlink():
        hint = "is a symbolic link that leads to no file, or round in a circle"
    elif not path.is_absolute() and ".." not in path.parts and example.is_file():
        return example
    else:
        families = sorted(f"{each.name}/…" for each in folder(kind).iterdir() if each.is_dir())
        there = ", ".join(names(kind) + families)
        hint = f"no such file, nor an example of that name; the examples are {there}"
    raise ConfigError([Problem(text, 0, "", hint)])
