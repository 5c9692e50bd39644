"""Checks of the GPUs."""

from __future__ import annotations

from carillon import core
from carillon.doctor.finding import Finding
from carillon.doctor.machine import Machine


def gpus(_machine: Machine) -> Finding:
    """Those that our kernels run on. To have none is an ordinary state."""
    found = core.cuda_machine()
    old = [_name(device) for device in found["too_old"]]
    if found["devices"]:
        names = ", ".join(_name(device) for device in found["devices"])
        fact = f"{names}; driver of CUDA {_version(found['driver'])}"
        return Finding("GPUs", "pass", fact + (f"; too old: {', '.join(old)}" if old else ""))
    if old:
        cost = "our kernels do not run there"
        advice = "use a GPU of compute capability 8.0 (A100) or newer"
        return Finding("GPUs", "warn", f"{', '.join(old)}: too old", cost, advice)
    return Finding("GPUs", "skip", found["why"])


def _name(device: dict[str, object]) -> str:
    return (
        f"{device['name']} ({device['sms']} SMs, "
        f"compute capability {device['major']}.{device['minor']})"
    )


def _version(cuda: int) -> str:
    return f"{cuda // 1000}.{cuda % 1000 // 10}"


CHECKS = [gpus]
