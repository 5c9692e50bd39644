"""result.json: what one run says about itself. The JSON Schema is made from these models."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

VERSION: Literal[1] = 1


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Distribution(_Model):
    """A distribution over frames. A percentile is null without at least two samples above it."""

    p50: float | None
    p90: float | None
    p99: float | None
    p999: float | None
    p9999: float | None = Field(description="99.99th percentile; null below 20 000 samples")
    max: float | None
    mean: float | None
    samples: int


class Frames(_Model):
    """Frames of the run."""

    sent: int = Field(description="by the emulated radio unit; as seen, when it runs elsewhere")
    skipped: int = Field(description="never sent: the emulated radio unit's thread did not run")
    seen: int = Field(description="of which at least one packet came, or the clock announced them")
    completed: int = Field(description="every task done before the deadline")
    incomplete: int = Field(
        description="of these, without some packets, which had not come when their symbols were "
        "closed: their blocks may fail; of the frames that are listed"
    )
    nacked: int = Field(description="refused or discarded (overload_nack)")
    sent_to_gpus: int = Field(description="begun on GPUs")
    handed_back: int = Field(description="of these, that the GPUs did not finish and the cores did")
    substituted: int = Field(
        description="late: their downlink left in time, but the radio unit had to put something "
        "else on air"
    )
    unreported: int = Field(
        description="with downlink, of which the radio unit did not say what went on air"
    )
    passed_over: int = Field(
        description="not seen: numbers between the newest frame that was heard and the one with "
        "which reception began anew, after packets that were much delayed or a pause of the radio"
    )


class Lates(_Model):
    """Frames that missed a deadline, by cause; each is counted once."""

    lost: int = Field(description="packets never came")
    fronthaul: int = Field(description="packets came too late")
    processing: int = Field(description="our own work took too long")
    operating_system: int = Field(description="a thread that could have run was not running")
    machine_stall: int = Field(description="the machine stood still, as the listed gaps show")


class Direction(_Model):
    """Blocks and time in one direction."""

    blocks: int = Field(description="transport blocks, checked or not")
    blocks_failed: int = Field(description="of which failed their check")
    bler: float | None = Field(description="failed / checked")
    bler_interval: tuple[float, float] = Field(description="95 % Wilson interval of the BLER")
    latency_ms: Distribution
    rate_mbps: float = Field(description="payload delivered per second of air time")
    ideal_rate_mbps: float


class Uplink(Direction):
    """Latency: D_UL, from the frame's first packet to its last bits (thesis eq. 2.2)."""

    extra_latency_ms: Distribution = Field(description="D_UL - T (eq. 2.3)")
    raw_ber: float | None = Field(
        description="before decoding: of one code block of each frame that came whole, decoded "
        "or not, against what the emulated user sent"
    )
    evm_percent: float | None
    snr_db: float | None = Field(description="after equalization, as the receiver predicts it")
    iterations: float | None = Field(description="LDPC, mean over code blocks")


class Downlink(Direction):
    """Latency: D_DL, from the frame's start to its first downlink symbol being ready (eq. 3.3)."""

    blocks_unverified: int = Field(description="that the emulated users did not get to")
    symbols_sent: int
    symbols_substituted: int = Field(description="late: the contingency symbol went on air")
    achievable_rate_mbps: float | None = Field(
        description="(T - D_DL)/T·R_ideal (eq. 2.1), mean over all frames; 0 where nothing was sent"
    )
    achievable_rate_whole_symbols_mbps: float | None = Field(
        description="the same, floored to whole symbols in each frame"
    )
    evm_percent: float | None


class Milestones(_Model):
    """Where a frame's time goes, in ms (eq. 3.1 to 3.3)."""

    start: Distribution = Field(description="D_start: first packet → first task")
    pilot: Distribution = Field(description="T_pilot: first packet → all pilots processed")
    zeroforce: Distribution = Field(description="T_ZF: pilots processed → combiners ready")
    data: Distribution = Field(description="T_data: combiners ready → last bits")


class UserSide(_Model):
    """One user in one direction."""

    blocks: int
    blocks_failed: int
    blocks_unverified: int
    evm_percent: float | None


class User(_Model):
    """One user."""

    user: int
    uplink: UserSide
    downlink: UserSide
    raw_ber: float | None
    snr_db: float | None
    iterations: float | None


class Stage(_Model):
    """What one opcode cost."""

    name: str
    tasks: int = Field(description="claims: chunks taken together by one worker")
    chunks: int
    busy_ms: float
    share: float = Field(description="of all kernels' time")
    us_per_chunk: float | None
    core_ms_per_ms: float | None


class Thread(_Model):
    """Where one thread's time went, as shares of the run."""

    name: str
    core: int
    roles: list[str]
    realtime: bool = Field(description="SCHED_FIFO was granted")
    busy: float = Field(description="in kernels")
    overhead: float = Field(description="neither in a kernel, nor in the network, nor idle")
    network: float
    emulating: float
    spinning: float
    sleeping: float


class Pacing(_Model):
    """Error of the emulated radio's frame starts."""

    mean_us: float
    deviation_us: float
    frames: int


class Gap(_Model):
    """A time in which a pinned loop did not run, or woke later than it asked to."""

    number: int = Field(description="in the run, from 1; frames.csv names it")
    cause: str = Field(description="the lateness that it excuses")
    thread: str
    start_ms: float = Field(description="from the start of the run")
    length_ms: float


class Explanation(_Model):
    """Why a frame was late."""

    frame: int
    cause: str
    late_ms: float | None = Field(description="of its uplink; null: in time, or it never ended")
    text: str


class Cores(_Model):
    """Core time per ms of air time; spinning and sleeping are not in it."""

    kernels: float | None
    scheduling: float | None
    network: float | None = Field(
        description="in the kernel's network stack, sending and receiving"
    )
    emulator: float | None = Field(description="the emulated radio unit and users")


class Share(_Model):
    """Frames of all that are listed."""

    frames: int
    ratio: float
    interval: tuple[float, float] = Field(
        description="95 % Wilson interval of the ratio, as of frames that are independent"
    )


class ClassShare(Share):
    """Frames of one class."""

    by_cause: dict[str, Share] = Field(description="why they were late; causes of none left out")


class LateBin(_Model):
    """Frames whose delays lie between the same edges; place i is above edge i - 1, up to edge i."""

    t_bs: int
    t_os: int
    t_f: int
    frames: int
    late: int
    late_ratio: float = Field(description="late / frames")
    interval: tuple[float, float] = Field(description="95 % Wilson interval of the late ratio")


class LateFunction(_Model):
    """F_P(T_BS, T_OS, T_f), as it was counted."""

    t_bs_edges_ms: list[float] = Field(description="p50, p90 and p99 where known, and the maximum")
    t_os_edges_ms: list[float]
    t_f_edges_ms: list[float]
    bins: list[LateBin] = Field(description="those that some frame is in")
    lacking: int = Field(description="frames without one of the delays, in no bin")
    lacking_late: int = Field(description="of these, late")


class Outage(_Model):
    """The late ratio over an averaging time, one up to each frame, against a target."""

    target: float = Field(description="P_out: of all frames, those that may be late")
    averaging_s: float
    newest: Share = Field(description="late frames of the last averaging time, or of a shorter run")
    of_frames: int = Field(description="of which `newest` is")
    highest: float | None = Field(
        description="the highest late ratio of a whole averaging time; null: the run was shorter"
    )
    above_target: float | None = Field(
        description="of all whole averaging times, the share whose late ratio exceeded the target"
    )


class Clock(_Model):
    """Which clocks the run had."""

    emulated: bool = Field(description="false: cpufreq set them")
    governed: bool
    mhz: list[float] = Field(description="that it could have; the highest is the full clock")
    fixed_mhz: float | None = Field(description="that it had throughout; null: governed")


class Delays(_Model):
    """The delays of frames, and how often they were late (docs/late.md)."""

    frames: int = Field(description="that are listed: all of the run, or the newest that were kept")
    t_bs_ms: Distribution = Field(description="T_BS: tasks on cores, summed over these")
    t_os_ms: Distribution = Field(
        description="T_OS: threads stood still between the last received symbol and the end"
    )
    t_f_ms: Distribution = Field(description="T_f: last received symbol on air → last packet")
    lead_ms: Distribution = Field(
        description="transmit lead: so long before their air start downlink symbols had to leave"
    )
    late: Share
    by_cause: dict[str, Share] = Field(description="late frames; each has one cause")
    by_class: dict[str, ClassShare] = Field(
        description="what became of frames; each is in one class"
    )
    bursts: int = Field(description="of late frames with consecutive numbers, single ones too")
    longest_burst: int = Field(description="in frames")
    joint: LateFunction
    outage: Outage


class PortReceived(_Model):
    """Received blocks: good, failed or late; and all of them sent, dropped or unheard."""

    good: int = Field(description="their check holds")
    failed: int = Field(description="decoded in vain")
    late: int = Field(description="given up before they were decoded")
    sent: int = Field(description="to a client")
    dropped: int = Field(description="the queue was full: the client fetched too few")
    unheard: int = Field(description="there was no client")


class PortGiven(_Model):
    """Blocks to be sent: accepted ones are used or unused, those of frames that began used or
    padded."""

    accepted: int = Field(description="from a client, whole and before their frame began")
    used: int
    unused: int = Field(description="their frame found no place, or never came")
    padded: int = Field(description="zeros went on air, since no bits were there")


class IpPackets(_Model):
    """IPv4 packets at a data port: from the device sent, dropped or foreign, to it delivered,
    foreign or refused."""

    sent: int = Field(description="all of it is in blocks that were accepted")
    dropped: int = Field(description="the user's queue was full")
    foreign: int = Field(description="for no user or no IPv4, or in the name of another user")
    delivered: int = Field(description="out of received blocks")
    broken: int = Field(description="out of received blocks, of which the end was lost")
    refused: int = Field(description="by the device")


class HarqAttempt(_Model):
    """Uplink blocks that were received for the n-th time; the last has all later ones."""

    attempt: int
    blocks: int
    good: int
    goodput_mbps: float | None


class Harq(_Model):
    """Uplink blocks of a cell with HARQ processes."""

    attempts: list[HarqAttempt]
    again_ms: float | None = Field(description="from a block's first verdict to its good one, mean")
    again_max_ms: float


class DataPort(_Model):
    """What went through a data port (docs/data-port.md)."""

    clients: int = Field(description="one after another")
    ip: IpPackets | None = Field(default=None, description="null: a program owns the bits")
    received: PortReceived
    given: PortGiven
    refused: dict[str, int] = Field(
        description="messages of clients that were not taken, by why; with a scheduler frames and "
        "grants"
    )
    harq: Harq | None = Field(default=None, description="null: no soft bits are kept")


class ScheduledFlow(_Model):
    """What a scheduler granted one user in one direction (docs/mac.md), and what came of it."""

    user: int
    direction: Literal["uplink", "downlink"]
    blocks: int = Field(description="transport blocks that were granted")
    good: int
    failed: int
    late: int = Field(
        description="given up before they were decoded, or not sent, since users had the grant too "
        "late"
    )
    unheard: int = Field(
        default=0,
        description="neither good, failed nor late: nothing came, as of a downlink whose users had "
        "the grant too late, or not yet",
    )
    bler: float | None = Field(description="failed ones, of those that were decoded")
    resource_blocks: int = Field(description="that were granted")
    mean_mcs: float | None = Field(description="over these")
    snr_db: float | None = Field(description="after equalization, smoothed; the last one")
    offset_db: float = Field(description="to the SNR, for the target BLER; the last one")


class Traffic(_Model):
    """One exchange of real traffic over the air, between a user and the server."""

    user: int
    program: Literal["ping", "iperf3"]
    direction: Literal["up", "down", "both"]
    goodput_mbps: float | None = Field(default=None, description="of TCP, as its receiver has it")
    retransmits: int | None = Field(default=None, description="of TCP's segments")
    rtt_ms: float | None = Field(default=None, description="mean")
    rtt_max_ms: float | None = None
    lost: float | None = Field(default=None, description="of all pings, the share without answer")


class Result(_Model):
    """One run of a cell."""

    schema_version: Literal[1] = VERSION
    version: str = Field(description="of Carillon")
    name: str
    role: Literal["bbu", "radio", "both"]
    transport: Literal["shm", "udp"]
    started: str = Field(description="ISO 8601, UTC")
    finished: bool = Field(description="false: the run was cut short and did not drain")
    seconds: float = Field(description="air time")
    cpu: str
    machine: dict[str, Any]
    seed: int
    workers: int
    frame_ms: float
    deadlines_ms: dict[str, float] = Field(description="the budgets that lateness is measured by")
    frames: Frames
    lates: Lates
    uplink: Uplink
    downlink: Downlink
    milestones_ms: Milestones
    clock: Clock | None = Field(default=None, description="null: the clock was left alone")
    delays: Delays | None = Field(default=None, description="null where there are no frames")
    core_ms_per_ms: float | None = Field(description="kernels and scheduling, per ms of air time")
    cores: Cores
    users: list[User]
    stages: list[Stage]
    threads: list[Thread]
    packets: dict[str, int] = Field(
        description="received, whatever became of them; sent; missing: not there when their frame "
        "ended; rejected by kind, of which differing are duplicates with other samples, foreign "
        "did not come from the other side, and unauthentic were not made with this side's key; "
        "the last two are not among the received"
    )
    nacks: dict[str, int] = Field(description="overload_nack and harq_nack")
    data_port: DataPort | None = Field(
        default=None, description="the baseband unit's; null: its bits are the emulator's"
    )
    users_port: DataPort | None = Field(
        default=None, description="the emulated users'; null: their bits follow from the seed"
    )
    scheduler: list[ScheduledFlow] = Field(
        default=[], description="of grants.kind scheduler, by direction and user"
    )
    traffic: list[Traffic] = Field(default=[], description="of `carillon demo --ip`")
    saturated_samples: int
    ill_conditioned: int = Field(
        description="combiners, one for each group of subcarriers and frame, of users who cannot "
        "be told apart or have no channel; frames with missing packets left out"
    )
    pacing: Pacing | None
    gaps: list[Gap] = Field(description="the newest 100")
    gaps_total: int
    explanations: list[Explanation] = Field(
        description="of the first 100 late frames, and of the 20 others that ended latest; "
        "frames.csv has all"
    )
    configuration: dict[str, Any] = Field(description="the whole cell, defaults included")

    @property
    def of_computed(self) -> str:
        """What to say after a cost: refused frames have next to none."""
        return ", of the frames that were computed" if self.frames.nacked else ""


def schema() -> str:
    """The JSON Schema of result.json."""
    tree = Result.model_json_schema()
    tree["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    tree["title"] = f"Carillon result, version {VERSION}"
    return json.dumps(tree, indent=2, ensure_ascii=False) + "\n"
