"""The request of a host without keys to join the cell.

Owns its shape. `REQUESTS` does not contain it: the caller is not authenticated, and the request has an endpoint of its own
(adr/0153).
"""

from __future__ import annotations

import msgspec

from gridengine.protocols.gdi.bounds import Count, Name, Note, check
from gridengine.protocols.gdi.requests import RequestBody


class JoinCell(RequestBody):
    """`join`: presents `token` (`gridengine.protocols.joining`). `request`: for a certificate, in PEM form.

    `processors`, `memory`, `gpus`: the hardware of the host, memory in MB.
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
