"""The functions that the service needs of the process around it, so that the service knows neither Ray nor the files of a cell.

Implemented by `actor`; the tests have an implementation without hosts. Called on the service's event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NoReturn, Protocol, TypeVar

from gridengine.protocols.gdi.requests import Answer, ExecdHello, Shutdown

_Result = TypeVar("_Result")


class ServiceCallbacks(Protocol):
    """Calls to other daemons and to the machine. An exception of a call to a host means that the host does not answer."""

    async def cycle(self, parts: list[bytes] | None, base: int, events: list[bytes], now: float, monitored: bool) -> bytes:
        """Run the scheduler (`CycleCall`): returns encoded Orders."""

    async def deliver(self, host: str, data: bytes) -> bytes:
        """Deliver an encoded Batch of instructions to a host: returns the encoded Batch of acknowledgements."""

    async def read_output(self, host: str, data: bytes) -> bytes:
        """Have a host read the output of a task (encoded OutputRequest): returns an encoded OutputTail."""

    async def host_joined(self, hello: ExecdHello) -> Mapping[str, object]:
        """The supervisor of an exec host has sent hello. Returns the session, or the host's place in a rack."""

    def session(self) -> dict[str, str]:
        """Return the data that an exec host with a node of its own needs to join."""

    async def select_files(self, digests: Mapping[str, str], mark: str) -> dict[str, str]:
        """Return the cell's files, texts by name, that a host with such a copy (digests by name) has to take."""

    async def shut_down(self, request: Shutdown) -> Answer:
        """End the qmaster or exec hosts."""

    async def call_resolved(self, decide: Callable[[], _Result], user: Hashable) -> _Result:
        """Call a function that resolves host names, and repeat it until they are resolved; see `HostNames.call_resolved`."""

    async def try_ports(self, host: str, ports: Sequence[int]) -> dict[str, list[int]]:
        """Connect to ports of a host: returns them by the result, `answers`, `refused` or `silent`."""

    def end(self, status: int) -> NoReturn:
        """End this process at once, without cleanup: the next process restarts from disk."""
