"""The resources of this machine for jobs: processors, memory, GPUs.

Configures nothing. `init` and `join` configure hosts with the result. Called by `cell_plan` and `join`.
Source: adr/0168.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import psutil

from clients.admin.gpu_count import count_gpus


@dataclass(frozen=True, slots=True)
class Machine:
    """`memory`: in MB, without swap."""

    processors: int
    memory: int
    gpus: int


def this_machine() -> Machine:
    """Detect the resources of this machine."""
    return Machine(os.cpu_count() or 1, psutil.virtual_memory().total // 2**20, count_gpus())
