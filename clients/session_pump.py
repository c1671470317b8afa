"""Bytes between the standard streams of this process and the session of a job, across reconnections.

Owns the state that survives a broken connection: unacknowledged input, and the count of printed bytes.
Called by `interactive`. Source: gridengine/protocols/session.py; IA-1, IA-2, IA-9.
"""

import json
import os
import select
import ssl

from clients.ending_signals import SignalledError
from clients.terminal import HUNG_UP, Terminal
from gridengine.errors import GridEngineError
from gridengine.protocols import session
from gridengine.protocols.session import BrokenSessionError, Inbox, Outbox

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_READ, _WRITE = select.POLLIN, select.POLLOUT
#: seconds for the last frames of a client that ends
_END_S = 2.0


class SessionTakenOverError(GridEngineError):
    """Another client has taken the session over."""


class SessionPump:
    """One session, until the job's outcome. `stdin`: whether to read it; otherwise the job's input is at its end.

    `output(descriptor, data)`: the function that takes the output, by default the writer to the standard streams.
    """

    def __init__(self, terminal: Terminal, stdin: bool) -> None:
        self._terminal = terminal
        self.output: Callable[[int, bytes], None] = _write
        self._client: int | None = None
        self._outbox, self._inbox = Outbox(session.INPUT_WINDOW), Inbox()
        self._stdin_open = stdin
        self._is_stdin_readable = True  # not while this process is in the background of its terminal
        if not stdin:
            self._outbox.put(session.INPUT, b"")
        self._connection: ssl.SSLSocket | None = None
        self._unsent_bytes = b""
        self._printed = 0  # bytes since the last acknowledgement
        self._outcome: dict[str, Any] | None = None

    @property
    def has_been_connected(self) -> bool:
        return self._client is not None

    def greeting(self) -> "dict[str, Any]":
        """This client's part of the first line."""
        received = None if self._client is None else self._inbox.count
        return {"client": self._client, "received": received, "size": self._terminal.size}

    def run(self, connection: ssl.SSLSocket, answer: "dict[str, Any]") -> "dict[str, Any] | None":
        """Pump until the outcome, which is returned; None when the connection broke. Raises Dismissed, OSError."""
        try:
            self._begin(connection, answer)
            while self._outcome is None:
                self._pump_once(connection)
            self._send(connection)
        except (BrokenSessionError, ConnectionError, ssl.SSLError, TimeoutError):
            pass
        self._connection = None
        connection.close()
        return self._outcome

    def _begin(self, connection: ssl.SSLSocket, answer: "dict[str, Any]") -> None:
        if self._client is None:
            self._outbox.number_from(answer["received"])
            self._inbox.begin_connection(answer["first"])
        else:
            self._outbox.resume(answer["received"])
            self._inbox.begin_connection()
        self._client = answer["client"]
        self._connection, self._unsent_bytes, self._printed = connection, b"", 0
        self._receive(connection)  # what came together with the greeting makes no descriptor readable
        self._send(connection)

    def stop_reading_stdin(self) -> None:
        """Stop reading standard input: another program reads it."""
        self._stdin_open = False

    def send_end(self) -> bool:
        """Send the session the request to end the task; whether that was possible."""
        if self._connection is None:
            return False
        try:
            self._connection.settimeout(_END_S)
            self._connection.sendall(self._unsent_bytes + session.encode_frame(session.END))
        except OSError:
            return False
        return True

    def _pump_once(self, connection: ssl.SSLSocket) -> None:
        poll = select.poll()
        poll.register(connection, _READ | (_WRITE if self._unsent_bytes else 0))
        poll.register(self._terminal.attention, _READ)
        if self._stdin_open and self._is_stdin_readable and self._outbox.has_capacity:
            poll.register(0, _READ)
        events = dict(poll.poll())
        if self._terminal.attention in events:
            self._handle_attention()
        if 0 in events:
            self._read_stdin(hung_up=bool(events[0] & select.POLLHUP))
        if connection.fileno() in events:
            self._receive(connection)
        self._send(connection)

    def _handle_attention(self) -> None:
        self._terminal.clear_attention()
        self._is_stdin_readable = True
        if size := self._terminal.size:
            self._unsent_bytes += session.encode_window_size(size)

    def _read_stdin(self, hung_up: bool) -> None:
        try:
            data = os.read(0, session.CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
            if not hung_up:
                self._is_stdin_readable = False  # until the process is in the foreground again
                return
        if not data and self._terminal.is_raw:
            raise SignalledError(HUNG_UP)  # no key means the end of a terminal in raw mode
        self._outbox.put(session.INPUT, data)
        self._stdin_open = bool(data)

    def _receive(self, connection: ssl.SSLSocket) -> None:
        while True:
            try:
                data = connection.recv(session.CHUNK)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            if not data:
                raise ConnectionError
            for kind, content in self._inbox.feed(data):
                self._handle_frame(kind, content)
            if not connection.pending():
                return

    def _handle_frame(self, kind: bytes, content: bytes) -> None:
        if kind == session.OUTPUT:
            self.output(1, content)
            self._printed += len(content)
        elif kind == session.ERROR:
            self.output(2, content)
            self._printed += len(content)
        elif kind == session.ACKNOWLEDGED:
            self._outbox.acknowledge(session.decode_acknowledgement(content))
        elif kind == session.EXIT:
            self._outcome = json.loads(content)
        elif kind == session.SUPERSEDED:
            raise SessionTakenOverError
        if self._printed >= session.ACKNOWLEDGE_AFTER or self._outcome is not None:
            self._unsent_bytes += session.encode_acknowledgement(self._inbox.count)
            self._printed = 0

    def _send(self, connection: ssl.SSLSocket) -> None:
        """Send as many bytes as the connection takes; the acknowledgement of the outcome completely."""
        self._unsent_bytes += self._outbox.take_unsent()
        if self._outcome is not None:
            connection.settimeout(_END_S)
        while self._unsent_bytes:
            try:
                self._unsent_bytes = self._unsent_bytes[connection.send(self._unsent_bytes[: session.CHUNK]) :]
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return


def _write(descriptor: int, data: bytes) -> None:
    """Write all data, also to a pipe that another process made non-blocking."""
    while data:
        try:
            data = data[os.write(descriptor, data) :]
        except BlockingIOError:
            poll = select.poll()
            poll.register(descriptor, _WRITE)
            poll.poll()
