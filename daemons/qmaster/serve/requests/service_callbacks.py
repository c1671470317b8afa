"""Callbacks that request handlers get from the service.

Made by `service`, used by `endpoints`: so that the handlers know neither loops nor Ray.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from daemons.qmaster.serve.requests.host_names import CallResolved
from daemons.qmaster.serve.requests.output_reading import ReadOutputCall
from gridengine.protocols.gdi.requests import Answer, Shutdown

TryPortsCall = Callable[[str, Sequence[int]], Awaitable[dict[str, list[int]]]]
"""(host, ports) -> the ports by the result of a connection from the master host: `answers`, `refused` or `silent`."""


async def all_ports_silent(host: str, ports: Sequence[int]) -> dict[str, list[int]]:
    """For a qmaster without a network."""
    return {"answers": [], "refused": [], "silent": list(ports)}


FilesCall = Callable[[Mapping[str, str], str], Awaitable[dict[str, str]]]
"""(digests by name, mark) of a host's copy of the cell's files -> texts by name that it has to take."""


async def no_files(_digests: Mapping[str, str], _mark: str) -> dict[str, str]:
    """Offers nothing."""
    return {}


class ServiceCallbacks(NamedTuple):
    """The callbacks.

    `durable()` returns when all decisions are on disk; `call_resolved(function, user)` calls a function that resolves host
    names; `host_joined(host)`: its supervisor has sent hello; `session()`: the data that a host needs to join;
    `files(digests, mark)`: the cell's files that a host with such a copy has to take; `monitor()` has the next scheduling
    run report why jobs wait; `shut_down(request)` ends daemons; `read_output` requests output of a host; `try_ports`
    connects to the ports of a host.
    """

    durable: Callable[[], Awaitable[None]]
    call_resolved: CallResolved
    host_joined: Callable[[str], Awaitable[None]]
    session: Callable[[], dict[str, str]]
    files: FilesCall
    monitor: Callable[[], None]
    shut_down: Callable[[Shutdown], Awaitable[Answer]]
    read_output: ReadOutputCall
    try_ports: TryPortsCall
