"""Child processes of a daemon's event loop: started completely or not at all, and ended even if something holds their pipes.

Closes a gap of asyncio (Python 3.11): asyncio reports the end of a process only when all of its pipes are closed. A
grandchild that lives on, or a buffer that is no longer emptied, would make the wait endless; so would a cancellation during
the start. Used by all code that talks to a child through pipes, above all to an administrator's own program: load sensors,
verifiers, mailers.
"""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import Process
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from gridengine.files.executables import start_soon

KILLED_S = 2.0
"""Time that a killed process may take to disappear: a file server may delay its end."""


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
    """Kill a process that was started here, and the rest of its session. Return when it has ended, or after `patience_s`;
    with None only when it has ended."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    writing, *reading = (process._transport.get_pipe_transport(number) for number in range(3))  # type: ignore[attr-defined]
    if writing is not None and (not writing.is_closing() or writing.get_write_buffer_size()):
        writing.abort()  # else the unwritten data would be waited for
    for pipe in reading:
        if pipe is not None:
            pipe.close()
    with suppress(TimeoutError, ConnectionError):
        async with asyncio.timeout(patience_s):
            await process.wait()
            if process.stdin is not None:
                await process.stdin.wait_closed()  # else a broken pipe is reported when it is garbage-collected
