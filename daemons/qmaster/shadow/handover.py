"""Another host follows the master: one that was told to, or one that can write where the master cannot.

Owns the wish to follow, the looks at the disk and the question to the shadows; the exchange itself is that of
`gridengine shadow take-over`, which the shadow begins. Called by the seat. Source: docs/adr/0146, 0171.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from daemons.qmaster.spooling.spool_file import take_room
from daemons.runtime.peers import PeerAway, Peers
from gridengine.errors import plain_fault
from gridengine.lease import VoteRecord

CHECK_S = 1.0
CHECKS = 3
"""That find no room, one after the other, before a shadow is asked: a disk that was full for a moment moves no master."""
ACCEPT_HANDOVER = "inherit"
"""The request of the master to a shadow: be the master, if your disk can be written."""


@dataclass(slots=True)
class TakeoverRequest:
    """An administrator's word that this host shall be the master. `force`: though it may not have everything. `after`: the epoch
    of the master that it is to follow, 0 of whichever is."""

    force: bool = False
    after: int = 0

    def is_obsolete(self, host: str, record: VoteRecord) -> bool:
        """Whether another host than this one, as `record` says, has become the master instead."""
        return record.holder != host and record.epoch > self.after


def find_write_error(directory: Path) -> str:
    """Why nothing can be written in a directory, "" if it can."""
    try:
        take_room(directory)
    except OSError as error:
        return plain_fault(error)
    return ""


async def hand_over_when_unwritable(
    directory: Path, peers: Peers, successors: Callable[[], Sequence[str]], log_error: Callable[[str], None]
) -> None:
    """Ask `successors()`, which have everything, to go on whenever nothing can be written in the directory; until cancelled.

    While none will, this host tells what it knows and changes nothing (adr/0170).
    """
    while True:
        why = await _wait_until_unwritable(directory)
        successor = await _find_successor(peers, successors(), log_error)
        log_error(f"cannot write in {directory}: {why}; {f'host {successor}' if heir else 'no shadow'} goes on as the master")


async def _wait_until_unwritable(directory: Path) -> str:
    """Return why nothing can be written, when several looks have found that."""
    missed, why = 0, ""
    while missed < CHECKS:
        await asyncio.sleep(CHECK_S)
        why = await asyncio.to_thread(find_write_error, directory)
        missed = missed + 1 if why else 0
    return why


async def _find_successor(peers: Peers, hosts: Sequence[str], log_error: Callable[[str], None]) -> str:
    """The first that is willing, "" for none."""
    for host in hosts:
        try:
            status, body = await peers.call(host, ACCEPT_HANDOVER)
        except PeerAway as error:
            log_error(f"host {host} does not go on as the master: {error}")
            continue
        if status == 200:
            return host
        log_error(f"host {host} does not go on as the master: {body.decode(errors='replace')}")
    return ""
