"""The listener for interactive sessions: TLS connections of clients, passed through to the session of the task of their ticket.

Owns the port and the checking of tickets; bytes after the greeting are passed on unread. Runs in the supervisor's event
loop: when that ends the sessions stay, and clients reconnect. Source: docs/interactive.md; IA-1, IA-10.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import ssl
from pathlib import Path
from typing import Any

import msgspec

from daemons.execd.active_jobs import read_holder
from daemons.execd.site import task_directory
from daemons.runtime.cell import Cell
from daemons.runtime.connection_limiter import Connection, ConnectionLimiter
from daemons.runtime.keys import exec_host_keys
from daemons.runtime.listener import MAX_PER_ADDRESS, Listener, open_first_free
from daemons.runtime.ports import session_ports
from daemons.runtime.tickets import Holder, holder_of
from gridengine.protocols import session
from gridengine.state.hooks import decode_hook
from gridengine.values.task_key import TaskKey

_log = logging.getLogger(__name__)

#: time that a client waits here for a task that has just been dispatched to the host, and the polling interval; then the
#: client may retry
_SESSION_TIMEOUT_S, _POLL_S = 2.0, 0.01
_CHUNK = 2**17
_LINE_BYTES = 4096
#: seconds of silence after which keepalive probes are sent to the client's host, and between two probes
_IDLE_S, _ASK_S = 30, 10


class Greeting(msgspec.Struct):
    """A client's first line: a `ticket` for the session of `task`. Its other fields are for the session."""

    task: TaskKey
    ticket: str


class SessionServer:
    """`port`: the port on which it listens, 0 before. `limiter`: of the connections of this process."""

    def __init__(self, cell: Cell, host: str, limiter: ConnectionLimiter) -> None:
        self._cell, self._host, self._limiter = cell, host, limiter
        self._keys = exec_host_keys(cell, host)
        self._active_jobs = cell.execd_spool(host) / "active_jobs"
        self._serving: set[asyncio.Task[None]] = set()
        self.port = 0

    async def run(self) -> None:
        """Serve until cancelled. Raises OSError when the port cannot be had, CellError without keys."""
        sockets = self._sockets()
        self.port = sockets[0].getsockname()[1]
        tls = self._keys.server_context(callers_need_keys=False)
        listeners = [Listener(self._limiter, each, self._protocol, MAX_PER_ADDRESS, tls) for each in sockets]
        try:
            await asyncio.Event().wait()
        finally:
            for listener in listeners:
                listener.close()
            for task in self._serving:
                task.cancel()

    def _sockets(self) -> list[socket.socket]:
        """Listen on this host's own addresses, at the previous port or the first free port."""
        ports = [self.port] if self.port else session_ports(self._cell)
        return open_first_free(self._cell.addresses(self._host), ports)

    def _protocol(self, connection: Connection) -> asyncio.BaseProtocol:
        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.get_running_loop().create_task(self._serve(reader, writer, connection))
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)

        return asyncio.StreamReaderProtocol(asyncio.StreamReader(_CHUNK), connected)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: Connection) -> None:
        try:
            _keep_alive(writer)
            await self._connect(reader, writer, connection)
        except (OSError, ssl.SSLError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client disconnected, or its greeting is invalid
        except Exception:
            _log.exception("a session of a client failed")
        finally:
            await _close(writer)
            connection.note_closed()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: Connection) -> None:
        line = await reader.readuntil(b"\n")  # the listener allows it some seconds
        try:
            greeting = msgspec.json.decode(line, type=Greeting, dec_hook=decode_hook)
        except msgspec.DecodeError:
            return
        holder = holder_of(greeting.ticket, self._keys.gdi_key(), greeting.task) if len(line) <= _LINE_BYTES else None
        if holder is None:
            self._deny(writer, connection.peer, greeting.task)
            return
        connection.note_authenticated()
        attempt = greeting.task.attempt
        directory = task_directory(self._active_jobs, greeting.task)
        session_socket = await self._session_of(directory)
        if session_socket is None:
            _refuse(writer, f"the session of the task is not on host {self._host}", again=True)
            return
        if not _belongs_to(holder, directory):
            session_socket.close()
            self._deny(writer, connection.peer, greeting.task)
            return
        to_session = await asyncio.open_unix_connection(sock=session_socket, limit=_CHUNK)
        try:
            for_session = {**json.loads(line), "attempt": attempt, "ticket": "", "origin": _origin(writer)}
            to_session[1].write(json.dumps(for_session).encode() + b"\n")
            await _splice((reader, writer), to_session)
        finally:
            await _close(to_session[1])

    def _deny(self, writer: asyncio.StreamWriter, peer: str, task: TaskKey) -> None:
        text = f"a client of {peer} without a ticket for task {task[0]}.{task[1]} was refused"
        self._limiter.log_throttle.note(f"ticket {peer}", text)
        _refuse(writer, "denied: not a valid ticket for the session")

    async def _session_of(self, directory: Path) -> socket.socket | None:
        """A connection to the session in a task's directory, which may still appear; None when there is none."""
        loop = asyncio.get_running_loop()
        until = loop.time() + _SESSION_TIMEOUT_S
        while True:
            try:
                return _connected(directory / "session")
            except OSError:
                if loop.time() > until:
                    return None
            await asyncio.sleep(_POLL_S)


def _belongs_to(holder: Holder, directory: Path) -> bool:
    """Whether the task in this directory is of the ticket's job, not of a later job of the same number."""
    try:
        return read_holder(directory) == holder
    except (OSError, msgspec.DecodeError):
        return False


def _connected(path: Path) -> socket.socket:
    """Connect through the directory's descriptor: paths of sockets are limited to 107 bytes. Raises OSError."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    descriptor = -1
    try:
        descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        connection.setblocking(False)
        connection.connect(f"/proc/self/fd/{descriptor}/{path.name}")
    except OSError:
        connection.close()
        raise
    finally:
        if descriptor >= 0:
            os.close(descriptor)
    return connection


def _origin(writer: asyncio.StreamWriter) -> str:
    peer, own = writer.get_extra_info("peername"), writer.get_extra_info("sockname")
    return session.client_origin(peer[0], own[0])


def _keep_alive(writer: asyncio.StreamWriter) -> None:
    """Detect a client's host that is gone without closing the connection. Source: tcp(7)."""
    connection: Any = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _IDLE_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _ASK_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _refuse(writer: asyncio.StreamWriter, reason: str, again: bool = False) -> None:
    """`again`: a retry, here or at the host that the qmaster names then, may succeed."""
    writer.write(json.dumps({"refused": reason, "again": again}).encode() + b"\n")


_Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _splice(one: _Ends, other: _Ends) -> None:
    """Pass bytes on in both directions until either side is closed. The kernel's buffers are the flow control."""
    directions = [asyncio.create_task(_copy_stream(one[0], other[1])), asyncio.create_task(_copy_stream(other[0], one[1]))]
    done, rest = await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
    for direction in rest:
        direction.cancel()
    await asyncio.gather(*directions, return_exceptions=True)


async def _copy_stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_CHUNK):
        writer.write(data)
        await writer.drain()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    try:
        await writer.wait_closed()
    except (OSError, ssl.SSLError):
        pass
