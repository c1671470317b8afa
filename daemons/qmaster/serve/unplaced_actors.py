"""Hosts whose node has joined Ray, but where Ray does not place their actor.

Pure. When the master's host stood still for minutes, the head may go on counting nodes that died meanwhile: it tries to
place actors there for ever and never comes to the nodes that live (seen with Ray 2.60, at full speed and with a log to
match). Only a new head helps; the exec hosts join that by themselves, and running jobs notice nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

PATIENCE_S = 90.0
"""A node that has joined has its actor in seconds, on a busy host within a minute."""
_UNPLACED = frozenset(("DEPENDENCIES_UNREADY", "PENDING_CREATION", "RESTARTING"))


class UnplacedHosts:
    """Since when hosts have a node but do not report."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def select_overdue(self, joined: Iterable[str], up: Collection[str], now: float) -> list[str]:
        """Those that wait for PATIENCE_S, each named once in that time. `joined`: hosts with a node that lives, `up`: that
        report; `now`: seconds of a clock that nobody sets."""
        self._since = {host: self._since.get(host, now) for host in joined if host not in up}
        overdue = [host for host, since in self._since.items() if now - since >= PATIENCE_S]
        self._since.update(dict.fromkeys(overdue, now))
        return overdue


def select_unplaced(hosts: Iterable[str], actors: Iterable[Mapping[str, Any]]) -> list[str]:
    """Those of the hosts whose actor exists and has no place, by Ray's list of actors (`Name`, `State`)."""
    unplaced = {actor["Name"] for actor in actors if actor["State"] in _UNPLACED}
    return [host for host in hosts if f"execd-{host}" in unplaced]
