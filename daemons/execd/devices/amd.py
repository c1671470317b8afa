"""AMD's GPUs by the files of the kernel: /sys/class/kfd (computing) and /sys/class/drm.

AMD's library reads the same files. A GPU without the compute driver has no node in kfd, and is not a device for jobs. Source: the
kernel's documentation of amdgpu and its uapi kfd_sysfs.h.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from daemons.execd.devices.pci import near, read_text, short_model
from daemons.execd.devices.reader_errors import InterfaceMissingError
from gridengine.protocols.devices import UNKNOWN, Device, DeviceUsage

_KFD = "sys/class/kfd/kfd"
_XGMI = "11"
"""Type of a connection between two GPUs, in `io_links`."""


class _Node(NamedTuple):
    """A GPU in kfd. `number`: of the node; `gpu_id`: of the kernel; `directory`: of its device in /sys."""

    number: int
    gpu_id: str
    render: str
    identifier: str
    directory: Path


class AmdFiles:
    """The files below `root`."""

    def __init__(self, root: Path = Path("/")) -> None:
        """Raises InterfaceMissingError."""
        self._root, self._kfd = root, root / _KFD
        if not (self._kfd / "topology/nodes").is_dir():
            raise InterfaceMissingError("the kernel has no driver kfd")

    def close(self) -> None:
        """There is nothing to close."""

    def devices(self) -> list[Device]:
        nodes = self._nodes()
        identifiers = {node.number: node.identifier for node in nodes}
        found = []
        for index, node in enumerate(nodes):
            numa, cores = near(node.directory)
            errors = _uncorrectable(node.directory)
            found.append(
                Device(
                    "amd",
                    index,
                    node.identifier,
                    model=short_model(read_text(node.directory / "product_name")),
                    memory=_number(node.directory / "mem_info_vram_total", 0),
                    device_files=("/dev/kfd", f"/dev/dri/{node.render}"),
                    numa_node=numa,
                    cores=cores,
                    links=tuple(identifiers[other] for other in self._linked(node) if other in identifiers),
                    fault=f"{errors} uncorrectable memory errors" if errors > 0 else "",
                    ecc_errors=errors,
                )
            )
        return found

    def usage(self) -> list[DeviceUsage]:
        found = []
        for node in self._nodes():
            percent = _number(node.directory / "gpu_busy_percent")
            energy = [_number(path) for path in sorted(node.directory.glob("hwmon/hwmon*/energy1_input"))]
            found.append(
                DeviceUsage(
                    node.identifier,
                    utilisation=UNKNOWN if percent < 0 else min(1.0, percent / 100),
                    memory=_number(node.directory / "mem_info_vram_used", 0),
                    energy=energy[0] / 1e6 if energy and energy[0] >= 0 else UNKNOWN,
                    processes=self._processes(node),
                )
            )
        return found

    def _nodes(self) -> list[_Node]:
        """The GPUs, in the order of the kernel's nodes, as AMD's programs have them."""
        found = []
        nodes = [path for path in (self._kfd / "topology/nodes").iterdir() if path.name.isdecimal()]
        for directory in sorted(nodes, key=lambda path: int(path.name)):
            gpu_id, properties = read_text(directory / "gpu_id"), _properties(directory)
            minor = properties.get("drm_render_minor", "0")
            if gpu_id in ("", "0") or minor in ("0", "-1"):
                continue  # processors
            render = f"renderD{minor}"
            device = self._root / "sys/class/drm" / render / "device"
            unique = read_text(device / "unique_id") or f"{int(properties.get('unique_id', '0')):016x}"
            found.append(_Node(int(directory.name), gpu_id, render, f"GPU-{unique.removeprefix('0x')}", device))
        return found

    def _linked(self, node: _Node) -> list[int]:
        """Nodes with a direct connection (XGMI)."""
        links = self._kfd / "topology/nodes" / str(node.number) / "io_links"
        properties = [_properties(each) for each in sorted(links.glob("*"))]
        return [int(each.get("node_to", "-1")) for each in properties if each.get("type") == _XGMI]

    def _processes(self, node: _Node) -> dict[int, int]:
        """Processes with memory of the GPU: kfd has a directory for each."""
        sizes = {path.parent.name: _number(path, 0) for path in (self._kfd / "proc").glob(f"*/vram_{node.gpu_id}")}
        return {int(pid): size for pid, size in sizes.items() if pid.isdecimal()}


def _properties(directory: Path) -> dict[str, str]:
    """The lines `NAME NUMBER` of the file `properties`."""
    pairs = (line.partition(" ") for line in read_text(directory / "properties").splitlines())
    return {name: value.strip() for name, _, value in pairs}


def _uncorrectable(directory: Path) -> int:
    """The sum of uncorrectable errors (`ue: N`) of all blocks, -1 where the GPU counts none."""
    texts = [read_text(path) for path in sorted(directory.glob("ras/*_err_count"))]
    counts = [int(match[1]) for text in texts if (match := re.search(r"^ue:\s*(\d+)", text, re.MULTILINE))]
    return sum(counts) if counts else UNKNOWN


def _number(path: Path, default: int = UNKNOWN) -> int:
    text = read_text(path)
    return int(text) if text.isdecimal() else default
