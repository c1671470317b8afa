"""Child processes of a daemon's event loop: begun whole or not at all, and ended whatever holds their pipes.

Owns what asyncio leaves open (Python 3.11): it tells that a process has ended when all of its pipes are closed. A child of
that process which lives on, or a buffer that nobody empties any more, would have it waited for without end; so would a
cancellation while it is begun. Used by all that talk with a child through pipes, first of all by those whose child is an
administrator's own program: load sensors, verifiers, mailers.
"""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import Process
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from gridengine.executables import start_soon

KILLED_S = 2.0
"""How long a process that was killed may take to be gone: a file server may hold it up."""


async def begin(*command: str, **options: Any) -> Process:
    """`asyncio.create_subprocess_exec`, as leader of a session. When the caller is cancelled meanwhile, the process is ended
    first. Raises OSError."""

    def create(argv: list[str]) -> Coroutine[Any, Any, Process]:
        return asyncio.create_subprocess_exec(*argv, **options | {"start_new_session": True})

    starting = asyncio.ensure_future(start_soon(create, command))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(OSError):
            await end(await starting)
        raise


async def end(process: Process, patience_s: float | None = KILLED_S) -> None:
    """Kill a process that was begun here, and all of its session that is still with it. Return when it is gone, or after
    `patience_s`; with None not before."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    writing, *reading = (process._transport.get_pipe_transport(number) for number in range(3))  # type: ignore[attr-defined]
    if writing is not None and (not writing.is_closing() or writing.get_write_buffer_size()):
        writing.abort()  # what is left to be written would be waited for
    for pipe in reading:
        if pipe is not None:
            pipe.close()
    with suppress(TimeoutError, ConnectionError):
        async with asyncio.timeout(patience_s):
            await process.wait()
            if process.stdin is not None:
                await process.stdin.wait_closed()  # else a pipe that broke is complained of when it is thrown away
