"""The identity of the boot of this host, or of the start of a container: no process of an earlier incarnation is left.

Called by the execd, which tells the qmaster, and by the launcher, for tasks whose shepherd is dead. Source: EX-10.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache  # no process outlives it, and each task records it
def incarnation() -> str:
    """The identity of the boot, different for each boot of the host (EX-10). In a container the start of its first process."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    started = Path("/proc/1/stat").read_text().rpartition(")")[2].split()[19]
    return f"{boot}-{started}"


def is_of_earlier_boot(known: str) -> bool:
    """Whether an incarnation is of an earlier boot of this host. A container that was started again is not."""
    return bool(known) and known.rpartition("-")[0] != incarnation().rpartition("-")[0]
