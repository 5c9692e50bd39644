"""Every command in the README and the documentation runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from carillon.flowgraph.profile import gnuradio_python
from carillon.port import namespaces
from carillon.power.delays import CLASSES
from carillon.report.write import FRAME_COLUMNS
from carillon.result import Delays, Frames
from carillon.telemetry import CAUSES
from daemon_needed import has_daemon
from hang import HANG_S

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs/studies").glob("*.md")),
    *sorted((ROOT / "docs/internals").glob("*.md")),
]
MEASUREMENTS = sorted((ROOT / "docs/measurements").glob("*.md"))

# Quick forms of what takes long. Text in a block is replaced before the block runs.
QUICK = {
    "./carillon demo\n": "carillon demo --frames 300 --no-live\n",
    # All of it, this test too, is what runs this; a single step stands for it.
    "./carillon test\n": "$SOURCE/carillon test layers\n",
    "./carillon test --quick\n": "$SOURCE/carillon test --quick layers\n",
    "./carillon setup\n": "$SOURCE/carillon --version\n",
    # Status 1, not fit for real time, is no mistake of the page.
    "./carillon doctor\n": "carillon doctor --seconds 0.2 || test $? -eq 1\n",
    "carillon doctor --interface lo --seconds 10 --json > runs/doctor.json\n": "carillon doctor "
    "--interface lo --seconds 0.2 --json > runs/doctor.json || test $? -eq 1\n",
    "--frames 5000": "--frames 200 --no-live",
    "--transport udp --seconds 20": "--transport udp --frames 200 --no-live",
    "--no-live --folder runs/mine": "--frames 200 --no-live --folder runs/mine",
    "--seconds 5 --json": "--frames 200 --json",
    "--snr 0:1:10": "--snr 0:5:10 --frames 4 --piece 2",
    "--snr -14:1:0 --harq": "--snr -14:7:0 --harq --frames 4 --piece 2",
    "--seconds 30": "--seconds 2",
    "--frames 2000": "--frames 200",
    "carillon bench --filter zeroforce\n": "carillon bench --filter zeroforce --quick\n",
    "carillon calibrate lan-8x4\ncarillon plan lan-8x4\n": "carillon calibrate lan-8x4 "
    "--seconds 0.1\ncarillon plan lan-8x4 --cores 16 || test $? -eq 3\n",
    "carillon validate lan-8x4 --seconds 2\n": "carillon validate laptop-8x2 --seconds 0.1 "
    "|| test $? -eq 1\n",
    # Fewer antennas make fewer cells to try.
    "carillon plan laptop-8x2 --search --seconds 1\n": "mkdir -p runs\nsed 's/^antennas: 8/"
    "antennas: 2/' $SOURCE/examples/cells/laptop-8x2.yaml > runs/two.yaml\n"
    "carillon plan runs/two.yaml --search --seconds 0.1\n",
    # A calibration this short may have met a standstill, and then some frame is late.
    "agora-64x16 --cores 32 --folder runs/my-plan\n": "laptop-8x2 --seconds 0.1 --cores 32 "
    "--folder runs/my-plan || test $? -eq 3\n",
    "carillon bench --compare\n": "carillon bench --compare --quick --filter 'fft 512'\n",
    "carillon bench cell thesis-16x8\n": "carillon bench cell thesis-16x8 --quick\n",
    "laptop-8x2 --seconds 10": "laptop-8x2 --seconds 0.3",
    "carillon study millipede-5.6\n": "carillon study millipede-5.6 --frames 4\n",
    "carillon study power-day\n": "carillon study power-day --frames 20\n",
    "power-day/delays.json\n": "power-day/delays.json --frames 150\n",
    "carillon study power-9\n": "carillon study power-9 --frames 150\n",
    "carillon study power-tti\n": "carillon study power-tti --frames 150\n",
    "carillon study power-load\n": "carillon study power-load --frames 150\n",
    "power-9/delays.json\n": "power-9/delays.json --frames 150 --coefficients 3\n",
    "lan-8x4 --step 2 --turns 4 --cores 0.22\n": "laptop-8x2 --step 13 --seconds 0.5 --turns 1 "
    "--cores 1\n",
    "300:100:2100\n": "300:100:2100 --seconds 1 --ttis 1500\n",
    "excess.csv --seconds 60\n": "excess.csv --seconds 2\n",
    "carillon study millipede-5.7\n": "carillon study millipede-5.7 --frames 4\n",
    "carillon study millipede-5.8\n": "carillon study millipede-5.8 --frames 4\n",
    "carillon study millipede-5.1\n": "carillon study millipede-5.1 --most-cores 4\n",
    "carillon study megastation-8\n": "carillon study megastation-8 --frames 20\n",
    "carillon study megastation-16\n": "carillon study megastation-16 --frames 20\n",
    "carillon study megastation-19\n": "carillon study megastation-19 --frames 20\n",
    # Status 77: no GPU was measured.
    "carillon study gpu-stages\n": "carillon study gpu-stages || test $? -eq 77\n",
    "gpu-shapes --from results\n": "gpu-shapes --from results || test $? -eq 77\n",
    "carillon study rack\n": "carillon study rack --frames 4\n",
    "5.1 --virtual\n": "5.1 --virtual --most-cores 4 --frames 4\n",
    "carillon ingest bench\n": "carillon ingest bench --sizes 64,64K --channels 1 --seconds 0.01\n",
    # Status 3: a machine that stands still again and again sustains no rate.
    "carillon net rtt\n": "carillon net rtt --msps 0.1 --seconds 0.2 --way socket "
    "|| test $? -eq 3\n",
    "io-uring --seconds 5\n": "socket --msps 0.1 --seconds 0.2 || test $? -eq 3\n",
    "--coalesce 10:10:300\n": "--coalesce 10,300 --msps 0.1 --seconds 0.2 || test $? -eq 3\n",
    "power model runs/drawn.csv\n": "power model runs/drawn.csv --most 3 --starts 1\n",
    ".venv/bin/python tests/python/sysfs_tree.py": "$SOURCE/.venv/bin/python "
    "$SOURCE/tests/python/sysfs_tree.py",
    # A machine that others use may take longer for a batch than was planned: status 3.
    "run nbfm --seconds 10\n": "run nbfm --seconds 0.3 || test $? -eq 3\n",
    "plan.json --seconds 2\n": "plan.json --seconds 0.3 || test $? -eq 3\n",
    "--batch 240 --seconds 2\n": "--batch 240 --seconds 0.3\n",
    "--fast --seconds 60\n": "--fast --seconds 2\n",
    "--threads blocks --seconds 2\n": "--threads blocks --seconds 0.3\n",
    "--threads deadline --seconds 2\n": "--threads deadline --seconds 0.3\n",
    "--fast --seconds 2 --set": "--fast --seconds 0.3 --set",
    "--batch 480 --seconds 2 --set": "--batch 480 --seconds 0.3 --set",
    "profile nbfm\n": "profile nbfm --seconds 0.002 --no-gnuradio\n",
    "--latency 20ms --cores 1 --scheduling fifo\n": "--latency 200ms --seconds 0.1\n",
    ".venv/bin/python bench/gnuradio/beside.py --seconds 5 --turns 3\n": "$SOURCE/.venv/bin/python "
    "$SOURCE/bench/gnuradio/beside.py --seconds 0.1 --turns 1 --carillon ''\n",
    "PYTHONPATH=python examples/": "PYTHONPATH=$SOURCE/python $SOURCE/examples/",
    "keep_latency.py 10 20\n": "keep_latency.py 0.1 200\n",
    ".venv/bin/python examples/data-port/": "$SOURCE/.venv/bin/python $SOURCE/examples/data-port/",
    "carillon mac examples/": "carillon mac $SOURCE/examples/",
    "round-robin --seconds 30": "round-robin --seconds 1",
    "sudo .venv/bin/carillon demo --ip": "carillon demo --ip",
    "--seconds 14 --no-live": "--seconds 4 --no-live",
    "--seconds 40 --no-live": "--seconds 4 --no-live",
    "> docs/configuration.md": "> configuration.md",
    "carillon sweep pilot-occasions\n": "sed 's/0, 20, 40, 60, 80, 100/60/; s/, 100,/, 4,/'"
    " $SOURCE/examples/sweeps/pilot-occasions.yaml > runs/quick.yaml\n"
    "carillon sweep runs/quick.yaml\n",
}


# The command itself, except that a cell on a machine that others use may have no frame in time.
PROGRAM = """
import sys

from carillon.__main__ import main

if __name__ == "__main__":
    try:
        main()
    except SystemExit as ended:
        if sys.argv[1] not in ("demo", "run") or ended.code != 3:
            raise
"""


def blocks() -> list[tuple[str, str]]:
    """(where, script) of every sh block."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for place, block in enumerate(re.findall(r"^```sh\n(.*?)^```", text, re.S | re.M)):
            found.append((f"{page.name}:{place}", block))
    return found


def quick(script: str) -> str:
    for long, short in QUICK.items():
        script = script.replace(long, short)
    return script


def _needs_daemon(script: str) -> bool:
    return re.search(r"carillon (demo|run|radio|mac)", script) is not None


def _needs_gnuradio(script: str) -> bool:
    return re.search(r"--grc|gnuradio/", script) is not None


def _lacks_namespaces(script: str) -> bool:
    if "demo --ip" not in script:
        return False
    try:
        namespaces.require_means()
    except namespaces.NamespaceError:
        return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        pytest.param(script, id=where, marks=[pytest.mark.realtime] * _needs_daemon(script))
        for where, script in blocks()
    ],
)
def test_a_block_of_commands_runs(script: str, tmp_path: Path) -> None:
    if _needs_daemon(quick(script)) and not has_daemon():
        pytest.skip("carillond is not built")
    if _needs_gnuradio(script) and gnuradio_python() is None:
        pytest.skip("GNU Radio is not installed")
    if _lacks_namespaces(script):
        pytest.skip("network namespaces take root")
    program = tmp_path / "bin" / "carillon"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\n{PROGRAM}")
    program.chmod(0o755)
    cache = tmp_path / "cache"
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-eu", "-c", quick(script)],
        cwd=tmp_path,
        env=os.environ | {"PATH": path, "SOURCE": str(ROOT), "XDG_CACHE_HOME": str(cache)},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    left = {file.name for file in tmp_path.iterdir()}
    assert left <= {"bin", "cache", "runs", "configuration.md"}, "what git does not ignore"


def test_commands_write_where_git_ignores_it() -> None:
    written = re.compile(r"(?:> |--(?:folder|csv|draw|output) )(\S+)")
    places = {place for _, script in blocks() for place in written.findall(script)}
    assert "runs/my-run" in places
    assert [
        place
        for place in places - {"docs/configuration.md"}  # which is kept in git
        if not place.startswith("runs/")
    ] == []


def test_quick_forms_are_of_commands_that_are_documented() -> None:
    everything = "".join(script for _, script in blocks())
    assert [long for long in QUICK if long not in everything] == []


def test_every_block_says_what_it_is() -> None:
    for page in PAGES:
        fences = re.findall(r"^```(.*)$", page.read_text(encoding="utf-8"), re.M)
        assert set(fences[::2]) <= {"sh", "text", "yaml", "json", "cpp", "python"}, page
        assert set(fences[1::2]) <= {""}, page


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_between_pages_leads_somewhere() -> None:
    for page in (*PAGES, *MEASUREMENTS):
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"\]\((?!https?:)([^)]+)\)", text):
            file, _, anchor = target.partition("#")
            there = page.parent / file if file else page
            assert there.exists(), f"{page.name}: {target}"
            assert not anchor or anchor in anchors(there), f"{page.name}: {target}"


def first_column(page: str, heading: str) -> list[str]:
    """The names in the first column of the table under a heading, in order."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]*`) \|", section, re.M)
    return [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]


def test_names_of_frames_are_explained_as_they_are_in_a_result() -> None:
    names = set(first_column("reading-a-report.md", "Frames"))
    assert names >= {"sent", "skipped", "seen", "completed", "incomplete", "nacked"}
    assert names <= Frames.model_fields.keys()


def test_every_column_of_frames_csv_is_explained() -> None:
    named = first_column("reading-a-report.md", "Each frame")
    assert sorted(named) == sorted(FRAME_COLUMNS)


def test_the_page_on_late_frames_names_what_a_result_has() -> None:
    page = (ROOT / "docs/late.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`delays\.(\w+)`", page))
    assert named == Delays.model_fields.keys()
    assert tuple(re.findall(r"^\| `(\w+)` \| (?:in time|late)", page, re.M)) == CLASSES
    assert {f"`{name}`" for name in CAUSES} <= set(re.findall(r"`\w+`", page))


def test_every_table_has_rows() -> None:
    for page in (*PAGES, *MEASUREMENTS):
        lines = page.read_text(encoding="utf-8").splitlines()
        for place, line in enumerate(lines):
            if re.fullmatch(r"\|(?:\s*:?-+:?\s*\|)+", line):
                following = lines[place + 1] if place + 1 < len(lines) else ""
                assert following.startswith("|"), f"{page.name}:{place + 1}: a table without rows"


def test_no_page_says_that_no_gpu_was_measured_once_one_was() -> None:
    assert list((ROOT / "docs/measurements").glob("*/kernels.json"))
    for page in PAGES:
        found = re.search(r"never met a GPU|none has been measured", page.read_text("utf-8"), re.I)
        assert not found, f"{page.name}: {found[0] if found else ''}"
