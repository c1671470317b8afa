"""A witness: an exec host whose word counts when hosts that may be the master ask for the right to be it.

Owns the door for them and this host's promise; what may be promised is `gridengine.lease`'s to know. A cell whose master cannot
be taken over by another host has none. Called by the supervisor. Source: docs/adr/0146.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Mapping

import aiohttp

from daemons.runtime.cell import Cell
from daemons.runtime.keys import exec_host_keys
from daemons.runtime.lease_voter import LeaseVoter
from daemons.runtime.peers import serve_peers, until_shadowed

_LOOK_S = 10.0


class Witness:
    """That of one exec host. Raises CellFault when its promise cannot be read."""

    def __init__(self, cell: Cell, host: str) -> None:
        self._cell, self._host = cell, host
        self._voter = LeaseVoter(cell.execd_spool(host) / "promise")

    async def run(self) -> None:
        """Answer until cancelled, from the moment when the cell has several hosts that may be the master; one that is among them
        answers as such. Raises OSError, CellFault."""
        while True:
            if self._host not in await until_shadowed(self._cell):
                try:
                    keys = exec_host_keys(self._cell, self._host)
                    await serve_peers(self._cell, self._host, keys, {"lease": self._asked})
                except OSError as error:
                    if error.errno != errno.EADDRINUSE:
                        raise
                    # another exec host of this machine answers for all of them
            await asyncio.sleep(_LOOK_S)

    async def _asked(self, caller: str, _headers: Mapping[str, str], body: aiohttp.StreamReader) -> tuple[int, bytes]:
        return 200, await self._voter.answer(await body.read(), caller=caller)
