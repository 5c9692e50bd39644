"""
Carillon's engine: kernels, link simulation, plans. engine/ says what each does.
"""

version: str = "0.1.0"

def available_isas() -> list[str]:
    """Instruction-set tiers that this machine can run, ascending."""

def active_isa() -> str:
    """
    The tier in use: the highest available one, or the one that CARILLON_ISA names.
    """
