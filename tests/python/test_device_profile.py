"""Device profiles: made of a benchmark's file, loaded by simulated pools. All times here are made
up, and every output has to say so."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import synthetic_gpu as gpu
from carillon.commands.simulate import simulate
from carillon.config import ConfigError
from carillon.config.fields import dotted
from carillon.pool import profile, study
from test_cli import call

STUDY = """devices: [{type: h200}]
cells: [{cell: 64x16-uplink}]
profile: device.json
frames: 40
warm_up: 0
trace: {frames: 0}
jitter: {kernel: 0.0, launch: 0.0}
policies: [symbol-level]
"""


def saved(folder: Path, tree: dict[str, Any] | None = None) -> Path:
    """The profile of a made-up benchmark, beside a study's file."""
    made = profile.of_bench(gpu.write(folder / "kernels.json", tree or gpu.bench()))
    profile.save(made, folder / "device.json")
    return folder / "device.json"


def complaint(folder: Path, text: str) -> str:
    (folder / "my.yaml").write_text(text)
    with pytest.raises(ConfigError) as error:
        study.load(folder / "my.yaml")
    return str(error.value).replace(f"{folder}/", "")


def test_a_profile_is_read_as_it_was_written(tmp_path: Path) -> None:
    known = profile.load(saved(tmp_path))
    assert (known.type, known.source, known.driver) == ("h200", "synthetic", "CUDA 13.0")
    assert known.link is not None
    assert known.link.to_device_gbytes_per_s == pytest.approx(gpu.LINK)
    assert profile.name_of(known.cells[0].format) == "64×16 uplink"


def test_a_simulated_frame_alone_takes_the_sum_along_its_critical_path(tmp_path: Path) -> None:
    known = profile.load(saved(tmp_path, gpu.bench(gpu.cell("64x16-uplink", None))))
    (found,) = profile.forecasts(known, tmp_path)
    copies = (14 * gpu.SAMPLES + gpu.DATA) / gpu.LINK / 1e3  # one after the other
    kernels = sum(gpu.TIMES[op] for op in ("UplinkFft", "EqualizeDemodulate", "Decode"))
    expected = copies + kernels + sum(gpu.HOST.values())
    assert found.simulated == pytest.approx(expected, rel=0.01)


def test_a_simulated_downlink_frame_alone_does_too(tmp_path: Path) -> None:
    known = profile.load(saved(tmp_path, gpu.bench(gpu.cell("64x16-downlink", None))))
    (found,) = profile.forecasts(known, tmp_path)
    copies = (1 + 13) * gpu.SAMPLES / gpu.LINK / 1e3  # the pilots', then what is sent
    kernels = sum(gpu.TIMES[op] for op in ("PilotFft", "ZeroForce", "Precode", "Ifft"))
    expected = copies + kernels + sum(gpu.HOST.values())
    assert found.simulated == pytest.approx(expected, rel=0.01)


def test_slower_kernels_make_a_slower_frame(tmp_path: Path) -> None:
    slow = gpu.TIMES | {"Decode": gpu.TIMES["Decode"] + 100}
    cells = [gpu.cell("64x16-uplink", None), gpu.cell("64x16-uplink", None, slow)]
    quick, late = profile.forecasts(profile.load(saved(tmp_path, gpu.bench(*cells))), tmp_path)
    assert late.simulated - quick.simulated == pytest.approx(100, rel=0.01)


def letters(picture: Path) -> str:
    """What is written in a picture: matplotlib keeps a text beside its outlines."""
    return " ".join(re.findall(r"<!-- (.*?) -->", picture.read_text(encoding="utf-8")))


def test_a_pool_loads_a_profile_and_says_that_it_is_synthetic(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved(tmp_path)
    (tmp_path / "my.yaml").write_text(STUDY)
    simulate(str(tmp_path / "my.yaml"), None, 1, tmp_path / "out", as_json=False)
    told = json.loads((tmp_path / "out" / "result.json").read_text())
    assert "synthetic" in told["about"]
    assert told["kernel_times"] == "synthetic"
    assert "synthetic" in capsys.readouterr().out.splitlines()[-2].split()  # of the table
    for name in ("latency", "policies"):
        assert "kernel times synthetic" in letters(tmp_path / "out" / f"{name}.svg")
    assert "measured on" not in told["about"]
    assert told["device_profile"]["source"] == "synthetic"
    after_air = gpu.SAMPLES / gpu.LINK / 1e3 + gpu.DATA / gpu.LINK / 1e3
    after_air += gpu.TIMES["UplinkFft"] + gpu.TIMES["EqualizeDemodulate"] + gpu.TIMES["Decode"]
    mean = told["policies"][0]["mean_ms"] * 1e3
    assert 1000 + after_air < mean < 1000 + after_air + 30  # what the host and the links add


def test_only_a_measured_profile_is_called_measured(tmp_path: Path) -> None:
    (tmp_path / "my.yaml").write_text(STUDY)
    tree = gpu.bench()
    saved(tmp_path, tree | {"source": "measured"})  # for the words alone
    measured = f"kernel times measured on {gpu.NAME}, 2026-01-01"
    assert study.load(tmp_path / "my.yaml").about == f"simulated in virtual time, {measured}"
    saved(tmp_path, tree)
    about = study.load(tmp_path / "my.yaml").about
    assert about.endswith("nothing is measured")
    assert "measured on" not in about


def test_the_profile_says_what_bus_and_host_take_unless_the_file_does(tmp_path: Path) -> None:
    saved(tmp_path)
    (tmp_path / "my.yaml").write_text(STUDY)
    own = study.load(tmp_path / "my.yaml").study
    assert own.links.device.gbytes_per_s == pytest.approx(gpu.LINK)
    assert (own.host.launch_us, own.host.notify_us, own.host.gap_us) == (4.0, 2.0, 0.0)
    (tmp_path / "my.yaml").write_text(STUDY + "host: {launch_us: 7.0}\nlinks: {}\n")
    own = study.load(tmp_path / "my.yaml").study
    assert (own.host.launch_us, own.links.device.gbytes_per_s) == (7.0, 25.0)


def test_a_cell_or_a_device_that_the_profile_does_not_have_is_named(tmp_path: Path) -> None:
    saved(tmp_path)
    text = STUDY.replace("64x16-uplink", "128x32-uplink").replace("h200", "a100")
    assert complaint(tmp_path, text) == (
        "my.yaml:1: devices[0].type is a100 but device.json is of a h200\n"
        "my.yaml:2: cells[0].cell is in no shape that device.json has; of its 1, 64×16 uplink "
        "differs in antennas, schedule, users"
    )
    assert "profile is 'none.json', neither megastation nor roofline nor a file" in complaint(
        tmp_path, STUDY.replace("device.json", "none.json")
    )


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("source", "guessed", "device.json: source is 'guessed' but must be"),
        ("format", 2, "device.json: format is 2 but must be"),
        ("sms", 16, "device.json: sms is 16 but a pool's h200 has 132"),
        ("cells", [], "device.json: cells is [] but must not be empty"),
        ("date", "yesterday", "device.json: date is 'yesterday' but must be a day"),
        ("colour", "red", "device.json: colour"),
    ],
)
def test_what_is_wrong_in_a_profile_is_told_with_file_and_key(
    tmp_path: Path, key: str, value: object, told: str
) -> None:
    file = saved(tmp_path)
    gpu.write(file, json.loads(file.read_text()) | {key: value})
    assert told in complaint(tmp_path, STUDY)


OPCODE = ("cells", 0, "opcodes", 1)  # PilotFft, of one kernel
KERNEL = (*OPCODE, "kernels", 0)


def changed(tree: dict[str, Any], *changes: tuple[tuple[str | int, ...], object]) -> dict[str, Any]:
    for (*sections, name), value in changes:
        section: Any = tree
        for part in sections:
            section = section[part]
        section[name] = value
    return tree


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ((*KERNEL, "ctas"), 2**40, "must be a whole number between 1 and 2147483647"),
        ((*KERNEL, "shared_bytes"), 2**33, "must be a whole number between 0 and 232448"),
        ((*KERNEL, "us"), 1e300, "must be a number between 0 and 1000000"),
        ((*OPCODE, "bytes"), 1e300, "must be a number between 0 and 1000000000000"),
        ((*OPCODE, "us"), 1e-300, "must be at least 0.001, a nanosecond"),
        ((*OPCODE, "full_ctas"), 2**40, "must be a whole number between 0 and 2147483647"),
        (("host", "launch_us"), 1e10, "must be a number between 0 and 1000000"),
        (("host", "notify_us"), 1e10, "must be a number between 0 and 1000000"),
        (("memory_gbytes_per_s",), 1e300, "must be a number between 1 and 100000"),
    ],
)
def test_what_no_device_can_is_told_with_file_and_key(
    tmp_path: Path, key: tuple[str | int, ...], value: object, told: str
) -> None:
    file = saved(tmp_path)
    gpu.write(file, changed(json.loads(file.read_text()), (key, value)))
    assert re.match(
        rf"device\.json: {re.escape(dotted(key))} is \S+ but {told}",
        found := (complaint(tmp_path, STUDY)),
    ), found


def test_a_kernel_that_fits_no_sm_is_told_in_the_profile(tmp_path: Path) -> None:
    """An A100 has 163 KiB of shared memory for a block, an H200 227; both 65536 registers."""
    file = saved(tmp_path)
    known = changed(json.loads(file.read_text()), ((*KERNEL, "shared_bytes"), 200 << 10))
    gpu.write(file, known)
    (tmp_path / "my.yaml").write_text(STUDY)
    study.load(tmp_path / "my.yaml")
    gpu.write(file, known | {"type": "a100", "sms": 108})
    assert complaint(tmp_path, STUDY.replace("h200", "a100")) == (
        "device.json: cells[0].opcodes[1].kernels[0].shared_bytes is 204800: a block with so much "
        "fits no SM of type a100"
    )
    many = (((*KERNEL, "registers"), 255), ((*KERNEL, "threads"), 1024))
    gpu.write(file, changed(known, *many))
    assert complaint(tmp_path, STUDY) == (
        "device.json: cells[0].opcodes[1].kernels[0].registers is 255: a block of 1024 threads "
        "with so many fits no SM of type h200"
    )


@pytest.mark.parametrize("moved", [0.0, 1e12])
def test_a_copy_that_no_bus_can_do_is_told_with_file_and_key(tmp_path: Path, moved: float) -> None:
    tree = changed(gpu.bench(), (("cells", 0, "opcodes", 0, "bytes"), moved))
    with pytest.raises(ConfigError, match=r"kernels.json: cells\[0\].opcodes\[0\].bytes is "):
        profile.of_bench(gpu.write(tmp_path / "kernels.json", tree))


def test_what_a_profile_has_twice_is_told(tmp_path: Path) -> None:
    file = saved(tmp_path)
    known = json.loads(file.read_text())
    known["cells"][0]["opcodes"].append(known["cells"][0]["opcodes"][0])
    gpu.write(file, known)
    assert "again; have each opcode once" in complaint(tmp_path, STUDY)


def test_a_profile_is_not_made_into_one_again(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a device profile already"):
        profile.of_bench(saved(tmp_path))


def test_another_file_is_no_profile(tmp_path: Path) -> None:
    saved(tmp_path)
    for name in ("kernels.json", "empty.json"):
        (tmp_path / "empty.json").write_text("{}")
        assert complaint(tmp_path, STUDY.replace("device.json", name)) == (
            f"{name}: is no device profile; `carillon calibrate --gpu kernels.json` makes one"
        )


def test_a_profile_that_is_wrong_everywhere_is_told_in_a_few_lines(tmp_path: Path) -> None:
    file = saved(tmp_path)
    tree = json.loads(file.read_text())
    for opcode in tree["cells"][0]["opcodes"]:
        opcode["us"] = "one\nof many " * 20
    gpu.write(file, tree)
    lines = complaint(tmp_path, STUDY).splitlines()
    assert len(lines) == 5
    assert lines[0].startswith("device.json: cells[0].opcodes[0].us is 'one of many one of")
    assert max(map(len, lines)) < 160
    assert lines[4] == f"device.json: {len(tree['cells'][0]['opcodes']) - 4} more keys are wrong"


def test_an_opcode_that_was_not_measured_is_named(tmp_path: Path) -> None:
    tree = gpu.bench()
    tree["cells"][0]["opcodes"] = [
        one for one in tree["cells"][0]["opcodes"] if one["opcode"] != "Decode"
    ]
    saved(tmp_path, tree)
    assert complaint(tmp_path, STUDY) == (
        "device.json: cells[0].opcodes has no Decode, which pool-64x16-uplink needs; "
        "`carillon calibrate --gpu` measures all"
    )


def test_an_opcode_that_failed_on_the_device_is_named(tmp_path: Path) -> None:
    tree = gpu.bench(gpu.cell("64x16-uplink", None, gpu.TIMES | {"Decode": 0.0}))
    with pytest.raises(ConfigError, match=r"cells\[0\].opcodes\[5\].us is 0: Decode failed"):
        profile.of_bench(gpu.write(tmp_path / "kernels.json", tree))


def test_no_profile_is_made_of_a_benchmark_that_ended_early(tmp_path: Path) -> None:
    file = gpu.write(tmp_path / "kernels.json", gpu.bench() | {"cells": []})
    with pytest.raises(ConfigError, match="cells is empty: the benchmark ended before"):
        profile.of_bench(file)


def test_no_profile_is_made_of_a_device_that_no_pool_knows(tmp_path: Path) -> None:
    file = gpu.write(tmp_path / "kernels.json", gpu.bench() | {"device": "Abacus"})
    with pytest.raises(
        ConfigError, match="device is 'Abacus' but the devices that a pool can have"
    ):
        profile.of_bench(file)


@pytest.mark.parametrize(("mean", "status", "verdict"), [(190.0, 0, "yes"), (250.0, 1, "NO")])
def test_calibrating_holds_simulated_frames_against_measured_ones(
    tmp_path: Path, mean: float, status: int, verdict: str
) -> None:
    file = gpu.write(tmp_path / "kernels.json", gpu.bench(gpu.cell("64x16-uplink", mean)))
    result = call("calibrate", "--gpu", str(file), "--output", str(tmp_path / "p.json"))
    assert result.returncode == status, result.stdout + result.stderr
    assert verdict in result.stdout.split()
    assert "synthetic µs" in result.stdout  # not measured
    assert "measured µs" not in result.stdout
    assert profile.load(tmp_path / "p.json").device == gpu.NAME


def test_calibrating_without_frames_says_that_none_were_measured(tmp_path: Path) -> None:
    file = gpu.write(tmp_path / "kernels.json", gpu.bench())
    result = call("calibrate", "--gpu", str(file))
    assert result.returncode == 1
    assert "not measured" in result.stdout
    assert (tmp_path / "device-profile.json").is_file()


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ((0, "frame_us", "mean"), 0, "cells[0].frame_us"),
        ((0, "format"), "cell.antennas = 0\n", "cells[0] cannot be simulated: cell.antennas is 0"),
        ((0, "opcodes"), [], "cells[0].opcodes"),
    ],
)
def test_of_a_cell_that_cannot_be_simulated_no_profile_is_made(
    tmp_path: Path, path: tuple[str | int, ...], value: object, message: str
) -> None:
    file = tmp_path / "kernels.json"
    gpu.write(file, changed(gpu.bench(gpu.cell("64x16-uplink", 200.0)), (("cells", *path), value)))
    result = call("calibrate", "--gpu", str(file))
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert message in result.stderr
    assert not (tmp_path / "device-profile.json").exists()


def test_a_cell_and_a_gpu_are_not_calibrated_at_once(tmp_path: Path) -> None:
    assert call("calibrate").returncode == 2
    assert call("calibrate", "lan-8x4", "--gpu", str(tmp_path)).returncode == 2
