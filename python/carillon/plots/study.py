"""A study's points: lines by the model, circles in virtual time, diamonds as published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from carillon.plots import style
from carillon.studies.millipede import ENOUGH_MS
from carillon.studies.presets import Preset
from carillon.studies.study import Row, Study

_COLOURS = {"earliest-frame": style.ACCENT, "core-groups": style.SECOND}
_LINES = {"thesis-ideal": ":", "thesis": "-", "ours": "--", "ours-uncoded": "-."}
_CIRCLES = {"thesis": "o", "ours-uncoded": "s"}
_LIMITS = {"uplink_ms": (4.5, 11.0), "pilot_ms": (0.4, None)}  # as the thesis draws them
_MEASURES = {
    "uplink_ms": "D_UL, ms",
    "downlink_ms": "D_DL, ms",
    "share_of_ideal_rate": "share of the ideal rate",
    "pilot_ms": "T_Pilot, ms",
    "uplink_zeroforce_speed_up": "speed-up of T_ZF, uplink",
    "downlink_zeroforce_speed_up": "speed-up of T_ZF, downlink",
    "uplink_data_speed_up": "speed-up of T_ULData",
}


def draw(folder: Path, study: Study, presets: Mapping[str, Preset], rows: Sequence[Row]) -> None:
    """study.png and study.svg: a panel for each measure and number of antennas."""
    with style.applied():
        figure = picture(study, presets, rows)
        if figure is not None:
            style.save(figure, folder / "study.png")
            style.save(figure, folder / "study.svg")


def picture(study: Study, presets: Mapping[str, Preset], rows: Sequence[Row]) -> Figure | None:
    """The figure, or None without a point."""
    known = [_drawn(row) for row in rows if row.value is not None]
    known = [row for row in known if row.measure in _MEASURES]
    ours = [row for row in known if row.source != "published"]
    if not ours:
        return None
    over_antennas = study.name == "millipede-5.3"
    measures = list(dict.fromkeys(row.measure for row in ours))
    antennas = [0] if over_antennas else sorted({row.antennas for row in ours})
    panels = [(measure, number) for measure in measures for number in antennas]
    columns = len(antennas) if len(antennas) > 1 else len(measures)
    lines = -(-len(panels) // columns)
    figure = Figure(figsize=(max(8.4, 3.5 * columns), 3.1 * lines + 1.3))
    grid = figure.subplots(lines, columns, squeeze=False, sharey="row" if columns > 1 else False)
    for at, (axes, (measure, number)) in enumerate(zip(grid.flat, panels, strict=True)):
        here = [r for r in known if r.measure == measure and number in (0, r.antennas)]
        _panel(axes, here, presets, over_antennas=over_antennas)
        axes.set_ylim(*_LIMITS.get(measure, (0, None)))
        if at % columns == 0 or len(antennas) == 1:
            axes.set_ylabel(_MEASURES[measure])
        if number and len(antennas) > 1:
            axes.set_title(f"{number} antennas × 8 users")
    figure.suptitle(f"{study.name}: {study.title}", fontsize=10.5, fontweight="bold")
    handles, labels = style.legend_of(grid.flat)
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=7.5)
    return figure


def _drawn(row: Row) -> Row:
    """The published number of cores as the point that it stands for: nearly on time."""
    if row.source != "published" or row.measure != "cores_needed" or row.value is None:
        return row
    return replace(row, measure="uplink_ms", cores=int(row.value), value=ENOUGH_MS)


def _panel(
    axes: Axes, rows: Sequence[Row], presets: Mapping[str, Preset], *, over_antennas: bool
) -> None:
    curves: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in rows:
        curves.setdefault((row.source, row.costs, row.policy, row.note), []).append(row)
    for (source, costs, policy, note), curve in curves.items():
        x, y = zip(*(_place(row, over_antennas) for row in curve), strict=True)
        colour = _COLOURS[policy]
        if source == "published":
            label = f"{policy}, published"
            axes.plot(x, y, "D", color=colour, mec=style.INK, ms=5.5, zorder=4, label=label)
            continue
        label = f"{policy}, {source}: {presets[costs].label}" + (f", {note}" if note else "")
        if source == "virtual":
            axes.plot(
                x, y, " ", marker=_CIRCLES[costs], mfc="none", ms=4, color=colour, label=label
            )
            continue
        colour = style.ALARM if note else colour
        width = 1.6 if costs == "thesis" else 1.1
        marker = "." if over_antennas else ""
        line = _LINES[costs]
        axes.plot(x, y, line, color=colour, linewidth=width, marker=marker, label=label)
    axes.set_xlim(left=0)
    axes.set_xlabel("antennas" if over_antennas else "cores")


def _place(row: Row, over_antennas: bool) -> tuple[float, float]:
    assert row.value is not None
    assert row.cores is not None
    return row.antennas if over_antennas else row.cores, row.value
