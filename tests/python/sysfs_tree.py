"""Trees of plain files as machines have them below /sys, from tests/data/sysfs.

By itself, to try `carillon power clock` on one: python tests/python/sysfs_tree.py KIND FOLDER
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_DATA = Path(__file__).parents[1] / "data" / "sysfs"
KINDS = sorted(file.stem for file in _DATA.glob("*.txt"))


def make_tree(kind: str, root: Path) -> Path:
    """Files, folders and links; tests/data/README.md says how a tree is written."""
    for line in (_DATA / f"{kind}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        for own in _each(line):
            _make(own, root)
    return root


def _each(line: str) -> list[str]:
    found = re.search(r"\{(\d+)-(\d+)\}", line)
    if not found:
        return [line]
    before, after = line[: found.start()], line[found.end() :]
    numbers = range(int(found[1]), int(found[2]) + 1)
    return [f"{before}{n}{after}".replace("{}", str(n)) for n in numbers]


def _make(line: str, root: Path) -> None:
    link, arrow, target = line.partition(" -> ")
    path, equals, text = line.partition(" = ")
    if not arrow and not equals:
        (root / line).mkdir(parents=True, exist_ok=True)
        return
    place = root / (link if arrow else path)
    place.parent.mkdir(parents=True, exist_ok=True)
    if arrow:
        place.symlink_to(target)
    else:
        place.write_text(re.sub("~$", " ", text) + "\n", encoding="utf-8")


def snapshot(root: Path) -> dict[str, bytes]:
    """Every file's path and contents."""
    files = (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in KINDS:
        sys.exit(f"usage: sysfs_tree.py KIND FOLDER; kinds: {', '.join(KINDS)}")
    make_tree(sys.argv[1], Path(sys.argv[2]))
