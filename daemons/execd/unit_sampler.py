"""Unit sampler: brings the readings of this host's devices to the meters of the tasks that have devices.

Owns how often tasks need a reading, and the files for exporters. `device_watch` reads the devices. Called by the execd.
Source: adr/0355.
"""

from __future__ import annotations

from collections.abc import Callable

from daemons.execd.gpu_job_files import GpuJobFiles
from daemons.execd.unit_meters import DeviceFigures, UnitMeters
from gridengine.protocols.devices import DeviceReading
from gridengine.state.configured.configuration import HostConfiguration


def readings_of(reading: DeviceReading) -> list[DeviceFigures]:
    """The devices of a line of the reader."""
    uses = {use.identifier: use for use in reading.usage}
    found = []
    for device in reading.devices:
        if not device.identifier:  # lost by its driver
            continue
        use = uses.get(device.identifier)
        gpu = device.parent_index if device.parent else device.index
        if use is None:
            found.append(DeviceFigures(device.identifier, device.unit, gpu))
            continue
        known = (use.utilisation, float(use.memory), use.energy)
        figures = (figure if figure >= 0 else None for figure in known)
        found.append(DeviceFigures(device.identifier, device.unit, gpu, *figures))
    return found


class UnitSampler:
    """Samples the meters of a host. `read_every(seconds)`: asks for readings at least so often, None for no need."""

    def __init__(self, meters: UnitMeters, read_every: Callable[[float | None], None]) -> None:
        self._meters, self._read_every = meters, read_every
        self._files = GpuJobFiles()
        self._interval_s: float | None = None
        self._readings: list[DeviceFigures] = []
        meters.on_change = self._tasks_changed

    def configure(self, configuration: HostConfiguration) -> None:
        """Apply GPU_INTERVAL and GPU_JOB_FILES."""
        interval_s = configuration.execd_params.gpu_interval_s
        self._files.configure(configuration.execd_params.gpu_job_files)
        self._interval_s = configuration.load_report_time_s if interval_s == 0 else interval_s
        self._tasks_changed()

    def take(self, reading: DeviceReading) -> None:
        """Add a reading to the meters. Blocking: a file for each task."""
        if self._meters and self._interval_s is not None:
            self._readings = readings_of(reading)
            self._meters.note(self._readings)
            self._files.write(self._meters.jobs_by_gpu(self._readings))

    def _tasks_changed(self) -> None:
        self._read_every(self._interval_s if self._meters else None)
        self._files.write(self._meters.jobs_by_gpu(self._readings))
