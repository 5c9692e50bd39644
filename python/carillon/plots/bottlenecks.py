"""Figures 5.6 to 5.9 of the Millipede thesis from our own rows: curves and stacked bars."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from carillon.plots import style
from carillon.studies.bottlenecks import PARTS, STAGES, Experiment
from carillon.studies.study import Row

_COLOURS = {"earliest-frame": style.ACCENT, "static": style.SECOND}
_FUNCTIONS = {
    "doFFT": style.STAGES["UplinkFft"],
    "doZF": style.STAGES["ZeroForce"],
    "doDemod": style.STAGES["EqualizeDemodulate"],
}
_STRENGTH = {"load": 0.4, "compute": 1.0, "store": 0.65}
_WIDTH = 0.26


def draw(folder: Path, experiment: Experiment, rows: Sequence[Row]) -> None:
    """study.png and study.svg."""
    with style.applied():
        figure = picture(experiment, rows)
        style.save(figure, folder / "study.png")
        style.save(figure, folder / "study.svg")


def picture(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The figure of an experiment."""
    figure = Figure(figsize=(8.4, 3.9))
    axes = figure.subplots(1, 1 if experiment.name == "millipede-5.9" else 2, squeeze=False)[0]
    if experiment.name == "millipede-5.6":
        _unit_test(axes[0], rows)
        _shares(axes[1], rows)
    elif experiment.name == "millipede-5.9":
        _ports(axes[0], rows)
    else:
        over_antennas = experiment.name == "millipede-5.8"
        _functions(axes[0], rows, "ms", "ms of all cores, a frame", over_antennas)
        _functions(axes[1], rows, "task_us", "µs, a task", over_antennas)
    figure.suptitle(f"{experiment.name}: {experiment.title}", fontsize=10.5, fontweight="bold")
    handles, labels = style.legend_of(axes)
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=7.5)
    return figure


def _of(rows: Sequence[Row], measure: str, source: str = "measured") -> list[Row]:
    return [r for r in rows if r.measure == measure and r.source == source and r.value is not None]


def _unit_test(axes: Axes, rows: Sequence[Row]) -> None:
    for policy, colour in _COLOURS.items():
        known = [row for row in _of(rows, "round_us") if row.policy == policy]
        x, y = [row.cores for row in known], [row.value for row in known]
        label = f"a job for each worker, {policy}, measured"
        axes.plot(x, y, "o-", color=colour, label=label)  # type: ignore[arg-type]
    axes.set_ylabel("µs a round")
    axes.set_xlabel("cores")
    axes.set_ylim(0, None)
    axes.set_xticks(sorted({row.cores for row in _of(rows, "round_us") if row.cores}))


def _shares(axes: Axes, rows: Sequence[Row]) -> None:
    curves = (
        ("outside_kernels_share", "measured", "s--", style.ACCENT, "outside kernels, waiting too"),
        ("synchronisation_share", "measured", "o-", style.ACCENT, "synchronisation alone"),
        ("outside_kernels_share", "published", "D", style.SECOND, "outside kernels"),
        ("synchronisation_share", "model", "^:", style.QUIET, "claims"),
    )
    for measure, source, line, colour, what in curves:
        for costs in dict.fromkeys(row.costs for row in _of(rows, measure, source)):
            known = [row for row in _of(rows, measure, source) if row.costs == costs]
            x, y = [row.antennas for row in known], [100 * (row.value or 0) for row in known]
            label = f"{what}, {source}, {known[0].cores} cores"
            if source == "model":
                label += ", Millipede's costs" if costs == "thesis" else ", ours"
                colour = style.SECOND if costs == "thesis" else style.QUIET
            axes.plot(x, y, line, color=colour, label=label)
    axes.set_ylabel("% of a frame's time")
    axes.set_xlabel("antennas")
    axes.set_ylim(0, None)
    axes.set_xticks([8, 16, 32, 64])


def _functions(axes: Axes, rows: Sequence[Row], unit: str, label: str, over_antennas: bool) -> None:
    known = _of(rows, f"doFFT_{unit}")
    places = [row.antennas if over_antennas else row.cores for row in known]
    for at, function in enumerate(STAGES):
        heights = [row.value or 0.0 for row in _of(rows, f"{function}_{unit}")]
        below = [0.0] * len(heights)
        for part in PARTS:
            shares = [_share(rows, function, part, row.antennas) for row in known]
            tall = [height * share for height, share in zip(heights, shares, strict=True)]
            axes.bar(
                [i + (at - 1) * _WIDTH for i in range(len(tall))],
                tall,
                _WIDTH * 0.92,
                bottom=below,
                color=_FUNCTIONS[function],
                alpha=_STRENGTH[part],
                label=f"{function}, {part}",
            )
            below = [low + high for low, high in zip(below, tall, strict=True)]
    axes.set_xticks(range(len(places)), [str(place) for place in places])
    axes.set_xlabel("antennas" if over_antennas else "cores")
    axes.set_ylabel(label)


def _share(rows: Sequence[Row], function: str, part: str, antennas: int) -> float:
    """By ablation; what noise makes negative counts as nothing, and all of it as computation where
    nothing was ablated."""
    shares = {
        name: max(row.value or 0.0, 0.0)
        for name in PARTS
        for row in _of(rows, f"{function}_{name}_share")
        if row.antennas == antennas
    } or {"compute": 1.0}
    return shares.get(part, 0.0) / sum(shares.values())


def _ports(axes: Axes, rows: Sequence[Row]) -> None:
    loops = list(dict.fromkeys(row.measure.rsplit(", ", 1)[0] for row in rows))
    bars = (("front_end", "front end", style.SECOND), ("busiest", "busiest port", style.ACCENT))
    for at, (measure, label, colour) in enumerate(bars):
        shares = [
            100 * _value(rows, f"{loop}, {measure}") / _value(rows, f"{loop}, cycles")
            for loop in loops
        ]
        places = [i + (at - 0.5) * 0.36 for i in range(len(loops))]
        axes.barh(places, shares, 0.34, color=colour, label=label)
    axes.set_yticks(range(len(loops)), loops)
    axes.invert_yaxis()
    axes.axvline(100, color=style.QUIET, linewidth=1)
    axes.set_xlabel("% of the loop's cycles, counted by llvm-mca, not measured")
    axes.grid(visible=False, axis="y")


def _value(rows: Sequence[Row], measure: str) -> float:
    return next(row.value or 0.0 for row in rows if row.measure == measure)
