"""A kept connection of a program to its cell, and streams on connections of their own.

Owns the recovery between two requests: from a connection that was closed meanwhile, a qmaster that is being restarted, a
program that forks. Every change has an idempotency key, so a repeated request is carried out once (adr/0143). Called by `cell`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from threading import Lock
from typing import Any

from gridengine.api import wire
from gridengine.api.transport import ANSWER_S, Transport
from gridengine.api.wire import Answer, AnswerLost, RetryLaterError, Unreachable

_PAUSE_S = 0.1
#: for how long the first request tries to connect if no socket exists
_ABSENT_S = 1.0


class Patience:
    """The time for which a request is retried, from the first fault on. `first`: there was no answer yet."""

    def __init__(self, limit: float, first: bool) -> None:
        self._limit, self._first = limit, first
        self._first_fault_at = 0.0

    def pause_after(self, fault: Exception, is_present: bool = True) -> float:
        """Seconds to wait after a fault. `is_present`: the other end exists and may come back. Raises Unreachable."""
        now = time.monotonic()
        self._first_fault_at = self._first_fault_at or now
        limit = self._limit if is_present or not self._first else min(self._limit, _ABSENT_S)
        if now - self._first_fault_at >= limit:
            raise fault if isinstance(fault, Unreachable) else Unreachable(str(fault)) from None
        return _PAUSE_S


class CellConnection:
    """`patience`: seconds for which a request to a cell that does not answer is retried. Threads take turns; a forked child
    makes its own connection."""

    def __init__(self, transport: Transport, patience: float) -> None:
        self._transport, self._patience = transport, patience
        self._answered = False
        self._owner = os.getpid()
        self._lock = Lock()
        self._connection: Any = None

    def close(self) -> None:
        """Close the connection; the next request opens a new connection."""
        self._reset_after_fork()
        with self._lock:
            self._drop()

    def ask(self, name: str, body: bytes, key: str) -> Answer:
        """Send a request and return its answer. Raises Unreachable."""
        self._reset_after_fork()
        with self._lock:
            patience = Patience(self._patience, not self._answered)
            while True:
                kept = self._connection is not None
                try:
                    answer = self._exchange(name, body, key)
                    self._answered = True
                    return answer
                except (RetryLaterError, AnswerLost) as fault:
                    self._drop()
                    # a kept connection may have been closed long ago
                    if not kept or isinstance(fault, RetryLaterError):
                        time.sleep(patience.pause_after(fault))
                except OSError as error:
                    time.sleep(patience.pause_after(self._unreachable(error), self._transport.may_come_back(error)))
                except BaseException:
                    self._drop()  # an answer may arrive that is no longer expected
                    raise

    def stream(self, name: str, body: bytes, timeout: float | None = None) -> Iterator[Any]:
        """Send a request and yield the values of its answer as they come. `timeout`: s to wait for each, None: forever.

        Raises AnswerLost when it breaks: the caller opens the stream again.
        """
        patience = Patience(self._patience, not self._answered)
        while True:
            try:
                connection = self._transport.connect()
                break
            except OSError as error:
                time.sleep(patience.pause_after(self._unreachable(error), self._transport.may_come_back(error)))
        try:
            reader = self._send(connection, self._transport.head(name, len(body), "", False) + body)
            status, reason, headers = wire.read_head(reader)
            pieces = wire.pieces(reader, headers)
            if status != 200:
                try:
                    self._transport.answer(name, status, reason, b"".join(pieces))
                except RetryLaterError as away:
                    raise AnswerLost(str(away) or "the qmaster is away") from None
            self._answered = True
            connection.settimeout(timeout)
            yield from wire.values(name, pieces)
        finally:
            connection.close()

    def _reset_after_fork(self) -> None:
        """After a fork: drop the connection, and perhaps the lock, of the parent."""
        if self._owner != os.getpid():
            if self._connection is not None:
                os.close(self._connection.detach())  # without a TLS shutdown, which would end the parent's connection
            self._owner, self._lock, self._connection = os.getpid(), Lock(), None

    def _exchange(self, name: str, body: bytes, key: str) -> Answer:
        if self._connection is None:
            self._connection = self._transport.connect()
        reader = self._send(self._connection, self._transport.head(name, len(body), key, True) + body)
        status, reason, headers = wire.read_head(reader)
        text = b"".join(wire.pieces(reader, headers))
        if headers.get(b"connection", b"").lower() == b"close":
            self._drop()
        return self._transport.answer(name, status, reason, text)

    def _unreachable(self, error: OSError) -> Unreachable:
        return Unreachable(self._transport.explain_no_answer(error))

    @staticmethod
    def _send(connection: Any, request: bytes) -> wire.AnswerReader:
        """Raises AnswerLost."""
        try:
            connection.settimeout(ANSWER_S)
            connection.sendall(request)
        except ConnectionError:
            pass  # a peer that refuses the rest may have sent the reason
        except OSError as error:
            raise AnswerLost(f"the connection to the qmaster broke: {error.strerror or error}") from None
        return wire.AnswerReader(connection)

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
