"""Whether the spool can be written: while it cannot, the qmaster answers queries, and refuses changes with the reason.

Owns the checks of the disk and the sentence. A qmaster that failed to write has ended, since its memory was ahead of its disk;
its successor must neither start work that it cannot record nor end again at its first change. Called by `service`. Source:
adr/0170.
"""

from __future__ import annotations

import asyncio
import logging

from daemons.qmaster.spooling.spool import Spool
from daemons.qmaster.spooling.spool_file import SpoolError
from daemons.runtime.messages import about
from gridengine.values.units import format_duration

_log = logging.getLogger(__name__)
LOOK_S = 1.0


class SpoolSpace:
    """`refusal`: the answer to changing requests; "" while the spool can be written."""

    def __init__(self, spool: Spool) -> None:
        self.refusal = ""
        self._spool = spool

    def check(self) -> bool:
        """Whether the spool can be written now."""
        try:
            self._spool.probe()
        except SpoolError as fault:
            if not self.refusal:
                _log.critical("%s; nothing is changed until there is space", fault, extra=about("spool_full"))
            self.refusal = f"{fault}; nothing is changed until there is space, running jobs go on"
            return False
        self.refusal = ""
        return True

    async def wait(self) -> None:
        """Return when the spool can be written."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while not self.check():
            await asyncio.sleep(LOOK_S)
        after_s = loop.time() - began
        fields = about("spool_written", after_s=round(after_s, 1))
        _log.warning("the spool can be written again after %s", format_duration(after_s), extra=fields)
