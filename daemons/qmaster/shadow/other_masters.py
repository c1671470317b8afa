"""Whether another host is the master, or was later: asked before a qmaster serves that needs nobody's vote.

Owns that rule. Two facts refuse: this host has promised itself, as a voter, to another host and was not elected since; or a host
that has keys of the cell has a server of its own at the qmaster's port. A host that does not answer refuses nothing, so that a
cell of which all hosts are off can start. Called by `program` and by the seat. Source: docs/adr/0173.
"""

from __future__ import annotations

import asyncio
import ssl

from daemons.qmaster.shadow.promotion import shadow_directory, voters
from daemons.runtime.cell import Cell, CellFault
from daemons.runtime.keys import known_hosts, master_keys
from daemons.runtime.lease_voter import LeaseVoter

_CONNECT_S = 1.5
_AT_A_TIME = 256


async def refuse_second_master(cell: Cell, host: str, force: bool = False) -> None:
    """Raises CellFault, with what to do, where another host is the master or, without `force`, was later; SpoolError."""
    if any(len(names) > 1 for names in voters(cell)) and host in cell.candidates():
        return  # a majority of the voters decides
    promise_file = shadow_directory(cell) / "promise"
    promise = LeaseVoter(promise_file).promise
    if promise.holder not in ("", host) and not force:
        raise CellFault(
            f"host {promise.holder} was the master after this host (epoch {promise.epoch}), and the spool here lacks what it "
            f"acknowledged: start {promise.holder}, and gridengine shadow take-over moves the master; if that host is lost for "
            f"good, remove {promise_file}"
        )
    for other in await serving_hosts(cell, host):
        raise CellFault(
            f"host {other} serves as the master of this cell: gridengine status there; to move the master here, "
            f"gridengine shadow add {host} on {other}, then gridengine shadow take-over here"
        )


async def serving_hosts(cell: Cell, host: str) -> list[str]:
    """The other hosts with keys of the cell that prove who they are at the qmaster's port, by name. Raises CellFault."""
    context = master_keys(cell).client_context()
    turn = asyncio.Semaphore(_AT_A_TIME)
    try:
        own = cell.address(host)
        hosts = sorted(path.name for path in known_hosts(cell).iterdir() if path.name != host)
    except (OSError, CellFault):
        return []
    found = await asyncio.gather(*(_serves(cell, other, own, context, turn) for other in hosts))
    return [other for other, serves in zip(hosts, found, strict=True) if serves]


async def _serves(cell: Cell, other: str, own: str, context: ssl.SSLContext, turn: asyncio.Semaphore) -> bool:
    async with turn:
        try:
            address = await asyncio.to_thread(cell.address, other)
            if address == own:
                return False  # a host that this machine plays, too
            async with asyncio.timeout(_CONNECT_S):
                _, writer = await asyncio.open_connection(
                    address, cell.qmaster_port, ssl=context, server_hostname=other
                )
        except (OSError, TimeoutError, CellFault):
            return False
        writer.close()
        return True
