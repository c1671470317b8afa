"""The GPUs of this host and their use, from the interfaces of their vendors.

Owns the choice of the interface: NVIDIA's by NVML (library nvidia-ml-py), else by the program `nvidia-smi`; AMD's by the files
of the kernel. Each may take seconds, and may hang where a driver does: `sge_execd` runs `python -m daemons.execd.devices`, and
never calls these functions. Source: adr/0345.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

from daemons.execd.devices.amd import AmdFiles
from daemons.execd.devices.nvidia_smi import NvidiaSmi
from daemons.execd.devices.nvml import Nvml
from daemons.execd.devices.reader_errors import DeviceReadError, InterfaceMissingError
from gridengine.protocols.devices import Device, DeviceReading, DeviceUsage

__all__ = ["Device", "DeviceReadError", "DeviceReader", "DeviceUsage", "open_readers", "read_all", "read_devices", "read_usage"]


class DeviceReader(Protocol):
    """The devices of one vendor. Both methods raise DeviceReadError, and block."""

    def devices(self) -> list[Device]: ...

    def usage(self) -> list[DeviceUsage]: ...

    def close(self) -> None: ...


_VENDORS: tuple[tuple[Callable[[Path], DeviceReader], ...], ...] = ((Nvml, NvidiaSmi), (AmdFiles,))
"""The interfaces to the devices of each vendor; the first that the host has is used."""


@contextmanager
def open_readers(root: Path = Path("/")) -> Iterator[list[DeviceReader]]:
    """The readers that this host has a driver for. `root`: where /dev, /proc and /sys lie. Raises DeviceReadError."""
    with ExitStack() as opened:
        readers: list[DeviceReader] = []
        for interfaces in _VENDORS:
            for interface in interfaces:
                try:
                    reader = interface(root)
                except InterfaceMissingError:
                    continue
                opened.callback(reader.close)
                readers.append(reader)
                break
        yield readers


def read_devices(root: Path = Path("/")) -> list[Device]:
    """All GPUs of the host and their slices, each slice after its GPU. Raises DeviceReadError."""
    with open_readers(root) as readers:
        return [device for reader in readers for device in reader.devices()]


def read_usage(root: Path = Path("/")) -> list[DeviceUsage]:
    """The use of each device, in the order of `read_devices`. Raises DeviceReadError."""
    with open_readers(root) as readers:
        return [usage for reader in readers for usage in reader.usage()]


def read_all(readers: list[DeviceReader]) -> DeviceReading:
    """Devices and use of open readers; a reader that fails leaves its sentence."""
    reading = DeviceReading()
    for reader in readers:
        try:
            devices, usage = reader.devices(), reader.usage()
        except DeviceReadError as error:
            reading.fault = str(error)
            continue
        reading.devices += devices
        reading.usage += usage
    return reading
