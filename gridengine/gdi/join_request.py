"""The request of a host that has no keys yet, by which it becomes one of the cell.

Owns its shape. It is not among `REQUESTS`: nobody vouches for who asks, and it goes another road (adr/0153).
"""

from __future__ import annotations

import msgspec

from gridengine.gdi.bounds import Count, Name, Note, check
from gridengine.gdi.requests import RequestBody


class JoinCell(RequestBody):
    """`join`: shows a token (`gridengine.joining`). `request`: for a certificate, in PEM form.

    `processors`, `memory`, `gpus`: what the host has, memory in MB.
    """

    token: Name
    host: Name
    request: Note
    processors: Count = 0
    memory: Count = 0
    gpus: Count = 0


def decode_join(body: bytes) -> JoinCell:
    """The request of a body, within its bounds; raises msgspec.DecodeError."""
    request = msgspec.json.decode(body, type=JoinCell)
    check(request, JoinCell)
    return request
