"""The live view draws what the telemetry holds."""

from pathlib import Path

from carillon.braille import scatter
from carillon.live import LiveView
from rich.console import Console
from synthetic import quiet_run, run_folder


def test_the_view_shows_latency_counts_and_cores(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, quiet_run(frames=300))
    console = Console(width=120, height=40, record=True, file=(tmp_path / "out").open("w"))
    view = LiveView(folder, console)
    console.print(view.draw(folder.telemetry()))
    text = console.export_text()
    for words in ("synthetic", "8×2", "0.3 s on air, 300 frames", "p50 0.700", "late: processing"):
        assert words in text
    assert "worker 1 @1" in text
    assert "uplink 2 Mb/s" in text


def test_a_dot_lies_where_its_point_is() -> None:
    empty = chr(0x2800)
    corner = scatter([-0.99], [0.99], columns=2, rows=1, limit=1.0)
    assert corner == chr(0x2801) + empty
    assert scatter([0.99], [-0.99], columns=2, rows=1, limit=1.0) == empty + chr(0x2880)
    assert scatter([2.0], [0.0], columns=2, rows=1, limit=1.0) == 2 * empty
