"""kernels.json of a GPU that does not exist: the shape of a benchmark's file, made-up times."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from carillon import examples
from carillon.config import Run, load_cell, plan_text

NAME = "Synthetic H200 that was never measured"

# µs of a symbol's opcode, or of the frame's ZeroForce: made up.
TIMES = {
    "PilotFft": 3.7,
    "ZeroForce": 14.4,
    "UplinkFft": 3.3,
    "EqualizeDemodulate": 6.1,
    "Decode": 31.9,
    "Encode": 2.1,
    "Precode": 5.2,
    "Ifft": 3.5,
}
KERNEL = {"ctas": 32, "threads": 256, "registers": 40, "shared_bytes": 18432}
UPLINK = ("PilotFft", "ZeroForce", "UplinkFft", "EqualizeDemodulate", "Decode")
DOWNLINK = ("PilotFft", "ZeroForce", "Encode", "Precode", "Ifft")
SAMPLES, DATA = 524288.0, 4576.0  # bytes that Load and Store move at 64×16
LINK = 50.0  # GB/s
HOST = {"launch_us": 4.0, "notify_us": 2.0}


def copy(name: str, moved: float) -> dict[str, Any]:
    return {"opcode": name, "us": moved / LINK / 1e3, "bytes": moved, "kernels": []}


def kernel(name: str, us: float) -> dict[str, Any]:
    """That CTAs on an SM do not slow down, as far as there is room for them."""
    alone = {"opcode": name, "us": us, "bytes": 1e4, "kernels": [KERNEL | {"us": us}]}
    return alone | {"full_ctas": 13 * KERNEL["ctas"], "full_us": us}


def cell(name: str, mean: float | None, times: Mapping[str, float] = TIMES) -> dict[str, Any]:
    """Of an example cell of pools; `mean`: µs of its frames, None: none."""
    plan = plan_text(load_cell(examples.resolve("cells/pool", name)).cell, Run())
    up = "uplink" in name
    opcodes = [
        copy("Load", SAMPLES if up else DATA),
        *(kernel(op, times[op]) for op in (UPLINK if up else DOWNLINK)),
        copy("Store", DATA if up else SAMPLES),
    ]
    lines = [line for line in plan.splitlines() if line.startswith("cell.")]
    frames = {"frames": 100, "mean": mean, "p50": mean, "p99": mean, "p9999": None}
    return {
        "format": "\n".join([*lines, ""]),
        "opcodes": opcodes,
        "frame_us": None if mean is None else frames,
        "simulated_us": None,
    }


def bench(*cells: dict[str, Any]) -> dict[str, Any]:
    return {
        "source": "synthetic",
        "date": "2026-01-01",
        "device": NAME,
        "sms": 132,
        "sm_mhz": 1980,
        "memory_mhz": 3201,
        "driver": 13000,
        "runtime": 13000,
        "measured_copy_gbytes_per_s": 4300.0,
        "fp32_tflops": 60.0,
        "half_tflops": 900.0,
        "rows": [{"kernel": "uplink frame", "shape": "64x16, 10 launches", "us": 99.0}],
        "host": HOST,
        "cells": list(cells) or [cell("64x16-uplink", None)],
    }


def write(file: Path, tree: Mapping[str, Any]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(tree), encoding="utf-8")
    return file
