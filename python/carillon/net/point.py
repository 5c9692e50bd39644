"""What is measured: the paper's operating point, ways through the kernel, and the paper's figures.

The paper is Malm, Ruttik and Tirkkonen, "Latency-Aware Power Management in Software-Defined Radios"
(2020): section 8.3, tables 3, 9 and 10.
"""

from __future__ import annotations

from dataclasses import dataclass

from carillon.errors import InputError

MTUS = (604, 8028)
_WIRE_HEADERS = 28  # IPv4 and UDP
_HEADER = 64  # of a packet in Agora's wire format
_SAMPLE = 4  # bytes: 16 bits each of I and Q
LEAST_MTU = _WIRE_HEADERS + _HEADER + _SAMPLE
_MOST_PACKETS = 64


@dataclass(frozen=True)
class Point:
    """An exchange: the samples of one TTI, there and back, in as few packets as the MTU allows."""

    msps: float
    samples: int
    mtu: int

    def __post_init__(self) -> None:
        if self.mtu < LEAST_MTU:
            raise InputError(
                f"an MTU of {self.mtu} bytes holds no sample beside headers of "
                f"{LEAST_MTU - _SAMPLE} bytes; {LEAST_MTU} is the least"
            )
        if self.packets > _MOST_PACKETS:
            raise InputError(
                f"{self.samples} samples at an MTU of {self.mtu} bytes are {self.packets} packets, "
                f"of which an exchange may have {_MOST_PACKETS}: fewer samples, or a larger MTU"
            )

    @property
    def per_s(self) -> float:
        """Exchanges a second."""
        return self.msps * 1e6 / self.samples

    @property
    def packet_samples(self) -> int:
        """At most, in one packet."""
        return (self.mtu - _WIRE_HEADERS - _HEADER) // _SAMPLE

    @property
    def packets(self) -> int:
        """Of an exchange, each way."""
        return -(-self.samples // self.packet_samples)

    @property
    def packet_bytes(self) -> int:
        """The longest datagram's payload."""
        return _HEADER + _SAMPLE * min(self.samples, self.packet_samples)

    @property
    def wire_bytes(self) -> int:
        """Of an exchange each way, with the headers of Carillon, UDP and IPv4."""
        return self.samples * _SAMPLE + self.packets * (_WIRE_HEADERS + _HEADER)


@dataclass(frozen=True)
class Way:
    """How packets get from the kernel: fronthaul.io, and whether the receiver sleeps."""

    name: str
    io: str
    sleeping: bool
    words: str


WAYS = (
    Way("kernel", "socket", True, "recvmmsg; the receiver sleeps until packets wake it"),
    Way("socket", "socket", False, "recvmmsg; the receiver looks again and again"),
    Way("busy-poll", "busy-poll", False, "the same, and each look polls the card's queue"),
    Way("io-uring", "io-uring", False, "one request for all packets; looks are no system calls"),
    Way("af-xdp", "af-xdp", False, "past the kernel's network stack"),
)


@dataclass(frozen=True)
class Published:
    """A row of tables 9 and 10."""

    configuration: str
    mtu: int
    mean_us: float
    std_us: float


PUBLISHED = (
    Published("Mellanox 40G kernel", 604, 171.8, 90.7563),
    Published("Mellanox 40G offload", 604, 59.8, 14.7207),
    Published("Intel 40G kernel", 604, 127.0, 42.4676),
    Published("Mellanox 40G kernel", 8028, 155.8, 34.3977),
    Published("Mellanox 40G offload", 8028, 119.4, 8.5615),
    Published("Intel 40G kernel", 8028, 181.8, 63.4287),
)
