"""Unit sampler: reads the devices of this host while tasks have any, for the usage of the devices.

Owns the reader, a separate process: a driver that hangs or crashes does not hurt the daemon. No reader runs while no task has a
device. Called by the execd, which restarts it after a failure. Source: adr/0355.
"""

from __future__ import annotations

import asyncio
import logging
import os
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec

from daemons.execd.gpu_job_files import GpuJobFiles
from daemons.execd.unit_meters import DeviceFigures, UnitMeters
from daemons.runtime import children
from daemons.runtime.daemon import module_command, module_environment
from daemons.runtime.log_once import LogOnce
from gridengine.protocols.devices import PROGRAM, DeviceReading, decode
from gridengine.state.configured.configuration import HostConfiguration

_log = logging.getLogger(__name__)

PATIENCE_S = 60.0
"""Time that a reader may take for a reading beyond its interval: a driver may load first."""
_MAX_LINE_BYTES = 4 * 2**20


class DeviceReaderError(OSError):
    """The reader has ended, hangs, or prints something else than readings. The text is a sentence."""


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


async def start_reader(interval_s: float) -> Process:
    """Start a reader that prints a line at once and in each interval. Raises OSError."""
    return await children.begin(
        *module_command(PROGRAM),
        "--every",
        f"{interval_s:g}",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=module_environment(os.environ),
        cwd="/",
        limit=_MAX_LINE_BYTES,
    )


class UnitSampler:
    """Brings readings to the meters of a host."""

    def __init__(self, meters: UnitMeters, start: Callable[[float], Awaitable[Process]] = start_reader) -> None:
        self._meters, self._start = meters, start
        self._files = GpuJobFiles()
        self._interval_s: float | None = None
        self._readings: list[DeviceFigures] = []
        self._process: Process | None = None
        self._changed = asyncio.Event()
        self._logged = LogOnce()
        meters.on_change = self._tasks_changed

    def configure(self, configuration: HostConfiguration) -> None:
        """Apply GPU_INTERVAL and GPU_JOB_FILES."""
        interval_s = configuration.execd_params.gpu_interval_s
        self._files.configure(configuration.execd_params.gpu_job_files)
        self._interval_s = configuration.load_report_time_s if interval_s == 0 else interval_s
        self._tasks_changed()

    async def run(self) -> None:
        """Read while any task has a device. Raises DeviceReaderError."""
        while True:
            self._changed.clear()
            if self._meters and self._interval_s is not None:
                await self._read(self._interval_s)
            else:
                await self._changed.wait()

    def _tasks_changed(self) -> None:
        self._changed.set()
        self._files.write(self._meters.jobs_by_gpu(self._readings))
        if not self._meters and self._process is not None:
            process, self._process = self._process, None
            with suppress(ProcessLookupError):
                process.kill()

    async def _read(self, interval_s: float) -> None:
        process = self._process = await self._start(interval_s)
        try:
            assert process.stdout is not None
            while self._interval_s == interval_s:
                try:
                    async with asyncio.timeout(interval_s + PATIENCE_S):
                        line = await process.stdout.readline()
                except TimeoutError:
                    raise DeviceReaderError(f"the reader has not answered for {interval_s + PATIENCE_S:g} s") from None
                if self._process is None:  # it was ended with the last task
                    return
                self._take(line)
        finally:
            self._process = None
            await children.end(process)

    def _take(self, line: bytes) -> None:
        try:
            reading = decode(line)
        except msgspec.DecodeError as error:
            raise DeviceReaderError(f"the reader prints no reading: {error}" if line else "the reader has ended") from None
        if reading.fault and self._logged.is_new(reading.fault):
            _log.warning("devices of jobs cannot be read: %s", reading.fault)
        elif not reading.fault:
            self._logged.clear()
        self._readings = readings_of(reading)
        self._meters.note(self._readings)
        self._files.write(self._meters.jobs_by_gpu(self._readings))
