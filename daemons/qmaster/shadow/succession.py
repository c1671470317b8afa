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
from gridengine.lease import Promise

LOOK_S = 1.0
LOOKS = 3
"""That find no room, one after the other, before a shadow is asked: a disk that was full for a moment moves no master."""
INHERIT = "inherit"
"""The request of the master to a shadow: be the master, if your disk can be written."""


@dataclass(slots=True)
class Wish:
    """An administrator's word that this host shall be the master. `force`: though it may not have everything. `after`: the epoch
    of the master that it is to follow, 0 of whichever is."""

    force: bool = False
    after: int = 0

    def is_over(self, host: str, promise: Promise) -> bool:
        """Whether another host than this one, as `promise` says, has become the master instead."""
        return promise.holder != host and promise.epoch > self.after


def no_room(directory: Path) -> str:
    """Why nothing can be written in a directory, "" if it can."""
    try:
        take_room(directory)
    except OSError as error:
        return plain_fault(error)
    return ""


async def resign_without_room(
    directory: Path, peers: Peers, heirs: Callable[[], Sequence[str]], complain: Callable[[str], None]
) -> None:
    """Ask `heirs()`, which have everything, to go on whenever nothing can be written in the directory; until cancelled.

    While none will, this host tells what it knows and changes nothing (adr/0170).
    """
    while True:
        why = await _until_no_room(directory)
        heir = await _find_heir(peers, heirs(), complain)
        complain(f"cannot write in {directory}: {why}; {f'host {heir}' if heir else 'no shadow'} goes on as the master")


async def _until_no_room(directory: Path) -> str:
    """Return why nothing can be written, when several looks have found that."""
    missed, why = 0, ""
    while missed < LOOKS:
        await asyncio.sleep(LOOK_S)
        why = await asyncio.to_thread(no_room, directory)
        missed = missed + 1 if why else 0
    return why


async def _find_heir(peers: Peers, hosts: Sequence[str], complain: Callable[[str], None]) -> str:
    """The first that is willing, "" for none."""
    for host in hosts:
        try:
            status, said = await peers.call(host, INHERIT)
        except PeerAway as error:
            complain(f"host {host} does not go on as the master: {error}")
            continue
        if status == 200:
            return host
        complain(f"host {host} does not go on as the master: {said.decode(errors='replace')}")
    return ""
