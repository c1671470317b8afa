"""The devices of a host as its device reader reports them: the contract of the reader's program with its callers.

Owns the shapes and the line of JSON. The program is `python -m daemons.execd.devices`: a process of its own, so that a driver
that hangs or crashes hurts neither the exec host nor a command (adr/0345). Called by the reader, `sge_execd` and the admin
program.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct, field

PROGRAM = "daemons.execd.devices"
"""The module to run: `python -m` prints one reading as a line of JSON; with `--follow` a line for each line of its input."""

UNKNOWN = -1
"""A number that the vendor's interface does not give."""


class Device(Struct, omit_defaults=True, frozen=True):
    """A GPU, or a slice of a GPU (MIG)."""

    #: the maker of the chip
    vendor: Literal["nvidia", "amd"]
    #: position among the GPUs of the host, from 0 on, as the vendor's programs number them; of a slice: among those of its GPU
    index: int
    #: of the vendor, for ever the same: `GPU-…`, `MIG-…`
    identifier: str
    #: short name of the model, as `h100`; of a slice with its profile, as `a100-1g.5gb`
    model: str = ""
    #: bytes, 0 for unknown
    memory: int = 0
    #: absolute paths that a process needs to use it, besides the files of the driver that all devices share
    device_files: tuple[str, ...] = ()
    #: NUMA node, -1 for unknown
    numa_node: int = UNKNOWN
    #: processors near it, as `0-15,32-47`, "" for unknown
    cores: str = ""
    #: identifier of the GPU of which this is a slice, "" for a whole GPU
    parent: str = ""
    #: index of that GPU, -1 for a whole GPU
    parent_index: int = UNKNOWN
    #: whether the GPU is divided: jobs use its slices only
    divided: bool = False
    #: identifiers of devices with a fast connection to it (NVLink, XGMI)
    links: tuple[str, ...] = ()
    #: why no job should use it, "" if healthy
    fault: str = ""
    #: uncorrectable memory errors since the driver was loaded, -1 for unknown
    ecc_errors: int = UNKNOWN
    #: critical errors (XID) since the reader started, -1 for unknown
    xid_errors: int = UNKNOWN

    @property
    def unit(self) -> str:
        """Its name in a resource map: `0`; `0.1` for the slice 1 of the GPU 0."""
        return f"{self.parent_index}.{self.index}" if self.parent else str(self.index)


class DeviceUsage(Struct, omit_defaults=True, frozen=True):
    """The use of a device at the moment. A GPU that is divided has the use of all of its slices."""

    #: of the device
    identifier: str
    #: share of the time in which it computed, 0 to 1; -1 for unknown
    utilisation: float = UNKNOWN
    #: bytes, of all processes and the driver
    memory: int = 0
    #: joules since the driver was loaded, a counter; -1 for unknown
    energy: float = UNKNOWN
    #: process id, as the host numbers them -> bytes, 0 for unknown
    processes: dict[int, int] = field(default_factory=dict)


class DeviceReading(Struct, omit_defaults=True):
    """All `devices` at one time, slices after their GPU, and their `usage` at that time. `fault`: the reason for which a driver
    that is there could not be asked, "" for none."""

    devices: list[Device] = field(default_factory=list)
    usage: list[DeviceUsage] = field(default_factory=list)
    fault: str = ""


encode = msgspec.json.Encoder().encode
"""A reading as JSON without a line break."""
decode = msgspec.json.Decoder(DeviceReading).decode
"""A reading. Raises msgspec.DecodeError."""
