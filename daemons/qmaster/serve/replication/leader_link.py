"""The qmaster's connection to the participant of its host: the role of the host, and the data for voters and shadows.

Owns the connections; the contents belong to the replication. Exists only in a cell with several candidate hosts. Called by
the actor. Source: docs/adr/0146.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, Mapping, Sequence

from daemons.runtime.cell import Cell
from daemons.runtime.keys import own_keys
from daemons.runtime.lease_file import LeaseFile
from daemons.runtime.local_request import NoLocalAnswerError, post_local
from daemons.runtime.peers import Peers
from gridengine.errors import UnavailableError

LEASE = "lease"
"""In `run_dir`: see `LeaseFile`."""
_AGREE_S = 8.0
#: seconds that a whole copy of the spool may take
_COPY_S = 3600.0


class AgreementError(UnavailableError):
    """No majority of the voters has confirmed a list; the text is the reason."""


def leader_link(cell: Cell, host: str) -> LeaderLink | None:
    """The link to the participant of this host; None where the qmaster needs no lease. Raises CellError, OSError."""
    return LeaderLink(cell, host) if (cell.run_dir / LEASE).exists() and host in cell.listed_masters() else None


class LeaderLink:
    """Belongs to the event loop that uses it first. Raises CellError without keys, OSError without the lease file."""

    def __init__(self, cell: Cell, host: str) -> None:
        self._cell, self._keys = cell, own_keys(cell, host)
        self._file = LeaseFile(cell.run_dir / LEASE)
        self._peers: Peers | None = None

    def is_leader(self) -> bool:
        """Whether this host is the leader at this moment."""
        return self._file.is_leader()

    def epoch(self) -> int:
        """The epoch in which this host is the leader, 0 if it is not."""
        return self._file.epoch()

    async def post(
        self, host: str, name: str, body: bytes | AsyncIterable[bytes], headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        """Send a request to a shadow; return HTTP status and answer. Raises PeerUnreachableError."""
        if self._peers is None:
            self._peers = Peers(self._cell, self._keys)
        return await self._peers.call(host, name, body, headers, _COPY_S if name == "copy" else 10.0)

    async def agree(self, in_sync: Sequence[str], sets: Sequence[Sequence[str]]) -> None:
        """Return when a majority of the voters has stored the hosts in sync, and the sets of voters. Raises AgreementError."""
        body = json.dumps({"in_sync": list(in_sync), "sets": [list(names) for names in sets]}).encode()
        try:
            _, answer = await post_local(self._cell.participant_socket, "in_sync", body, _AGREE_S)
            reply = json.loads(answer)
        except (NoLocalAnswerError, ValueError) as error:
            raise AgreementError(str(error)) from error
        if "error" in reply:
            raise AgreementError(reply["error"])

    async def close(self) -> None:
        """End all connections."""
        if self._peers is not None:
            await self._peers.close()
