"""What a run sends ahead of time, and what goes on air instead of what is late."""

import csv
import subprocess
import sys
from pathlib import Path

import daemon_needed
import pytest
from carillon.result import Result
from hang import HANG_S

FRAMES = 400
CELL = """
antennas: 4
users: 2
numerology: {fft_size: 256, subcarriers: 144}
schedule: PPUUUUGGGGDDDG
pilots: {kind: time}
deadlines: {uplink_budget_ms: 20, downlink_lead_ms: 0, downlink_unit: frame, lead_quantile: 0.9}
ring: 32
radio: {contingency: references}
"""


pytestmark = daemon_needed.RUNS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("masking")
    (base / "cell.yaml").write_text(CELL)
    words = f"demo --cell cell.yaml --frames {FRAMES} --no-live --folder run".split()
    done = subprocess.run(
        [sys.executable, "-m", "carillon", *words],
        cwd=base,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return base / "run"


def test_a_frames_downlink_goes_on_air_whole_or_not_at_all(folder: Path) -> None:
    result = Result.model_validate_json((folder / "result.json").read_text())
    assert result.frames.sent is not None
    assert result.downlink.symbols_sent % 3 == result.downlink.symbols_substituted % 3 == 0
    on_air = result.downlink.symbols_sent + result.downlink.symbols_substituted
    assert on_air == 3 * result.frames.sent


# Packets leave when their symbol has been on air, so that the way's delay is always above zero.
def test_the_lead_follows_the_ways_delay(folder: Path) -> None:
    with (folder / "frames.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    delays = {row["t_f_ms"] for row in rows} - {""}
    assert min(map(float, delays)) > 0
    most = 8 / 14 / 2  # half of the time between the last pilot and the downlink
    begun = [row for row in rows if row["nack"] != "refused"]
    assert {row["lead_ms"] for row in begun[:40]} == {""}
    followed = [row["lead_ms"] for row in begun if row["lead_ms"]]
    assert len(followed) > 0
    for lead in followed:
        assert lead in delays or float(lead) == pytest.approx(most, rel=0.02), lead


def test_the_result_and_the_page_have_the_lead(folder: Path) -> None:
    result = Result.model_validate_json((folder / "result.json").read_text())
    assert result.delays is not None
    assert result.delays.lead_ms.p50 is not None
    assert "transmit lead" in (folder / "report.html").read_text()
