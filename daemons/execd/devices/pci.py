"""The place of a PCI device by the kernel, and short names of models. Called by the readers."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

from gridengine.protocols.devices import UNKNOWN

_MAKERS = frozenset("nvidia amd ati tesla geforce quadro instinct radeon graphics generation advanced micro devices inc.".split())
_FAMILIES = frozenset(("rtx", "gtx", "titan"))


def pci_directory(root: Path, address: str) -> Path:
    """The directory of a device in /sys. `address`: `00000000:3B:00.0`, as NVIDIA writes it, or with a domain of four digits."""
    domain, _, rest = address.lower().partition(":")
    return root / "sys/bus/pci/devices" / f"{domain[-4:]}:{rest}"


def near(directory: Path) -> tuple[int, str]:
    """NUMA node (-1 for unknown) and near processors ("" for unknown) of a device."""
    try:
        node = int(read_text(directory / "numa_node"))
    except ValueError:
        node = UNKNOWN
    return node, read_text(directory / "local_cpulist")


def read_text(path: Path) -> str:
    """The content of a file of the kernel without its line break, "" if there is none."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def short_model(name: str) -> str:
    """The short name of a model: `h100` of "NVIDIA H100 80GB HBM3", `rtx4090` of "NVIDIA GeForce RTX 4090"; "gpu" of no name."""
    parts = [part for part in re.split(r"[\s/_()-]+", name.lower()) if part and part not in _MAKERS]
    for part, following in pairwise([*parts, ""]):
        if part in _FAMILIES and following[:1].isdigit():
            return f"{part}{following}"
        if part not in _FAMILIES and re.search(r"[a-z]", part):
            return re.sub(r"[^a-z0-9.]", "", part) or "gpu"
    return parts[0] if parts else "gpu"
