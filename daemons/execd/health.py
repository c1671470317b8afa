"""Whether this host can run tasks at all: its spool directory must be writable.

Owns the check and the report; the qmaster decides about the queue instances. Called by the execd actor.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from contextlib import suppress

from daemons.execd.site import HostSite
from gridengine.protocols.delivery import HostFaults

_log = logging.getLogger(__name__)

#: the space that a task's directory takes, with the files that its shepherd writes; bytes
_PROBE_BYTES = 65536
#: seconds between two checks: without a fault, and with a fault
_PAUSE_S, _FAULTY_PAUSE_S = 20.0, 1.0


def spool_fault(site: HostSite) -> str:
    """Return the reason why no files can be written to the spool directory, "" if files can be written. Blocks for a moment."""
    for directory in (site.active_jobs, site.spool):  # either may be a mount of its own
        probe = directory / ".probe"
        try:
            with probe.open("wb") as file:
                file.write(bytes(_PROBE_BYTES))
                file.flush()
                os.fsync(file.fileno())
            probe.unlink()
        except OSError as error:
            with suppress(OSError):
                probe.unlink()
            return f"{site.spool} takes no files: {error.strerror}"
    return ""


class Health:
    """The faults of the host; `report` is called when they change."""

    def __init__(self, site: HostSite, report: Callable[[HostFaults], None]) -> None:
        self._site, self._report = site, report
        self.faults: list[str] = []

    async def check(self) -> list[str]:
        """Check now. Returns the faults."""
        fault = await asyncio.to_thread(spool_fault, self._site)
        faults = [fault] if fault else []
        if faults != self.faults:
            self.faults = faults
            if fault:
                _log.error("this host takes no jobs: %s", fault)
            else:
                _log.info("the spool directory %s takes files again", self._site.spool)
            self._report(HostFaults(faults))
        return faults

    async def run(self) -> None:
        """Check forever."""
        while True:
            await asyncio.sleep(_FAULTY_PAUSE_S if await self.check() else _PAUSE_S)
