"""SigMF recordings: tags come back as they went, and wrong metadata have one clear error."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from block_streams import read_all
from carillon import core
from carillon.errors import InputError
from carillon.flowgraph import Block, sigmf
from carillon.flowgraph.graph import Graph, GraphError
from carillon.flowgraph.running import Running
from hang import wait_until

SAMPLES = (np.arange(200) - 100j).astype(np.complex64)


def metadata() -> dict[str, Any]:
    return {
        "global": {
            "core:datatype": "cf32_le",
            "core:sample_rate": 48000,
            "core:version": "1.2.0",
            "core:sha512": hashlib.sha512(SAMPLES.tobytes()).hexdigest(),
            "other:thing": {"nested": [1, None]},
        },
        "captures": [
            {
                "core:sample_start": 0,
                "core:global_index": 1000,
                "core:frequency": 868950000.5,
                "core:datetime": "2026-01-31T12:00:00.5Z",
            },
            {"core:sample_start": 120, "core:global_index": 1150, "core:frequency": 433.92e6},
        ],
        "annotations": [
            {"core:sample_start": 7, "core:sample_count": 3, "core:label": "a burst"},
            {"core:sample_start": 150, "core:label": "naïve", "core:comment": "two\nlines"},
        ],
    }


def save(folder: Path, value: object, data: bytes | None = None) -> Path:
    (folder / "x.sigmf-data").write_bytes(SAMPLES.tobytes() if data is None else data)
    (folder / "x.sigmf-meta").write_text(value if isinstance(value, str) else json.dumps(value))
    return folder / "x.sigmf-meta"


TAGS = [
    "0 rate 48000",
    "0 time 1769860800.5",
    "0 frequency 868950000.5",
    "7 annotation 3 a burst",
    "120 overflow 30",
    "120 frequency 433920000",
    "150 annotation 0 naïve: two lines",
]


def test_a_recording_gives_its_samples_and_tags(tmp_path: Path) -> None:
    meta = save(tmp_path, metadata())
    for name in (meta, meta.with_suffix(".sigmf-data"), meta.with_suffix("")):
        assert sigmf.read(name).samples == 200
    recording = sigmf.read(meta)
    assert recording.rate_hz == 48000
    recording.check_hash()
    source = core.Block("raw-source", recording.source_values())
    source.start()
    wait_until(lambda: source.ready() == 200)
    np.testing.assert_array_equal(source.make(200), SAMPLES)
    assert source.tags == TAGS


def test_what_is_written_is_read_as_it_was(tmp_path: Path) -> None:
    """Through the engine's blocks there and back; what goes on is said again at each capture."""
    first = sigmf.read(save(tmp_path, metadata()))
    sink = core.Block("raw-sink", sigmf.sink_values(tmp_path / "y.sigmf-meta", "cf32_le"))
    sink.start()
    sink.run([SAMPLES], str(first.source_values()["tags"]))
    sink.finish()
    sigmf.write_metadata(tmp_path / "y", "cf32_le", 48000.0)
    again = sigmf.read(tmp_path / "y.sigmf-data")
    again.check_hash()
    went_on = f"120 time {1769860800.5 + (120 + 30) / 48000:.6f}"
    said = [str(tag) for tag in again.tags]
    assert [line for line in said if not line.startswith("120 time")] == [
        str(tag) for tag in first.tags
    ]
    assert [float(line.split()[2]) for line in said if line.startswith("120 time")] == [
        pytest.approx(float(went_on.split()[2]), abs=1e-6)
    ]
    assert not (tmp_path / "y.sigmf-tags").exists()


def test_tags_without_their_samples_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "y.sigmf-data").write_bytes(bytes(80))
    (tmp_path / "y.sigmf-tags").write_text(
        "3 rate 24000\n9 annotation 5 end\n10 frequency 1\n12 annotation 1 x\n5 fr"
    )
    sigmf.write_metadata(tmp_path / "y", "cf32_le", 48000.0)
    said = json.loads((tmp_path / "y.sigmf-meta").read_text())
    assert said["captures"] == [{"core:sample_start": 0}]
    assert said["annotations"] == [
        {"core:sample_start": 3, "core:label": "rate 24000 Hz"},
        {"core:sample_start": 9, "core:sample_count": 1, "core:label": "end"},
    ]


def test_a_stretch_between_headers_is_read(tmp_path: Path) -> None:
    value = metadata()
    value["global"] |= {"core:trailing_bytes": 3, "core:offset": 5000}
    value["captures"] = [{"core:sample_start": 5000, "core:header_bytes": 11}]
    value["annotations"] = [{"core:sample_start": 5004}]
    meta = save(tmp_path, value, bytes(11) + SAMPLES.tobytes() + bytes(3))
    recording = sigmf.read(meta)
    assert [str(tag) for tag in recording.tags] == ["0 rate 48000.0", "4 annotation 0"]
    found = read_all(core.Block("raw-source", recording.source_values()))
    np.testing.assert_array_equal(found, SAMPLES)


def test_graphs_read_and_write_recordings(tmp_path: Path) -> None:
    meta = save(tmp_path, metadata())
    copy = Graph("copy").node("in", rate_hz=48000, block=Block("sigmf-source", path=str(meta)))
    copy.node("out", block=Block("sigmf-sink", path=str(tmp_path / "y"))).edge("in", "out")
    with Running(copy, batches=[10, 10], paced=False) as running:
        running.wait()
    assert running.result().failures == []
    again = sigmf.read(tmp_path / "y")
    assert again.samples == 200
    assert [tag for tag in again.tags if tag.kind != "time"] == [
        tag for tag in sigmf.read(meta).tags if tag.kind != "time"
    ]
    wrong = Graph("wrong").node("in", rate_hz=1000, block=Block("sigmf-source", path=str(meta)))
    wrong.node("out", block=Block("sigmf-sink", path=str(tmp_path / "z"))).edge("in", "out")
    with pytest.raises(GraphError, match=r"has 48000 samples a second, and the graph says 1000"):
        Running(wrong, batches=[1, 1])


@pytest.mark.parametrize(
    ("name", "said"), [("", "is a folder, not a recording"), ("y.sigmf", "is an archive")]
)
def test_a_name_that_no_recording_can_have_is_refused(name: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / name
    graph = Graph("g").node("in", rate_hz=1000, block=Block("null-source"))
    graph.node("out", block=Block("sigmf-sink", path=str(path))).edge("in", "out")
    with pytest.raises(GraphError, match=f"node out: sigmf-sink: {path}: {said}"):
        graph.check(with_costs=False)


def changed(section: str, key: str, value: object, place: int = 1) -> dict[str, Any]:
    made = metadata()
    where = made[section] if section == "global" else made[section][place]
    if value is None:
        del where[f"core:{key}"]
    else:
        where[f"core:{key}"] = value
    return made


WRONG = [
    ("", "is no JSON: "),
    ("{", "is no JSON: "),
    ("[" * 200_000, "is nested too deeply"),
    ("9" * 10_000, "is no JSON: "),
    ("NaN", "is no JSON: NaN is no number of JSON"),
    ("[]", "is no SigMF metadata: must be a JSON object"),
    ("{}", "is no SigMF metadata: has no global"),
    (metadata() | {"global": 1}, "is no SigMF metadata: global must be a JSON object"),
    (changed("global", "datatype", None), "is no SigMF metadata: has no global.core:datatype"),
    (changed("global", "datatype", "cf32"), "core:datatype is 'cf32', but must be"),
    (changed("global", "datatype", "cf16_le"), "core:datatype is 'cf16_le', but must be"),
    (changed("global", "sample_rate", -1), "global.core:sample_rate: Input should be greater"),
    (changed("global", "sample_rate", "48000"), "global.core:sample_rate: Input should be a valid"),
    (changed("global", "num_channels", 2), "has 2 channels, but one is read"),
    (changed("global", "metadata_only", True), "is said to have no samples"),
    (changed("global", "trailing_bytes", 1 << 70), "global.core:trailing_bytes: "),
    (changed("captures", "sample_start", None), "is no SigMF metadata: has no captures.1"),
    (changed("captures", "sample_start", -1), "captures.1.core:sample_start: Input should be gre"),
    (changed("captures", "sample_start", 201), "captures.1.core:sample_start is 201, but it is"),
    (changed("captures", "sample_start", 1.5), "captures.1.core:sample_start: Input should be a"),
    (changed("captures", "sample_start", 150, 0), "captures.1.core:sample_start is 120, which is"),
    (changed("captures", "header_bytes", 8), "has core:header_bytes between samples"),
    (changed("captures", "datetime", "noon"), "captures.1.core:datetime is 'noon', but must be"),
    (changed("captures", "frequency", 1e300), "captures.1.core:frequency: Input should be less"),
    (changed("annotations", "sample_count", 51), "annotations.1.core:sample_start is 150, but it"),
    (changed("annotations", "sample_start", 5), "annotations.1.core:sample_start is 5, which is"),
    (changed("annotations", "label", 7), "annotations.1.core:label: Input should be a valid str"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "why"), WRONG)
def test_wrong_metadata_have_one_clear_error(tmp_path: Path, value: object, why: str) -> None:
    meta = save(tmp_path, value)
    with pytest.raises(InputError) as refused:
        sigmf.read(meta)
    assert str(refused.value).startswith(f"{meta}: {why}")
    assert "\n" not in str(refused.value)


def test_wrong_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x\.sigmf-meta: No such file or directory"):
        sigmf.read(tmp_path / "x")
    with pytest.raises(InputError, match=r"is an archive; unpack it with tar xf"):
        sigmf.read(tmp_path / "x.sigmf")
    meta = save(tmp_path, metadata(), SAMPLES.tobytes()[:-3])
    with pytest.raises(InputError, match=r"x\.sigmf-data: has 1597 bytes, which are no whole"):
        sigmf.read(meta)
    with (tmp_path / "x.sigmf-meta").open("r+b") as huge:
        huge.truncate(1 << 30)
    with pytest.raises(InputError, match=r"has 1073741824 bytes, but metadata have at most"):
        sigmf.read(meta)
    save(tmp_path, metadata(), bytes(1600))
    with pytest.raises(InputError, match=r"has another SHA-512 than its metadata says"):
        sigmf.read(meta).check_hash()
