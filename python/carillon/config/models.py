"""The keys of a cell's YAML file. Descriptions, units and ranges here are the documentation.

The tree of `Cell` mirrors the engine's FrameFormat (engine/frame/format.hpp), with the sections
`radio`, `fronthaul` and `runtime` beside it. What crosses keys is checked by the engine.
"""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from carillon.config.sections import Data, Fronthaul, Radio, Runtime
from carillon.config.units import Base, key

# TS 38.212 table 5.3.2-1.
LIFTING_SIZES = sorted(
    a << j for a in (2, 3, 5, 7, 9, 11, 13, 15) for j in range(8) if a << j <= 384
)


def _known_lifting(size: int) -> int:
    if size not in LIFTING_SIZES:
        raise ValueError("unknown lifting size")
    return size


def _no_bool(value: object) -> object:
    """True is 1 to Python."""
    if isinstance(value, bool):
        raise ValueError("a truth value")
    return value


_FRACTION = r"^[0-9]{1,9}/[1-9][0-9]{0,8}$"


def _from_fraction(value: object) -> object:
    """ "1/3" as its quotient; anything else as it is."""
    if isinstance(value, str) and re.match(_FRACTION, value):
        numerator, denominator = value.split("/")
        return int(numerator) / int(denominator)
    return value


_Number = Annotated[float, Field(ge=0.01, le=0.95)]
_Fraction = Annotated[str, Field(pattern=_FRACTION)]
Rate = Annotated[
    _Number, BeforeValidator(_from_fraction, json_schema_input_type=_Number | _Fraction)
]


class Numerology(Base):
    """The OFDM grid."""

    fft_size: Literal[128, 256, 512, 1024, 2048, 4096] = key(
        512, "Points of the FFT; the sample rate is fft_size × spacing_khz.", "bins"
    )
    subcarriers: int = key(
        300, "Used subcarriers, centred in the FFT.", "subcarriers", ge=12, le=4096
    )
    dc_hole: bool = key(False, "Leave the bin at DC empty; the upper half moves up by one bin.")
    spacing_khz: float = key(15.0, "Subcarrier spacing.", "kHz", ge=1, le=480)
    prefix: Literal["nr-normal", "constant"] = key(
        "nr-normal",
        "Cyclic prefix: `nr-normal` is that of TS 38.211 (longer at each half millisecond, counted "
        "from the start of each frame, also of one that is no multiple of half a millisecond), "
        "`constant` takes prefix_samples.",
    )
    prefix_samples: int = key(
        36,
        "Length of every symbol's prefix.",
        "samples",
        only_with="prefix: constant",
        ge=0,
        le=4096,
    )


class Pilots(Base):
    """How users' pilots are kept apart."""

    kind: Literal["time", "comb"] = key(
        "time",
        "`time`: one user in each P symbol. `comb`: user u sends in P symbol u // comb, on every "
        "comb-th subcarrier from u mod comb.",
    )
    comb: int = key(
        1,
        "Width of the comb: users that share a P symbol; 1 with kind `time`.",
        "users",
        ge=1,
        le=16,
    )
    root: int = key(25, "Root of the Zadoff–Chu base sequence.", ge=1, le=99999)
    occasions: int = key(
        1,
        "Times in a frame that all users send their pilots: its P symbols are cut, in their order, "
        "into so many equal runs, each with combiners of its own. A U has those of the last run "
        "that ended before it, or of the first one.",
        ge=1,
        le=70,
    )


Group = Annotated[int, Field(ge=1, le=16)]


class Combiner(Base):
    """The linear detector of the uplink; the downlink is precoded with its transpose."""

    kind: Literal["zf", "mmse", "mrc"] = key(
        "zf", "Zero-forcing, minimum mean square error, or maximum-ratio (conjugate)."
    )
    group: Literal["auto"] | Group = key(
        "auto",
        "Neighbouring subcarriers that share one combiner: the more, the less work and the less "
        "exact. 12 are a resource block. `auto` takes the most that cost less than 0.1 dB in the "
        "channel of `radio`, 16 where it is flat.",
        "subcarriers",
    )
    precision: Literal["fastest", "fp32", "fp16", "int16"] = key(
        "fastest",
        "What combiners are kept and applied in. `fp16`: half the memory, also for received "
        "symbols; AVX-512-FP16 multiplies so, others only read it. `int16`: integers with a "
        "scale for each user, half the memory, multiplied up to twice as fast as fp32. `fastest` "
        "is the fastest that costs less than 0.1 dB, which rules fp16 out with many users for "
        "the antennas and for most of 256QAM, and int16 hardly ever; it is fp32 for fewer than 8 "
        "users, in the downlink 16.",
    )


Row = Annotated[int, Field(ge=0, le=28)]


def _none_is_false(value: object) -> object:
    return False if value == "none" else value


class Coding(Base):
    """Channel coding (TS 38.212) and modulation of one direction."""

    block: Literal["frame", "slot", "symbol"] = key(
        "slot", "What one transport block of a user spans."
    )
    crc: Annotated[bool, BeforeValidator(_none_is_false)] = key(
        True,
        "Attach the CRCs of 38.212; `none` says the same as false. Without them a block counts as "
        "failed when it differs from what the emulated user sent; without an emulated user, when "
        "its parity checks fail.",
    )
    mcs_table: Literal["none", "64qam", "256qam", "low-se"] = key(
        "none",
        "Table of TS 38.214 5.1.3.1 that mcs_index points into; `none` takes modulation and rate.",
    )
    mcs_index: Row | Annotated[list[Row], Field(min_length=1)] = key(
        0,
        "Row of mcs_table: one number for all users or a list with one for each; 0 without a "
        "table.",
    )
    modulation: Literal["qpsk", "16qam", "64qam", "256qam"] = key(
        "16qam", "Constellation.", only_with="mcs_table: none"
    )
    rate: Rate = key(
        1 / 3,
        "Target code rate.",
        "information/coded bits",
        allowed="a number between 0.01 and 0.95, also as a fraction such as 1/3",
        only_with="mcs_table: none",
    )
    base_graph: Annotated[Literal["auto", 1, 2], BeforeValidator(_no_bool)] = key(
        "auto", "LDPC base graph; `auto` follows 38.212 6.2.2."
    )
    lifting: Literal["auto"] | Annotated[int, AfterValidator(_known_lifting)] = key(
        "auto",
        "LDPC lifting size Z. `auto` follows 38.212 5.2.2; a number fills whole code blocks of "
        "22·Z (base graph 1) or 10·Z (base graph 2) bits.",
        allowed="`auto` or " + ", ".join(map(str, LIFTING_SIZES)),
    )
    redundancy_version: int = key(0, "Where reading of the circular buffer starts.", ge=0, le=3)
    buffer_limit: float = key(
        1.0, "Circular buffer of the limited rate matcher, as a share of the whole.", ge=0.3, le=1
    )
    iterations: int = key(8, "Most LDPC decoder iterations for a code block.", ge=1, le=100)
    early_stop: bool = key(
        True, "Stop decoding a code block as soon as its checks hold; `false` only to measure."
    )

    def mcs_of(self, user: int) -> int:
        """The user's row of mcs_table."""
        rows = self.mcs_index if isinstance(self.mcs_index, list) else [self.mcs_index]
        return rows[0] if len(rows) == 1 else rows[user]


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("control characters")
    return text


OneLine = Annotated[str, AfterValidator(_printable)]


class Grant(Base):
    """Resource blocks (12 subcarriers) of one user in one slot, all its data symbols or some."""

    user: int = key(0, "The user, from 0.", ge=0, le=127)
    slot: int = key(
        0,
        "The slot, from 0; with several `frames` they count on.",
        ge=0,
        le=1048575,
    )
    direction: Literal["uplink", "downlink"] = key("uplink", "Who sends.")
    first_block: int = key(0, "First resource block.", ge=0, le=341)
    blocks: int = key(1, "How many resource blocks.", ge=1, le=342)
    redundancy_version: int = key(0, "Of this grant's transport block.", ge=0, le=3)
    harq_process: int = key(0, "HARQ process the block belongs to.", ge=0, le=15)
    first_symbol: int = key(0, "First symbol of the slot that it may have.", ge=0, le=139)
    symbols: int = key(
        0, "How many symbols from there on; 0: to the slot's end.", "symbols", ge=0, le=140
    )
    modulation: Literal["cell", "qpsk", "16qam", "64qam", "256qam"] = key(
        "cell", "Constellation; `cell`: its direction's. Not beside an `mcs_table`."
    )
    rate: Literal["cell"] | Rate = key(
        "cell",
        "Target code rate, to a tenth of 1/1024; `cell`: its direction's. Not beside an "
        "`mcs_table`.",
        allowed="`cell`, or a number between 0.01 and 0.95, also as a fraction such as 1/3",
    )
    mcs: Literal["cell"] | Annotated[int, BeforeValidator(_no_bool), Field(ge=0, le=28)] = key(
        "cell",
        "Row of its direction's `mcs_table`; `cell`: the `mcs_index`.",
        allowed="`cell` or a whole number between 0 and 28",
    )


GrantList = list[Grant]


class Grants(Base):
    """Which user has which part of the band in which slot."""

    kind: Literal["full", "round-robin", "list", "file", "port", "scheduler"] = key(
        "full",
        "`full`: every user has the whole band. `round-robin`: the band is cut in one share for "
        "each user, and in slot n user u has share (u + n) mod users. `list`: as listed. `file`: "
        "as listed in a file, slot after slot. `port`: as a program says at the data port while "
        "the frames come, see docs/data-port.md. `scheduler`: as a scheduler in the same process "
        "decides while they come, for the IP packets of `carillon demo --ip`, see docs/mac.md.",
    )
    file: OneLine = key(
        "",
        "Of kind `file`: a line of JSON for each slot, see docs/slots.md. Found from the cell's "
        "file.",
        allowed="one line of plain text",
    )
    frames: int = key(
        1,
        "Frames that differ, one after another, after which they repeat. Of kind `file` as many as "
        "it has.",
        "frames",
        ge=1,
        le=4096,
    )
    list: GrantList = Field(
        default_factory=GrantList, description="The grants of kind `list`, one mapping each."
    )
    harq_processes: int = key(
        0,
        "Of kind `port`: HARQ processes of each user in the uplink. Where there are any, soft bits "
        "of blocks that failed are kept, and combined with those of what is sent again.",
        "processes",
        ge=0,
        le=16,
    )
    policy: Literal["round-robin", "proportional-fair"] = key(
        "proportional-fair",
        "Of kind `scheduler`: whose resource blocks. `round-robin`: one to each user in turn. "
        "`proportional-fair`: first who could have most for what he had.",
    )
    target_bler: float = key(
        0.1,
        "Of kind `scheduler`: the share of blocks that may fail. MCS rows follow the measured SNR, "
        "corrected until that share does.",
        ge=0.001,
        le=0.5,
    )

    @property
    def live(self) -> bool:
        """Whether frames are scheduled while they come."""
        return self.kind in ("port", "scheduler")


class Deadlines(Base):
    """When work must be done."""

    uplink_budget_ms: float = key(
        1.0, "From the air end of a block's last symbol to its bits.", "ms", ge=0.01, le=1000
    )
    downlink_lead_ms: float = key(
        0.5,
        "A symbol's samples leave this long before the air start of its unit.",
        "ms",
        ge=0,
        le=100,
    )
    precoder_age: int = key(
        0,
        "Frames between the pilots and the downlink that is precoded with them. 0 is the same "
        "frame, which needs room between P and D: a D has the last pilot occasion that ended "
        "before it leaves. Of an older frame all D have the last one.",
        "frames",
        ge=0,
        le=63,
    )
    downlink_unit: Literal["symbol", "slot", "frame"] = key(
        "symbol",
        "What of the downlink goes on air whole or not at all. All D symbols of a unit must leave "
        "before the first of them is on air; if one does not, the radio unit's contingency takes "
        "the place of all.",
    )
    lead_quantile: float = key(
        0.0,
        "Where above 0, the downlink's lead follows this quantile of T_f, the way's delay of the "
        "last 1000 frames. It is `downlink_lead_ms` at least, and takes at most half of the time "
        "that is then left between the last pilot and the downlink.",
        ge=0,
        le=0.9999,
    )


def _plain_line(schedule: str) -> str:
    """The engine tells a wrong letter; what would end or comment its line it cannot see."""
    if not schedule.isprintable() or "#" in schedule or schedule != schedule.strip():
        raise ValueError("not one word")
    return schedule


Schedule = Annotated[str, AfterValidator(_plain_line)]


class Cell(Base):
    """One cell: its frame, and how this machine emulates, carries and computes it."""

    model_config = ConfigDict(extra="forbid", title="Carillon cell")

    name: OneLine = key(
        "",
        "A short name, for reports; the file's name when empty.",
        allowed="one line of plain text",
    )
    description: str = key("", "One or two sentences for people.")
    antennas: int = key(8, "M, the base station's antennas.", "antennas", ge=1, le=256)
    users: int = key(
        2,
        "K, spatial streams; no more may share a combiner than there are antennas.",
        "users",
        ge=1,
        le=128,
    )
    cell_id: int = key(
        0, "Identity of the cell: in every packet, and in scrambling.", ge=0, le=1007
    )
    numerology: Numerology = Field(default_factory=Numerology)
    schedule: Schedule = key(
        "PPUUUUUUUUUUUU",
        "The frame, one letter for each symbol: P pilot, U uplink, D downlink, G guard. 1 to 140 "
        "symbols. Data waits for all P of its pilot occasion, of which a frame has one unless "
        "`pilots.occasions` says otherwise. The first D of each precoder carries only references.",
        allowed="text: one word of the letters P, U, D and G",
    )
    symbols_per_slot: int = key(
        14, "Symbols in a slot; grants are per slot.", "symbols", ge=1, le=140
    )
    pilots: Pilots = Field(default_factory=Pilots)
    combiner: Combiner = Field(default_factory=Combiner)
    uplink: Coding = Field(default_factory=Coding)
    downlink: Coding = Field(default_factory=Coding)
    grants: Grants = Field(default_factory=Grants)
    deadlines: Deadlines = Field(default_factory=Deadlines)
    ring: int = key(4, "Frames that may be in flight at once.", "frames", ge=2, le=64)
    radio: Radio = Field(default_factory=Radio)
    fronthaul: Fronthaul = Field(default_factory=Fronthaul)
    data: Data = Field(default_factory=Data)
    runtime: Runtime = Field(default_factory=Runtime)
