"""A witness: an exec host that votes when candidate hosts campaign to become the leader.

Owns the listener for them and this host's vote record; `protocols.lease` decides on votes. A cell without failover has no
witnesses, unless it had failover once: a starting master may request earlier votes (adr/0174).
Called by the supervisor. Source: docs/adr/0146.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Mapping

import aiohttp

from daemons.runtime.cell import Cell
from daemons.runtime.keys import exec_host_keys
from daemons.runtime.lease_voter import VOTE_RECORD, LeaseVoter
from daemons.runtime.peers import PeerHandler, serve_peers

_POLL_S = 2.0


class Witness:
    """The witness of one exec host. Raises CellError when its vote record cannot be read."""

    def __init__(self, cell: Cell, host: str) -> None:
        self._cell, self._host = cell, host
        # written by sge_qmaster and sge_shadowd, while this host is a candidate
        candidate_record = cell.qmaster_spool_dir / "shadow" / "promise"
        self._voter = LeaseVoter(cell.execd_spool(host) / "promise", other=candidate_record)

    async def run(self) -> None:
        """Answer while this host is a witness, until cancelled; on a candidate host another daemon answers.
        Raises OSError, CellError."""
        while True:
            self._voter.load()
            if self._is_witness():
                await self._serve()
            await asyncio.sleep(_POLL_S)

    def _is_witness(self) -> bool:
        """Return whether other hosts are candidates, or were candidates when this host voted. Raises CellError."""
        candidate_hosts = self._cell.candidate_hosts()
        return self._host not in candidate_hosts and bool(candidate_hosts or self._voter.record.epoch)

    async def _serve(self) -> None:
        """Listen while this host is a witness. Raises OSError, CellError."""
        messages: dict[str, PeerHandler] = {VOTE_RECORD: self._voter.answer_record_request}
        keys = exec_host_keys(self._cell, self._host)
        serving = serve_peers(self._cell, self._host, keys, {"lease": self._answer_request}, self._voter.load, messages)
        server = asyncio.create_task(serving)
        try:
            while self._is_witness() and not server.done():
                await asyncio.wait((server,), timeout=_POLL_S)
            if server.done():
                await server
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            # another exec host of this machine answers for all of them
        finally:
            server.cancel()
            await asyncio.gather(server, return_exceptions=True)

    async def _answer_request(self, caller: str, _headers: Mapping[str, str], body: aiohttp.StreamReader) -> tuple[int, bytes]:
        return 200, await self._voter.answer(await body.read(), caller=caller)
