"""Device watch: follows the devices of this host, their health and their use, by a reader in a process of its own.

Owns the reader: a driver that hangs or crashes hurts neither this daemon nor its jobs. A host without a driver runs no reader.
One reader serves all: a GPU may forget its critical errors when the reader ends. Called by the execd actor. Source: adr/0345.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from daemons.runtime import children
from daemons.runtime.daemon import module_command, module_environment
from gridengine.errors import plain_fault
from gridengine.protocols.devices import PROGRAM, Device, DeviceReading, decode

_log = logging.getLogger(__name__)

EVERY_S = 30.0
"""Longest time between two readings."""
PATIENCE_S = 90.0
"""Longest time without a reading: a driver may take long to load."""
PAUSE_S = 60.0
"""Time between two looks for a driver, and before a reader that failed is started again."""
_MAX_LINE_BYTES = 4 * 2**20
_DRIVERS = (Path("/dev/nvidiactl"), Path("/sys/class/kfd/kfd/topology/nodes"))


def has_driver() -> bool:
    """Whether this host has a driver of GPUs, or a program that asks one."""
    return any(path.exists() for path in _DRIVERS) or shutil.which("nvidia-smi") is not None


async def start_reader() -> Process:
    """Start a reader that prints a line for each line of its input. Raises OSError."""
    return await children.begin(
        *module_command(PROGRAM),
        "--follow",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=module_environment(os.environ),
        cwd="/",
        limit=_MAX_LINE_BYTES,
    )


class DeviceWatch:
    """`devices`: of the last reading, None while there was none; `fault`: the reason for which there is no newer reading, "" for
    none. `on_change()` is called when either has changed, `on_reading(reading)` with each reading."""

    def __init__(
        self,
        on_change: Callable[[], None],
        start: Callable[[], Awaitable[Process]] = start_reader,
        is_needed: Callable[[], bool] = has_driver,
        patience_s: float = PATIENCE_S,
        pause_s: float = PAUSE_S,
    ) -> None:
        self.devices: list[Device] | None = None
        self.fault = ""
        self.on_reading: Callable[[DeviceReading], None] = lambda _reading: None
        self._on_change, self._start, self._is_needed = on_change, start, is_needed
        self._patience_s, self._pause_s, self._every_s = patience_s, pause_s, EVERY_S
        self._due = asyncio.Event()

    def read_every(self, seconds: float | None) -> None:
        """Read at least so often from now on, and once soon if that is more often; None: the watch itself suffices."""
        before, self._every_s = self._every_s, min(seconds or EVERY_S, EVERY_S)
        if self._every_s < before:
            self._due.set()

    async def run(self) -> None:
        """Follow the devices until cancelled."""
        while True:
            if self._is_needed():
                await self._follow()
            elif self.devices is not None:
                self._take(DeviceReading(fault="the driver of the devices is gone") if self.devices else DeviceReading())
            await asyncio.sleep(self._pause_s)

    async def _follow(self) -> None:
        """Take the readings of one reader until the reader fails, and note the fault before the reader ends."""
        process = None
        try:
            process = await self._start()
            await self._take_lines(process)
        except TimeoutError:
            self._take(DeviceReading(fault=f"the driver has not answered for {self._patience_s:g} s"))
        except (OSError, msgspec.DecodeError, ValueError) as error:
            _log.debug("the reader of devices: %s", plain_fault(error))
            self._take(DeviceReading(fault="the reader of devices fails"))
        finally:
            if process is not None:
                # a process that waits for its driver may not end: no second one is started beside it
                await asyncio.shield(asyncio.ensure_future(children.end(process, None)))

    async def _take_lines(self, process: Process) -> None:
        """Raises OSError, TimeoutError, msgspec.DecodeError, ValueError (a line is too long)."""
        assert process.stdin is not None and process.stdout is not None
        while True:
            self._due.clear()
            process.stdin.write(b"\n")
            async with asyncio.timeout(self._patience_s):
                line = await process.stdout.readline()
            if not line:
                raise ConnectionError("it ended")
            self._take(decode(line))
            with suppress(TimeoutError):
                async with asyncio.timeout(self._every_s):
                    await self._due.wait()

    def _take(self, reading: DeviceReading) -> None:
        self.on_reading(reading)
        devices = reading.devices if not reading.fault else self.devices or []
        if (devices, reading.fault) == (self.devices, self.fault):
            return
        if reading.fault != self.fault:
            if reading.fault:
                _log.warning("devices of this host: %s", reading.fault)
            else:
                _log.info("the devices of this host can be read")
        for device in devices:
            if device.fault and device not in (self.devices or ()):
                _log.error("device %s (%s): %s", device.unit, device.identifier or "no identifier", device.fault)
        self.devices, self.fault = devices, reading.fault
        self._on_change()

    def load_values(self) -> dict[str, str]:
        """The sums of errors of all devices, by the names of load values; no value where no device counts them."""
        found = {}
        for name in ("ecc_errors", "xid_errors"):
            counts = [count for device in self.devices or () if (count := getattr(device, name)) >= 0]
            if counts:
                found[f"gpu_{name}"] = str(sum(counts))
        return found
