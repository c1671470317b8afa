"""The road to sge_dbwriter of this host: one question at its socket, on behalf of whoever is logged in.

No right is decided here: the writer is told who asks, and grants what it grants that user by `gridengine arco`. It believes
that of root and of its own user, whom this daemon runs as. Called by the pages of accounting.
Source: gridengine/arco.py; adr/0130.
"""

from __future__ import annotations

from typing import Any

import aiohttp
import msgspec

from daemons.runtime.cell import Cell
from gridengine import arco
from gridengine.gdi.requests import Caller

_MARGIN_S = 10.0


class QuestionDenied(Exception):
    """The writer does not grant a question; the text is for the user."""


class NoDatabase(Exception):
    """Nobody answers; the text is the reason and what to do."""


async def ask_database(cell: Cell, caller: Caller, request: str, fields: dict[str, object]) -> dict[str, Any]:
    """The answer to a request of `gridengine.arco`. Raises QuestionDenied, NoDatabase."""
    path = cell.run_dir / arco.SOCKET
    try:
        body = msgspec.json.encode(fields)
    except UnicodeEncodeError:
        raise QuestionDenied("half of a character is no text") from None
    patience = aiohttp.ClientTimeout(total=arco.PATIENCE_S + _MARGIN_S)
    try:
        async with (
            aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(path)), timeout=patience) as session,
            session.post(
                f"http://localhost/v1/{request}", data=body, headers={arco.ON_BEHALF: str(caller.uid)}
            ) as response,
        ):
            answer: dict[str, Any] = msgspec.json.decode(await response.read(), type=dict)
    except (aiohttp.ClientError, OSError, TimeoutError, msgspec.DecodeError) as error:
        raise NoDatabase(_advice(cell, str(error) or type(error).__name__)) from error
    if "error" in answer:
        raise QuestionDenied(answer["error"])
    return answer


def _advice(cell: Cell, reason: str) -> str:
    settings = cell.common / arco.SETTINGS_FILE
    if not settings.exists():
        return f"This cell has no database: {settings} is not there. docs/accounting.md says how to make one."
    return (
        f"sge_dbwriter does not answer on this host: {reason}. It runs on the master host, {cell.master_host()}, where "
        "gridengine start starts it: look at accounting with the web server of that host."
    )
