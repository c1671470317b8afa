"""A kept connection of a program to its cell, and streams on connections of their own.

Owns what may go wrong between two requests: a connection that was closed meanwhile, a qmaster that is being restarted, a
program that forks. Every change has a key, so asking again never does a thing twice (adr/0143). Called by `cell`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from threading import Lock
from typing import Any

from gridengine.api import wire
from gridengine.api.road import ANSWER_S, Road
from gridengine.api.wire import Answer, AnswerLost, TurnedAway, Unreachable

_PAUSE_S = 0.1
#: for how long a road that leads nowhere is tried at the first request
_ABSENT_S = 1.0


class Patience:
    """How long one goes on asking, from the first fault on. `first`: nobody has ever answered here."""

    def __init__(self, limit: float, first: bool) -> None:
        self._limit, self._first = limit, first
        self._since = 0.0

    def with_fault(self, fault: Exception, there: bool = True) -> float:
        """Seconds to wait after a fault. `there`: there is something to be waited for. Raises Unreachable."""
        now = time.monotonic()
        self._since = self._since or now
        limit = self._limit if there or not self._first else min(self._limit, _ABSENT_S)
        if now - self._since >= limit:
            raise fault if isinstance(fault, Unreachable) else Unreachable(str(fault)) from None
        return _PAUSE_S


class CellLink:
    """`patience`: seconds for which a cell that does not answer is asked again. Threads take turns; a child has a connection
    of its own."""

    def __init__(self, road: Road, patience: float) -> None:
        self._road, self._patience = road, patience
        self._answered = False
        self._owner = os.getpid()
        self._turn = Lock()
        self._connection: Any = None

    def close(self) -> None:
        """End the connection; the next request makes another one."""
        self._ours()
        with self._turn:
            self._drop()

    def ask(self, name: str, body: bytes, key: str) -> Answer:
        """Send a request and return its answer. Raises Unreachable."""
        self._ours()
        with self._turn:
            patience = Patience(self._patience, not self._answered)
            while True:
                kept = self._connection is not None
                try:
                    answer = self._exchange(name, body, key)
                    self._answered = True
                    return answer
                except (TurnedAway, AnswerLost) as fault:
                    self._drop()
                    # one that was kept may have been closed long ago
                    if not kept or isinstance(fault, TurnedAway):
                        time.sleep(patience.with_fault(fault))
                except OSError as error:
                    time.sleep(patience.with_fault(self._nobody(error), self._road.is_there(error)))
                except BaseException:
                    self._drop()  # an answer may be on its way that nobody waits for
                    raise

    def stream(self, name: str, body: bytes, timeout: float | None = None) -> Iterator[Any]:
        """Send a request and yield the values of its answer as they come. `timeout`: s to wait for each, None for ever.

        Raises AnswerLost when it breaks: whoever follows something asks again.
        """
        patience = Patience(self._patience, not self._answered)
        while True:
            try:
                connection = self._road.connect()
                break
            except OSError as error:
                time.sleep(patience.with_fault(self._nobody(error), self._road.is_there(error)))
        try:
            reader = self._sent(connection, self._road.head(name, len(body), "", False) + body)
            status, reason, headers = wire.read_head(reader)
            pieces = wire.pieces(reader, headers)
            if status != 200:
                try:
                    self._road.answer(name, status, reason, b"".join(pieces))
                except TurnedAway as away:
                    raise AnswerLost(str(away) or "the qmaster is away") from None
            self._answered = True
            connection.settimeout(timeout)
            yield from wire.values(name, pieces)
        finally:
            connection.close()

    def _ours(self) -> None:
        """After a fork: the connection, and perhaps the lock, are the parent's."""
        if self._owner != os.getpid():
            if self._connection is not None:
                os.close(self._connection.detach())  # without a word to the other end
            self._owner, self._turn, self._connection = os.getpid(), Lock(), None

    def _exchange(self, name: str, body: bytes, key: str) -> Answer:
        if self._connection is None:
            self._connection = self._road.connect()
        reader = self._sent(self._connection, self._road.head(name, len(body), key, True) + body)
        status, reason, headers = wire.read_head(reader)
        text = b"".join(wire.pieces(reader, headers))
        if headers.get(b"connection", b"").lower() == b"close":
            self._drop()
        return self._road.answer(name, status, reason, text)

    def _nobody(self, error: OSError) -> Unreachable:
        return Unreachable(self._road.why_nobody(error))

    @staticmethod
    def _sent(connection: Any, request: bytes) -> wire.AnswerReader:
        """Raises AnswerLost."""
        try:
            connection.settimeout(ANSWER_S)
            connection.sendall(request)
        except ConnectionError:
            pass  # who does not want all of it may have said why
        except OSError as error:
            raise AnswerLost(f"the connection to the qmaster broke: {error.strerror or error}") from None
        return wire.AnswerReader(connection)

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
