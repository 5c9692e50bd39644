"""From a run folder's telemetry to its result."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pydantic import TypeAdapter

from carillon import delay_results, measures
from carillon.config.blocks import Direction
from carillon.config.plan import Power
from carillon.errors import InputError
from carillon.explain import Late, pick
from carillon.result import (
    Clock,
    Cores,
    DataPort,
    Distribution,
    Downlink,
    Explanation,
    Frames,
    Gap,
    Harq,
    HarqAttempt,
    IpPackets,
    Lates,
    Milestones,
    Pacing,
    PortGiven,
    PortReceived,
    Result,
    ScheduledFlow,
    Stage,
    Thread,
    Traffic,
    Uplink,
    User,
    UserSide,
)
from carillon.runfolder import RunFolder
from carillon.statistics import Percentiles, Values, decibels, ratio, wilson
from carillon.telemetry import CAUSES, ROLES, Records, Telemetry, cause_name, thread_name

LISTED_GAPS = 100
TRAFFIC = "traffic.json"  # of a demo with IP packets, in its run folder
FIRST_LATES, WORST_LATES = 100, 20


def build(folder: RunFolder, telemetry: Telemetry, lates: Sequence[Late]) -> Result:
    """Every measure of a run."""
    count = telemetry.counters()
    frames = telemetry.read("frames")
    users = telemetry.read("users")
    threads = _threads(telemetry)
    frame_ms = float(folder.derived["frame_ms"])
    times = measures.frame_times(frames, frame_ms)
    air_ms = max(count["frames_seen"], count["frames_sent"]) * frame_ms
    # The air goes on while frames are missed, and the threads' account with it.
    lasted_ms = max(air_ms, _span_ms(frames, frame_ms))
    cores = _cores(telemetry.read("threads"), count["ghost_busy"], lasted_ms)
    gaps = telemetry.read("gaps", newest=LISTED_GAPS)
    return Result(
        version=folder.version,
        name=folder.cell.name,
        role=folder.run.role,
        transport=folder.cell.fronthaul.kind,
        started=folder.started,
        finished=telemetry.phase() == "done",
        seconds=air_ms / 1e3,
        cpu=str(folder.machine["cpu"]),
        machine=folder.machine,
        seed=folder.cell.radio.seed,
        workers=sum("worker" in thread.roles for thread in threads),
        frame_ms=frame_ms,
        deadlines_ms={
            "uplink_budget": folder.cell.deadlines.uplink_budget_ms,
            "downlink_lead": folder.cell.deadlines.downlink_lead_ms,
        },
        frames=Frames(
            sent=count["frames_sent"] or count["frames_seen"],
            skipped=count["frames_skipped"],
            seen=count["frames_seen"],
            completed=count["frames_completed"],
            incomplete=int(measures.lacks_packets(frames).sum()),
            nacked=count["frames_nacked"],
            sent_to_gpus=count["frames_sent_away"],
            handed_back=count["frames_handed_back"],
            substituted=count["frames_substituted"],
            unreported=count["frames_unreported"],
            passed_over=count["frames_passed_over"],
        ),
        lates=Lates(**{cause: count[f"lates_{cause}"] for cause in CAUSES}),
        uplink=_uplink(folder, count, users, times, air_ms),
        downlink=_downlink(folder, count, users, times, len(frames), air_ms),
        milestones_ms=Milestones(
            start=_distribution(times.start),
            pilot=_distribution(times.pilot),
            zeroforce=_distribution(times.zeroforce),
            data=_distribution(times.data),
        ),
        clock=_clock(folder.run.power),
        delays=delay_results.build(folder, frames),
        core_ms_per_ms=None if cores.kernels is None else cores.kernels + (cores.scheduling or 0),
        cores=cores,
        users=[
            _user(index, record, unverified)
            for index, (record, unverified) in enumerate(
                zip(users, _unverified(folder, count), strict=True)
            )
        ],
        stages=_stages(telemetry, lasted_ms),
        threads=threads,
        packets={
            name.removeprefix("packets_"): count[name]
            for name in count
            if name.startswith(("packets_", "rejected_"))
        },
        data_port=_port(telemetry, lasted_ms, users=False),
        users_port=_port(telemetry, lasted_ms, users=True),
        scheduler=_flows(telemetry),
        traffic=_traffic(folder),
        nacks={"overload_nack": count["overload_nacks"], "harq_nack": count["harq_nacks"]},
        saturated_samples=count["saturated_samples"],
        ill_conditioned=count["ill_conditioned"],
        pacing=_pacing(count),
        gaps=[
            _gap(number, gap, count["started"], telemetry.threads)
            for number, gap in enumerate(gaps, telemetry.written("gaps") - len(gaps) + 1)
        ],
        gaps_total=telemetry.written("gaps"),
        explanations=[Explanation(**vars(late)) for late in pick(lates, FIRST_LATES, WORST_LATES)],
        configuration=folder.cell.model_dump(mode="json"),
    )


def _port(telemetry: Telemetry, lasted_ms: float, *, users: bool) -> DataPort | None:
    for record in telemetry.read("ports"):
        count = {name: int(record[name]) for name in record.dtype.names or ()}
        if bool(count["users"]) == users:
            return DataPort(
                clients=count["clients"],
                ip=_packets(count) if count["ip"] else None,
                received=PortReceived(**{name: count[name] for name in PortReceived.model_fields}),
                given=PortGiven(**{name: count[name] for name in PortGiven.model_fields}),
                refused={
                    name.removeprefix("refused_"): count[name]
                    for name in count
                    if name.startswith("refused_")
                },
                harq=_harq(count, lasted_ms),
            )
    return None


def _harq(count: dict[str, int], lasted_ms: float) -> Harq | None:
    """By attempt; None where nothing was sent with soft bits to keep."""
    numbers = range(1, 5)
    if not count["harq_blocks_1"]:
        return None
    again = sum(count[f"harq_good_{n}"] for n in numbers[1:])
    return Harq(
        attempts=[
            HarqAttempt(
                attempt=n,
                blocks=count[f"harq_blocks_{n}"],
                good=count[f"harq_good_{n}"],
                goodput_mbps=ratio(count[f"harq_bits_{n}"] * 1e-3, lasted_ms),
            )
            for n in numbers
        ],
        again_ms=ratio(count["harq_again"] * 1e-6, again),
        again_max_ms=count["harq_again_most"] * 1e-6,
    )


def _packets(count: dict[str, int]) -> IpPackets:
    return IpPackets(**{name: count[f"ip_{name}"] for name in IpPackets.model_fields})


def _flows(telemetry: Telemetry) -> list[ScheduledFlow]:
    return [
        ScheduledFlow(
            user=int(flow["user"]),
            direction="downlink" if flow["down"] else "uplink",
            blocks=int(flow["blocks"]),
            good=int(flow["good"]),
            failed=int(flow["failed"]),
            late=int(flow["late"]),
            unheard=int(flow["blocks"]) - sum(int(flow[end]) for end in ("good", "failed", "late")),
            bler=ratio(int(flow["failed"]), int(flow["good"]) + int(flow["failed"])),
            resource_blocks=int(flow["resource_blocks"]),
            mean_mcs=ratio(int(flow["mcs_sum"]), int(flow["resource_blocks"])),
            snr_db=float(flow["snr_db"]) if flow["measured"] else None,
            offset_db=float(flow["offset_db"]),
        )
        for flow in (telemetry.read("flows") if telemetry.has("flows") else ())
    ]


def _traffic(folder: RunFolder) -> list[Traffic]:
    file = folder.path / TRAFFIC
    if not file.exists():
        return []
    try:
        return TypeAdapter(list[Traffic]).validate_json(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error


def _span_ms(frames: Records, frame_ms: float) -> float:
    """From the first frame's start to the last one's end."""
    starts = frames["air_start"]
    return float(starts.max() - starts.min()) / 1e6 + frame_ms if len(starts) else 0.0


def _distribution(values: Values) -> Distribution:
    return Distribution(**asdict(Percentiles.of(values)))


def _delivered_mbps(
    side: dict[str, Any] | None, name: Direction, users: Records, air_ms: float
) -> float:
    """Payload of the blocks that were delivered."""
    if side is None or air_ms == 0:
        return 0.0
    assert users.dtype.names is not None
    if f"{name}_bits" in users.dtype.names:
        return _sum(users, f"{name}_bits") / air_ms / 1e3
    # An earlier Carillon counted blocks alone; each user's had one size.
    bits = sum(
        (int(own[f"{name}_blocks"]) - int(own[f"{name}_failed"]))
        * user["payload_bits"]
        / user["blocks"]
        for own, user in zip(users, side["users"], strict=False)
        if user["blocks"]
    )
    return float(bits / air_ms / 1e3)


def _uplink(
    folder: RunFolder, count: dict[str, int], users: Records, times: measures.FrameTimes, air: float
) -> Uplink:
    side = folder.derived["uplink"]
    blocks, failed = count["uplink_blocks"], count["uplink_failed"]
    return Uplink(
        blocks=blocks,
        blocks_failed=failed,
        bler=ratio(failed, blocks),
        bler_interval=wilson(failed, blocks),
        latency_ms=_distribution(times.uplink),
        rate_mbps=_delivered_mbps(side, "uplink", users, air),
        ideal_rate_mbps=side["ideal_rate_mbps"] if side else 0.0,
        extra_latency_ms=_distribution(times.uplink_extra),
        raw_ber=ratio(_sum(users, "raw_errors"), _sum(users, "raw_bits")),
        evm_percent=_evm(_sum(users, "error_power"), _sum(users, "symbols")),
        snr_db=decibels(ratio(_sum(users, "symbols"), _sum(users, "noise_power"))),
        iterations=ratio(_sum(users, "iterations"), _sum(users, "code_blocks")),
    )


def _downlink(
    folder: RunFolder,
    count: dict[str, int],
    users: Records,
    times: measures.FrameTimes,
    frames: int,
    air: float,
) -> Downlink:
    side = folder.derived["downlink"]
    # The engine's blocks are those that its users checked.
    checked, failed = count["downlink_blocks"], count["downlink_failed"]
    ideal = float(side["ideal_rate_mbps"]) if side else 0.0
    frame_ms, symbols = folder.derived["frame_ms"], len(folder.derived["symbols"])
    latencies = times.downlink if side else times.downlink[:0]
    return Downlink(
        blocks=checked + count["downlink_unverified"],
        blocks_failed=failed,
        blocks_unverified=count["downlink_unverified"],
        bler=ratio(failed, checked),
        bler_interval=wilson(failed, checked),
        latency_ms=_distribution(latencies),
        rate_mbps=_delivered_mbps(side, "downlink", users, air),
        ideal_rate_mbps=ideal,
        symbols_sent=count["downlink_symbols_sent"],
        symbols_substituted=count["downlink_symbols_substituted"],
        achievable_rate_mbps=ratio(
            sum(measures.achievable_rate(ideal, frame_ms, ms) for ms in latencies),
            frames if side else 0,
        ),
        achievable_rate_whole_symbols_mbps=ratio(
            sum(
                measures.achievable_rate_whole_symbols(
                    ideal, frame_ms, ms, symbols, side["data_symbols"]
                )
                for ms in latencies
            ),
            frames if side else 0,
        ),
        evm_percent=_evm(_sum(users, "downlink_error_power"), _sum(users, "downlink_symbols")),
    )


def _sum(records: Records, name: str) -> float:
    return float(records[name].sum())


def _evm(error_power: float, symbols: float) -> float | None:
    power = ratio(error_power, symbols)
    return None if power is None else 100 * power**0.5


def _unverified(folder: RunFolder, count: dict[str, int]) -> list[int]:
    """By user: whole frames go unchecked, each with all its blocks. Of frames that differ it is not
    known which; users have shares as in all of them, and together all blocks."""
    side = folder.derived["downlink"]
    if side is None:
        return [0] * folder.cell.users
    shares, before = [], 0
    for blocks in itertools.accumulate(user["blocks"] for user in side["users"]):
        until = count["downlink_unverified"] * blocks // side["blocks"]
        shares.append(until - before)
        before = until
    return shares


def _user(index: int, u: Records, unverified: int) -> User:
    return User(
        user=index,
        uplink=UserSide(
            blocks=int(u["uplink_blocks"]),
            blocks_failed=int(u["uplink_failed"]),
            blocks_unverified=0,
            evm_percent=_evm(float(u["error_power"]), float(u["symbols"])),
        ),
        downlink=UserSide(
            blocks=int(u["downlink_blocks"]) + unverified,
            blocks_failed=int(u["downlink_failed"]),
            blocks_unverified=unverified,
            evm_percent=_evm(float(u["downlink_error_power"]), float(u["downlink_symbols"])),
        ),
        raw_ber=ratio(float(u["raw_errors"]), float(u["raw_bits"])),
        snr_db=decibels(ratio(float(u["symbols"]), float(u["noise_power"]))),
        iterations=ratio(float(u["iterations"]), float(u["code_blocks"])),
    )


def _stages(telemetry: Telemetry, air_ms: float) -> list[Stage]:
    records = telemetry.read("stages")
    total = _sum(records, "busy")
    return [
        Stage(
            name=name,
            tasks=int(record["tasks"]),
            chunks=int(record["chunks"]),
            busy_ms=float(record["busy"]) / 1e6,
            share=ratio(float(record["busy"]), total) or 0.0,
            us_per_chunk=ratio(float(record["busy"]) / 1e3, float(record["chunks"])),
            core_ms_per_ms=ratio(float(record["busy"]) / 1e6, air_ms),
        )
        for name, record in zip(telemetry.opcodes, records, strict=False)
        if record["tasks"]
    ]


_TIMES = ("busy", "overhead", "network", "emulating", "spinning", "sleeping")


def _threads(telemetry: Telemetry) -> list[Thread]:
    threads = []
    for name, record in zip(telemetry.threads, telemetry.read("threads"), strict=False):
        total = sum(float(record[time]) for time in _TIMES)
        roles = [role for bit, role in ROLES.items() if int(record["roles"]) & bit]
        shares = {time: ratio(float(record[time]), total) or 0.0 for time in _TIMES}
        threads.append(
            Thread(
                name=name,
                core=int(record["core"]),
                roles=roles,
                realtime=bool(record["realtime"]),
                **shares,
            )
        )
    return threads


def _clock(power: Power) -> Clock | None:
    if not power.clocks:
        return None
    fixed = None if power.late else power.fixed or power.clocks[-1]
    return Clock(
        emulated=not power.sysfs, governed=bool(power.late), mhz=list(power.clocks), fixed_mhz=fixed
    )


def _cores(threads: Records, ghost_ns: int, air_ms: float) -> Cores:
    """Without what kernels spent on frames that were announced but never sent."""

    def per_ms(name: str, less: float = 0) -> float | None:
        return ratio((_sum(threads, name) - less) / 1e6, air_ms)

    return Cores(
        kernels=per_ms("busy", ghost_ns),
        scheduling=per_ms("overhead"),
        network=per_ms("network"),
        emulator=per_ms("emulating"),
    )


def _pacing(count: dict[str, int]) -> Pacing | None:
    pacing = measures.pacing(count)
    if pacing is None:
        return None
    return Pacing(mean_us=pacing[0], deviation_us=pacing[1], frames=count["pacing_frames"])


def _gap(number: int, gap: Records, started: int, threads: list[str]) -> Gap:
    return Gap(
        number=number,
        cause=cause_name(int(gap["cause"])),
        thread=thread_name(threads, int(gap["thread"])),
        start_ms=(int(gap["start"]) - started) / 1e6,
        length_ms=int(gap["length"]) / 1e6,
    )
