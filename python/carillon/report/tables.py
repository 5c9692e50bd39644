"""The tables of the page."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence

from carillon.explain import pick
from carillon.report import late_tables
from carillon.report.table import row_of, table
from carillon.result import DataPort, Explanation, Harq, Result, ScheduledFlow, Traffic
from carillon.runfolder import RunFolder

_FIRST, _WORST = 8, 4  # late frames that show at once


def sections(folder: RunFolder, result: Result) -> Iterator[str]:
    """Every table that has something to say."""
    yield _latency(result)
    yield _lates(result)
    if result.delays is not None:
        yield from late_tables.sections(result.delays)
    if result.stages:
        yield _stages(result)
    yield _users(result)
    if result.threads:
        yield _threads(result)
    yield _counts(result)
    if result.data_port is not None:
        yield _data_port("Data port", result.data_port)
        if result.data_port.harq is not None:
            yield _harq(result.data_port.harq)
    if result.users_port is not None:
        yield _data_port("Data port of the users", result.users_port)
    if result.scheduler:
        yield _scheduler(result.scheduler)
    if result.traffic:
        yield _traffic(result.traffic)
    if result.gaps:
        yield _gaps(result)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _latency(result: Result) -> str:
    m = result.milestones_ms
    rows = [
        row_of("D_UL: first packet → last bits", result.uplink.latency_ms),
        row_of("D_UL − T", result.uplink.extra_latency_ms),
        row_of("D_DL: frame start → first downlink symbol ready", result.downlink.latency_ms),
        row_of("D_start: first packet → first task", m.start),
        row_of("T_pilot: first packet → pilots processed", m.pilot),
        row_of("T_ZF: pilots processed → combiners ready", m.zeroforce),
        row_of("T_data: combiners ready → last bits", m.data),
    ]
    note = (
        f"Milliseconds; a frame lasts {result.frame_ms:.4g} ms. A percentile needs two samples "
        "above it, else it is left out. Budgets: uplink "
        f"{result.deadlines_ms['uplink_budget']:.4g} ms after a block's last symbol, downlink "
        f"{result.deadlines_ms['downlink_lead']:.4g} ms before a symbol's start."
    )
    head = ["", "p50", "p90", "p99", "p99.9", "p99.99", "max", "frames"]
    return table("Latency", note, head, [row for row in rows if row[-1]])


def _lates(result: Result) -> str:
    causes = result.lates.model_dump()
    return table(
        "Late frames",
        "By cause; each frame is counted once.",
        ["", *(cause.replace("_", " ") for cause in causes)],
        [["frames", *causes.values()]],
        _explanations(result) if result.explanations else "",
    )


def _explanations(result: Result) -> str:
    total = result.frames.seen - result.frames.completed
    shown = pick(result.explanations, _FIRST, _WORST)
    parts = [f'<ul class="explanations">{_sentences(shown)}</ul>']
    if rest := [late for late in result.explanations if late not in shown]:
        parts.append(
            f"<details><summary>{len(rest)} more late frames</summary>"
            f'<ul class="explanations">{_sentences(rest)}</ul></details>'
        )
    if total > len(result.explanations):
        parts.append(
            f"<p>Shown are the first late frames and those that ended latest, "
            f"{len(result.explanations)} of {total}; the column <code>explanation</code> of "
            f"frames.csv, beside this page, has all of them.</p>"
        )
    return "".join(parts)


def _sentences(explanations: Sequence[Explanation]) -> str:
    return "".join(
        f"<li><b>Frame {late.frame}</b> ({html.escape(late.cause.replace('_', ' '))}): "
        f"{html.escape(late.text)}</li>"
        for late in explanations
    )


def _stages(result: Result) -> str:
    return table(
        "Stages",
        f"What each kernel cost over the run{result.of_computed}.",
        ["stage", "tasks", "chunks", "µs a chunk", "core-ms per ms", "share"],
        [
            [s.name, s.tasks, s.chunks, s.us_per_chunk, s.core_ms_per_ms, _percent(s.share)]
            for s in result.stages
        ],
    )


def _data_port(title: str, port: DataPort) -> str:
    refused = {f"refused: {why}": count for why, count in port.refused.items() if count}
    rows = [
        *([f"received: {name}", count] for name, count in port.received.model_dump().items()),
        *([f"to be sent: {name}", count] for name, count in port.given.model_dump().items()),
        *([why.replace("_", " "), count] for why, count in refused.items()),
        ["clients", port.clients],
    ]
    if port.ip is not None:
        rows[-1:] = [[f"IP packets {name}", count] for name, count in port.ip.model_dump().items()]
    note = (
        "Received blocks are good, failed or late; and all of them were sent to a client, dropped "
        "since it fetched too few, or unheard since there was none. Blocks that a client gave were "
        "used, or unused since their frame did not begin; padded ones went out as zeros."
    )
    return table(title, note, ["blocks and packets", "number"], rows)


def _harq(harq: Harq) -> str:
    later = harq.attempts[-1].attempt
    wait = (
        f" A block that was received in the end took {harq.again_ms:.3g} ms from its first verdict "
        f"on, {harq.again_max_ms:.3g} ms at most."
        if harq.again_ms is not None
        else ""
    )
    return table(
        "Retransmissions",
        f"Uplink blocks by attempt, with the soft bits of those before.{wait}",
        ["attempt", "blocks", "good", "Mb/s"],
        [
            [f"{a.attempt} and later" if a.attempt == later else a.attempt, a.blocks, a.good,
             a.goodput_mbps]
            for a in harq.attempts
        ],
    )  # fmt: skip


def _scheduler(flows: Sequence[ScheduledFlow]) -> str:
    return table(
        "Scheduler",
        "What each user was granted in each direction. BLER is of the blocks that were decoded; "
        "the mean MCS is over resource blocks; SNR is after equalization, smoothed, and the offset "
        "keeps BLER at its target.",
        ["user", "direction", "blocks", "BLER", "late", "unheard", "resource blocks", "mean MCS",
         "SNR dB", "offset dB"],
        [
            [
                f.user, f.direction, f.blocks, None if f.bler is None else _percent(f.bler), f.late,
                f.unheard, f.resource_blocks, f.mean_mcs, f.snr_db, f.offset_db,
            ]
            for f in flows
        ],
    )  # fmt: skip


def _traffic(traffic: Sequence[Traffic]) -> str:
    return table(
        "Traffic",
        "Real programs between each user and the server behind the cell, over the emulated air.",
        ["user", "program", "direction", "Mb/s", "retransmits", "rtt ms", "rtt max ms", "lost"],
        [
            [
                t.user, t.program, t.direction, t.goodput_mbps, t.retransmits, t.rtt_ms,
                t.rtt_max_ms, None if t.lost is None else _percent(t.lost),
            ]
            for t in traffic
        ],
    )  # fmt: skip


def _users(result: Result) -> str:
    return table(
        "Users",
        "Raw BER is before decoding, of one code block of each frame, decoded or not; SNR is after "
        "equalization, as the receiver predicts it.",
        [
            "user",
            "uplink blocks",
            "failed",
            "raw BER",
            "EVM %",
            "SNR dB",
            "iterations",
            "downlink blocks",
            "failed",
            "unverified",
            "EVM %",
        ],
        [
            [
                u.user,
                u.uplink.blocks,
                u.uplink.blocks_failed,
                u.raw_ber,
                u.uplink.evm_percent,
                u.snr_db,
                u.iterations,
                u.downlink.blocks,
                u.downlink.blocks_failed,
                u.downlink.blocks_unverified,
                u.downlink.evm_percent,
            ]
            for u in result.users
        ],
    )


def _threads(result: Result) -> str:
    return table(
        "Threads",
        "Shares of each thread's time. Overhead is neither in a kernel, nor in the network, nor "
        "idle.",
        [
            "thread",
            "core",
            "roles",
            "real time",
            "busy",
            "overhead",
            "network",
            "emulating",
            "spinning",
            "sleeping",
        ],
        [
            [
                t.name,
                t.core,
                ", ".join(t.roles),
                "yes" if t.realtime else "no",
                *(
                    _percent(share)
                    for share in (
                        t.busy,
                        t.overhead,
                        t.network,
                        t.emulating,
                        t.spinning,
                        t.sleeping,
                    )
                ),
            ]
            for t in result.threads
        ],
    )


def _counts(result: Result) -> str:
    rows: list[list[object]] = [
        [name.replace("_", " "), value] for name, value in result.packets.items()
    ]
    rows += [[name, value] for name, value in result.nacks.items()]
    if result.role != "bbu":
        rows.append(["frames skipped by the radio", result.frames.skipped])
    if result.frames.sent_to_gpus:
        rows.append(["frames sent to GPUs", result.frames.sent_to_gpus])
        rows.append(["of these, handed back to the cores", result.frames.handed_back])
    if result.role != "radio":
        rows.append(["frames replaced on air that had left in time", result.frames.substituted])
        rows.append(["frames not reported by the radio unit", result.frames.unreported])
        rows.append(["frames passed over, since reception began anew", result.frames.passed_over])
    rows.append(["downlink symbols sent", result.downlink.symbols_sent])
    rows.append(["downlink symbols substituted", result.downlink.symbols_substituted])
    rows.append(["samples saturated", result.saturated_samples])
    rows.append(["ill-conditioned combiners", result.ill_conditioned])
    if result.downlink.ideal_rate_mbps:
        rows.append(["downlink ideal rate, Mb/s", result.downlink.ideal_rate_mbps])
        rows.append(["(T − D_DL)/T · R_ideal, Mb/s", result.downlink.achievable_rate_mbps])
        whole = result.downlink.achievable_rate_whole_symbols_mbps
        rows.append(["the same in whole symbols, Mb/s", whole])
    if result.pacing is not None:
        error = f"{result.pacing.mean_us:.3g} ± {result.pacing.deviation_us:.3g}"
        rows.append(["radio's frame start error, µs", error])
    return table("Counts", "", ["", ""], rows)


def _gaps(result: Result) -> str:
    return table(
        "Gaps",
        f"Times in which a pinned thread did not run: the newest {len(result.gaps)} of "
        f"{result.gaps_total}.",
        ["gap", "thread", "at ms", "length ms", "excuses"],
        [
            [g.number, g.thread, f"{g.start_ms:.3f}", g.length_ms, g.cause.replace("_", " ")]
            for g in result.gaps
        ],
    )
