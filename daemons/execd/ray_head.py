"""Detects within milliseconds, on an exec host, that the head of the cell's Ray cluster has ended.

Ray's own processes do not end when their head dies: for seconds they send requests to its address, thousands of times a second,
and so prevent a new head from starting. This module holds one idle TCP connection to the head and returns when no process
listens there any longer. A cut cable is not an end: the head has ended only when connections are refused; Ray itself judges
silence. Called by the supervisor. Source: docs/adr/0148.
"""

from __future__ import annotations

import asyncio
import random
import socket

from daemons.runtime.backoff import Backoff
from gridengine.addresses import split_port

_CONNECT_S = 4.0
#: a connection that lasted longer than this time was good: the head closes idle connections after minutes
_GOOD_S = 1.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 2.0
#: a host that lost its power closes nothing: keepalive probes after this many seconds of silence, so many of them
_KEEPALIVE = ((socket.TCP_KEEPIDLE, 2), (socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPCNT, 3))


async def wait_until_head_gone(head: str) -> None:
    """Return when connections to `head` ("ADDRESS:PORT") are refused. Waits while the head cannot be reached at all."""
    loop = asyncio.get_running_loop()
    backoff = Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S, random.random)
    while True:
        began = loop.time()
        try:
            await _wait_until_closed(head)
        except ConnectionRefusedError:
            return
        except (OSError, TimeoutError):
            pass  # no route, or the connection broke: connect again
        if loop.time() - began > _GOOD_S:
            backoff.reset()
            continue
        await asyncio.sleep(backoff.next_s())


async def _wait_until_closed(head: str) -> None:
    """Connect, and return or raise OSError when the other side has closed the connection, or is dead."""
    address, port = split_port(head)
    async with asyncio.timeout(_CONNECT_S):
        reader, writer = await asyncio.open_connection(address, port)
    try:
        connection = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _KEEPALIVE:
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
        while await reader.read(1024):
            pass
    finally:
        writer.close()
