"""Unit meters: the figures that accumulate for the devices of the tasks on this host, from one reading to the next.

Owns the arithmetic, and the file `units` in a task's directory, which a restarted daemon goes on from. Reads no device. `tasks`
adds and removes tasks, `unit_sampler` brings readings. Source: adr/0355.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from daemons.execd.recycled_directories import overwrite
from gridengine.errors import plain_fault
from gridengine.protocols.delivery import Origin
from gridengine.usage.unit_usage import UnitUsage
from gridengine.values.gpus import GPUS
from gridengine.values.task_key import TaskKey

_log = logging.getLogger(__name__)
_FILE = "units"
LONGEST_GAP_S = 60.0
"""The longest time since the previous reading for which a reading stands: the daemon may have been down."""


class DeviceFigures(NamedTuple):
    """A device at one moment. `identifier`: of the vendor; `unit`: the usual name in a resource map. `gpu`: number of the GPU, of
    a slice the number of the whole GPU. `utilisation`: 0..1, `memory`: bytes, `energy`: J, a counter; None for unknown."""

    identifier: str
    unit: str
    gpu: int
    utilisation: float | None = None
    memory: float | None = None
    energy: float | None = None


class TaskDevice(NamedTuple):
    """A `unit` of a `resource` of this host. `identifier`: of the vendor, "" for unknown."""

    resource: str
    unit: str
    identifier: str = ""


class UnitMeter(Struct, omit_defaults=True):
    """A device of a task: `unit` of `resource`. `since`: when the task got the device, `time`: of the last reading, `counter`:
    the energy at that time. Times are seconds since boot, a clock that is never set. `busy`: utilisation times seconds.
    `identifier`, `measured`, `memory`, `energy` and `shared` as in `UnitUsage`."""

    resource: str
    unit: str
    since: float
    identifier: str = ""
    time: float | None = None
    counter: float | None = None
    measured: float = 0.0
    busy: float = 0.0
    memory: float | None = None
    energy: float | None = None
    shared: bool = False

    def is_of(self, reading: DeviceFigures) -> bool:
        """Whether a reading is of this device: by the identifier where known, else by the unit."""
        return reading.identifier == self.identifier if self.identifier else self.unit in (reading.unit, reading.identifier)

    def add(self, reading: DeviceFigures, now: float, shared: bool) -> None:
        """Add a reading. The first begins; a later one stands for the time since the reading before."""
        gap = now - self.time if self.time is not None else 0.0
        if reading.utilisation is not None and 0 < gap <= LONGEST_GAP_S:
            self.measured += gap
            self.busy += reading.utilisation * gap
        if reading.memory is not None:
            self.memory = max(self.memory or 0.0, reading.memory)
        if reading.energy is not None:
            if self.counter is not None and reading.energy >= self.counter:  # a driver that is loaded again counts from 0
                self.energy = (self.energy or 0.0) + reading.energy - self.counter
            self.counter = reading.energy
        self.identifier = self.identifier or reading.identifier
        self.shared |= shared
        self.time = now

    def usage(self, host: str, seconds: float, now: float) -> UnitUsage:
        """The usage until now, of a task that has run for these seconds."""
        held = now - self.since
        return UnitUsage(
            host,
            self.resource,
            self.unit,
            round(held if 0 <= held < seconds else seconds, 3),
            round(self.busy / self.measured, 6) if self.measured else None,
            self.memory,
            None if self.energy is None else round(self.energy, 3),
            round(self.measured, 3),
            self.shared,
            self.identifier,
        )


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[UnitMeter]).decode


def since_boot() -> float:
    """Seconds since boot, by a clock that is never set."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def gpus_of(origin: Origin, numbers: Iterable[int]) -> list[TaskDevice]:
    """The GPUs of a task. `numbers`: of the GPUs that this host has given it."""
    named, identifiers = dict.fromkeys(origin.units.get(GPUS, ())), origin.identifiers
    known = zip(named, identifiers, strict=True) if len(identifiers) == len(named) else zip(named, [""] * len(named), strict=True)
    return [*(TaskDevice(GPUS, unit, name) for unit, name in known), *(TaskDevice(GPUS, str(number)) for number in numbers)]


class _Held(NamedTuple):
    """The devices of a task, and the directory of the task."""

    directory: Path
    meters: list[UnitMeter]


class UnitMeters:
    """The meters of all tasks of `host`; `clock`: seconds since boot. Slave tasks have the devices of their job, so the first
    task of a job here is counted, and after its end the next one."""

    def __init__(self, host: str, clock: Callable[[], float] = since_boot) -> None:
        self._host, self._clock = host, clock
        self._held: dict[TaskKey, _Held] = {}
        self._ended: dict[TaskKey, list[UnitUsage]] = {}
        self.on_change: Callable[[], None] = lambda: None
        """Called when a task with devices has come or gone."""

    def __bool__(self) -> bool:
        return bool(self._held)

    def add(self, key: TaskKey, directory: Path, devices: Iterable[TaskDevice]) -> None:
        """A task starts, or is found after a restart, with these devices."""
        meters = [UnitMeter(device.resource, device.unit, self._clock(), device.identifier) for device in devices]
        if not meters:
            return
        known = {(meter.resource, meter.unit): meter for meter in _read(directory / _FILE)}
        self._held[key] = _Held(directory, [known.get((meter.resource, meter.unit), meter) for meter in meters])
        if not known:
            _write(self._held[key])
        self.on_change()

    def end(self, key: TaskKey, seconds: float) -> list[UnitUsage]:
        """The usage of a task that has ended after these seconds; a repeated call returns the same. Another task of the job with
        the same devices here is counted from now on."""
        if key not in self._ended:
            self._ended[key] = self.usage(key, seconds)
            self._release(key)
        return self._ended[key]

    def remove(self, key: TaskKey) -> None:
        """The task is no longer here."""
        self._ended.pop(key, None)
        self._release(key)

    def _release(self, key: TaskKey) -> None:
        if self._held.pop(key, None) is None:
            return
        for successor in sorted(other for other in self._held if other.master == key.master)[:1]:
            for meter in self._held[successor].meters:
                meter.since = self._clock()
        self.on_change()

    def note(self, readings: Sequence[DeviceFigures]) -> None:
        """Add readings of the devices to the meters, and write the meters to disk. Blocking: a file for each task."""
        now, matched = self._clock(), self._match(readings)
        holders = Counter(reading.identifier for _, _, reading in matched)
        for _, meter, reading in matched:
            meter.add(reading, now, shared=holders[reading.identifier] > 1)
        for key in dict.fromkeys(key for key, _, _ in matched):
            _write(self._held[key])

    def jobs_by_gpu(self, readings: Sequence[DeviceFigures]) -> dict[int, list[int]]:
        """The jobs on each GPU in use, by the number of the GPU."""
        found: dict[int, dict[int, None]] = {}
        for key, _, reading in self._match(readings):
            found.setdefault(reading.gpu, {})[key.job] = None
        return {gpu: list(jobs) for gpu, jobs in found.items()}

    def usage(self, key: TaskKey, seconds: float) -> list[UnitUsage]:
        """The usage of the devices that are counted for this task, which has run for these seconds; [] without devices."""
        if key not in self._held or not self._is_counted(key):
            return []
        now = self._clock()
        return [meter.usage(self._host, seconds, now) for meter in self._held[key].meters]

    def _match(self, readings: Sequence[DeviceFigures]) -> list[tuple[TaskKey, UnitMeter, DeviceFigures]]:
        return [
            (key, meter, reading)
            for key in sorted(self._held)
            if self._is_counted(key)
            for meter in self._held[key].meters
            for reading in readings
            if meter.is_of(reading)
        ]

    def _is_counted(self, key: TaskKey) -> bool:
        return not any(other.master == key.master and other < key for other in self._held)


def _write(held: _Held) -> None:
    path = held.directory / _FILE
    try:
        overwrite(path, _encode(held.meters))
    except OSError as error:  # `health` reports a disk that is full
        _log.info("cannot write %s: %s", path, plain_fault(error))


def _read(path: Path) -> list[UnitMeter]:
    try:
        return _decode(path.read_bytes())
    except FileNotFoundError:
        return []
    except (OSError, msgspec.MsgspecError) as error:
        _log.warning("%s cannot be read, its task's devices are measured from now on: %s", path, plain_fault(error))
        return []
