"""The number of GPUs of this machine, by the vendor's program or the files of the kernel.

Configures nothing. Called by `host_resources`. Source: adr/0168.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

_ASK_S = 20.0
"""The program may load the driver, which takes some seconds."""
_AMD = "0x1002"


def count_gpus(dev: Path = Path("/dev"), drm: Path = Path("/sys/class/drm")) -> int:
    """The number of GPUs for computing: GPUs listed by NVIDIA's program, else NVIDIA's devices, else AMD's.

    A GPU for graphics alone does not count: AMD's devices count only with the compute driver (`/dev/kfd`).
    """
    return _named_by_nvidia() or len(_entries(dev, r"nvidia\d+")) or (_amd(drm) if (dev / "kfd").exists() else 0)


def _named_by_nvidia() -> int:
    """The number of lines `GPU 0: NAME (UUID)`; partitions (MIG) are indented. 0 if the program is missing or does not answer."""
    try:
        done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, timeout=_ASK_S, check=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return 0
    return len(re.findall(rb"^GPU \d+:", done.stdout, re.MULTILINE))


def _amd(drm: Path) -> int:
    """The number of AMD's compute devices (`renderD128` …)."""
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
