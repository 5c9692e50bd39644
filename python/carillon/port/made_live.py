"""A cell whose users' frames are made while it runs, since somebody owns their bits."""

import math

from carillon import runfolder
from carillon.config import Cell, busiest
from carillon.config.sections import Data

_HEAD_START = 8  # places of the emulated radio's frames beyond those that the cell may read


def with_room(cell: Cell) -> Cell:
    """The same cell, with places for enough of them."""
    known = busiest(cell).model_copy(update={"data": Data()})
    frame_ms = float(runfolder.describe(known)["frame_ms"])
    read = max(cell.ring, math.ceil(1 + cell.deadlines.uplink_budget_ms / frame_ms))
    frames = max(cell.radio.frames, read + _HEAD_START)
    radio = cell.radio.model_copy(update={"frames": frames})
    return cell.model_copy(update={"radio": radio})
