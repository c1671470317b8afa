"""Device watch: follows the devices of this host and their health, by a reader in a process of its own.

Owns the reader: a driver that hangs or crashes hurts neither this daemon nor its jobs. A host without a driver runs no reader.
Called by the execd actor. Source: adr/0345.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from daemons.runtime import children
from daemons.runtime.daemon import die_with_parent, module_command, module_environment
from gridengine.errors import plain_fault
from gridengine.protocols.devices import PROGRAM, Device, DeviceReading, decode

_log = logging.getLogger(__name__)

EVERY_S = 30.0
"""Time between two readings."""
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
    """Start a reader that prints a line at once, and then every EVERY_S. Raises OSError."""
    parent = os.getpid()
    return await children.begin(
        *module_command(PROGRAM),
        "--every",
        str(EVERY_S),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=module_environment(os.environ),
        cwd="/",
        limit=_MAX_LINE_BYTES,
        preexec_fn=lambda: die_with_parent(parent),
    )


class DeviceWatch:
    """`devices`: of the last reading, None while there was none; `fault`: the reason for which there is no newer reading, "" for
    none. `on_change()` is called when either has changed."""

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
        self._on_change, self._start, self._is_needed = on_change, start, is_needed
        self._patience_s, self._pause_s = patience_s, pause_s

    async def run(self) -> None:
        """Follow the devices until cancelled."""
        while True:
            if self._is_needed():
                try:
                    await self._follow()
                except (OSError, msgspec.DecodeError, ValueError) as error:
                    _log.debug("the reader of devices: %s", plain_fault(error))
                    self._take(DeviceReading(fault="the reader of devices fails"))
                except TimeoutError:
                    self._take(DeviceReading(fault=f"the driver has not answered for {self._patience_s:.0f} s"))
            elif self.devices is not None:
                self._take(DeviceReading(fault="the driver of the devices is gone") if self.devices else DeviceReading())
            await asyncio.sleep(self._pause_s)

    async def _follow(self) -> None:
        """Take the lines of one reader. Raises OSError, TimeoutError, msgspec.DecodeError, ValueError (a line is too long)."""
        process = await self._start()
        assert process.stdout is not None
        try:
            while True:
                async with asyncio.timeout(self._patience_s):
                    line = await process.stdout.readline()
                if not line:
                    raise ConnectionError("it ended")
                self._take(decode(line))
        finally:
            # a process that waits for its driver may not end: no second one is started beside it
            await asyncio.shield(asyncio.ensure_future(children.end(process, None)))

    def _take(self, reading: DeviceReading) -> None:
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
