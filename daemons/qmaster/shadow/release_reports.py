"""Releases of the hosts that may be the master: what each says of itself, and how the master has one go on as another.

Owns the words; who may ask is the seat's. Source: docs/adr/0149.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from daemons.runtime.peers import PeerAway, Peers
from daemons.runtime.release import own_release
from daemons.runtime.renewal import Renewal
from gridengine.protocol import PROTOCOL

_RESTART = b"restart"


def release_report(renewal: Renewal) -> bytes:
    """What a host says of itself."""
    report = {"release": own_release(), "installed": renewal.installed, "protocol": PROTOCOL, "refusal": renewal.refusal}
    return msgspec.json.encode(report)


async def collect_release_reports(peers: Peers, hosts: Sequence[str], restart: str) -> dict[str, Any]:
    """The words of other hosts by name, {"away": why} of one that gives none. `restart`: the one that is to go on as another."""
    reports: dict[str, Any] = {}
    for host in hosts:
        try:
            status, report = await peers.call(host, "release", _RESTART if host == restart else b"")
            reports[host] = msgspec.json.decode(report) if status == 200 else {"away": f"its daemon answers {status}"}
        except (PeerAway, msgspec.DecodeError) as error:
            reports[host] = {"away": str(error)}
    return {"releases": reports}
