"""Static port analysis: what a processor model says of a kernel's innermost loop.

Nothing runs. The loop is taken from the compiled program by objdump, and llvm-mca counts on which
ports of the model its instructions go, with every load in the first-level cache.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from carillon.errors import CarillonError

_NEWEST, _OLDEST = 30, 13  # llvm-mca-N that are looked for
_INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(\S.*)$", re.M)
_JUMP = re.compile(r"j\w+\s+([0-9a-f]+)\b")
_SYMBOL = re.compile(r"^([0-9a-f]+) ([0-9a-f]+) [tT] (.*)$", re.M)
_SETS = {  # the namespaces of these kernels, and a processor of which llvm-mca has a model
    "avx2": ("avx2", "znver3"),
    "avx512": ("avx512", "sapphirerapids"),
    "avx512fp16": ("avx512fp16", "sapphirerapids"),
}


class PortsError(CarillonError):
    """A tool or a loop that is not there."""


@dataclass(frozen=True)
class Loop:
    """One kernel's loop on a processor model, in cycles of an iteration.

    front_end: to bring its operations in. busiest: of all ports the one that is needed longest.
    """

    call: str  # of the library, as in the thesis's figure 5.9
    function: str
    instructions: int
    arithmetic: int  # floating-point instructions among them
    loads: int
    stores: int
    cycles: float
    front_end: float
    port: str
    busiest: float

    @property
    def bound(self) -> str:
        """What limits it, where that takes nine tenths of its time or more; else dependencies."""
        if max(self.front_end, self.busiest) < 0.9 * self.cycles:
            return "dependencies"
        return "front end" if self.front_end > self.busiest else f"port {self.port}"


# The loops in which the calls of figure 5.9 spend their time, by a part of the function's name.
LOOPS = (
    ("fft", "first pass", "void [^<]*samples_to_tiles<.*Tile>"),
    # The inverse's, where they are functions of their own: the same passes.
    ("fft", "further passes", "transform_rows<.*tiles_to_samples<.*Tile"),
    ("pinv", "Gram matrix", "GramBlock::run<2u, 2u>"),
    ("pinv", "inverse times channel", "SquareBlock::run<2u, 2u>"),
    ("pinv", "Cholesky factor", "CholeskyRun::run<"),
    ("equalize", "product", r"equalize_group\("),
)


def mca() -> str:
    """The newest llvm-mca there is: older models of newer processors are off by much."""
    names = [f"llvm-mca-{version}" for version in range(_NEWEST, _OLDEST - 1, -1)]
    for name in (*names, "llvm-mca"):
        if shutil.which(name):
            return name
    raise PortsError("llvm-mca is not here; on Debian it comes with: apt install llvm")


def version(program: str) -> str:
    """'LLVM version 19.1.7'."""
    text = _run([program, "--version"])
    found = re.search(r"LLVM version \S+", text)
    return found[0] if found else program


def model_of(isa: str) -> str:
    """A processor of which llvm-mca has a model, for an instruction set."""
    return _SETS[isa][1]


def loop(program: Path, isa: str, call: str, part: str, pattern: str) -> Loop:
    """The innermost loop with the most arithmetic among the functions that the pattern finds.

    Of several the shortest: other ones also permute what groups of subcarriers share.
    """
    namespace, _ = _SETS[isa]
    loops = [
        found
        for start, size, name in _symbols(program)
        if f"phy::{namespace}::" in name and re.search(pattern, name)
        for found in innermost(_disassemble(program, start, size))
    ]
    best = max(loops, key=lambda found: (_arithmetic(found), -len(found)), default=[])
    if not best:
        raise PortsError(f"{program} has no loop of {pattern} for {isa}; is it stripped?")
    return analyse(call, part, best, model_of(isa))


def innermost(instructions: Sequence[tuple[int, str]]) -> list[list[str]]:
    """The loops of a function that compute and hold no other one that does.

    A loop goes from a label to the jump back to it. Those that only fetch or move do not count.
    """
    place = {address: i for i, (address, _) in enumerate(instructions)}
    texts = [text for _, text in instructions]
    loops = []
    for i, (address, text) in enumerate(instructions):
        jump = _JUMP.match(text)
        if jump and int(jump[1], 16) <= address and int(jump[1], 16) in place:
            start = place[int(jump[1], 16)]
            if _arithmetic(texts[start:i]):
                loops.append((start, i))
    inner = [
        (start, end)
        for start, end in loops
        if not any(start <= a and b <= end and (a, b) != (start, end) for a, b in loops)
    ]
    return [texts[start : end + 1] for start, end in inner]


def analyse(call: str, part: str, instructions: Sequence[str], cpu: str) -> Loop:
    """Of a loop in the syntax of objdump, its jump back included."""
    # Where a jump leads makes no difference, and comments and symbols are no assembly.
    text = "\n".join(
        "jne 1f" if _JUMP.match(line) else re.sub(r"\s*[#<].*", "", line) for line in instructions
    )
    told = _run([mca(), f"-mcpu={cpu}", "--json"], f"{text}\n1:\n")
    region = json.loads(told)
    resources: list[str] = region["TargetInfo"]["Resources"]
    block = region["CodeRegions"][0]
    summary, infos = block["SummaryView"], block["InstructionInfoView"]["InstructionList"]
    port, busiest = _busiest(block, resources, len(infos))
    return Loop(
        call=call,
        function=part,
        instructions=len(infos),
        arithmetic=_arithmetic(instructions),
        loads=sum(info["mayLoad"] for info in infos),
        stores=sum(info["mayStore"] for info in infos),
        cycles=summary["TotalCycles"] / summary["Iterations"],
        front_end=summary["TotaluOps"] / summary["Iterations"] / summary["DispatchWidth"],
        port=port,
        busiest=busiest,
    )


def _busiest(
    block: dict[str, Any], resources: Sequence[str], instructions: int
) -> tuple[str, float]:
    """Pressure of an iteration stands under one instruction more than there are."""
    sums = [
        (entry["ResourceUsage"], resources[entry["ResourceIndex"]])
        for entry in block["ResourcePressureView"]["ResourcePressureInfo"]
        if entry["InstructionIndex"] == instructions
    ]
    usage, name = max(sums)
    return re.sub(r"\W.*", "", name), usage


def _arithmetic(instructions: Sequence[str]) -> int:
    operations = (line.split()[0] for line in instructions)
    return sum(bool(re.match(r"v?(f?n?m?)(add|sub|mul)\w*p[sh]$", op)) for op in operations)


def _symbols(program: Path) -> list[tuple[int, int, str]]:
    return [(int(a, 16), int(n, 16), name) for a, n, name in _SYMBOL.findall(_named(program))]


@cache
def _named(program: Path) -> str:
    return _run(["nm", "-C", "-S", str(program)])


def _disassemble(program: Path, start: int, size: int) -> list[tuple[int, str]]:
    span = [f"--start-address={start}", f"--stop-address={start + size}"]
    text = _run(["objdump", "-d", "--no-show-raw-insn", *span, str(program)])
    return [(int(address, 16), line.strip()) for address, line in _INSTRUCTION.findall(text)]


def _run(words: Sequence[str], text: str | None = None) -> str:
    try:
        done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise PortsError(f"{words[0]} is not here; on Debian: apt install binutils") from None
    if done.returncode != 0:
        said = done.stderr.strip() or f"status {done.returncode}"
        raise PortsError(f"{words[0]}: {said.splitlines()[0]}")
    return done.stdout
