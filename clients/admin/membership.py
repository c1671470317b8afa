"""The membership of an exec host of this machine: joined, refused with the reason, or waiting for the master.

Owns the check: the last reply of the master, recorded by the host's daemon, and the master's present state of the host. Called by
`program` and `doctor`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Literal, NamedTuple

from clients import gdi
from clients.admin.cell import InstalledCell, select_cell
from gridengine.protocols.protocol import MASTER_REPLY_FILE

#: Seconds that a host may take to join a master that answers, and that a master may take to answer.
JOIN_S = 40.0
AWAY_S = 6.0
_PAUSE_S = 0.1


class HostMembership(NamedTuple):
    """`text`: as a sentence about the host."""

    state: Literal["joined", "refused", "waits"]
    text: str


def membership(cell: InstalledCell, host: str, just_begun: bool = False) -> HostMembership:
    """The present state of a host. `just_begun`: the master's state may be of the previous daemon.

    A daemon of an earlier release records no reply; then only the master's state is used.
    """
    select_cell(cell.files)
    reply = _last_reply(cell, host)
    if reply:
        return HostMembership("refused", f"the master refuses {host}: {reply.removeprefix('denied: ')}")
    unanswered = HostMembership("waits", f"{host} waits for the master host {cell.master_host}, which has not answered it yet")
    if reply is None and just_begun:
        return unanswered
    try:
        if not gdi.call("ping", {"host": host, "port": 1, "name": "execd"}).data:
            hint = "if this persists, a firewall may be in between (gridengine doctor, on both hosts)"
            return unanswered if reply is None else HostMembership("waits", f"{host} is about to join; {hint}")
        slots = _slots(host)
    except gdi.Unreachable:
        return HostMembership("waits", f"{host} waits for the master host {cell.master_host}, which does not answer")
    queues = "no queue has slots there yet (qconf -mq)" if slots == 0 else f"{slots} slot{'' if slots == 1 else 's'}"
    return HostMembership("joined", f"{host} has joined, {queues}")


def wait_for_membership(cell: InstalledCell, hosts: list[str]) -> Iterator[HostMembership]:
    """Wait for hosts with newly started daemons, and yield the final state of each host; some may not have joined."""
    begin = time.monotonic()
    for host in hosts:
        while (seen := membership(cell, host, just_begun=True)).state == "waits":
            waited_s = time.monotonic() - begin
            if waited_s > JOIN_S or (waited_s > AWAY_S and _last_reply(cell, host) is None):
                break
            time.sleep(_PAUSE_S)
        yield seen


def _last_reply(cell: InstalledCell, host: str) -> str | None:
    """The last reply of the master to the daemon of a host: "" for accepted, else the reason of the refusal; None without a
    reply.
    """
    try:
        return (cell.execd_spool_dir / host / MASTER_REPLY_FILE).read_text().strip()
    except (OSError, UnicodeDecodeError):
        return None


def _slots(host: str) -> int:
    answer = gdi.call("status", {"queues": {"select": {"queues": [f"*@{host}"]}}})
    return sum(int(row["total"]) for row in answer.data["queues"]) if answer.data else 0
