"""The load sensors of a host: the list of them, and their values together.

Owns the list: the sensors of `load_sensor` in the configuration in force, `qloadsensor` of the cell's common directory, and
`qidle` there if USE_QIDLE is set. Called by the execd actor. Source: sge_conf(5) load_sensor, USE_QIDLE; LS-3, LS-4.
Deviation: 8.1.9 looks for the two in the directory of the host's binaries.
"""

from __future__ import annotations

import asyncio
import os
import socket
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from daemons.execd.load_sensor import Figures, LoadSensor, start_process
from daemons.execd.site import HostSite
from daemons.runtime import identity
from daemons.runtime.cell import Cell
from daemons.runtime.name_service import Lookups
from gridengine.addresses import canonical, is_loopback
from gridengine.files.durable import atomic_write
from gridengine.protocols.protocol import SENSOR_FAULTS_FILE
from gridengine.state.bookings import GLOBAL
from gridengine.state.configured.configuration import HostConfiguration

_SHOWN_HOSTS = 10


def configured_sensors(configuration: HostConfiguration | None, common: Path) -> list[str]:
    """Paths of the sensors that are to run, each once; none while the host is not configured."""
    if configuration is None:
        return []
    paths = list(configuration.load_sensor)
    automatic = ["qloadsensor", *(["qidle"] if configuration.execd_params.use_qidle else [])]
    paths += [str(common / name) for name in automatic if (common / name).is_file()]
    return list(dict.fromkeys(paths))


class LoadSensors:
    """All sensors of a host. `configured_paths()`: paths of the sensors that are to run; `on_news()`: their values have changed;
    `note(faults)`: their faults, one sentence each, have changed.
    """

    def __init__(
        self,
        configured_paths: Callable[[], list[str]],
        start: Callable[[str], Awaitable[Process]],
        on_news: Callable[[], None],
        note: Callable[[list[str]], None] = lambda faults: None,
    ) -> None:
        self._configured_paths, self._start, self._on_news, self._note = configured_paths, start, on_news, note
        self._noted: list[str] | None = None
        self._sensors: dict[str, LoadSensor] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def ask(self) -> None:
        """Request a report of all sensors; new sensors are started, sensors that are no longer configured end."""
        configured_paths = self._configured_paths()
        for path in self._sensors.keys() - set(configured_paths):
            ending = self._running.pop(path)
            ending.cancel()
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
            if self._sensors.pop(path).figures:
                self._on_news()
        for path in configured_paths:
            if path not in self._sensors:
                sensor = self._sensors[path] = LoadSensor(path, self._start, self._on_news, on_faults=self._note_faults)
                self._running[path] = asyncio.get_running_loop().create_task(sensor.run())
            self._sensors[path].ask()
        self._sensors = {path: self._sensors[path] for path in configured_paths}
        self._note_faults()

    def _note_faults(self) -> None:
        faults = [f"load sensor {path} {text}" for path, sensor in self._sensors.items() for text in sensor.faults.values()]
        if faults != self._noted:
            self._noted = faults
            self._note(faults)

    async def stop(self) -> None:
        """End all."""
        running, self._running, self._sensors = [*self._running.values(), *self._ending], {}, {}
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def figures(self) -> Figures:
        """Return the values of all sensors, by hosts as the sensors name them; if two sensors report the same value, the
        later sensor in the list wins."""
        found: Figures = {}
        for sensor in self._sensors.values():
            for host, values in sensor.figures.items():
                found.setdefault(host, {}).update(values)
        return found

    def unknown_hosts(self, hosts: Iterable[str], unique: Callable[[str], str]) -> None:
        """The qmaster has no such hosts: note a fault of the sensors that name them. `unique`: see `SensorHostNames`."""
        unknown = set(hosts)
        for sensor in self._sensors.values():
            named = sorted(host for host in sensor.figures if unique(host) in unknown)
            if named:
                sensor.note_fault("hosts", f"names hosts that are not exec hosts: {' '.join(named[:_SHOWN_HOSTS])}")


def write_faults(spool: Path, faults: list[str]) -> None:
    """Write the faults of the sensors to the file that `gridengine doctor` reads. `health` reports a disk that is full."""
    with suppress(OSError):
        atomic_write(spool / SENSOR_FAULTS_FILE, "".join(f"{fault}\n" for fault in faults).encode(), 0o644)


class SensorHostNames:
    """Resolves the host names of sensors: the own host by any of its names and addresses, other hosts by the cell's aliases
    (GC-5).

    No resolver is used, since a silent resolver would block the daemon: the addresses are those of the host's own interfaces.
    """

    def __init__(self, cell: Cell, host: str) -> None:
        self._cell, self._host = cell, host
        machine = socket.gethostname()
        names = (host, host.partition(".")[0], machine, machine.partition(".")[0])
        self._own = frozenset(name.lower() for name in names)
        self._addresses = frozenset(_own_addresses())

    def unique(self, name: str) -> str:
        if name.lower() == GLOBAL:
            return GLOBAL
        unique = self._cell.unique_name(name)
        if unique.lower() == self._host.lower() or canonical(name) in self._addresses:
            return self._host
        # a machine may be several hosts of a cell: an alias of another host is not a name of this host
        return self._host if unique == name and self._is_own(name.lower()) else unique

    def _is_own(self, name: str) -> bool:
        """Whether this is a name of the own host: one of its names, or its name with a domain where the cell has it without."""
        return name in self._own or ("." not in self._host and name.partition(".")[0] == self._host.lower())


def _own_addresses() -> list[str]:
    """Addresses of this machine's interfaces, without a zone; none of the loopback, which each machine has."""
    found = [canonical(entry.address.partition("%")[0]) for entries in psutil.net_if_addrs().values() for entry in entries]
    return [address for address in found if address and not is_loopback(address)]


def sensor_starter(cell: Cell, site: HostSite) -> Callable[[str], Awaitable[Process]]:
    """The function that starts a sensor: as the admin user, with the daemon's environment where it runs as that user, and
    SGE_HOST, the host's unique name."""

    environments: Lookups[str, Mapping[str, str]] = Lookups(lambda user: _base_environment(user, site))

    async def start(path: str) -> Process:
        base = await environments.find(cell.admin_user)
        return await start_process(path, cell.admin_user, {**base, **cell.environment(), "SGE_HOST": site.host})

    return start


def _base_environment(user: str, site: HostSite) -> Mapping[str, str]:
    """The daemon's environment; root's is not passed to a sensor of another user. Blocks. Raises InvalidValueError."""
    if os.geteuid() != 0:
        return site.inherited
    runs_as = identity.named(user)
    return site.inherited if runs_as.is_own else runs_as.environment(site.inherited)
