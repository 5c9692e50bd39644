"""What a cell's latency will be on a number of cores, from what its work costs on one.

The equations 3.1 to 3.4 of the Millipede thesis, extended with what they leave out: the cost of a
claim, chunks that cannot be divided, synchronisation, decoding, and the transfer of a symbol.
"""

from carillon.models.allocation import (
    CORE_GROUPS,
    STAGES,
    best_groups,
    cores_needed,
    every_sharing,
    predict,
)
from carillon.models.costs import CostError, Costs, StageCost, read_costs
from carillon.models.latency import Group, Latency, latency
from carillon.models.workload import Workload

__all__ = [
    "CORE_GROUPS",
    "STAGES",
    "CostError",
    "Costs",
    "Group",
    "Latency",
    "StageCost",
    "Workload",
    "best_groups",
    "cores_needed",
    "every_sharing",
    "latency",
    "predict",
    "read_costs",
]
