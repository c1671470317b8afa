"""A request of one daemon to another daemon of its host, at the Unix socket of that daemon.

Owns the transport; the caller encodes and decodes. Called by the supervisor and the replication of the qmaster, and by sge_web.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import aiohttp

from gridengine.errors import UnavailableError


class NoLocalAnswerError(UnavailableError):
    """No daemon answers at the socket; the text is the reason."""


async def post_local(
    path: Path, request: str, body: bytes, timeout_s: float | None = None, headers: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
    """HTTP status and body of the answer to `POST /v1/REQUEST` with a JSON text. Raises NoLocalAnswerError.

    `timeout_s`: for the whole request, without a limit by default.
    """
    timeout = aiohttp.ClientTimeout(total=timeout_s)
    sent = {"Content-Type": "application/json", **(headers or {})}
    try:
        async with (
            aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(path)), timeout=timeout) as session,
            session.post(f"http://localhost/v1/{request}", data=body, headers=sent) as answer,
        ):
            return answer.status, await answer.read()
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        raise NoLocalAnswerError(str(error) or type(error).__name__) from error
