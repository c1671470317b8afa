"""A request to a daemon of this host, at its Unix socket: JSON objects in both directions.

Owns the transport. Called by `gridengine arco` and `gridengine web`.
"""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clients.admin.errors import AdminError
from gridengine.errors import UnavailableError


class NoReplyError(UnavailableError):
    """No daemon answers; the text is the reason."""


def ask(path: Path, request: str, fields: Mapping[str, object], patience_s: float) -> dict[str, Any]:
    """The answer to a request. AdminError: the daemon denies the request. Raises NoReplyError."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(patience_s)
        try:
            connection.connect(str(path))
            asked = http.client.HTTPConnection("localhost")
            asked.sock = connection
            asked.request("POST", f"/v1/{request}", json.dumps(fields), {"Connection": "close"})
            answer = json.loads(asked.getresponse().read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise NoReplyError(getattr(error, "strerror", None) or str(error) or type(error).__name__) from None
    if "error" in answer:
        raise AdminError(answer["error"])
    return dict(answer)
