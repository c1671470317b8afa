"""What those who answer requests need of the running qmaster around them, as functions.

Made by `service`, used by `endpoints`: so that the answers know neither loops nor Ray.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from daemons.qmaster.serve.host_names import CallResolved
from daemons.qmaster.serve.output_reading import ReadOutputCall
from gridengine.gdi.requests import Answer, Shutdown

TryPortsCall = Callable[[str, Sequence[int]], Awaitable[dict[str, list[int]]]]
"""(host, ports) -> what each of them does when the master host connects to it: `answers`, is `refused` or `silent`."""


async def all_ports_silent(host: str, ports: Sequence[int]) -> dict[str, list[int]]:
    """Where there is no network."""
    return {"answers": [], "refused": [], "silent": list(ports)}


FilesCall = Callable[[Mapping[str, str], str], Awaitable[dict[str, str]]]
"""(digests by name, mark) of a host's copy of the cell's files -> texts by name that it is to take."""


async def no_files(_digests: Mapping[str, str], _mark: str) -> dict[str, str]:
    """Nothing is handed out."""
    return {}


class ServiceCallbacks(NamedTuple):
    """What answers need of the qmaster around them.

    `durable()` returns when all that was decided is on disk; `call_resolved(ask, who)` calls what asks for names of hosts once they are
    known; `host_joined(host)`: its supervisor has said hello; `session()`: what a host needs to join;
    `files(digests, mark)`: those of the cell that a host with such a copy is to take; `monitor()` has the next
    scheduling run say why jobs wait; `shut_down(request)` ends daemons; `read_output` asks a host; `try_ports` connects to one.
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
