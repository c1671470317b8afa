"""The channel of `Cell`: a blocking socket, whose coroutines end without a suspension. Called by `cell`; adr/0186."""

from __future__ import annotations

import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar, cast

from gridengine.api import wire
from gridengine.api.transport import ANSWER_S, Transport

if TYPE_CHECKING:
    from typing import Self

T = TypeVar("T")


class BlockingChannel:
    """The bytes of a connection. `timeout`: s to wait for some, None: forever."""

    def __init__(self, connection: Any) -> None:
        self.timeout: float | None = ANSWER_S
        self._connection = connection

    @classmethod
    async def connect(cls, transport: Transport) -> Self:
        """A new connection. Raises OSError."""
        return cls(transport.connect())

    async def send(self, data: bytes) -> None:
        """Send all of it. Raises AnswerLost."""
        try:
            self._connection.sendall(data)
        except ConnectionError:
            pass  # a peer that refuses the rest may have sent the reason
        except OSError as error:
            raise wire.answer_lost(error, None) from None

    async def receive(self) -> bytes:
        """The bytes that have come, b"" at the end. Raises AnswerLost."""
        self._connection.settimeout(self.timeout)
        return wire.receive(self._connection)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @staticmethod
    async def sleep(seconds: float) -> None:
        """Wait between two attempts."""
        time.sleep(seconds)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that awaits only blocking channels."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return cast(T, end.value)
    raise AssertionError("a blocking channel has suspended")
