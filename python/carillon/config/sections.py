"""The sections beside the frame format: the emulated air, the fronthaul, the machine."""

import re
from ipaddress import IPv4Address
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from carillon.config.units import Base, key


def _ipv4(text: str) -> str:
    return str(IPv4Address(text))


def _shm_name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}", text):
        raise ValueError("not a name for shared memory")
    return text


def _device_name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_-]{0,15}", text):
        raise ValueError("not a name for a network device")
    return text


def plannable(text: str) -> str:
    """A file's name; raises ValueError where a run plan cannot hold it."""
    if not text.isprintable() or "#" in text or text != text.strip():
        raise ValueError("not one line of plain text without #")
    return text


Address = Annotated[str, AfterValidator(_ipv4)]
Snr = Annotated[float, Field(ge=-60, le=80)]
ShmName = Annotated[str, AfterValidator(_shm_name)]
DeviceName = Annotated[str, AfterValidator(_device_name)]
FileName = Annotated[str, AfterValidator(plannable)]
_SHM_NAME = "a name of at most 64 letters, digits, dots, dashes and underscores"
_DEVICE_NAME = "a name of at most 15 letters, digits, dashes and underscores"
_ADDRESS = "an IPv4 address such as 192.168.1.2"


class Radio(Base):
    """The emulated radio unit, its users and the channel."""

    frames: int = key(
        16, "Different frames that are generated beforehand and replayed.", "frames", ge=1, le=4096
    )
    seed: int = key(
        1, "Of bits, channel and noise; the same seed gives the same samples.", ge=0, le=2**53
    )
    channel: Literal["rayleigh", "awgn"] = key(
        "rayleigh",
        "`rayleigh`: independent fading per user and antenna, over a block of frames constant or "
        "as for users that move. "
        "`awgn`: fixed, orthogonal gains of modulus one.",
    )
    taps: int = key(1, "Paths of the channel; 1 is flat over frequency.", "paths", ge=1, le=64)
    delay_spread_ns: float = key(
        100.0,
        "RMS delay spread of the exponential power profile, when taps > 1; at most a quarter of "
        "the prefix.",
        "ns",
        ge=0,
        le=100000,
    )
    coherence_frames: int = key(
        1,
        "Frames after which there is a new channel; until then it stays as it is, or moves on with "
        "`doppler_hz`.",
        "frames",
        ge=1,
        le=1024,
    )
    doppler_hz: float = key(
        0.0,
        "Above 0, how fast the channel changes from symbol to symbol: the largest Doppler shift, "
        "of users that move among scatterers all around (correlation J0(2π · doppler_hz · t)). At "
        "most a hundredth of `numerology.spacing_khz`.",
        "Hz",
        ge=0,
        le=4800,
    )
    snr_db: Snr | Annotated[list[Snr], Field(min_length=1)] = key(
        25.0,
        "Signal-to-noise ratio of a user at one antenna and subcarrier: one number for all users "
        "or a list with one for each.",
        "dB",
    )
    contingency: Literal["zeros", "references"] = key(
        "zeros",
        "What the radio unit puts on air instead of a downlink that is late. `references`: in a D "
        "symbol that carries these, user u's from each antenna a with a mod users = u, and zeros "
        "in all others.",
    )


class Fronthaul(Base):
    """How samples travel between radio unit and baseband unit."""

    kind: Literal["shm", "udp"] = key(
        "shm", "Shared memory on this machine, or UDP packets in Agora's wire format."
    )
    io: Literal["socket", "busy-poll", "io-uring", "af-xdp"] = key(
        "socket",
        "How UDP packets are received from the kernel. `socket`: recvmmsg. `busy-poll`: the same, "
        "and the call polls the card's queue instead of waiting for its interrupt; as root. "
        "`io-uring`: one request for all packets; Linux 6.0. `af-xdp`: past the kernel's network "
        "stack, from an Ethernet interface with one queue, which nobody else uses so; as root.",
        only_with="kind: udp",
    )
    bbu_address: Address = key(
        "127.0.0.1",
        "Where the baseband unit receives and sends from. The radio unit hears nobody else.",
        allowed=_ADDRESS,
    )
    bbu_port: int = key(
        8000, "First UDP port of the baseband unit, which it sends from.", ge=1, le=65535
    )
    radio_address: Address = key(
        "127.0.0.1",
        "Where the radio unit receives and sends from. The baseband unit hears nobody else.",
        allowed=_ADDRESS,
    )
    radio_port: int = key(9000, "UDP port of the radio unit, which it sends from.", ge=1, le=65535)
    receivers: int = key(
        1, "Sockets, each on its own port, among which antennas are dealt out.", ge=1, le=16
    )
    shm_name: ShmName = key(
        "carillon",
        "Name of the shared memory that `carillon run` and `carillon radio` meet in.",
        allowed=_SHM_NAME,
    )
    receive: Literal["host", "gpu", "auto"] = key(
        "host",
        "Where the baseband unit receives samples. `host`: in host memory. `gpu`: an RDMA card "
        "writes them into the memory of the only GPU; with `kind: udp` and `runtime.gpus: 1`, and "
        "frames that GPUs refuse are lost. `auto`: so where it can be had. Receiving into GPU "
        "memory has been tested with stand-ins only, not with a card and a GPU.",
    )
    key_file: FileName = key(
        "",
        "File of 32 hexadecimal digits that its owner alone may read, as seen from this one's "
        "folder: the key with which both sides authenticate each packet, for networks that are "
        "shared. It needs libsodium. Empty: packets are not authenticated.",
        allowed="a file's name, without `#`",
        only_with="kind: udp",
    )


class Data(Base):
    """Who owns the bits that the cell carries."""

    socket: FileName = key(
        "",
        "Unix socket, as seen from this file's folder, of the baseband unit's data port: a client "
        "gets the uplink's blocks there and gives the downlink's. Empty: the downlink's bits are "
        "the emulator's, which both sides know.",
        allowed="a file's name, without `#`",
    )
    users_socket: FileName = key(
        "",
        "That of the emulated users, whose client gives the uplink's blocks and gets the "
        "downlink's. Frames of the uplink are then made while the cell runs. Empty: the uplink's "
        "bits are known to both sides, and its frames replayed.",
        allowed="a file's name, without `#`",
    )
    tun: DeviceName = key(
        "",
        "Instead of `socket`: a TUN device, whose IPv4 packets for users' addresses the downlink "
        "carries, and which gets the uplink's.",
        allowed=_DEVICE_NAME,
    )
    users_tun: DeviceName = key(
        "",
        "Instead of `users_socket`: a TUN device, whose IPv4 packets from users' addresses the "
        "uplink carries, and which gets the downlink's.",
        allowed=_DEVICE_NAME,
    )
    network: Address = key(
        "10.45.0.0",
        "IPv4 network of 256 addresses: the server's is .1, user u's the u-th from .2 on.",
        allowed="an IPv4 address that ends in .0",
    )


class Stages(Base):
    """A number for each stage, in the order that a frame goes through them."""

    fft: int = key(0, "Receiving: FFT and channel estimation.", ge=0, le=128)
    zero_force: int = key(0, "Combiners and precoders.", ge=0, le=128)
    demodulate: int = key(0, "Equalizing and demodulating.", ge=0, le=128)
    decode: int = key(0, "Decoding and checking blocks.", ge=0, le=128)
    encode: int = key(0, "Encoding and modulating.", ge=0, le=128)
    precode: int = key(0, "Precoding.", ge=0, le=128)
    ifft: int = key(0, "Sending: inverse FFT.", ge=0, le=128)


class Groups(Stages):
    """Cores of each stage with policy core-groups; 0: those of the stage before."""


class Grain(Stages):
    """Chunks per claim: antennas, tiles of 16 subcarriers, packs of code blocks; 0: measured."""


class Runtime(Base):
    """Threads and cores of the baseband unit."""

    workers: int = key(
        0,
        "Worker threads, at most one on each core; 0 takes what the machine has. A single one "
        "leaves receiving to the thread of an emulated radio.",
        "threads",
        ge=0,
        le=128,
    )
    policy: Literal["earliest-frame", "core-groups", "static"] = key(
        "earliest-frame",
        "Who computes what when: all cores on the earliest frame; a group of cores for each stage; "
        "an even share of each instruction for each worker, fixed beforehand.",
    )
    groups: Groups = Field(
        default_factory=Groups,
        description="Cores of each stage; 0: those of the stage before. Only with "
        "`policy: core-groups`.",
        json_schema_extra={"only_with": "policy: core-groups"},
    )
    grain: Grain = Field(
        default_factory=Grain,
        description="Chunks per claim of each stage (antennas, tiles, packs of code blocks); "
        "0: as many as the measured time of a chunk asks for.",
    )
    pin_token: bool = key(
        False,
        "Only worker 0 schedules, as a manager would; otherwise whichever worker is there first.",
    )
    cores: list[Annotated[int, Field(ge=0, le=4095)]] = Field(
        default_factory=list[int],
        description="CPUs to pin threads to; empty: all that are allowed.",
    )
    realtime: bool = key(True, "Ask for SCHED_FIFO, pinned threads and locked memory.")
    gpus: int = key(
        0,
        "GPUs, at most, that work on whole frames; the cores do what these have no room for or "
        "cannot finish. 0: none. Measured on one H100 and one H200; several GPUs have not been "
        "tried.",
        ge=0,
        le=32,
    )
    gpu_partitions: int = key(
        1, "Devices made of the GPU, with SMs of their own each; only with `gpus: 1`.", ge=1, le=32
    )
    gpu_policy: Literal["frame-level", "symbol-level", "task-level", "scoreboard", "adaptive"] = (
        key("adaptive", "Which GPU works on what when: a policy for pools.")
    )
