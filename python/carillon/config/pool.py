"""Cells on a pool of simulated devices, as a person writes it."""

from typing import Annotated, Literal

from pydantic import Field

from carillon.config.units import Base, key

DeviceType = Literal["v100", "a100", "h100", "h200"]
Policy = Literal["frame-level", "symbol-level", "task-level", "scoreboard", "adaptive"]
POLICIES: tuple[Policy, ...] = (
    "frame-level",
    "symbol-level",
    "task-level",
    "scoreboard",
    "adaptive",
)


PROFILES = ("megastation", "roofline")  # what is assumed where nothing is measured


class Devices(Base):
    """Devices of one type on one chassis."""

    type: DeviceType = key(..., "Whose published figures they have.")
    count: int = key(1, "How many of them.", ge=1, le=64)
    chassis: int = key(0, "Number of the chassis that they are in.", ge=0, le=63)
    queues: int = key(32, "Hardware queues of each.", ge=3, le=1024)
    reserved_sms: int = key(0, "SMs of each that something else keeps busy.", ge=0, le=1024)
    memory_gbytes: float | None = key(
        None, "Of each, for results; null: all that its type has.", "GB", ge=1e-6, le=1e4
    )
    reserve: bool = key(False, "Idle until an overload asks for them, one by one.")


class Link(Base):
    """A link of the fabric, the same in both directions."""

    gbytes_per_s: float = key(25.0, "Each way, net of headers.", "GB/s", ge=1e-3, le=1e5)
    latency_us: float = key(0.5, "Of the first byte.", "µs", ge=0, le=1e6)


class Links(Base):
    """Host – switch – chassis – device: a tree."""

    host: Link = Field(default=Link(gbytes_per_s=64.0), description="Between host and switch.")
    chassis: Link = Field(
        default=Link(gbytes_per_s=64.0), description="Between the switch and each chassis."
    )
    device: Link = Field(default=Link(), description="Between its chassis and each device.")


class Server(Base):
    """Servers with the same devices."""

    devices: list[Devices] = key(..., "The devices of each.")
    links: Links = Field(default_factory=Links, description="The fabric of each.")
    count: int = key(1, "How many such servers.", ge=1, le=64)


class Switch(Base):
    """The fronthaul switch, and when a server's reserve joins or a radio unit leaves it."""

    gbytes_per_s: float = key(50.0, "Of the port to each server.", "GB/s", ge=1e-3, le=1e5)
    latency_us: float = key(1.0, "Of the first byte.", "µs", ge=0, le=1e6)
    move_ms: float = key(
        1.0, "To change a unit's port; frames that start meanwhile are lost.", "ms", ge=0, le=1e6
    )
    nacks: int = key(3, "Of a unit's last frames: its server is overloaded.", ge=1, le=64)
    window: int = key(50, "The last frames.", ge=1, le=64)
    hold_ms: float = key(
        20.0, "After a move or a join, until an overload there counts again.", "ms", ge=0, le=1e9
    )


class Prices(Base):
    """Assumed, in one currency."""

    host: float = key(20_000.0, "A server without its devices.", ge=0, le=1e12)
    v100: float = key(5_000.0, "A device.", ge=0, le=1e12)
    a100: float = key(10_000.0, "A device.", ge=0, le=1e12)
    h100: float = key(30_000.0, "A device.", ge=0, le=1e12)
    h200: float = key(35_000.0, "A device.", ge=0, le=1e12)


class Economy(Base):
    """What servers draw and cost: assumed, but for the devices' published power limits."""

    host_watts: float = key(700.0, "Of a server without its devices, always.", "W", ge=0, le=1e6)
    idle_share: float = key(
        0.2, "Of a device's power limit, when idle; the rest goes with its busy SMs.", ge=0, le=1
    )
    prices: Prices = Field(default_factory=Prices, description="What things cost.")


class HostCosts(Base):
    """What scheduling and the driver cost on the host."""

    decision_us: float = key(0.0, "Each decision of the one scheduling thread.", "µs", ge=0, le=1e6)
    launch_us: float = key(2.0, "Each launch, by the device's thread.", "µs", ge=0, le=1e6)
    notify_us: float = key(1.0, "Until the host knows of a kernel's end.", "µs", ge=0, le=1e6)
    gap_us: float = key(1.0, "Between the kernels of a stream.", "µs", ge=0, le=1e6)


class Jitter(Base):
    """Log-normal, drawn by frame and instruction: the same for every policy."""

    kernel: float = key(0.05, "Coefficient of variation of a kernel's time.", ge=0, le=10)
    launch: float = key(0.05, "Coefficient of variation of a launch's time.", ge=0, le=10)
    late_us: float = key(
        0.0, "Mean of what a symbol's samples come late, exponential.", "µs", ge=0, le=1e6
    )


class Fault(Base):
    """A device or a server that is lost, or comes back; a device may also stand still (hung)."""

    at_ms: float = key(..., "In virtual time.", "ms", ge=0, le=1e9)
    device: Annotated[int, Field(ge=0, le=4095)] | Literal["all"] | None = key(
        None, "Its number, from 0 over all servers in order; all: the interconnect is lost."
    )
    server: int | None = key(None, "Its number, from 0; it takes its devices along.", ge=0, le=63)
    event: Literal["lost", "hung", "back"] = key(..., "What happens to it.")
    noticed_ms: float = key(
        0.1,
        "Until the host notices a loss, or gives up waiting for a hung one.",
        "ms",
        ge=0,
        le=1e6,
    )


class Background(Base):
    """Kernels of somebody else on one device."""

    device: int = key(..., "Its number, from 0 over all servers in order.", ge=0, le=4095)
    kernels: int = key(1, "How many are always in its queue.", ge=1, le=10000)
    ctas: int = key(..., "Of each kernel.", ge=1, le=1_000_000)
    warps: int = key(..., "Of a CTA.", ge=1, le=32)
    registers: int = key(32, "Of a thread.", ge=1, le=255)
    shared_bytes: int = key(0, "Of a CTA.", ge=0, le=96 * 1024)
    mflop: float = key(..., "Of a CTA: millions of operations.", ge=0, le=1e6)
    kbytes: float = key(0.0, "Of device memory, by a CTA.", "kB", ge=0, le=1e6)


class RadioUnits(Base):
    """Radio units with the same cell."""

    cell: str = key(..., "A cell's file, from this file's folder, or an example's name.")
    count: int = key(1, "How many radio units.", ge=1, le=64)
    server: int | None = key(
        None, "Where they are at first; left out: each where the most room is.", ge=0, le=63
    )


_DEGREE = "Share of its SMs; null: by MegaStation's procedure."


class Degrees(Base):
    """Of each type of device."""

    v100: float | None = key(None, _DEGREE, ge=0, le=1)
    a100: float | None = key(None, _DEGREE, ge=0, le=1)
    h100: float | None = key(None, _DEGREE, ge=0, le=1)
    h200: float | None = key(None, _DEGREE, ge=0, le=1)


class Lroc(Base):
    """Of policy scoreboard."""

    urgent_us: float = key(
        200.0, "T_thr: slack below which a task is issued at once.", "µs", ge=0, le=1e6
    )
    degree: Degrees = Field(
        default_factory=Degrees, description="α: a device with less of its SMs free is too busy."
    )


class Trace(Base):
    """What trace.json shows."""

    policy: Policy | None = key(
        None, "Whose schedule; null: scoreboard's, or the first of `policies` if it is not there."
    )
    frames: int = key(10, "How many frames of each cell; 0: no trace.", ge=0, le=200)


class PoolStudy(Base):
    """Policies beside each other on a pool of simulated devices."""

    devices: list[Devices] = key([], "The pool, of one server.")
    links: Links = Field(default_factory=Links, description="Its fabric.")
    servers: list[Server] = key([], "Instead: several servers behind a switch.")
    switch: Switch = Field(default_factory=Switch, description="The fronthaul of servers.")
    economy: Economy = Field(default_factory=Economy, description="Of servers.")
    fallback_cores: int = key(
        0, "Of each host, an EPYC 7763: what serves while no device is up.", ge=0, le=64
    )
    cells: list[RadioUnits] = key(..., "What it serves.")
    policies: Annotated[list[Policy], Field(min_length=1)] = key(
        list(POLICIES), "Each serves the same frames."
    )
    profile: str = key(
        "megastation",
        "What is assumed of the kernels' times: megastation, roofline, or a device profile's file.",
    )
    frames: int = key(2000, "Of each cell and seed.", ge=1, le=10_000_000)
    warm_up: int = key(20, "First frames of each cell that no statistics have.", ge=0, le=100_000)
    seeds: list[Annotated[int, Field(ge=0, le=2**53)]] = key(
        [1], "One run of each policy for each; statistics have the frames of all."
    )
    deadline_ms: float = key(
        4.0, "From the start of a frame on air; later ones are refused.", "ms", ge=0.1, le=1e6
    )
    at_once: int = key(
        0,
        "0: frames come at the pace of the air; else so many of each cell are always under way.",
        ge=0,
        le=64,
    )
    apart_ms: float = key(
        0.0,
        "How much later each cell's frames start than those of the one before.",
        "ms",
        ge=0,
        le=1e6,
    )
    ring: int = key(8, "Frames of a cell that may be under way.", ge=1, le=64)
    zero_force_parts: int = key(1, "Parts by frequency of a zero-forcing task.", ge=1, le=64)
    scoreboard: Lroc = Field(default_factory=Lroc, description="Of policy scoreboard.")
    host: HostCosts = Field(default_factory=HostCosts, description="What the host costs.")
    jitter: Jitter = Field(default_factory=Jitter, description="What varies.")
    faults: list[Fault] = key([], "What is lost and comes back.")
    background: list[Background] = key([], "Load of somebody else.")
    trace: Trace = Field(default_factory=Trace, description="What trace.json shows.")

    def rack(self) -> list[Server]:
        """Every server, by number."""
        alone = Server(devices=self.devices, links=self.links)
        return [one for one in self.servers for _ in range(one.count)] or [alone]

    def traced(self) -> Policy:
        """Whose schedule trace.json shows."""
        usual: Policy = "scoreboard" if "scoreboard" in self.policies else self.policies[0]
        return self.trace.policy or usual
