"""The transport between candidates and voters: TLS at `shadow_port`, requests answered in bytes.

Owns the authorisation (by their certificates: the hosts of `common/shadow_masters`, and any host of the cell for a few requests)
and the timeouts. The contents of requests belong to the participant, the replication and the voter. Source: docs/adr/0146.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import time
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any

import aiohttp
from aiohttp import web

from daemons.runtime.cell import Cell, CellError
from daemons.runtime.connection_limiter import Connection, ConnectionLimiter
from daemons.runtime.http_listener import HttpListeners
from daemons.runtime.keys import Keys
from daemons.runtime.listener import open_tcp_sockets
from daemons.runtime.qmaster_client import describe_failure
from gridengine.addresses import join_port
from gridengine.errors import UnavailableError

_log = logging.getLogger(__name__)

#: the handler of a request: (calling host, headers, body) -> HTTP status and body of the answer
PeerHandler = Callable[[str, Mapping[str, str], aiohttp.StreamReader], Awaitable[tuple[int, bytes]]]

#: seconds: default timeout of an answer, timeout of a connect, keep-alive of a connection, lifetime of a resolved address
ANSWER_S, CONNECT_S, _KEEPALIVE_S, _ADDRESS_S = 2.0, 1.5, 30.0, 30.0
_POLL_S = 2.0
#: seconds to wait for a port that another daemon holds, and between two attempts
_PORT_S, _PORT_RETRY_S = 10.0, 0.2
#: characters of a host name that fit into the subject of a certificate
_MAX_COMMON_NAME = 64


class PeerUnreachableError(UnavailableError):
    """A host did not answer; the text is the reason."""


class Peers:
    """Calls from this host to other hosts of the cell, for one event loop; `close` at the end. Raises CellError without keys."""

    def __init__(self, cell: Cell, keys: Keys) -> None:
        self._cell = cell
        connector = aiohttp.TCPConnector(ssl=keys.client_context(), limit=0, keepalive_timeout=_KEEPALIVE_S)
        self._session = aiohttp.ClientSession(connector=connector, auto_decompress=False)
        self._addresses: dict[str, tuple[str, float]] = {}

    async def close(self) -> None:
        """End all connections."""
        await self._session.close()

    async def call(
        self,
        host: str,
        name: str,
        body: bytes | AsyncIterable[bytes] = b"",
        headers: Mapping[str, str] | None = None,
        answer_s: float = ANSWER_S,
    ) -> tuple[int, bytes]:
        """Send a request and return HTTP status and answer. Raises PeerUnreachableError: no answer within `answer_s` in all."""
        try:
            url = f"https://{join_port(await self._address(host), self._cell.shadow_port)}/v1/{name}"
            timeout = aiohttp.ClientTimeout(total=answer_s, connect=CONNECT_S)
            async with self._session.post(
                url, data=body, headers=headers, timeout=timeout, server_hostname=host
            ) as answer:
                return answer.status, await answer.read()
        except (aiohttp.ClientError, OSError, TimeoutError, CellError) as error:
            self._addresses.pop(host, None)
            raise PeerUnreachableError(describe_failure(error)) from error

    async def _address(self, host: str) -> str:
        address, since = self._addresses.get(host, ("", 0.0))
        if not address or time.monotonic() - since > _ADDRESS_S:
            address = await asyncio.get_running_loop().run_in_executor(None, self._cell.address, host)
            self._addresses[host] = (address, time.monotonic())
        return address


async def serve_peers(
    cell: Cell,
    host: str,
    keys: Keys,
    requests: Mapping[str, PeerHandler],
    on_open: Callable[[], None] = lambda: None,
    any_host_requests: Mapping[str, PeerHandler] = MappingProxyType({}),
) -> None:
    """Answer the requests of the other candidate hosts until cancelled. Raises OSError (the port), CellError (keys).

    `on_open` is called when the port is open. `any_host_requests`: requests open to every host with keys of the cell.
    """

    async def answer(name: str, request: web.BaseRequest, connection: Connection) -> web.StreamResponse:
        # a host alone on the list still needs its lease until its qmaster is restarted
        names = {listed[:_MAX_COMMON_NAME]: listed for listed in cell.listed_masters()}
        caller = names.get(_caller(request), "")
        if not caller and name not in any_host_requests:
            return web.Response(status=403, reason="Not a host that may be the master")
        connection.note_authenticated()
        handler = any_host_requests.get(name) or requests.get(name)
        if handler is None:
            return web.Response(status=404, reason="No such request")
        status, body = await handler(caller, request.headers, request.content)
        return web.Response(status=status, body=body)

    listeners = HttpListeners(ConnectionLimiter(), answer)
    for listening_socket in await _open_sockets(cell.addresses(host), cell.shadow_port):
        listeners.open(listening_socket, tls=keys.server_context(callers_need_keys=True))
    on_open()
    try:
        await asyncio.Event().wait()
    finally:
        await listeners.close()


async def _open_sockets(addresses: list[str], port: int) -> list[socket.socket]:
    """Listening sockets; another daemon of this host may hold the port for a moment, until it sees that its role is over. Raises
    OSError."""
    end = time.monotonic() + _PORT_S
    while True:
        try:
            return open_tcp_sockets(addresses, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > end:
                raise
        await asyncio.sleep(_PORT_RETRY_S)


async def wait_for_candidate_hosts(cell: Cell) -> tuple[str, ...]:
    """Wait until the cell has several candidate hosts, and return them."""
    is_logged = False
    while True:
        try:
            if candidate_hosts := cell.candidate_hosts():
                return candidate_hosts
        except CellError as fault:
            if not is_logged:
                _log.error("%s", fault)
            is_logged = True
        await asyncio.sleep(_POLL_S)


def _caller(request: web.BaseRequest) -> str:
    return common_name(request.transport.get_extra_info("peercert") if request.transport is not None else None)


def common_name(certificate: Mapping[str, Any] | None) -> str:
    """The host in the subject of a peer's certificate, "" without one; its alternative names are the same for all hosts."""
    for part in (certificate or {}).get("subject", ()):
        for field, value in part:
            if field == "commonName":
                return str(value)
    return ""


def is_certified(host: str, name: str) -> bool:
    """Whether the subject `name` of a certificate is of this host."""
    return bool(name) and host[:_MAX_COMMON_NAME] == name
