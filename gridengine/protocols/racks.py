"""Racks: the place of a host behind the node of its rack, and the statement of that node (adr/0270).

Owns these shapes, as JSON: a place in the answer to `execd_hello`, a statement on a Ray call of the rack's actor to the qmaster.
The grammar of `common/racks` is in `cell_files`.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct, field

APART, CONNECTED = "apart", "connected"
"""The field `rack` of `execd_hello`: whether the host is connected to the node of a rack. An earlier release sends ""."""


class Place(Struct):
    """The place of a host in the rack `rack`. `node`: the host to connect to; `port`: of its actor, 0 before the actor is there;
    `token`: with which hosts show that the qmaster has named the node to them."""

    rack: str
    node: str
    token: str
    port: int = 0


class Statement(Struct):
    """The statement of a rack's node: its own `place`, and all `hosts` that are connected here."""

    place: Place
    hosts: list[str] = field(default_factory=list)


encode = msgspec.json.encode
decode_place = msgspec.json.Decoder(Place).decode
decode_statement = msgspec.json.Decoder(Statement).decode
"""These two raise msgspec.DecodeError."""
