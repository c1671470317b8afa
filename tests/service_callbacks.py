"""The callbacks of a service without hosts, a scheduler or a resolver."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

from gridengine.protocols.gdi.requests import Answer, ExecdHello, Shutdown

_Result = TypeVar("_Result")


async def durable() -> None:
    """For streams without a service: all decisions are on disk."""


class IdleCallbacks:
    """`ServiceCallbacks` of a cell in one process: its scheduler never answers, no host joins. `replaced`: other functions for
    these methods, by name."""

    def __init__(self, **replaced: Callable[..., Any]) -> None:
        vars(self).update(replaced)

    async def cycle(self, parts: list[bytes] | None, base: int, events: list[bytes], now: float, monitored: bool) -> bytes:
        await asyncio.Event().wait()
        raise AssertionError

    async def deliver(self, host: str, data: bytes) -> bytes:
        raise LookupError("it has not joined")

    async def read_output(self, host: str, data: bytes) -> bytes:
        raise LookupError("it has not joined")

    async def host_joined(self, hello: ExecdHello) -> Mapping[str, object]:
        return self.session()

    def session(self) -> dict[str, str]:
        return {}

    async def select_files(self, digests: Mapping[str, str], mark: str) -> dict[str, str]:
        return {}

    async def shut_down(self, request: Shutdown) -> Answer:
        return Answer()

    async def call_resolved(self, decide: Callable[[], _Result], user: Hashable) -> _Result:
        return decide()

    async def try_ports(self, host: str, ports: Sequence[int]) -> dict[str, list[int]]:
        return {"answers": [], "refused": [], "silent": list(ports)}

    def end(self, status: int) -> NoReturn:
        raise AssertionError(f"the service ends with {status}")
