"""A machine made of files, for the tests of `carillon doctor`."""

from pathlib import Path

from carillon.doctor import Machine
from carillon.doctor.ethtool import Settings

CPU = "sys/devices/system/cpu"


def machine(
    root: Path, files: dict[str, str] | None = None, nic: Settings | None = None, refused: str = ""
) -> Machine:
    """Files below a root: name → text. Nothing of the real machine shows through."""
    for name, text in (files or {}).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Machine(root, lambda _: nic or Settings(), lambda: refused)


def cpus(count: int) -> dict[str, str]:
    """What the kernel says where this process may use so many CPUs."""
    last = f"0-{count - 1}" if count > 1 else "0"
    return {"proc/self/status": f"Name:\tx\nCpus_allowed_list:\t{last}\n", f"{CPU}/online": last}
