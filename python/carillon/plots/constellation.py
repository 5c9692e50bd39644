"""Equalized symbols, one small plot for each user."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.figure import Figure

from carillon.plots import style
from carillon.result import Result
from carillon.runfolder import RunFolder
from carillon.telemetry import Telemetry

_MOST_USERS, _MOST_POINTS = 16, 1500


def per_user(folder: RunFolder, telemetry: Telemetry, result: Result) -> Figure | None:
    """The newest sampled symbols of the first 16 users."""
    points = telemetry.read("constellation")
    users = [int(user) for user in np.unique(points["user"])][:_MOST_USERS]
    if not users:
        return None
    columns = min(len(users), 4 if len(users) <= 8 else 8)
    rows = math.ceil(len(users) / columns)
    side = min(2.1, 8.4 / columns)
    figure = Figure(figsize=(side * columns, (side + 0.25) * rows))
    for place, user in enumerate(users):
        axes = figure.add_subplot(rows, columns, place + 1)
        own = points[points["user"] == user][-_MOST_POINTS:]
        axes.plot(
            own["re"],
            own["im"],
            ".",
            color=style.ACCENT,
            markersize=1.6,
            alpha=0.45,
            rasterized=True,
        )
        axes.set_aspect("equal")
        axes.set(xlim=(-1.6, 1.6), ylim=(-1.6, 1.6), xticks=[], yticks=[])
        axes.spines[:].set_visible(True)
        axes.spines[:].set_color(style.GRID)
        axes.axhline(0, color=style.GRID, linewidth=0.8)
        axes.axvline(0, color=style.GRID, linewidth=0.8)
        axes.set_title(_title(result, user), fontsize=8, fontweight="normal", pad=4)
    return figure


def _title(result: Result, user: int) -> str:
    known = next((u for u in result.users if u.user == user), None)
    evm = known.uplink.evm_percent if known is not None else None
    return f"user {user}" + (f", EVM {evm:.1f} %" if evm is not None else "")
