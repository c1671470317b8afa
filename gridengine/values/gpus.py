"""GPUs as a resource of jobs: the name of the consumable, and the variables that name a job's devices.

Called by the admin program, which has hosts count them, the qmaster, which sends the number of a task's GPUs, and `sge_execd`,
which chooses them unless the qmaster has named them. Source: adr/0168, adr/0320, adr/0350.
"""

import re
from collections.abc import Iterable

GPUS = "gpu"
VARIABLES = _CUDA, _ROCR = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
"""Variables that programs for NVIDIA and AMD devices read: numbers of devices, from 0 on, divided by commas."""
_IDENTIFIERS = ("GPU-", "MIG-")
"""Beginnings of names of devices that these variables may have in place of numbers."""
_AMD = re.compile("GPU-[0-9A-Fa-f]{16}")
"""The name of a device of AMD; the names of NVIDIA are longer, with hyphens."""


def device_list(units: Iterable[str]) -> str:
    """The value of these variables for named units, each device once; "" if a name is neither a number nor an identifier."""
    devices = dict.fromkeys(units)
    return ",".join(devices) if all(name.isdecimal() or name.startswith(_IDENTIFIERS) for name in devices) else ""


def variables_of_identifiers(identifiers: Iterable[str]) -> dict[str, str]:
    """The variables of the vendors that have these devices; {} if a device belongs to another vendor, which has no variable."""
    names = [*dict.fromkeys(identifiers)]
    if not all(name.startswith(_IDENTIFIERS) for name in names):
        return {}
    amd = [name for name in names if _AMD.fullmatch(name)]
    by_variable = {_CUDA: [name for name in names if name not in amd], _ROCR: amd}
    return {variable: ",".join(devices) for variable, devices in by_variable.items() if devices}
