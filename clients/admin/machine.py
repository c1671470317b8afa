"""What this machine has that jobs ask for: processors, memory, GPUs.

Owns the looking; nothing is configured here. `init` and `join` make a host's numbers of it. Called by `cell_plan` and `join`.
Source: adr/0168.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import psutil

_ASK_S = 20.0
"""A driver that is loaded for the question takes some seconds."""
_AMD = "0x1002"


@dataclass(frozen=True, slots=True)
class Machine:
    """`memory`: in MB, without swap."""

    processors: int
    memory: int
    gpus: int


def this_machine() -> Machine:
    """Look at the machine that this runs on."""
    return Machine(os.cpu_count() or 1, psutil.virtual_memory().total // 2**20, count_gpus())


def count_gpus(dev: Path = Path("/dev"), drm: Path = Path("/sys/class/drm")) -> int:
    """How many GPUs jobs can compute on: those that NVIDIA's program names, else NVIDIA's devices, else AMD's.

    Graphics alone is none: AMD's counts where its driver for computing (`/dev/kfd`) is there.
    """
    return _named_by_nvidia() or len(_entries(dev, r"nvidia\d+")) or (_amd(drm) if (dev / "kfd").exists() else 0)


def _named_by_nvidia() -> int:
    """Lines `GPU 0: NAME (UUID)`; parts of one (MIG) are indented. 0 where the program is missing or does not answer."""
    try:
        done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, timeout=_ASK_S, check=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return 0
    return len(re.findall(rb"^GPU \d+:", done.stdout, re.MULTILINE))


def _amd(drm: Path) -> int:
    """Devices that can compute (`renderD128` …) whose maker is AMD."""
    found = 0
    for name in _entries(drm, r"renderD\d+"):
        try:
            found += (drm / name / "device" / "vendor").read_text().strip() == _AMD
        except OSError:
            continue  # gone while this looked
    return found


def _entries(directory: Path, pattern: str) -> list[str]:
    try:
        return [name for name in os.listdir(directory) if re.fullmatch(pattern, name)]
    except OSError:
        return []
