"""Another host becomes the master: by order of an administrator, or because it can write where the master cannot.

Owns the takeover request, the checks of the disk and the request to the shadows. The handover itself is `gridengine shadow
take-over`, which the shadow starts. Called by the participant. Source: docs/adr/0146, 0171.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from daemons.qmaster.spooling.spool_file import probe_space
from daemons.runtime.peers import Peers, PeerUnreachableError
from gridengine.errors import plain_fault
from gridengine.protocols.lease import VoteRecord

CHECK_S = 1.0
CHECKS = 3
"""Consecutive failed checks before a takeover is requested: a disk that is full for a moment does not move the master."""
ACCEPT_HANDOVER = "inherit"
"""The request of the master to a shadow: become the master if your disk is writable."""


@dataclass(slots=True)
class TakeoverRequest:
    """The order that this host become the master. `force`: even if it lacks acknowledged changes. `after`: the epoch of the
    master that it is to replace, 0 for any."""

    force: bool = False
    after: int = 0

    def is_obsolete(self, host: str, record: VoteRecord) -> bool:
        """Whether another host has become the master instead, according to `record`."""
        return record.holder != host and record.epoch > self.after


def find_write_error(directory: Path) -> str:
    """Return the reason why a directory is not writable, "" if it is."""
    try:
        probe_space(directory)
    except OSError as error:
        return plain_fault(error)
    return ""


async def hand_over_when_unwritable(
    directory: Path, peers: Peers, successors: Callable[[], Sequence[str]], log_error: Callable[[str], None]
) -> None:
    """Request `successors()`, which have everything, to take over whenever the directory is not writable; until cancelled.

    While none of them can, this host answers queries and changes nothing (adr/0170).
    """
    while True:
        why = await _wait_until_unwritable(directory)
        successor = await _find_successor(peers, successors(), log_error)
        next_master = f"host {successor}" if successor else "no shadow"
        log_error(f"cannot write in {directory}: {why}; {next_master} takes over as the master")


async def _wait_until_unwritable(directory: Path) -> str:
    """Return why the directory is not writable, after several failed checks."""
    missed, why = 0, ""
    while missed < CHECKS:
        await asyncio.sleep(CHECK_S)
        why = await asyncio.to_thread(find_write_error, directory)
        missed = missed + 1 if why else 0
    return why


async def _find_successor(peers: Peers, hosts: Sequence[str], log_error: Callable[[str], None]) -> str:
    """The first host that accepts, "" for none."""
    for host in hosts:
        try:
            status, body = await peers.call(host, ACCEPT_HANDOVER)
        except PeerUnreachableError as error:
            log_error(f"host {host} does not take over as the master: {error}")
            continue
        if status == 200:
            return host
        log_error(f"host {host} does not take over as the master: {body.decode(errors='replace')}")
    return ""
