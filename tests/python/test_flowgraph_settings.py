"""Parameters that the command line gives in place of a graph's file."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from carillon import cli, examples
from carillon.config import ConfigError
from carillon.errors import InputError, Status
from carillon.flowgraph import Block, load
from carillon.flowgraph.filters import design
from typer.testing import CliRunner

NBFM = examples.resolve("flowgraphs", "nbfm")


def test_a_setting_takes_the_place_of_what_the_file_says() -> None:
    bands = "{count: 31, pass_hz: 1000, stop_hz: 9000}"
    given = ["channel.decimation=10", f"channel.taps={bands}", "antenna.rate_hz=1e5"]
    graph = load(NBFM, [*given, "speaker.type=wav-sink", "speaker.path=[1] #2=3: x.wav"])
    nodes = {node.name: node for node in graph.nodes}
    channel, speaker = nodes["channel"].block, nodes["speaker"].block
    assert channel is not None and speaker is not None
    assert channel.values["taps"] == {"count": 31, "pass_hz": 1000, "stop_hz": 9000}
    assert speaker == Block("wav-sink", samples="real", path="[1] #2=3: x.wav")
    assert [float(rate) for rate in graph.rates_hz[1:4]] == [1e5, 1e4, 1e4]
    assert load(NBFM).edges[1].consume == 5


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("volume", "--set volume: must be NODE.PARAMETER=VALUE"),
        ("volume=1", "--set volume=1: must be NODE.PARAMETER=VALUE"),
        ("volume.=1", "--set volume.=1: must be NODE.PARAMETER=VALUE"),
        ("horn.value=1", "--set horn.value=1: there is no node horn; there are antenna, rotator,"),
        ("volume.value=[", "--set volume.value=[: the value is not valid YAML"),
        (
            "antenna.rate_hz=-1",
            "--set antenna.rate_hz=-1: is -1 but must be a number between 1e-09",
        ),
        ("volume.rate_hz=10", "node volume"),
        ("volume.value=loud", "node volume: multiply: value: must be a number"),
        ("volume.size=1", "node volume: multiply: size: multiply has no such parameter"),
        ("volume.type=horn", "node volume: horn: there is no block horn"),
        ("speaker.samples=complex", "volume makes real samples, and speaker reads complex ones"),
    ],
)
def test_a_wrong_setting_is_told_in_a_line(setting: str, said: str) -> None:
    with pytest.raises((InputError, ConfigError)) as told:
        load(NBFM, [setting])
    assert said in str(told.value)
    assert "\n" not in str(told.value)


def test_a_node_without_a_block_has_nothing_to_set() -> None:
    published = examples.resolve("flowgraphs", "nbfm-published")
    with pytest.raises(InputError, match=r"--set audio\.value=1: node audio has no block"):
        load(published, ["audio.value=1"])


def test_another_type_keeps_only_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "in.iq").write_bytes(bytes(8000))
    given = {"path": str(tmp_path / "in.iq"), "datatype": "cf32_le"}
    settings = [f"antenna.{name}={value}" for name, value in given.items()]
    block = load(NBFM, ["antenna.type=raw-source", *settings]).nodes[0].block
    assert block is not None
    assert (block.type, dict(block.values)) == ("raw-source", given)


def test_the_command_takes_settings(tmp_path: Path) -> None:
    words = ["flowgraph", "run", "nbfm", "--fast", "--seconds", "0.1", "--folder", str(tmp_path)]
    given = ["--set", "channel.decimation=10", "--set", "antenna.tone_hz=500"]
    done = CliRunner().invoke(cli.app, [*words, *given])
    assert done.exit_code == 0, done.output
    nodes = json.loads((tmp_path / "result.json").read_text())["nodes"]
    assert (nodes[1]["executions"], nodes[2]["executions"]) == (24_000, 2400)
    wrong = CliRunner().invoke(cli.app, [*words, "--set", "volume"])
    assert getattr(wrong.exception, "status", None) == Status.WRONG_INPUT


def test_a_resampler_is_designed_for_the_rate_at_which_it_filters() -> None:
    bands = {"count": 201, "pass_hz": 16_000, "stop_hz": 24_000, "gain": 5}
    five = Block("resampler", taps=bands, interpolation=5, samples="real").made(48_000)
    taps = Block("resampler", taps=design(bands, 240_000), interpolation=5, samples="real").made()
    impulse = np.eye(1, 50, dtype=np.float32)[0]
    np.testing.assert_array_equal(five.run([impulse]), taps.run([impulse]))


def test_a_filter_that_cannot_be_designed_is_named_before_it_is_planned(tmp_path: Path) -> None:
    file = tmp_path / "nbfm.yaml"
    text = NBFM.read_text(encoding="utf-8")
    file.write_text(re.sub(r"count: 115\b", "count: 4001", text), encoding="utf-8")
    done = CliRunner().invoke(cli.app, ["flowgraph", "plan", str(file)])
    assert isinstance(done.exception, ConfigError)
    assert "node channel: fir: taps: no filter was found; take fewer taps" in str(done.exception)
