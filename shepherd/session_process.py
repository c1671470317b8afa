"""The process that holds the streams of an interactive task and serves its client, over a sequence of connections.

Owns the loop between the job's streams and the client's frames (`protocols.session`). The process runs as the job's owner.
When the client is gone it keeps all data and waits for the next connection, for `session_grace_s`; a job whose output is
not taken is blocked by its full pipe, as it would be in a shell. Source: docs/interactive.md; IA-1, IA-2, IA-6, IA-9.
"""

from __future__ import annotations

import errno
import json
import os
import select
import socket
import time
from collections import deque
from typing import Any

from gridengine.protocols import session
from gridengine.protocols.session import BrokenSessionError, Inbox, Outbox
from gridengine.protocols.task_file import TaskConfig
from shepherd.streams import Streams, set_window_size

#: exit statuses: the client has everything; no client came in time; the client requested the end of the task
FINISHED, ABANDONED, ENDED = 0, 1, 2

GREETING_S = 10.0
_GREETING_BYTES = 4096
_END_OF_FILE = b"\x04"  # as typed at a terminal
_READ, _WRITE = select.POLLIN, select.POLLOUT


class SessionProcess:
    """`opener`: gets the origin of the first client when it connects, which lets the job start. `control`: the shepherd sends the
    outcome here; its end without one means that the shepherd is dead."""

    def __init__(
        self, listener: socket.socket, streams: Streams, opener: int, control: int, config: TaskConfig
    ) -> None:
        self._listener, self._streams, self._control = listener, streams, control
        self._opener: int | None = opener
        self._attempt, self._grace_s = config.attempt, config.session_grace_s
        self._daemon = config.remote_daemon or "builtin"
        self._connection: socket.socket | None = None
        self._outbox = Outbox(session.OUTPUT_WINDOW, session.SCROLLBACK_BYTES if streams.terminal else 0)
        self._inbox = Inbox()
        self._unsent_bytes = b""
        self._input: deque[bytes] = deque()  # frames that the job has not read; b"" is the end
        self._input_open = True
        self._consumed = self._acknowledged = 0
        self._unacknowledged_bytes = 0
        self._outputs = dict(streams.outputs)
        self._outcome: bytes | None = None  # the job has ended; the pipes hold the rest of its output
        self._exit_sent = False
        self._client = 0  # number of the client that is or was connected
        self._deadline = time.monotonic() + self._grace_s

    def run(self) -> int:
        """Serve until the end; the exit status."""
        while True:
            if self._exit_sent and self._outbox.is_acknowledged:
                return FINISHED
            timeout_ms = None
            if self._connection is None:
                timeout_ms = max(0.0, self._deadline - time.monotonic()) * 1000
            events = self._poll(timeout_ms)
            if not events:
                return ABANDONED
            if (status := self._handle(dict(events))) is not None:
                return status

    def _poll(self, timeout_ms: float | None) -> list[tuple[int, int]]:
        poll = select.poll()
        poll.register(self._listener, _READ)
        if self._outcome is None:
            poll.register(self._control, _READ)
        masks: dict[int, int] = {}
        if self._outbox.has_capacity:
            masks.update(dict.fromkeys(self._outputs, _READ))
        if self._input:
            masks[self._streams.input] = masks.get(self._streams.input, 0) | _WRITE
        if self._connection is not None:
            masks[self._connection.fileno()] = _READ | _WRITE if self._unsent_bytes else _READ
        for descriptor, mask in masks.items():
            poll.register(descriptor, mask)
        return poll.poll(timeout_ms)

    def _handle(self, events: dict[int, int]) -> int | None:
        for descriptor in [each for each in self._outputs if events.get(each, 0) & ~_WRITE]:
            self._read_output(descriptor)
        if self._streams.input in events:
            self._write_input()
        if self._control in events:
            data = os.read(self._control, session.MAX_FRAME_BYTES)
            if not data:
                return ABANDONED  # without a shepherd there is no task
            self._finish(json.loads(data))
        if self._outcome is not None and not self._exit_sent:
            self._drain()
        connection = self._connection
        if connection is not None and connection.fileno() in events and not self._receive(connection):
            return ENDED
        if self._listener.fileno() in events:
            self._accept()
        self._send()
        return None

    def _finish(self, final_message: dict[str, Any]) -> None:
        self._outcome = json.dumps(final_message["outcome"]).encode()
        if not final_message["linger"]:
            self._grace_s = 0
            self._deadline = time.monotonic()

    # --- the job --------------------------------------------------------------------------------------------------

    def _read_output(self, descriptor: int) -> bool:
        """Read available output; False when there is none now, or no more at all."""
        try:
            data = os.read(descriptor, session.CHUNK)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno != errno.EIO:  # of a terminal that no process has open any longer
                raise
            data = b""
        if data:
            self._outbox.put(self._outputs[descriptor], data)
            return True
        del self._outputs[descriptor]
        return False

    def _drain(self) -> None:
        """The job has ended and its processes are gone: when the pipes are empty, send the client the outcome."""
        for descriptor in list(self._outputs):
            more = True
            while more and self._outbox.has_capacity:
                more = self._read_output(descriptor)
            if more:
                return  # the client has to receive some first
            self._outputs.pop(descriptor, None)
        assert self._outcome is not None
        self._outbox.put(session.EXIT, self._outcome)
        self._exit_sent = True

    def _write_input(self) -> None:
        try:
            while self._input:
                data = self._input[0]
                if not data and not self._streams.terminal:
                    self._close_input()
                    return
                written = os.write(self._streams.input, data or _END_OF_FILE)
                if written < len(data):
                    self._input[0] = data[written:]
                    return
                self._input.popleft()
                self._consume(len(data))
        except BlockingIOError:
            return
        except OSError:
            self._close_input()  # no process reads it

    def _close_input(self) -> None:
        self._input_open = False
        self._drop_input()
        if not self._streams.terminal:
            os.close(self._streams.input)

    def _drop_input(self) -> None:
        for data in self._input:
            self._consume(len(data))
        self._input.clear()

    def _consume(self, size: int) -> None:
        self._consumed += 1
        self._unacknowledged_bytes += size

    # --- the client -----------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        """A new connection replaces the old connection. The daemon at the other end has checked the client's ticket."""
        connection, _ = self._listener.accept()
        connection.settimeout(GREETING_S)
        try:
            greeting = json.loads(_read_line(connection))
            answer = self._answer_greeting(greeting)
            connection.sendall(json.dumps(answer).encode() + b"\n")
        except (OSError, ValueError, KeyError, TypeError):
            connection.close()
            return
        if "refused" in answer:
            connection.close()
            return
        connection.setblocking(False)
        self._connection, self._unsent_bytes = connection, b""
        self._inbox.begin_connection()
        if greeting.get("size") and self._streams.terminal:
            set_window_size(self._streams.input, tuple(greeting["size"]))
        if self._opener is not None:
            self._open_gate(self._opener, str(greeting.get("origin") or session.LOCALHOST))

    def _open_gate(self, opener: int, origin: str) -> None:
        try:
            os.write(opener, origin.encode())
        except BrokenPipeError:
            pass  # the job could not start; the client will get the outcome
        os.close(opener)
        self._opener = None

    def _answer_greeting(self, greeting: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a greeting: a new client gets a number of its own, and the previous client is disconnected."""
        if greeting["attempt"] != self._attempt:
            return {"refused": "it is another attempt of the task that runs"}
        client, received = greeting.get("client"), greeting.get("received")
        if client is not None and client != self._client:
            return {"refused": "another client has taken the session over"}
        try:
            first = self._outbox.resume(received if client is not None else None)
        except BrokenSessionError as error:
            return {"refused": str(error)}
        if client is None:
            self._client += 1
        if self._connection is not None:
            if client is None:
                self._notify_superseded(self._connection)
            self._connection.close()
            self._connection = None
        return {
            "client": self._client, "received": self._inbox.count, "first": first,
            "terminal": self._streams.terminal, "daemon": self._daemon,
        }

    def _notify_superseded(self, connection: socket.socket) -> None:
        try:
            connection.send(self._unsent_bytes + session.encode_frame(session.SUPERSEDED))
        except OSError:
            return  # refused when the client reconnects

    def _receive(self, connection: socket.socket) -> bool:
        """Take the client's frames; False when it requests the end of the task."""
        try:
            data = connection.recv(2 * session.CHUNK)
            if not data:
                raise ConnectionError
            for kind, content in self._inbox.feed(data):
                if kind == session.END:
                    return False
                self._handle_frame(kind, content)
        except BlockingIOError:
            return True
        except (OSError, BrokenSessionError):
            self._disconnect()
        return True

    def _handle_frame(self, kind: bytes, content: bytes) -> None:
        if kind == session.INPUT:
            self._input.append(content)
            if self._input_open:
                self._write_input()
            else:
                self._drop_input()
        elif kind == session.ACKNOWLEDGED:
            self._outbox.acknowledge(session.decode_acknowledgement(content))
        elif kind == session.WINDOW and self._streams.terminal:
            set_window_size(self._streams.input, session.decode_window_size(content))

    def _send(self) -> None:
        if self._connection is None:
            return
        data = self._unsent_bytes + self._outbox.take_unsent()
        if self._consumed > self._acknowledged and (self._unacknowledged_bytes >= session.ACKNOWLEDGE_AFTER or not data):
            data += session.encode_acknowledgement(self._consumed)
            self._acknowledged, self._unacknowledged_bytes = self._consumed, 0
        try:
            sent = self._connection.send(data) if data else 0
        except BlockingIOError:
            sent = 0
        except OSError:
            self._disconnect()
            return
        self._unsent_bytes = data[sent:]

    def _disconnect(self) -> None:
        """The client is gone, and may reconnect."""
        assert self._connection is not None
        self._connection.close()
        self._connection, self._unsent_bytes = None, b""
        self._deadline = time.monotonic() + self._grace_s


def _read_line(connection: socket.socket) -> bytes:
    """Read a line, byte by byte: the bytes after it belong to the frames."""
    line = b""
    while not line.endswith(b"\n") and len(line) < _GREETING_BYTES:
        byte = connection.recv(1)
        if not byte:
            raise ConnectionError
        line += byte
    return line
