"""The load values of a host: their names, their meaning and their number formats.

`load_values` is pure arithmetic over a `Reading`; only `read` uses psutil and /sys. `LoadReporter` finds the values that
have changed, including the values of load sensors. Called by the execd actor. Source: load_parameters(5), LS-1; number
formats O.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

import psutil

from daemons.execd.site import ARCHITECTURE
from gridengine.protocols.delivery import Load
from gridengine.protocols.devices import Device
from gridengine.values.topology import Core, Topology

_MEGABYTE = 2**20
_CPUS = Path("/sys/devices/system/cpu")


@dataclass(frozen=True, slots=True)
class Reading:
    """Measurements of the operating system. `load`: of the last 1, 5 and 15 minutes; `memory_total`, `memory_free`, `swap_total`,
    `swap_free`: bytes; `cpu_percent`: of all cores; `topology`: of the processors that are online.
    """

    load: tuple[float, float, float]
    memory_total: int
    memory_free: int
    swap_total: int
    swap_free: int
    cpu_percent: float
    topology: Topology


def read() -> Reading:
    """Measure the host. CPU use is that since the last call."""
    memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    return Reading(
        load=os.getloadavg(),
        memory_total=memory.total,
        memory_free=memory.available,
        swap_total=swap.total,
        swap_free=swap.free,
        cpu_percent=psutil.cpu_percent(),
        topology=host_topology(),
    )


def load_values(reading: Reading, cores_in_use: Collection[Core] = ()) -> dict[str, str]:
    """Load values by GE's names, in its number formats: six decimals, memory in `M`."""
    processors = reading.topology.processor_count
    loads = dict(zip(("short", "medium", "long"), reading.load, strict=True))
    loads["avg"] = loads["medium"]
    values = {f"load_{name}": f"{value:.6f}" for name, value in loads.items()}
    # from the printed load, as 8.1.9 does
    values |= {f"np_{name}": f"{float(text) / processors:.6f}" for name, text in values.items()}
    memory = {
        "mem": (reading.memory_total, reading.memory_free),
        "swap": (reading.swap_total, reading.swap_free),
        "virtual": (reading.memory_total + reading.swap_total, reading.memory_free + reading.swap_free),
    }
    for name, (total, free) in memory.items():
        values |= {
            f"{name}_total": _megabytes(total),
            f"{name}_free": _megabytes(free),
            f"{name}_used": _megabytes(total - free),
        }
    layout = reading.topology.text()
    return values | {
        "arch": ARCHITECTURE,
        "num_proc": str(processors),
        "cpu": f"{reading.cpu_percent:.6f}",
        "m_topology": layout,
        "m_topology_inuse": reading.topology.text(cores_in_use),
        "m_socket": str(layout.count("S")),
        "m_core": str(layout.count("C")),
        "m_thread": str(processors),
    }


SensorValues = tuple[dict[str, str], dict[str, dict[str, str]]]
"""Values of load sensors for the own host, and for other hosts and the cluster ("global"): host -> values."""


DeviceNews = tuple[list[Device] | None, str]
"""The devices of the host, None while they are not known, and the reason for which they cannot be read."""


def _no_sensor_values() -> SensorValues:
    return {}, {}


def _no_devices() -> DeviceNews:
    return None, ""


class LoadReporter:
    """Makes load reports: all values at first and on demand, later only changed values.

    `sensed()`: the values of load sensors; a sensor's value for the own host replaces the host's own value of that name.
    `cgroups()`: `v1`, `v2` or `none`, "" where the cell has them switched off. `devices()`: of the host.
    """

    def __init__(
        self,
        incarnation: str,
        reader: Callable[[], Reading] = read,
        sensed: Callable[[], SensorValues] = _no_sensor_values,
        cores_in_use: Callable[[], Collection[Core]] = tuple,
        cgroups: Callable[[], str] = str,
        devices: Callable[[], DeviceNews] = _no_devices,
    ) -> None:
        self._incarnation, self._reader, self._read_sensors = incarnation, reader, sensed
        self._cores_in_use, self._cgroups, self._devices = cores_in_use, cgroups, devices
        self._reported_devices: DeviceNews = _no_devices()
        self._reading: Reading | None = None
        self._last_reported: dict[str, str] = {}
        self._last_reported_others: dict[str, dict[str, str]] = {}

    def full(self, now: float) -> Load:
        """All values; values that it does not name have ceased."""
        self._reading = self._reader()
        own, others = self._read_sensors()
        self._last_reported, self._last_reported_others = self._values() | own, dict(others)
        devices, fault = self._reported_devices = self._devices()
        return Load(
            now,
            dict(self._last_reported),
            full=True,
            incarnation=self._incarnation,
            others=others,
            devices=devices,
            device_fault=fault,
        )

    def changes(self, now: float) -> Load:
        """Return the values that have changed since the last report; a report without changes is sent, too: it shows that
        the host lives."""
        self._reading = self._reader()
        return self.sensed(now)

    def _values(self) -> dict[str, str]:
        if self._reading is None:
            return {}
        cgroups = self._cgroups()
        return load_values(self._reading, self._cores_in_use()) | ({"cgroups": cgroups} if cgroups else {})

    def sensed(self, now: float) -> Load:
        """The same without a new measurement of the host: changes of load sensors' values, and of cores in use, need not wait."""
        own, others = self._read_sensors()
        values = self._values() | own
        changed, removed = _difference(self._last_reported, values)
        changed_others, removed_others = {}, {}
        for host in self._last_reported_others.keys() | others.keys():
            new, gone = _difference(self._last_reported_others.get(host, {}), others.get(host, {}))
            if new:
                changed_others[host] = new
            if gone:
                removed_others[host] = gone
        self._last_reported, self._last_reported_others = values, dict(others)
        before, self._reported_devices = self._reported_devices, self._devices()
        devices, fault = self._reported_devices if self._reported_devices != before else _no_devices()
        return Load(
            now,
            changed,
            removed,
            devices=devices,
            device_fault=fault,
            incarnation=self._incarnation,
            others=changed_others,
            others_removed=removed_others,
        )

    def unknown_hosts(self, hosts: list[str]) -> None:
        """The qmaster does not know these hosts: their values are reported again, for it may know them then."""
        for host in hosts:
            self._last_reported_others.pop(host, None)


def _difference(before: dict[str, str], now: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the values that are new or have changed, and the names of the values that have ceased."""
    return {name: value for name, value in now.items() if before.get(name) != value}, [n for n in before if n not in now]


def _megabytes(size: int) -> str:
    return f"{size / _MEGABYTE:.6f}M"


def host_topology() -> Topology:
    """The processors that are online; where the kernel does not show their topology, one socket of single cores."""
    found = []
    for directory in _CPUS.glob("cpu[0-9]*"):
        try:
            socket = int((directory / "topology" / "physical_package_id").read_text())
            core = int((directory / "topology" / "core_id").read_text())
        except (OSError, ValueError):
            continue  # offline
        found.append((socket, core, int(directory.name.removeprefix("cpu"))))
    return Topology.of(found or [(0, number, number) for number in range(psutil.cpu_count() or 1)])
