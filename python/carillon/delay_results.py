"""From frame records to the delays of a result."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from carillon.power import delays as measure
from carillon.power.delays import Mask
from carillon.result import (
    ClassShare,
    Delays,
    Distribution,
    LateBin,
    LateFunction,
    Outage,
    Share,
)
from carillon.runfolder import RunFolder
from carillon.statistics import Percentiles, Values, wilson
from carillon.telemetry import CAUSES, Records


def build(folder: RunFolder, frames: Records) -> Delays | None:
    """None where no frame was seen."""
    if len(frames) == 0:
        return None
    own = measure.delays(frames, measure.received_by(folder.derived["symbols"]))
    classes, lengths = measure.class_of(frames), measure.bursts(frames)
    return Delays(
        frames=len(frames),
        t_bs_ms=_distribution(own.t_bs),
        t_os_ms=_distribution(own.t_os),
        t_f_ms=_distribution(own.t_f),
        lead_ms=_distribution(own.lead),
        late=_share(own.late),
        by_cause=_by_cause(frames, np.ones(len(frames), np.bool_)),
        by_class={
            name: _class(frames, classes == place) for place, name in enumerate(measure.CLASSES)
        },
        bursts=len(lengths),
        longest_burst=int(lengths.max(initial=0)),
        joint=_joint(measure.late_function(own)),
        outage=_outage(folder, measure.moving_ratio(frames, folder.run.averaging_s)),
    )


def _distribution(delay: Values) -> Distribution:
    return Distribution(**asdict(Percentiles.of(delay[np.isfinite(delay)] / 1e6)))


def _share(which: Mask) -> Share:
    return _share_of(int(np.count_nonzero(which)), len(which))


def _share_of(frames: int, whole: int) -> Share:
    return Share(frames=frames, ratio=frames / whole, interval=wilson(frames, whole))


def _class(frames: Records, which: Mask) -> ClassShare:
    causes = {name: share for name, share in _by_cause(frames, which).items() if share.frames}
    return ClassShare(**dict(_share(which)), by_cause=causes)


def _by_cause(frames: Records, which: Mask) -> dict[str, Share]:
    return {
        cause: _share(which & (frames["late_cause"] == number))
        for number, cause in enumerate(CAUSES, 1)
    }


def _joint(own: measure.LateFunction) -> LateFunction:
    t_bs, t_os, t_f = ((edges / 1e6).tolist() for edges in own.edges)
    return LateFunction(
        t_bs_edges_ms=t_bs,
        t_os_edges_ms=t_os,
        t_f_edges_ms=t_f,
        bins=[
            LateBin(
                t_bs=each.places[0],
                t_os=each.places[1],
                t_f=each.places[2],
                frames=each.frames,
                late=each.late,
                late_ratio=each.late / each.frames,
                interval=wilson(each.late, each.frames),
            )
            for each in own.bins
        ],
        lacking=own.lacking.frames,
        lacking_late=own.lacking.late,
    )


def _outage(folder: RunFolder, moving: measure.MovingRatio) -> Outage:
    whole, target = moving.ratio[moving.full], folder.run.power.governor.outage
    return Outage(
        target=target,
        averaging_s=folder.run.averaging_s,
        newest=_share_of(int(moving.late[-1]), int(moving.frames[-1])),
        of_frames=int(moving.frames[-1]),
        highest=float(whole.max()) if len(whole) else None,
        above_target=float(np.mean(whole > target)) if len(whole) else None,
    )
