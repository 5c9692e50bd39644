"""What the engine needs of a study (engine/rack/pool_plan.hpp), and how it numbers devices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from carillon import core
from carillon.config.pool import Background, Devices, Fault, Link, PoolStudy, Server
from carillon.pool import faults

if TYPE_CHECKING:
    from carillon.pool.study import Described

HOST, _HOST_CORES, _HOST_QUEUES = "epyc-7763", 64, 32  # whose cores stand in for lost devices

Section = dict[str, Any]


def devices(study: PoolStudy) -> list[tuple[int, int, Devices]]:
    """Of all servers, by number: its server, its number there, and of which kind it is."""
    return [
        (number, place, device)
        for number, server in enumerate(study.rack())
        for place, device in enumerate(_each(server))
    ]


def places(study: PoolStudy) -> list[tuple[int, int]]:
    """Of all devices, by number: its server, and its number there."""
    return [(server, number) for server, number, _ in devices(study)]


def hardware(study: PoolStudy) -> list[tuple[int, str]]:
    """Server and type of all that computes, as the engine has them: hosts after their devices."""
    fallback = [HOST] if study.fallback_cores else []
    return [
        (number, kind)
        for number, server in enumerate(study.rack())
        for kind in [group.type for group in _each(server)] + fallback
    ]


def _each(server: Server) -> list[Devices]:
    return [group for group in server.devices for _ in range(group.count)]


def pool_plan(described: Described) -> Section:
    """All but policy and seed."""
    study = described.study
    degrees = study.scoreboard.degree.model_dump(exclude_none=True)
    servers = [_server(server, study.fallback_cores, degrees) for server in study.rack()]
    return {
        "profile": described.base,
        "servers": servers,
        "cells": [
            {
                "count": served.count,
                "server": served.home,
                "measured": described.measured(served),
            }
            for served in described.served
        ],
        "switch": _switch(study),
        "frames": study.frames,
        "ring": study.ring,
        "at_once": study.at_once,
        "apart_ms": study.apart_ms,
        "deadline_ms": study.deadline_ms,
        "zero_force_parts": study.zero_force_parts,
        "urgent_us": study.scoreboard.urgent_us,
        "host": {
            "decision_ns": 1e3 * study.host.decision_us,
            "launch_ns": 1e3 * study.host.launch_us,
            "notify_ns": 1e3 * study.host.notify_us,
            "gap_ns": 1e3 * study.host.gap_us,
        },
        "jitter": study.jitter.model_dump(),
        "faults": [one for fault in study.faults for one in _faults(fault, study)],
        "background": [_background(kernel, study) for kernel in study.background],
    }


def _switch(study: PoolStudy) -> Section:
    """Of one server there is none, but when its reserve joins."""
    switch = study.switch
    link = {"bytes_per_s": switch.gbytes_per_s * 1e9, "latency_ns": switch.latency_us * 1e3}
    return (link if study.servers else {}) | {
        "nacks": switch.nacks,
        "window": switch.window,
        "hold_ms": switch.hold_ms,
        "move_ms": switch.move_ms,
    }


def _faults(fault: Fault, study: PoolStudy) -> list[Section]:
    """One for each whom it befalls."""
    return [
        {
            "at_ms": fault.at_ms,
            "server": server,
            "device": device,
            "event": fault.event,
            "noticed_ms": fault.noticed_ms,
        }
        for server, device in faults.places(fault, places(study))
    ]


def _background(kernel: Background, study: PoolStudy) -> Section:
    server, device = places(study)[kernel.device]
    return {
        "server": server,
        "device": device,
        "kernels": kernel.kernels,
        "ctas": kernel.ctas,
        "warps": kernel.warps,
        "registers": kernel.registers,
        "shared_bytes": kernel.shared_bytes,
        "flops": kernel.mflop * 1e6,
        "bytes": kernel.kbytes * 1e3,
    }


def _server(server: Server, fallback_cores: int, degrees: Mapping[str, float]) -> Section:
    nodes, node_of = fabric(server)
    found: list[Section] = [
        {
            "type": group.type,
            "node": node,
            "queues": group.queues,
            "reserved_sms": group.reserved_sms,
            "memory_bytes": _memory(group),
            "reserve": group.reserve,
        }
        | ({"degree": degrees[group.type]} if group.type in degrees else {})
        for group, node in zip(_each(server), node_of, strict=True)
    ]
    if fallback_cores:
        busy = _HOST_CORES - fallback_cores
        found.append({"type": HOST, "node": 0, "queues": _HOST_QUEUES, "reserved_sms": busy})
    return {"nodes": nodes, "devices": found}


def fabric(server: Server) -> tuple[list[Section], list[int]]:
    """Host, switch, chassis and devices, parents before children; and each device's node."""
    links = server.links
    nodes: list[Section] = [{"name": "host"}, _node("switch", 0, links.host)]
    chassis = {}
    for number in sorted({group.chassis for group in server.devices}):
        chassis[number] = len(nodes)
        nodes.append(_node(f"chassis {number}", 1, links.chassis))
    node_of = []
    for number, group in enumerate(_each(server)):
        node_of.append(len(nodes))
        nodes.append(_node(f"device {number}", chassis[group.chassis], links.device))
    return nodes, node_of


def _node(name: str, parent: int, link: Link) -> Section:
    return {
        "name": name,
        "parent": parent,
        "bytes_per_s": link.gbytes_per_s * 1e9,
        "latency_ns": link.latency_us * 1e3,
    }


def _memory(group: Devices) -> int:
    """Bytes of each."""
    if group.memory_gbytes is not None:
        return round(1e9 * group.memory_gbytes)
    known = {kind["name"]: int(kind["memory_bytes"]) for kind in core.device_types()}
    return known[group.type]
