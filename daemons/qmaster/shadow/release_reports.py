"""Releases of the candidate hosts: the report of each host, and the order to restart as another release.

Owns the messages; the participant decides who may send them. Source: docs/adr/0149.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from daemons.runtime.peers import Peers, PeerUnreachableError
from daemons.runtime.reexec import Renewal
from daemons.runtime.release import own_release
from gridengine.protocols.protocol import PROTOCOL

_RESTART = b"restart"


def release_report(renewal: Renewal) -> bytes:
    """The report of this host on its release, as JSON."""
    report = {"release": own_release(), "installed": renewal.installed, "protocol": PROTOCOL, "refusal": renewal.refusal}
    return msgspec.json.encode(report)


async def collect_release_reports(peers: Peers, hosts: Sequence[str], restart: str) -> dict[str, Any]:
    """The reports of other hosts by name, {"away": reason} for a host without a report. `restart`: the host that is to
    restart."""
    reports: dict[str, Any] = {}
    for host in hosts:
        try:
            status, report = await peers.call(host, "release", _RESTART if host == restart else b"")
            reports[host] = msgspec.json.decode(report) if status == 200 else {"away": f"its daemon answers {status}"}
        except (PeerUnreachableError, msgspec.DecodeError) as error:
            reports[host] = {"away": str(error)}
    return {"releases": reports}
