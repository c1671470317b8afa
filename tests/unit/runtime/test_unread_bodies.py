"""A request that is answered before its body is read: the connection stays, and the client gets the answer."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from aiohttp import web

from daemons.runtime.connection_limiter import Connection, ConnectionLimiter
from daemons.runtime.http_listener import HttpListeners
from gridengine.files.unix_sockets import unix_listener


def test_a_client_may_send_its_body_after_the_answer(tmp_path: Path) -> None:
    """Without the pause the connection was reset: the client lost the answer, or wrote into a closed socket."""

    async def refuse(name: str, request: web.BaseRequest, connection: Connection) -> web.Response:
        return web.json_response({"error": name})

    async def play() -> None:
        listeners = HttpListeners(ConnectionLimiter(), refuse)
        listeners.open(unix_listener(tmp_path / "socket", 0o600))
        reader, writer = await asyncio.open_unix_connection(str(tmp_path / "socket"))
        for name in ("first", "second"):
            writer.write(b"POST /v1/%s HTTP/1.1\r\nHost: x\r\nContent-Length: 65536\r\n\r\n" % name.encode())
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"x" * 65536)
            await writer.drain()
            assert json.loads(await reader.readuntil(b"}")) == {"error": name}
        writer.close()
        await listeners.close()

    asyncio.run(play())
