"""Published experiments, asked again: their points by the model or in virtual time, beside what was
published."""

from carillon.studies.millipede import STUDIES
from carillon.studies.presets import Preset, read_preset
from carillon.studies.sources import Model, Source, VirtualTime
from carillon.studies.study import Request, Row, Study, StudyError, collect

__all__ = [
    "STUDIES",
    "Model",
    "Preset",
    "Request",
    "Row",
    "Source",
    "Study",
    "StudyError",
    "VirtualTime",
    "collect",
    "read_preset",
]
