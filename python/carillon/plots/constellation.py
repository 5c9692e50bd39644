"""Equalized symbols, one small plot for each user."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from carillon.plots import style
from carillon.result import Result
from carillon.runfolder import RunFolder
from carillon.statistics import Values
from carillon.telemetry import Records, Telemetry

_MOST_USERS, _MOST_POINTS = 16, 1500
_SIDE, _LIMIT = 1.95, 1.6  # inches; of both axes


def per_user(folder: RunFolder, telemetry: Telemetry, result: Result) -> Figure | None:
    """The newest sampled symbols of the first 16 users, over the points that were sent."""
    points = telemetry.read("constellation")
    users = [int(user) for user in np.unique(points["user"])][:_MOST_USERS]
    if not users:
        return None
    columns = min(len(users), 4)
    rows = math.ceil(len(users) / columns)
    figure = Figure(figsize=(_SIDE * columns + 0.6, (_SIDE + 0.3) * rows + 0.35))
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes, user in zip(grid.flat, users, strict=False):
        levels = pam_levels(folder.derived["uplink"]["users"][user]["bits_per_element"])
        _cloud(axes, points[points["user"] == user][-_MOST_POINTS:], levels)
        axes.set_title(_title(result, user), fontsize=8, fontweight="normal", pad=4)
    for axes in grid.flat[len(users) :]:
        axes.set_visible(False)
    for axes in grid[-1]:
        axes.set_xlabel("in-phase I", fontsize=8)
    for axes in grid[:, 0]:
        axes.set_ylabel("quadrature Q", fontsize=8)
    return figure


def pam_levels(bits_per_element: int) -> Values:
    """Where the points of a square QAM of unit mean energy lie on either axis (38.211 5.1)."""
    odd = np.arange(1, 2 ** (bits_per_element // 2), 2, dtype=np.float64)
    both = np.concatenate([-odd[::-1], odd])
    levels: Values = both / np.sqrt(2 * np.mean(both**2))
    return levels


def _cloud(axes: Axes, own: Records, levels: Values) -> None:
    ideal_i, ideal_q = np.meshgrid(levels, levels)
    axes.plot(
        own["re"], own["im"], ".", color=style.ACCENT, markersize=2, alpha=0.4, rasterized=True
    )
    points_apart = (levels[1] - levels[0]) / (2 * _LIMIT) * _SIDE * 72
    size = min(5.0, 0.4 * points_apart)
    axes.plot(ideal_i, ideal_q, "+", color=style.INK, markersize=size, markeredgewidth=0.7)
    axes.set_aspect("equal")
    axes.set(xlim=(-_LIMIT, _LIMIT), ylim=(-_LIMIT, _LIMIT), xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    axes.tick_params(labelsize=7, length=2)
    axes.spines[:].set_visible(True)
    axes.spines[:].set_color(style.LINE)


def _title(result: Result, user: int) -> str:
    known = next((u for u in result.users if u.user == user), None)
    evm = known.uplink.evm_percent if known is not None else None
    return f"user {user}" + (f", EVM {evm:.1f} %" if evm is not None else "")
