"""The client of sge_dbwriter on this host: one request at its socket, on behalf of the logged-in user.

sge_dbwriter decides about permissions: the request names the user, who has the same rights as with `gridengine arco`. The writer
accepts this name only from root and from its own user, as which this daemon runs. Called by the pages of accounting.
Source: gridengine/protocols/arco.py; adr/0130.
"""

from __future__ import annotations

from typing import Any

import msgspec

from daemons.runtime.cell import Cell
from daemons.runtime.local_request import NoLocalAnswerError, post_local
from gridengine.errors import RefusalError, UnavailableError
from gridengine.protocols import arco
from gridengine.protocols.gdi.requests import Caller

_MARGIN_S = 10.0


class QueryDeniedError(RefusalError):
    """The writer refuses a request; the text is for the user."""


class DatabaseUnavailableError(UnavailableError):
    """The writer does not answer; the text has the reason and an advice."""


async def send_dbwriter_request(cell: Cell, caller: Caller, request: str, fields: dict[str, object]) -> dict[str, Any]:
    """The answer to a request of `gridengine.protocols.arco`. Raises QueryDeniedError, DatabaseUnavailableError."""
    path = cell.run_dir / arco.SOCKET
    try:
        body = msgspec.json.encode(fields)
    except UnicodeEncodeError:
        raise QueryDeniedError("the text has an invalid character") from None
    try:
        _, data = await post_local(path, request, body, arco.PATIENCE_S + _MARGIN_S, {arco.ON_BEHALF: str(caller.uid)})
        answer: dict[str, Any] = msgspec.json.decode(data, type=dict)
    except (NoLocalAnswerError, msgspec.DecodeError) as error:
        raise DatabaseUnavailableError(_unavailable_reason(cell, str(error))) from error
    if "error" in answer:
        raise QueryDeniedError(answer["error"])
    return answer


def _unavailable_reason(cell: Cell, reason: str) -> str:
    settings = cell.common / arco.SETTINGS_FILE
    if not settings.exists():
        return f"This cell has no database: {settings} does not exist. docs/accounting.md describes how to create one."
    return (
        f"sge_dbwriter does not answer on this host: {reason}. It runs on the master host, {cell.master_host()}, where "
        "gridengine start starts it: use the web server of that host for accounting."
    )
