"""Programs of the system's Python, and GNU Radio's blocks among them."""

import os
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
from block_streams import Samples
from hang import HANG_S

SYSTEM_PYTHON = Path("/usr/bin/python3")  # whose packages are the distribution's


@cache
def has_module(name: str) -> bool:
    return (
        SYSTEM_PYTHON.exists()
        and subprocess.run(
            [SYSTEM_PYTHON, "-c", f"import {name}"], capture_output=True, check=False
        ).returncode
        == 0
    )


def other_program(text: str, *words: object) -> subprocess.Popen[str]:
    """A script for the system's Python that prints a line once it is ready."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.Popen(
        [SYSTEM_PYTHON, "-c", text, *map(str, words)],
        env=clean, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


# A sink whose peer has gone waits in ZeroMQ for ever: a flowgraph with it cannot be stopped.
GNU_RADIO = """
import os, sys
from gnuradio import blocks, gr, network, zeromq
kind, where, file = sys.argv[1:]
size = gr.sizeof_gr_complex
make = {
    "push": lambda: zeromq.push_sink(size, 1, where),
    "pub": lambda: zeromq.pub_sink(size, 1, where),
    "udp-sink": lambda: network.udp_sink(size, 1, "127.0.0.1", int(where), 1, 1472, False),
    "pull": lambda: zeromq.pull_source(size, 1, where),
    "sub": lambda: zeromq.sub_source(size, 1, where),
    "udp-source": lambda: network.udp_source(size, 1, int(where), 1, 1472, False, False, False),
}[kind]
top = gr.top_block()
if kind in ("push", "pub", "udp-sink"):
    top.connect(blocks.file_source(size, file, kind != "udp-sink"), make())
else:
    sink = blocks.file_sink(size, file)
    sink.set_unbuffered(True)
    top.connect(make(), sink)
top.start()
print("ready", flush=True)
sys.stdin.read()
os._exit(0)
"""


class GnuRadio:
    """One of its blocks, in a process of its own, from or to a file."""

    def __init__(self) -> None:
        self.running: list[subprocess.Popen[str]] = []

    def start(self, kind: str, where: object, file: Path) -> None:
        made = other_program(GNU_RADIO, kind, where, file)
        self.running.append(made)
        assert made.stdout is not None
        while (line := made.stdout.readline()) != "ready\n":
            assert line, "it has ended"

    def stop(self) -> None:
        for process in self.running:
            assert process.poll() is None, "it has ended by itself"
            process.communicate(timeout=HANG_S)
            assert process.returncode == 0


def written(file: Path) -> Samples:
    return np.fromfile(file, np.complex64) if file.exists() else np.zeros(0, np.complex64)
