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


def release_word(renewal: Renewal) -> bytes:
    """What a host says of itself."""
    word = {"release": own_release(), "installed": renewal.installed, "protocol": PROTOCOL, "refusal": renewal.refusal}
    return msgspec.json.encode(word)


async def releases_of(peers: Peers, hosts: Sequence[str], restart: str) -> dict[str, Any]:
    """The words of other hosts by name, {"away": why} of one that gives none. `restart`: the one that is to go on as another."""
    words: dict[str, Any] = {}
    for host in hosts:
        try:
            status, word = await peers.call(host, "release", _RESTART if host == restart else b"")
            words[host] = msgspec.json.decode(word) if status == 200 else {"away": f"its daemon answers {status}"}
        except (PeerAway, msgspec.DecodeError) as error:
            words[host] = {"away": str(error)}
    return {"releases": words}
