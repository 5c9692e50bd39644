"""A cell as a person writes it: YAML, checked, documented, turned into a run plan."""

from carillon.config.errors import ConfigError, Problem
from carillon.config.load import Loaded, load_cell, parse_cell
from carillon.config.models import Cell
from carillon.config.plan import Run, aiming, busiest, plan_text
from carillon.config.together import cell_folder, cell_run, together

__all__ = [
    "Cell",
    "ConfigError",
    "Loaded",
    "Problem",
    "Run",
    "aiming",
    "busiest",
    "cell_folder",
    "cell_run",
    "load_cell",
    "parse_cell",
    "plan_text",
    "together",
]
