"""Idempotency keys on the wire: under its key a changing request is carried out once, however often it is sent.

Owns the header's name and form. Called by the GDI endpoint, the gateway and the REST API, which forward it; its meaning is
`daemons.qmaster.serve.requests.idempotent_requests`'s. Source: adr/0143; draft-ietf-httpapi-idempotency-key-header, 2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gridengine.errors import RefusalError

HEADER = "Idempotency-Key"
_KEY = re.compile(r"[!-~]{1,128}")


class MalformedKeyError(RefusalError, ValueError):
    """The header is not a valid key; the text is a line for the user."""


def key_of(headers: Mapping[str, str]) -> str:
    """Return the idempotency key of a request, "" without a key. Raises MalformedKeyError."""
    key = headers.get(HEADER, "")
    if HEADER in headers and not _KEY.fullmatch(key):
        raise MalformedKeyError(f"denied: malformed {HEADER}: it has 1 to 128 printable ASCII characters and no blanks")
    return key
