"""Full disks, damaged files and odd words: a sentence, a status, and what can be kept is kept."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from carillon import cells, core, examples
from carillon.config import ConfigError, parse_cell
from carillon.runfolder import RunFolderError, _require_sizes, describe, require_own
from hang import HANG_S

CARILLON = [sys.executable, "-m", "carillon"]


def on_a_full_disk(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Whose standard output is one."""
    with Path("/dev/full").open("w") as full:
        return subprocess.run(
            [*CARILLON, *words],
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=HANG_S,
            check=False,
        )


def test_a_full_standard_output_is_named_and_files_are_written(tmp_path: Path) -> None:
    shown = on_a_full_disk("config", "show", "laptop-8x2", folder=tmp_path)
    said = "carillon: standard output cannot be written: no space left on device\n"
    assert (shown.returncode, shown.stderr) == (1, said)
    planned = on_a_full_disk("flowgraph", "plan", "nbfm", "--folder", "out", folder=tmp_path)
    assert (planned.returncode, planned.stderr) == (1, said)
    assert (tmp_path / "out" / "plan.json").is_file()


def test_a_folder_with_too_long_a_name_is_wrong_input(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="file name too long; name another --folder"):
        require_own(tmp_path / ("a" * 300))


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("frame_ms",), 0),
        (("frame_ms",), float("nan")),
        (("uplink", "blocks"), 0),
        (("uplink", "users", 0, "blocks"), 0),
        (("uplink", "payload_bits"), -1),
        (("symbols", 0, "start_ms"), float("inf")),
    ],
)
def test_sizes_that_no_cell_has_are_named(keys: tuple[Any, ...], value: float) -> None:
    derived = json.loads(json.dumps(describe(cells.load("laptop-8x2").cell)))
    place = derived
    for key in keys[:-1]:
        place = place[key]
    assert keys[-1] in place
    place[keys[-1]] = value
    with pytest.raises(ValueError, match=rf"^derived\.{'.'.join(map(str, keys))} is "):
        _require_sizes(derived)


def test_sizes_of_all_examples_are_sizes() -> None:
    for name in examples.names("cells"):
        _require_sizes(json.loads(json.dumps(describe(cells.load(name).cell))))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("uplink: {base_graph: true}", "uplink.base_graph is true but must be auto, 1 or 2"),
        ("name: 0", "name is 0 but must be one line of plain text"),
        ("name: false", "name is false but must be one line of plain text"),
        ("seed: " + 5000 * "1", "seed has a whole number of too many digits"),
    ],
)
def test_a_value_of_another_kind_is_no_value(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_cell(f"antennas: 8\nusers: 2\n{text}\n")
    assert said in str(error.value)


def test_kernels_take_no_more_than_memory_holds_and_no_negative_zero() -> None:
    with pytest.raises(ValueError, match="first and count must be at most"):
        core.gold(1, 0, 2**64 - 1)
    with pytest.raises(ValueError, match="noise must be finite and at least 0"):
        core.demap(np.ones(1, np.complex64), np.array([-0.0], np.float32), 2)
