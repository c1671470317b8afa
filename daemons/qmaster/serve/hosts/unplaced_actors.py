"""Hosts whose node has joined Ray, but where Ray does not place their actor.

Pure. After a standstill of the master's host for minutes, the head may still count nodes that died meanwhile: the head
tries forever to place actors on them and never gets to the live nodes (seen with Ray 2.60, in a busy loop with a log to
match). Only a new head helps; the exec hosts join it by themselves, and running jobs are not affected.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

PATIENCE_S = 90.0
"""A node that has joined has its actor in seconds, on a busy host within a minute."""
_UNPLACED = frozenset(("DEPENDENCIES_UNREADY", "PENDING_CREATION", "RESTARTING"))


class UnplacedHosts:
    """Remembers since when hosts have had a node without a report."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def select_overdue(self, joined: Iterable[str], up: Collection[str], now: float) -> list[str]:
        """Hosts that have waited for PATIENCE_S, each once in that time. `joined`: hosts with a live node, `up`: hosts that
        report; `now`: seconds of a monotonic clock."""
        self._since = {host: self._since.get(host, now) for host in joined if host not in up}
        overdue = [host for host, since in self._since.items() if now - since >= PATIENCE_S]
        self._since.update(dict.fromkeys(overdue, now))
        return overdue


def select_unplaced(hosts: Iterable[str], actors: Iterable[Mapping[str, Any]]) -> list[str]:
    """The hosts whose actor exists and is not placed, by Ray's list of actors (`Name`, `State`)."""
    unplaced = {actor["Name"] for actor in actors if actor["State"] in _UNPLACED}
    return [host for host in hosts if f"execd-{host}" in unplaced]
