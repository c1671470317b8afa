"""The connections between the processes of a simulated cell: calls over a Unix socket, in the place of Ray's."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from daemons.runtime.calls import Handler, Link


async def connect(path: str, name: str, handlers: Mapping[str, Handler]) -> Link:
    """A link to the qmaster's process, which knows this side by its name from then on. Waits for the socket."""
    while True:
        try:
            reader, writer = await asyncio.open_unix_connection(path, limit=2**26)
            break
        except (FileNotFoundError, ConnectionError):
            await asyncio.sleep(0.02)
    writer.write(f"{name}\n".encode())
    return Link(reader, writer, handlers)
