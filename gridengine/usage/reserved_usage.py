"""Usage as allocated instead of as measured: execd_params ACCT_RESERVED_USAGE and SHARETREE_RESERVED_USAGE (EX-16).

Pure. Called by the execution host for its reports of running and ended tasks, and by the share usage of the state.
Source: sge_conf(5) execd_params.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_GIGABYTE = 2**30


@dataclass(frozen=True, slots=True)
class Allocation:
    """The part of the host that a task has: slots, and bytes of `memory` if it has a limit on them (h_vmem, else s_vmem)."""

    slots: int
    memory: float | None

    @classmethod
    def of(cls, slots: int, limits: Mapping[str, float | None], per_job: list[str]) -> Allocation:
        """slots: on the host, or of the whole job. limits: bytes by name, of a slot unless they are in `per_job`."""
        for name in ("h_vmem", "s_vmem"):
            limit = limits.get(name)
            if limit is not None:
                return cls(slots, limit * (1 if name in per_job else slots))
        return cls(slots, None)


def reserved(allocation: Allocation, wallclock_s: float) -> dict[str, float]:
    """Values that replace the measured usage: cpu (s), and mem (GB s) and maxvmem (bytes) under a limit."""
    values = {"cpu": wallclock_s * allocation.slots}
    if allocation.memory is not None:
        values |= {"mem": allocation.memory / _GIGABYTE * wallclock_s, "maxvmem": allocation.memory}
    return values
