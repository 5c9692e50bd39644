"""What servers draw and cost: assumed, but for the devices' published power limits."""

from __future__ import annotations

from collections.abc import Sequence

from carillon import core
from carillon.config.pool import PoolStudy
from carillon.pool.plan import HOST, devices, hardware


def watts(study: PoolStudy, sm_shares: Sequence[float]) -> float:
    """Of all servers. A device draws its idle share, and the rest as its SMs are busy."""
    most = {known["name"]: float(known["watts"]) for known in core.device_types()}
    economy = study.economy
    drawn = sum(
        most[kind] * (economy.idle_share + (1 - economy.idle_share) * share)
        for (_, kind), share in zip(hardware(study), sm_shares, strict=True)
        if kind != HOST  # its watts are host_watts
    )
    return drawn + economy.host_watts * len(study.rack())


def price(study: PoolStudy) -> float:
    """Of all servers, in the file's currency."""
    prices = study.economy.prices
    every = sum(float(getattr(prices, device.type)) for _, _, device in devices(study))
    return every + prices.host * len(study.rack())
