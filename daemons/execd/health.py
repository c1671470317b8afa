"""Whether this host can take tasks at all: its spool directory must take files.

Owns the look and the telling; what it means for queue instances is the qmaster's. Called by the execd actor.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from contextlib import suppress

from daemons.execd.site import HostSite
from gridengine.delivery import HostFaults

_log = logging.getLogger(__name__)

#: the space that a task's directory takes, with room for what its shepherd writes; bytes
_PROBE_BYTES = 65536
#: seconds between two looks: as long as nothing is wrong, and until it is mended
_PAUSE_S, _FAULTY_PAUSE_S = 20.0, 1.0


def spool_fault(site: HostSite) -> str:
    """Why the spool directory takes no files, "" if it does. Blocks for a moment."""
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
    """What is wrong with the host; `report` is told when that changes."""

    def __init__(self, site: HostSite, report: Callable[[HostFaults], None]) -> None:
        self._site, self._report = site, report
        self.faults: list[str] = []

    async def check(self) -> list[str]:
        """Look now. Returns what is wrong."""
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
        """Look for ever."""
        while True:
            await asyncio.sleep(_FAULTY_PAUSE_S if await self.check() else _PAUSE_S)
