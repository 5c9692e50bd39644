"""
Carillon's engine: kernels, link simulation, plans. engine/ says what each does.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import numpy
import numpy.typing
from numpy.typing import NDArray

version: str = "0.1.0"

def available_isas() -> list[str]:
    """Instruction-set tiers that this machine can run, ascending."""

def active_isa() -> str:
    """
    The tier in use: the highest available one, or the one that CARILLON_ISA names.
    """

def cuda_machine() -> dict[str, Any]:
    """
    built: with nvcc; driver, runtime: 13000 is CUDA 13.0, 0: none; devices and too_old: index, name, major, minor, sms, memory_bytes; why: there are no devices.
    """

class Problem:
    """What is wrong with one key of a plan."""

    @property
    def key(self) -> str:
        """Such as cell.numerology.fft_size."""

    @property
    def message(self) -> str:
        """For people, after the key: is 500 but must be 512 or 1024."""

    @property
    def code(self) -> str:
        """
        For who says it in other words (engine/base/problem.hpp): other, shares-elements, ….
        """

    @property
    def numbers(self) -> list[float]:
        """Of the code."""

    def __repr__(self) -> str: ...

def validate(plan_text: str) -> list[Problem]:
    """What is wrong with a run plan; empty when it can be run."""

def validate_together(plan_texts: Sequence[str], names: Sequence[str]) -> list[tuple[int, Problem]]:
    """
    What is wrong with plans as cells of one process, though each is right by itself: (which plan, problem) each. Messages call plans by their names. Raises ValueError on a plan that cannot be.
    """

def key_problem(file: str) -> str:
    """
    What is wrong with a file as fronthaul.key_file on this machine; empty when packets can be authenticated with the key in it.
    """

def describe(plan_text: str) -> dict[str, Any]:
    """
    Every figure that follows from a valid plan's cell. IQ rates and packets include the packets' headers and codes.
    """

class Link:
    """
    Link simulation of a plan's cell, for one thread at a time. The uplink is simulated by subcarriers, or with `samples` through the OFDM transforms and 16-bit samples of a run.
    """

    def __init__(self, plan_text: str, *, samples: bool = False) -> None: ...
    def point(
        self, snr_db: float, frames: int, seed: int, *, first_frame: int = 0
    ) -> dict[str, Any]:
        """
        Simulates frames with all users at one signal-to-noise ratio: sums over the uplink, per user under `users`, the same of the downlink under `downlink`. `noise_estimate` and `signal_power` (per user) are means relative to the noise that was added. What a frame brings depends on the seed and its number alone. Does not hold the GIL.
        """

class Harq:
    """
    Hybrid ARQ of a plan's cell without real time, for one thread at a time: each uplink block is sent in redundancy versions 0, 2, 3 and 1, over a channel of its own each time.
    """

    def __init__(self, plan_text: str) -> None: ...
    def point(
        self, snr_db: float, frames: int, seed: int, *, first_frame: int = 0
    ) -> dict[str, Any]:
        """
        `blocks`, and under `errors` how many of them were wrong after one transmission, two, three and four. What a frame brings depends on the seed and its number alone. Does not hold the GIL.
        """

def ofdm_receive(
    samples: Annotated[
        NDArray[numpy.int16], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    subcarriers: int,
    *,
    dc_hole: bool = False,
    isa: str | None = None,
) -> NDArray[numpy.complex64]:
    """
    Used subcarriers of a symbol [fft_size, 2] of int16 I, Q without prefix: unitary, 32768 is 1.
    """

def ofdm_receive_pilot(
    samples: Annotated[
        NDArray[numpy.int16], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    pilot: Annotated[
        NDArray[numpy.complex64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    *,
    dc_hole: bool = False,
    isa: str | None = None,
) -> tuple[NDArray[numpy.complex64], float]:
    """
    The same times `pilot` (one value per used subcarrier), and the noise per subcarrier as measured on unused ones.
    """

def ofdm_transmit(
    subcarriers: Annotated[
        NDArray[numpy.complex64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    fft_size: int,
    *,
    gain: float = 1.0,
    prefix: int = 0,
    dc_hole: bool = False,
    isa: str | None = None,
) -> tuple[NDArray[numpy.int16], int]:
    """
    int16 samples [prefix + fft_size, 2] of used subcarriers, and how many components were saturated.
    """

def estimate(
    row: Annotated[
        NDArray[numpy.complex64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    *,
    comb: int = 1,
    offset: int = 0,
    group: int = 1,
    isa: str | None = None,
) -> NDArray[numpy.complex64]:
    """
    A user's channel per group of subcarriers from the values at its pilots.
    """

def combine(
    channel: Annotated[
        NDArray[numpy.complex64],
        dict(shape=(None, None, None), order="C", device="cpu", writable=False),
    ],
    noise: float,
    detector: str = "zf",
    *,
    isa: str | None = None,
) -> tuple[NDArray[numpy.complex64], NDArray[numpy.float32]]:
    """
    Combiners [subcarriers, users, antennas] (zf, mmse or mrc) for a channel [subcarriers, antennas, users] and the noise's variance after them.
    """

def equalize(
    combiner: Annotated[
        NDArray[numpy.complex64],
        dict(shape=(None, None, None), order="C", device="cpu", writable=False),
    ],
    received: Annotated[
        NDArray[numpy.complex64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    *,
    isa: str | None = None,
) -> NDArray[numpy.complex64]:
    """Users' symbols [subcarriers, users] from [subcarriers, antennas]."""

def demap(
    symbols: Annotated[
        NDArray[numpy.complex64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    noise: Annotated[
        NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    bits: int,
    *,
    isa: str | None = None,
) -> NDArray[numpy.int8]:
    """
    Max-log LLRs [symbols, bits] times 4 as int8, positive for 0; noise variance per symbol.
    """

def ldpc_encode(
    base_graph: int,
    lifting: int,
    info: Annotated[
        NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    *,
    isa: str | None = None,
) -> NDArray[numpy.uint8]:
    """
    Codeword without its first 2·lifting bits, fillers as 0 (38.212 5.3.2).
    """

def ldpc_decode(
    base_graph: int,
    lifting: int,
    soft: Annotated[
        NDArray[numpy.int8], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    *,
    fillers: int = 0,
    iterations: int = 8,
    early_stop: bool = True,
    isa: str | None = None,
) -> tuple[NDArray[numpy.uint8], int, bool]:
    """
    Information bits, iterations done, and whether every parity check holds; 0 marks what was not received.
    """

def crc(
    kind: str,
    bits: Annotated[
        NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
) -> int:
    """Parity of 38.212 5.1: 16, 24a or 24b."""

def gold(seed: int, first: int, count: int) -> NDArray[numpy.uint8]:
    """c(first) and on of 38.211 5.2.1."""

def zadoff_chu(length: int, root: int) -> NDArray[numpy.complex64]:
    """Pilots of unit modulus."""

def latency_bound(
    plan_text: str,
    *,
    cores: int,
    claim_ns: Sequence[float],
    chunk_ns: Sequence[float],
    commit_ns: float = 0.0,
    packet_ns: float = 0.0,
) -> dict[str, Any]:
    """
    How late a frame of a cell can be when no claim takes longer than that
    (engine/frame/latency_bound.hpp): uplink, downlink and slack in ms from its start on
    air, None without a bound; utilization in cores.
    """

def opcodes() -> list[str]:
    """What instructions do, in the order in which costs are given."""

def simulate(
    plan_text: str,
    *,
    cores: int,
    claim_ns: Sequence[float],
    chunk_ns: Sequence[float],
    commit_ns: float = 0.0,
    spread: Sequence[Sequence[tuple[float, float]]] = (),
    frames: int = 20,
    packet_ns: float = 0.0,
    at_once: bool = False,
    seed: int = 1,
) -> dict[str, Any]:
    """
    A plan's cell under its policy on imaginary cores in virtual time: nothing is computed or measured. A claim of N chunks takes claim_ns + N·chunk_ns, by opcode (see opcodes()), times what is drawn from its spread: points (share of claims, factor) from share 0 to 1; an instruction's last claim takes commit_ns more. Milestones of each frame in ms from its start on air, NaN where it has none; slack, what the tightest task had left to its deadline; missed, how many downlink symbols were not ready; the time of cores and of opcodes (stages) in ms. at_once: each frame by itself, its first_packet being when all its packets are there, instead of at the pace of the air. Raises ValueError on a plan or costs that cannot be.
    """

def work(plan_text: str, cores: int) -> dict[str, Any]:
    """
    A frame's instructions on so many cores, opcode and chunks each, and how many code blocks each chunk of a Decode has (packs). Raises ValueError on a plan that cannot be.
    """

class Calibration:
    """A cell's stages timed in place, on one core, from samples in memory."""

    def __init__(self, plan_text: str, workers: int = 1) -> None:
        """
        Makes the samples. Code blocks are packed as for so many workers. Raises ValueError on a plan that cannot be.
        """

    def time(self, grain: int, frames: int = 1) -> dict[str, numpy.typing.NDArray[numpy.uint32]]:
        """
        Runs frames with claims of at most `grain` chunks. One entry for each claim: opcode (see opcodes()), chunks and ns.
        """

class MemoryRun:
    """A cell in real time on worker threads, its samples from memory."""

    def __init__(self, plan_text: str, workers: int) -> None:
        """Makes the samples. Raises ValueError on a plan that cannot be."""

    def run(
        self, plan_text: str, *, frames: int, at_once: bool = False, traced: bool = False
    ) -> dict[str, Any]:
        """
        Runs frames of the same cell, under the policy and the job sizes of this plan. As simulate() tells them, but measured; busy, the core time of each frame and opcode in ms; starts, when frames were on air; idle and bringing, when and for how long workers without a claim stood still, or began frames and brought packets; traced, where asked for, when, for how long, opcode and chunks of claims, the newest of each worker; claims of all frames, instructions of one; blocks_failed, uplink blocks whose check failed; workers, where the time of each went in ms, the rest being waiting; complaint, why the threads were no real-time ones.
        """

def pool_policies() -> list[str]:
    """The policies for a pool of devices."""

def pool_profiles() -> list[str]:
    """The assumptions there are about kernels on devices."""

def device_types() -> list[dict[str, Any]]:
    """The types of devices a pool can have, with their published figures."""

def ctas_per_sm(device_type: str, warps: int, registers: int, shared_bytes: int) -> int:
    """
    How many CTAs of so many warps, registers of a thread and shared bytes an SM holds at once; 0: it holds none.
    """

def reasons() -> list[str]:
    """What the numbers mean that say why."""

def pool_graph(plan_text: str, graph_text: str = "") -> list[dict[str, Any]]:
    """
    A frame's instructions on a pool: opcode, symbol, CTAs, SMs and time alone on a device of a type (as the profile assumes it, or as it was measured), bytes moved over the host's link and of its result, and the instructions it waits for. graph_text: which type and profile, see GraphPlan in engine/rack/pool_plan.hpp. Raises ValueError on a plan that cannot be.
    """

def validate_pool(plan_texts: Sequence[str], pool_text: str) -> list[Problem]:
    """
    What is wrong with a pool plan for its cells; empty when it can be simulated. Raises ValueError on a cell's plan that cannot be.
    """

def simulate_pool(
    plan_texts: Sequence[str], pool_text: str, *, progress: Callable[[int], bool] | None = None
) -> dict[str, Any]:
    """
    Cells on servers of imaginary devices in virtual time: nothing is computed or measured. plan_texts: of each of the pool plan's cells its run plan. pool_text: the pool plan, see engine/rack/pool_plan.hpp. progress: called now and then with the frames that have ended; false stops. Frames in the order in which they ended: began and latency in ms, cell, devices that had part in it, server (65535: none), done, why not (see reasons()); moves: ms when decided and when done, cell, from, to, why; joins: ms, server, device and the cell whose NACKs asked for it; shares of each port's time and of each device's SM time, and the most bytes of its memory that results took, devices of all servers in a row; ms of kernels and transfers of a frame by opcode; tasks, copies between devices, tasks issued again; executions (cell, frame, instruction, device, queue, start and end in ms, why there and why then, and in ms when the policy expected it to end, None: it has no forecast) if they are kept; where timed, what the policy took for each instruction, in ns of real time: these alone are measured. Raises ValueError on a pool or cell that cannot be.
    """

def link_limit(generation: int, lanes: int) -> float:
    """
    MB/s of payload that a PCI Express link carries in a direction: its rate less its coding, of that 85 %. 0: there is no such link.
    """

def ingest_surroundings(root: str = "/") -> dict[str, Any]:
    """
    paths: name, ready, why not, what it needs; devices: GPUs and network cards with their links; gpu and peer: addresses of the first CUDA device and of the card nearest to it; share_root: whether both are below one root complex. sysfs is read below root.
    """

def ingest_measure(
    path: str, *, channels: int, block_bytes: int, seconds: float, msps: float = 0.0
) -> dict[str, Any]:
    """
    Moves known blocks along a path and checks them: staged-host, pinned-host and card-host end in this machine's memory; staged, pinned-copy, pinned-read, dma-buf and peermem in the first CUDA device. Raises ValueError on what cannot be. Does not hold the GIL.
    """

def ingest_descriptor_ns() -> float:
    """ns of a core that a block's descriptor takes, whatever its size."""

def run_on_gpus(
    plan_text: str,
    frames: int,
    *,
    cells: int,
    policy: str,
    partitions: int,
    progress: Callable[[int], bool],
) -> dict[str, Any]:
    """
    Serves so many cells of a plan, as many frames of each, from pinned memory at the pace of the air on this machine's GPUs, or on so many partitions of the first. `progress` is told how many frames are over and stops the run with False. Frames in order, of all cells in turn: `done`, `latency_us` from the last sample to the last result on the host, `failed_blocks` that are not what was sent, `devices`. RuntimeError says why there is no GPU. Does not hold the GIL.
    """

def flowgraph_problems(
    nodes: Sequence[tuple[str, float, Sequence[tuple[int, float]], int, int]],
    edges: Sequence[tuple[int, int, int, int, int]],
) -> list[tuple[int | None, int | None, str]]:
    """
    What is wrong with a flowgraph: node, edge, and a sentence, of each problem.

    nodes: (name, I in ns, [(from that execution on, ns for each)], rate's numerator and
    denominator in 1/s; 0, 1 of nodes with inputs). edges: (from, to, produce, threshold,
    consume).
    """

def synthetic_flowgraph(
    seed: int,
    least_nodes: int,
    most_nodes: int,
    least_period_ns: int = 10000,
    most_period_ns: int = 50000,
    joins: float = 0.25,
    decimates: float = 0.25,
) -> tuple[
    list[tuple[str, float, list[tuple[int, float]], int, int]], list[tuple[int, int, int, int, int]]
]:
    """
    Nodes and edges of a graph drawn at random (engine/dataflow/synthetic.hpp).
    """

class Flowgraph:
    """A processing graph with consistent rates (engine/dataflow/graph.hpp)."""

    def __init__(
        self,
        nodes: Sequence[tuple[str, float, Sequence[tuple[int, float]], int, int]],
        edges: Sequence[tuple[int, int, int, int, int]],
    ) -> None:
        """ValueError with the first of flowgraph_problems."""

    def rates(self) -> list[tuple[int, int]]:
        """Executions a second of each node, as numerator and denominator."""

    def executions(self) -> list[tuple[int, int]]:
        """(x, y) of each node: x executions in every y ticks."""

    def ticks(self) -> tuple[int, int]: ...
    def rate_exploiting(self, batch: int) -> list[int]:
        """Batches up to each rate drop, times `batch`."""

    def first_output(self, batches: Sequence[int]) -> int:
        """F: samples of a source before every sink has something to give."""

    def utilization(self, batches: Sequence[int]) -> float:
        """Cores that all nodes need together."""

    def unbounded(self, batches: Sequence[int], cores: int) -> str:
        """Why there is no bound; empty if there is one."""

    def latency(
        self, batches: Sequence[int], cores: int, preemptive: bool = True, formula: str = "least"
    ) -> dict[str, Any]:
        """
        The end-to-end bound and its parts (engine/dataflow/latency.hpp). formula: least,
        any (of these and of a light load), devi-anderson, and with preemption compliant-vector or fair-lateness. ValueError if
        there is no bound.
        """

    def least_utilization(
        self,
        bound_ns: float,
        cores: int,
        preemptive: bool = True,
        most: int = 64,
        gap: float = 1e-09,
        ranges: int = 4000,
        steps: int = 500000000,
    ) -> dict[str, Any]:
        """
        The batches of least utilization within the bound (engine/dataflow/optimum.hpp); of each
        node about `most` batch sizes are candidates.
        """

    def least_bound(
        self,
        bound_ns: float,
        cores: int,
        preemptive: bool = True,
        most: int = 64,
        gap: float = 1e-09,
        ranges: int = 4000,
        steps: int = 500000000,
    ) -> dict[str, Any]:
        """
        The batches of the least bound, which is at most bound_ns, for these cores.
        """

    def simulate(
        self,
        batches: Sequence[int],
        cores: int,
        preemptive: bool = True,
        seconds: float = 1.0,
        seed: int = 1,
        least_cost: float = 1.0,
        most_delay: float = 0.0,
    ) -> dict[str, Any]:
        """Global EDF in virtual time (engine/dataflow/simulation.hpp)."""

def fir(
    x: numpy.typing.NDArray[Any], taps: numpy.typing.NDArray[Any], decimation: int = 1
) -> numpy.typing.NDArray[Any]:
    """
    y[n] = sum over k of taps[k]·x[n·decimation + K - 1 - k], where all K samples are there.

    x: [samples] float32 or complex64; taps: [K] float32, of complex64 samples also
    complex64. Raises TypeError for another dtype.
    """

def multiply_constant(x: numpy.typing.NDArray[Any], factor: complex) -> numpy.typing.NDArray[Any]:
    """
    factor·x[n]. x: [samples] float32 or complex64; real samples take a real factor.
    """

def add_constant(x: numpy.typing.NDArray[Any], constant: complex) -> numpy.typing.NDArray[Any]:
    """
    x[n] + constant. x: [samples] float32 or complex64; real samples take a real one.
    """

def rotate(
    x: numpy.typing.NDArray[numpy.complex64], turns_per_sample: float, turns: float = 0.0
) -> numpy.typing.NDArray[numpy.complex64]:
    """x[n]·exp(2πj(turns + n·turns_per_sample)). x: [samples] complex64."""

def quadrature_demodulate(
    x: numpy.typing.NDArray[numpy.complex64], gain: float = 1.0
) -> numpy.typing.NDArray[numpy.float32]:
    """
    gain·arg(x[n + 1]·conj(x[n])). x: [samples] complex64; one output less.
    """

def block_types() -> list[dict[str, Any]]:
    """All blocks, with their parameters (engine/dataflow/blocks/type.hpp)."""

def load_blocks(path: str) -> list[str]:
    """
    Adds the blocks of a shared library (engine/dataflow/blocks/load.hpp) and returns their
    names; none of one that is loaded already. RuntimeError names the file.
    """

class Block:
    """A block of a flowgraph, alone (engine/dataflow/blocks)."""

    def __init__(
        self, type: str, values: Mapping[str, bool | int | float | str | Sequence[float]] = {}
    ) -> None:
        """ValueError names the parameter that is wrong, RuntimeError the file."""

    @staticmethod
    def of_function(
        function: object,
        inputs: Sequence[tuple[str, int, int, int]],
        output: tuple[str, int] | None,
    ) -> Block:
        """
        A block whose executions are calls of a function: of an array for each input (its
        history, then what is new), returning an array of what they make, or None of a sink.
        inputs, output: as the properties of these names. ValueError of what they cannot be.
        """

    @property
    def inputs(self) -> list[tuple[str, int, int, int]]:
        """
        Of each: real or complex, and the samples that an execution waits for, that it takes
        away, and that it reads before them.
        """

    @property
    def output(self) -> tuple[str, int] | None:
        """
        real or complex, and the samples that an execution makes; None: it is a sink.
        """

    @property
    def has_device(self) -> bool: ...
    def run(self, inputs: Sequence[numpy.typing.NDArray[Any]], tags: str = "") -> Any:
        """
        Executes as often as the inputs allow, and returns what it makes. Samples that are too
        few for an execution are kept for the next call. `tags`: of the first input, one a
        line (engine/dataflow/io/tag_lines.hpp). TypeError of other dtypes than float32 and
        complex64.
        """

    @property
    def tags(self) -> list[str]:
        """Lines of those that it put out by the last call."""

    def make(self, count: int) -> Any:
        """What so many executions of a source make."""

    def start(self) -> None:
        """Opens its file or device."""

    def finish(self) -> None:
        """
        Writes what is left and closes it. RuntimeError of what was not written.
        """

    def ready(self) -> int:
        """Executions for which its device has samples, or room."""

    def over(self) -> bool: ...
    def failure(self) -> str: ...
    def set(self, parameter: str, value: float) -> None: ...
    def figures(self) -> list[tuple[str, float, str]]:
        """What it counted or found: name, value, unit."""

    def rows(self) -> tuple[numpy.typing.NDArray[numpy.float32], float, float, int, int] | None:
        """
        What it keeps for a picture, after finish(): rows of powers, float32; their first
        frequency and the step to the next, in Hz; how many rows came, and of how many of them
        each is the mean. None of most blocks.
        """

    def profile(
        self, batch: int, setting: str, seconds: float, period_us: float = 200.0
    ) -> list[float]:
        """
        ns of each batch on this machine (engine/dataflow/profile.hpp); setting: warm, cold or
        in-place.
        """

class FlowgraphRun:
    """A flowgraph that runs in its batches (engine/dataflow/runner.hpp)."""

    def __init__(
        self,
        graph: Flowgraph,
        batches: Sequence[int],
        blocks: Sequence[Block],
        paced: bool,
        executions: Sequence[int],
        budgets_ns: Sequence[float],
        bound_ns: int,
        cores: Sequence[int],
        priority: int,
        threads: str,
        changes: int,
    ) -> None:
        """
        executions: of each source, 0: without end. budgets_ns: what a batch of each node is
        planned to take; empty: nothing is. cores: a worker on each. ValueError where blocks do
        not fit the graph.
        """

    def start(self) -> None:
        """RuntimeError of a device that does not start."""

    def stop(self) -> None:
        """Sources give nothing more; what they gave is worked off."""

    def ended(self) -> bool: ...
    def finish(self) -> list[str]:
        """Waits, and closes devices; what went wrong with them."""

    def change(self, node: int, parameter: str, value: float, at: int = 0) -> bool:
        """
        Before the node's execution `at`, or its next. False: another change still waits.
        """

    def state(self) -> dict[str, Any]:
        """While it runs."""

    def account(self) -> dict[str, Any]:
        """When it has ended and is finished."""

    def jobs(self) -> list[list[tuple[int, int, int, int, int]]]:
        """
        Of each worker's last jobs: node, executions, release, start, end in ns; when it has
        ended.
        """

def late_probability(
    family: str,
    coefficients: Sequence[float],
    clocks: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    rates: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
) -> NDArray[numpy.float64]:
    """
    Of a family (power or exponential) and its 18 coefficients, at points. NaN where it is
    not real.
    """

def late_fit(
    family: str,
    points: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    start: Sequence[float],
    drawn: int,
    seed: int,
) -> dict[str, Any]:
    """
    A model with the terms of `start`, 18 coefficients of which those that it lacks are 0: from
    there, and from as many random starts as `drawn` says. points as LateSearch has them.
    coefficients, mse, and verdict, a name of late_verdicts(). ValueError as LateSearch.
    """

def late_verdicts() -> list[str]:
    """What LateSearch.found() says of fits, by their places."""

class LateSearch:
    """
    All subsets of coefficients, those with few first (engine/power/late_search.hpp).
    """

    def __init__(
        self,
        family: str,
        points: Annotated[
            NDArray[numpy.float64],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        drawn: int,
        seed: int,
    ) -> None:
        """
        points: float64 rows of clock, rate and share of late ones. drawn: starts of chance for
        each subset. ValueError of points that no model can be fitted to.
        """

    def work(self, seconds: float, threads: int) -> bool:
        """Goes on for about so long; false: all is done."""

    @property
    def done(self) -> int:
        """Subsets that have been fitted."""

    @property
    def whole(self) -> int:
        """All subsets of so many coefficients have been."""

    def found(self) -> dict[str, Any]:
        """
        coefficients, mse and verdict (a place in late_verdicts()) of each subset; bit n - 1 of its
        place stands for c_n.
        """

    def put_back(
        self,
        coefficients: Annotated[
            NDArray[numpy.float64],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        mse: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        verdicts: Annotated[
            NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        whole: int,
    ) -> None:
        """
        Goes on behind the subsets with `whole` coefficients. ValueError of other arrays than
        found() gives.
        """

class Governor:
    """Chooses a clock for each TTI (engine/power/governor.hpp). Pure."""

    def __init__(
        self,
        late: Sequence[Sequence[float]],
        outage: float = 0.001,
        margin: float = 2.0,
        hold: int = 100,
        settle: int = 20,
    ) -> None:
        """
        late: predicted ratios, [load][clock], clocks ascending. outage: P_out. ValueError of
        what makes no sense.
        """

    def decide(self, ended: int, late: int, load: int = 0) -> int:
        """
        The clock from now on, by its place. ended, late: TTIs since the last decision, and of
        them those that a faster clock would have had in time. load: the heaviest that is known
        to come.
        """

    @property
    def clock(self) -> int:
        """The last decision."""

    @property
    def bias(self) -> int:
        """Clocks by which the prediction was too low."""

class VirtualTtis:
    """
    TTIs of cells that share a core, in virtual time, from measured delays
    (engine/power/virtual_ttis.hpp).
    """

    def __init__(
        self,
        processing: Sequence[Sequence[float]],
        system: Sequence[float],
        fronthaul: Sequence[float],
        clocks: Sequence[float],
        length: float = 1000000.0,
        response: float = 4000000.0,
        cells: int = 1,
        wake: int = 0,
        gather: int = 1,
        seed: int = 1,
    ) -> None:
        """
        Times in ns. processing: [load][sample] at the last of the clocks, which ascend, in MHz;
        system, fronthaul: [sample]. wake: to wake the core where it sleeps.
        """

    def run(
        self,
        stretches: Sequence[tuple[int, int]],
        fixed: int | None = None,
        governor: Governor | None = None,
        ahead: int = 4,
    ) -> list[dict[str, Any]]:
        """
        stretches: of so many TTIs of one load each. At a fixed clock, by its place, or as a
        governor decides, which knows loads so many TTIs ahead. A dict for each stretch.
        """

def read_clocks(sysfs: str) -> dict[str, Any]:
    """
    What cpufreq says below a sysfs (engine/power/cpufreq.hpp): domains, online
    cores, mode, turbo (None: not said) and problems. Clocks are in kHz.
    """

def idle_states(sysfs: str, core: int) -> list[dict[str, Any]]:
    """Of a core, the shallowest first: name, latency_us, disabled."""

def read_energy(sysfs: str) -> list[tuple[str, str, int, int, str]]:
    """
    RAPL's zones: zone, name, µJ, µJ at which that wraps, and why it cannot be read.
    """

def joules_between(before: int, after: int, wraps_at: int) -> float:
    """
    Joules between two counts of µJ, of which the second may have wrapped once.
    """

def restore_clocks(sysfs: str) -> tuple[int, list[str]]:
    """
    Restores what a process that ended had changed: how many files, and what failed.
    RuntimeError while it lives, or if its journal is damaged.
    """

def clock_journal(sysfs: str) -> str:
    """Where the journal of a sysfs lies."""

class ClockControl:
    """
    Sets clocks, and puts back what it found (engine/power/control.hpp). All
    raise RuntimeError with the file and the reason.
    """

    def __init__(self, sysfs: str) -> None:
        """
        Takes control, after it has restored what a process that ended had changed.
        """

    @property
    def left(self) -> tuple[int, list[str]]:
        """What that was: as of restore_clocks()."""

    def set_clock(self, policy: int, khz: int) -> None: ...
    def set_governor(self, policy: int, name: str) -> None: ...
    def set_limits(self, policy: int, least_khz: int, most_khz: int) -> None: ...
    def set_preference(self, policy: int, name: str) -> None: ...
    def set_turbo(self, on: bool) -> None: ...
    def set_resume_latency(self, core: int, us: int) -> None: ...
    def differences(self) -> list[tuple[str, str, str]]:
        """Files that do not say what was written: path, wanted, found."""

    def restore(self) -> tuple[int, list[str]]:
        """As restore_clocks(); gives control up."""

class VirtualCable:
    """
    Two network namespaces joined by a veth pair, until it and the ends made there are gone (engine/fronthaul/veth.hpp).
    """

    def __init__(self, mtu: int) -> None:
        """RuntimeError where the kernel refuses."""

    @staticmethod
    def address(end: int) -> str:
        """IPv4, of end 0 or 1."""

class NetEnd:
    """
    One end of a UDP link, for round trips (engine/fronthaul/round_trips.hpp).
    """

    def __init__(
        self,
        io: str,
        address: str,
        peer: str,
        *,
        packet_bytes: int,
        socket_packets: int,
        port: int = 0,
        cable: VirtualCable | None = None,
        end: int = 0,
    ) -> None:
        """
        io: as fronthaul.io. port 0: a free one. cable and end: inside that namespace.
        RuntimeError says what the kernel refuses and what to do.
        """

    @property
    def port(self) -> int: ...
    def meet(self, port: int) -> None:
        """The peer's port, before anything is sent."""

    def notes(self) -> list[str]:
        """What a person should know before."""

    def findings(self) -> list[str]:
        """And after."""

    def echo(self, core: int = -1, sleeping: bool = False, held_us: float = 0.0) -> None:
        """
        A thread that sends every packet back, from now on; held_us emulates coalescing.
        """

    def stop_echo(self) -> dict[str, Any]:
        """
        packets and bursts that were sent back, cores that its thread took, receive_calls.
        """

    def start(
        self,
        per_s: float,
        exchanges: int,
        samples: int,
        packet_samples: int,
        core: int = -1,
        patience_s: float = 1.0,
    ) -> None:
        """
        Sends samples at a constant rate, in a thread. RuntimeError of a plan that cannot be.
        """

    @property
    def running(self) -> bool: ...
    @property
    def sent(self) -> int:
        """Exchanges so far."""

    def stop(self) -> None:
        """Ends the round trips early."""

    def finish(self) -> dict[str, Any]:
        """
        Waits for the round trips' end: sent, returned, damaged (packets), seconds of sending,
        behind_us of the last, most_behind_us, and trips_us, an array of those that came back.
        """
