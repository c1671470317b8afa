"""Checks whether another host is the master, or was later, before a qmaster serves without votes of other hosts.

Owns that rule. Two facts refuse: another host with keys of the cell serves at the qmaster's port; or a voter, on this host
or any other host, has voted for another master after it voted for this host. A host that does not answer refuses nothing,
so that a cell can start while all other hosts are off. Called by `program` and by the participant. Source: docs/adr/0174.
"""

from __future__ import annotations

import asyncio
import logging
import ssl

import msgspec

from daemons.qmaster.shadow.promotion import voters
from daemons.runtime.cell import Cell, CellError
from daemons.runtime.keys import known_hosts, own_keys
from daemons.runtime.lease_voter import VOTE_RECORD, LeaseVoter
from daemons.runtime.peers import Peers, PeerUnreachableError
from gridengine.protocols.lease import LEASE_S, RENEW_S, VoteRecord, VoteRequest, VoteResponse

_log = logging.getLogger(__name__)

_CONNECT_S = 1.5
#: seconds for all hosts together, and the number of concurrent requests
_ALL_S, _AT_A_TIME = 10.0, 256


async def refuse_second_master(cell: Cell, host: str, voter: LeaseVoter, force: bool = False) -> None:
    """Raises CellError, with instructions, if another host is the master or was later; SpoolError. `voter`: of this host.

    `force`: a later master is lost for good, with its acknowledged changes; this host grants its vote to itself.
    """
    if any(len(names) > 1 for names in voters(cell)) and host in cell.candidate_hosts():
        return  # a majority of the voters decides
    serving, records = await _ask_hosts(cell, host)
    if serving:
        raise CellError(
            f"host {serving[0]} serves as the master of this cell: where the files here are old, name it in {cell.act_qmaster} "
            f"and gridengine start; to move the master here, gridengine shadow add {host} on {serving[0]}, then take-over here"
        )
    later, why = _find_later_leader(host, voter.record, records)
    if not why:
        return
    if not force:
        raise CellError(
            f"{why}: start the host that was the master last, and gridengine shadow take-over moves it; if it is lost for good: "
            "sge_qmaster --force"
        )
    _log.warning("%s, which is abandoned (--force)", why)
    await _grant_to_itself(voter, host, later.epoch + 1)


def _find_later_leader(host: str, own: VoteRecord, others: list[VoteRecord]) -> tuple[VoteRecord, str]:
    """Return the record of a later master and the evidence, "" for none.

    A record of version 0 is of a candidate that may not have been elected. The record proves nothing if it is of another
    voter; this host's own vote for itself proves that the host campaigned, and so that another host was the master.
    """
    epoch = own.epoch if own.holder == host and own.version else 0
    known = [each for each in others if each.version and each.holder not in ("", host) and each.epoch > epoch]
    if own.holder not in ("", host):
        known.append(own)
    if known:
        later = max(known, key=lambda record: record.epoch)
        after = f"host {later.holder} was the master after this host (epoch {later.epoch})"
        return later, f"{after}, and the spool here lacks its acknowledged changes"
    if own.holder == host and not epoch:
        return own, f"this host campaigned to be the master in epoch {own.epoch} and was not elected"
    return own, ""


async def _grant_to_itself(voter: LeaseVoter, host: str, epoch: int) -> None:
    """Grant the vote of this host to itself; waits while a grant to another host may be in force. Raises CellError."""
    request = msgspec.json.encode(VoteRequest(epoch, host, in_sync=(host,), version=1, force=True))  # as an elected candidate
    for _ in range(int(2 * LEASE_S / RENEW_S)):
        vote = msgspec.json.decode(await voter.answer(request), type=VoteResponse)
        if vote.granted:
            return
        await asyncio.sleep(RENEW_S)
    raise CellError(f"this host cannot vote for itself: {vote.reason}")


async def _ask_hosts(cell: Cell, host: str) -> tuple[list[str], list[VoteRecord]]:
    """The names of the other hosts that serve as the master of the cell, and the vote records of hosts. Raises CellError."""
    keys = own_keys(cell, host)
    context, limit = keys.client_context(), asyncio.Semaphore(_AT_A_TIME)
    try:
        own = cell.address(host)
        hosts = sorted(path.name for path in known_hosts(cell).iterdir() if path.name != host)
    except (OSError, CellError):
        return [], []
    peers = Peers(cell, keys)

    async def ask(other: str) -> tuple[str, VoteRecord]:
        async with limit:
            try:
                address = await asyncio.to_thread(cell.address, other)
            except CellError:
                return "", VoteRecord()
            if address == own:
                return "", VoteRecord()  # a second host on this machine
            serves, record = await asyncio.gather(_serves(cell, other, address, context), _fetch_record(peers, other))
            return other if serves else "", record

    tasks = [asyncio.create_task(ask(other)) for other in hosts]
    try:
        done, late = await asyncio.wait(tasks, timeout=_ALL_S) if tasks else (set(), set())
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
    finally:
        await peers.close()
    answers = [task.result() for task in done]
    return sorted(name for name, _ in answers if name), [record for _, record in answers]


async def _serves(cell: Cell, host: str, address: str, context: ssl.SSLContext) -> bool:
    """Whether the host authenticates itself at the qmaster's port."""
    try:
        async with asyncio.timeout(_CONNECT_S):
            _, writer = await asyncio.open_connection(address, cell.qmaster_port, ssl=context, server_hostname=host)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


async def _fetch_record(peers: Peers, host: str) -> VoteRecord:
    """The vote record of a host; an empty record if the host does not answer, or is of an earlier release."""
    try:
        status, body = await peers.call(host, VOTE_RECORD)
        return msgspec.json.decode(body, type=VoteRecord) if status == 200 else VoteRecord()
    except (PeerUnreachableError, msgspec.MsgspecError, UnicodeDecodeError):
        return VoteRecord()
