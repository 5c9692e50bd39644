"""A telemetry.bin and a run folder made by hand, so that every figure in a report is known."""

import json
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from carillon import runfolder
from carillon.config import Run, parse_cell
from carillon.runfolder import RunFolder
from carillon.telemetry import VERSION

U8, I8, U4, U2, F4, F8 = "<u8", "<i8", "<u4", "<u2", "<f4", "<f8"


def _fields(kind: str, names: str) -> list[tuple[str, str]]:
    return [(name, kind) for name in names.split()]


# engine/telemetry/records.hpp
DTYPES: dict[str, list[tuple[str, str]]] = {
    "counters": [
        ("phase", U8),
        *_fields(I8, "started ended"),
        *_fields(
            U8,
            "frames_sent frames_skipped frames_seen frames_completed frames_nacked lates_lost "
            "lates_fronthaul "
            "lates_processing lates_operating_system lates_machine_stall uplink_blocks "
            "uplink_failed downlink_blocks downlink_failed downlink_unverified "
            "downlink_symbols_sent downlink_symbols_substituted packets_received packets_sent "
            "rejected_length rejected_cell rejected_antenna rejected_symbol rejected_old "
            "rejected_early rejected_duplicate rejected_differing rejected_foreign "
            "rejected_unauthentic packets_missing saturated_samples",
        ),
        ("pacing_error_sum", I8),
        *_fields(
            U8,
            "pacing_error_square pacing_frames overload_nacks harq_nacks ill_conditioned "
            "frames_sent_away frames_handed_back frames_substituted frames_unreported "
            "frames_passed_over",
        ),
        ("ghost_busy", I8),
    ],
    "frames": [
        ("frame", U8),
        *_fields(
            I8,
            "air_start first_packet last_packet pilots_done combiner_done started uplink_done "
            "downlink_first downlink_done ended",
        ),
        *_fields(
            U4,
            "completed nack late_cause missing_packets uplink_blocks uplink_failed "
            "downlink_late_symbols iterations code_blocks gap substituted clock_mhz",
        ),
        *_fields(I8, "kernels stood_still lead"),
    ],
    "stages": [*_fields(U8, "tasks chunks"), ("busy", I8)],
    "threads": [
        *_fields(U8, "core roles"),
        *_fields(I8, "busy overhead network spinning sleeping emulating"),
        ("realtime", U8),
    ],
    "users": [
        *_fields(
            U8,
            "uplink_blocks uplink_failed downlink_blocks downlink_failed "
            "raw_bits raw_errors iterations code_blocks",
        ),
        *_fields(F8, "error_power noise_power"),
        ("symbols", U8),
        ("downlink_error_power", F8),
        ("downlink_symbols", U8),
    ],
    "ports": [
        *_fields(
            U8,
            "users clients good failed late sent dropped unheard accepted used unused padded "
            "refused_no_frame refused_late refused_early refused_block refused_bits "
            "refused_order refused_format refused_busy refused_grant "
            "harq_blocks_1 harq_blocks_2 harq_blocks_3 harq_blocks_4 "
            "harq_good_1 harq_good_2 harq_good_3 harq_good_4 "
            "harq_bits_1 harq_bits_2 harq_bits_3 harq_bits_4",
        ),
        *_fields(I8, "harq_again harq_again_most"),
        *_fields(
            U8,
            "ip ip_sent ip_dropped ip_foreign ip_delivered ip_broken ip_refused",
        ),
    ],
    "flows": [
        *_fields(U8, "user down blocks resource_blocks mcs_sum good failed late"),
        *_fields(F8, "snr_db offset_db"),
        ("measured", U8),
    ],
    "constellation": [("user", U4), ("re", F4), ("im", F4), ("frame", U4)],
    "nacks": [("frame", U8), *_fields(U4, "cell user process kind cause padding")],
    "gaps": [*_fields(I8, "start length"), *_fields(U8, "thread cause")],
    "tasks": [
        *_fields(I8, "start end"),
        ("frame", U4),
        *_fields(U2, "opcode step first count"),
        ("thread", U4),
    ],
}
DTYPES["late_tasks"] = DTYPES["tasks"]

OPCODES = ["PilotFft", "ZeroForce", "UplinkFft", "EqualizeDemodulate", "Decode", "Precode", "Ifft"]
THREADS = ["worker 0", "worker 1", "radio"]
Row = dict[str, Any]


@dataclass
class Sections:
    """Rows by section; fields that a row leaves out are zero."""

    rows: dict[str, list[Row]] = field(default_factory=dict)
    capacity: dict[str, int] = field(default_factory=dict)

    def write(self, file: Path) -> None:
        header_bytes, offset = 65536, 65536
        described, bodies = {}, []
        for place, (name, dtype) in enumerate(DTYPES.items()):
            kind = np.dtype(dtype)
            rows = self.rows.get(name, [])
            capacity = self.capacity.get(name, max(len(rows), 1))
            table = np.zeros(capacity, kind)
            for index, row in enumerate(rows):
                for key, value in row.items():
                    table[index % capacity][key] = value
            described[name] = {
                "offset": offset,
                "record_bytes": kind.itemsize,
                "capacity": capacity,
                "count_offset": 32768 + 8 * place,
                "dtype": [list(entry) for entry in dtype],
            }
            bodies.append((table.tobytes(), len(rows)))
            offset += table.nbytes
        tree = {"version": 2, "opcodes": OPCODES, "threads": THREADS, "sections": described}
        text = json.dumps(tree).encode()
        header = bytearray(struct.pack("<8sII", b"CARILLON", VERSION, 32768) + text)
        header.extend(bytes(header_bytes - len(header)))
        for place, (_, count) in enumerate(bodies):
            struct.pack_into("<Q", header, 32768 + 8 * place, count)
        file.write_bytes(bytes(header) + b"".join(body for body, _ in bodies))


CELL = """
name: synthetic
antennas: 8
users: 2
schedule: PPUUUUUUGDDDDD
deadlines: {downlink_lead_ms: 0.25}
"""
SYMBOL_MS = 1 / 14


def derived() -> dict[str, Any]:
    """What core.describe says of CELL, with symbols of equal length and round figures."""
    symbols = []
    for index, kind in enumerate("PPUUUUUUGDDDDD"):
        start, end = index * SYMBOL_MS, (index + 1) * SYMBOL_MS
        deadline = {"U": end + 1.0, "D": start - 0.25}.get(kind)
        symbols.append(
            {
                "kind": kind,
                "slot": 0,
                "start_ms": start,
                "end_ms": end,
                "samples": 548,
                "deadline_ms": deadline,
            }
        )
    user = {
        "payload_bits": 1000,
        "blocks": 1,
        "block_bits": [1000],
        "code_blocks": [1],
        "bits_per_element": 4,
    }
    side = {
        "data_symbols": 6,
        "bits_per_symbol": 1200,
        "payload_bits": 2000,
        "blocks": 2,
        "code_blocks": 2,
        "ideal_rate_mbps": 2.0,
        "base_graph": 2,
        "lifting": 104,
        "bits_per_element": 4,
        "code_rate": 0.5,
        "users": [user, user],
    }
    return {
        "frame_ms": 1.0,
        "sample_rate_mhz": 7.68,
        "samples_per_frame": 7680,
        "tiles": 19,
        "memory_bytes": 1 << 20,
        "uplink_iq_gbps": 1.1,
        "downlink_iq_gbps": 0.7,
        "symbols": symbols,
        "uplink": side,
        "downlink": {**side, "data_symbols": 4},
    }


MS = 1_000_000


def frame_row(number: int, **changes: Any) -> Row:
    """A frame on air at `number` ms, done 0.2 ms after its last uplink symbol came."""
    row = {
        "frame": number,
        "air_start": number * MS,
        "first_packet": 75_000,
        "last_packet": 575_000,
        "pilots_done": 200_000,
        "combiner_done": 250_000,
        "started": 95_000,
        "uplink_done": 775_000,
        "downlink_first": 300_000,
        "downlink_done": 400_000,
        "ended": 780_000,
        "completed": 1,
        "uplink_blocks": 2,
        "iterations": 6,
        "code_blocks": 2,
        "kernels": 500_000,
    }
    return row | changes


def task_row(frame: int, opcode: str, step: int, start: float, end: float, thread: int = 0) -> Row:
    """A task; times in ms of its frame."""
    return {
        "start": round((frame + start) * MS),
        "end": round((frame + end) * MS),
        "frame": frame,
        "opcode": OPCODES.index(opcode),
        "step": step,
        "count": 4,
        "thread": thread,
    }


def packet_row(frame: int, step: int, at: float) -> Row:
    """The last packet of a symbol; ms of its frame."""
    when = round((frame + at) * MS)
    return {"start": when, "end": when, "frame": frame, "opcode": 0xFFFF, "step": step, "count": 8}


def quiet_run(frames: int = 50) -> Sections:
    """A run in which nothing went wrong."""
    rng = np.random.default_rng(1)
    counters = {
        "phase": 3,
        "started": 0,
        "ended": frames * MS,
        "frames_sent": frames,
        "frames_seen": frames,
        "frames_completed": frames,
        "uplink_blocks": 2 * frames,
        "downlink_blocks": 2 * frames,
        "packets_received": 64 * frames,
        "downlink_symbols_sent": 5 * frames,
        "pacing_frames": 4,
        "pacing_error_sum": 800,
        "pacing_error_square": 4 * (200**2 + 100**2),
    }
    stages = [{"tasks": 10 * frames, "chunks": 20 * frames, "busy": 50_000 * frames}] * 5
    threads: list[Row] = [
        {
            "core": core,
            "roles": 1,
            "busy": 125_000 * frames,
            "overhead": 10_000 * frames,
            "spinning": 500_000 * frames,
            "sleeping": 365_000 * frames,
            "realtime": 1,
        }
        for core in (0, 1)
    ]
    threads.append(
        {"core": 0, "roles": 24, "emulating": 40_000 * frames, "sleeping": 960_000 * frames}
    )
    user = {
        "uplink_blocks": frames,
        "downlink_blocks": frames,
        "raw_bits": 1000 * frames,
        "raw_errors": 10 * frames,
        "iterations": 3 * frames,
        "code_blocks": frames,
        "error_power": 0.01 * frames,
        "noise_power": 0.01 * frames,
        "symbols": frames,
        "downlink_error_power": 0.04 * frames,
        "downlink_symbols": frames,
    }
    points = [
        {"user": i % 2, "re": x, "im": y, "frame": i // 16}
        for i, (x, y) in enumerate(rng.choice([-0.95, -0.32, 0.32, 0.95], (400, 2)))
    ]
    tasks: list[Row] = []
    for frame in range(max(0, frames - 4), frames):
        tasks += [packet_row(frame, s, (s + 1) * SYMBOL_MS) for s in range(8)]
        tasks += [task_row(frame, "PilotFft", s, 0.08 + 0.08 * s, 0.12 + 0.08 * s) for s in (0, 1)]
        tasks.append(task_row(frame, "ZeroForce", 1, 0.2, 0.25))
        for s in range(2, 8):
            start = (s + 1) * SYMBOL_MS
            tasks.append(task_row(frame, "UplinkFft", s, start, start + 0.02, thread=1))
            tasks.append(task_row(frame, "EqualizeDemodulate", s, start + 0.02, start + 0.05))
        tasks.append(task_row(frame, "Decode", 7, 0.65, 0.775, thread=1))
    return Sections(
        {
            "counters": [counters],
            "frames": [frame_row(n) for n in range(frames)],
            "stages": stages,
            "threads": threads,
            "users": [user, user],
            "constellation": points,
            "tasks": tasks,
        }
    )


def run_folder(path: Path, sections: Sections) -> RunFolder:
    """A run folder that holds these records."""
    path.mkdir(parents=True, exist_ok=True)
    cell = parse_cell(CELL, check=False).cell
    machine = {
        "cpu": "Synthetic CPU",
        "cores": 2,
        "isa": "avx2",
        "memory_gb": 8.0,
        "kernel": "6",
        "python": "3.11",
    }
    folder = RunFolder(path, cell, Run(), derived(), machine, "2026-01-02T03:04:05+00:00", "0.1.0")
    runfolder.write_about(folder)
    sections.write(folder.telemetry_file)
    return folder
