"""From a run folder's telemetry to everything a person opens afterwards."""

from carillon.report.words import summary, verdict
from carillon.report.write import rebuild

__all__ = ["rebuild", "summary", "verdict"]
