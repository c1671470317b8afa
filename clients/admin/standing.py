"""How an exec host of this machine stands with the master: joined, refused and why, or waiting for it.

Owns that look: what the master last said to the host's daemon, which notes it, and what the master says of the host when it is
asked. Called by `program` and `doctor`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Literal, NamedTuple

from clients import gdi
from clients.admin.asking import mean_cell
from clients.admin.cell import InstalledCell
from gridengine.protocol import MASTER_REPLY_FILE

#: Seconds that a host may take to join a master that answers, and that a master may take to answer.
JOIN_S = 40.0
AWAY_S = 6.0
_PAUSE_S = 0.1


class HostStanding(NamedTuple):
    """`text`: as a sentence about the host."""

    state: Literal["joined", "refused", "waits"]
    text: str


def standing(cell: InstalledCell, host: str, just_begun: bool = False) -> HostStanding:
    """How a host stands now. `just_begun`: what the master knows may be of the daemon before this one.

    A daemon of an earlier release notes no word; then what the master knows has to do.
    """
    mean_cell(cell.files)
    word = _word(cell, host)
    if word:
        return HostStanding("refused", f"the master refuses {host}: {word.removeprefix('denied: ')}")
    unanswered = HostStanding("waits", f"{host} waits for the master host {cell.master_host}, which has not answered it yet")
    if word is None and just_begun:
        return unanswered
    try:
        if not gdi.call("ping", {"host": host, "port": 1, "name": "execd"}).data:
            hint = "if it stays so, a firewall may be in between (gridengine doctor, on both hosts)"
            return unanswered if word is None else HostStanding("waits", f"{host} is about to join; {hint}")
        slots = _slots(host)
    except gdi.Unreachable:
        return HostStanding("waits", f"{host} waits for the master host {cell.master_host}, which does not answer")
    queues = "no queue has slots there yet (qconf -mq)" if slots == 0 else f"{slots} slot{'' if slots == 1 else 's'}"
    return HostStanding("joined", f"{host} has joined, {queues}")


def joined(cell: InstalledCell, hosts: list[str]) -> Iterator[HostStanding]:
    """Wait for hosts whose daemons have just begun, and say how each stands in the end: not all may have joined."""
    begin = time.monotonic()
    for host in hosts:
        while (seen := standing(cell, host, just_begun=True)).state == "waits":
            waited_s = time.monotonic() - begin
            if waited_s > JOIN_S or (waited_s > AWAY_S and _word(cell, host) is None):
                break
            time.sleep(_PAUSE_S)
        yield seen


def _word(cell: InstalledCell, host: str) -> str | None:
    """What the master last said to the daemon of a host: "" for a welcome, else why not; None: it has not answered."""
    try:
        return (cell.execd_spool_dir / host / MASTER_REPLY_FILE).read_text().strip()
    except (OSError, UnicodeDecodeError):
        return None


def _slots(host: str) -> int:
    answer = gdi.call("status", {"queues": {"select": {"queues": [f"*@{host}"]}}})
    return sum(int(row["total"]) for row in answer.data["queues"]) if answer.data else 0
