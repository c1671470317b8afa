"""Rules of NVIDIA's GPUs for each interface: slices, their device files, and errors that close a GPU.

Source: NVIDIA, "MIG User Guide" and "XID Errors"; the errors of applications are those that NVIDIA's device plugin leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from daemons.execd.devices.pci import read_text
from gridengine.protocols.devices import Device

_OF_APPLICATIONS = frozenset((13, 31, 43, 45, 68, 109))
"""Critical errors that a program causes, not the GPU: faults of memory accesses, ends of programs, time limits of contexts."""


def slice_profile(name: str) -> str:
    """The profile in the name of a slice: `1g.5gb` of "NVIDIA A100-SXM4-40GB MIG 1g.5gb"; "" for a name without a profile."""
    match = re.search(r"\bMIG\s+(\S+)", name)
    return match[1].lower() if match else ""


def mig_model(model: str, profile: str) -> str:
    """The model of a slice, as `a100-1g.5gb`: a request for `a100` selects whole GPUs, `a100*` slices, too."""
    return f"{model}-{profile or 'mig'}"


def capability_files(root: Path, gpu: Device, gpu_instance: int, compute_instance: int) -> tuple[str, ...]:
    """The device files of the two capabilities that a slice of a GPU needs besides its GPU's, empty where the driver has none.

    A driver whose module has `nv_cap_enable_devfs=0` guards slices by files in /proc.
    """
    minor = gpu.device_files[0].removeprefix("/dev/nvidia")
    instance = root / "proc/driver/nvidia/capabilities" / f"gpu{minor}" / "mig" / f"gi{gpu_instance}"
    found = []
    for access in (instance / "access", instance / f"ci{compute_instance}" / "access"):
        if number := re.search(r"^DeviceFileMinor:\s*(\d+)", read_text(access), re.MULTILINE):
            found.append(f"/dev/nvidia-caps/nvidia-cap{number[1]}")
    return tuple(found)


def ecc_fault(errors: int, *, pending: bool = False, failed: bool = False) -> str:
    """The sentence about memory errors, "" for none. `pending`, `failed`: of the remapping of rows."""
    if failed:
        return "rows of its memory cannot be remapped"
    if pending:
        return "rows of its memory are remapped by the next reset"
    return f"{errors} uncorrectable memory errors" if errors > 0 else ""


def xid_fault(xids: Collection[int]) -> str:
    """The sentence about critical errors of the GPU itself, "" for none."""
    numbers = sorted(set(xids) - _OF_APPLICATIONS)
    return f"critical errors (XID {', '.join(map(str, numbers))})" if numbers else ""
