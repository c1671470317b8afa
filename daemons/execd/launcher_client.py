"""The connection to the launcher: requests to start and to signal tasks, and notifications of shepherds that have ended.

Owns the protocol's client side (docs/architecture.md 5.1) and reconnecting. Knows tasks only by their directories.
Called by `tasks`, on the execd actor's event loop.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import Callable
from pathlib import Path

from gridengine.errors import UnavailableError
from gridengine.files.unix_sockets import peer_credentials

_log = logging.getLogger(__name__)

Message = dict[str, object]
#: seconds between attempts to reach the launcher, which its supervisor restarts at once
_RETRY_S = 0.1
_LINE_LIMIT = 64 * 1024 * 1024  # a list of all running directories is one line


class LauncherLostError(UnavailableError):
    """There is no launcher at the moment, or it ended before it answered: the request has to be repeated."""


class LauncherClient:
    """One connection. `on_exited(directory)`: a shepherd ended; `on_connected(running)`: after every (re)connection;
    `on_process(pid)`: with the launcher's process, before it gets the first request of a connection.
    """

    def __init__(
        self,
        socket: Path,
        on_exited: Callable[[str], None],
        on_connected: Callable[[list[str]], None],
        on_process: Callable[[int], None] = lambda pid: None,
    ) -> None:
        self._socket = socket
        self._on_exited, self._on_connected, self._on_process = on_exited, on_connected, on_process
        self._writer: asyncio.StreamWriter | None = None
        self._waiting: deque[asyncio.Future[Message]] = deque()  # the launcher answers in order

    async def run(self) -> None:
        """Keep the connection forever."""
        while True:
            try:
                reader, writer = await asyncio.open_unix_connection(str(self._socket), limit=_LINE_LIMIT)
                self._on_process(peer_credentials(writer.get_extra_info("socket")).pid)
                self._writer = writer
            except OSError:
                await asyncio.sleep(_RETRY_S)
                continue
            greeting = asyncio.create_task(self._request_list())
            try:
                await self._read(reader)
            finally:
                greeting.cancel()
                self._disconnect()
            await asyncio.sleep(_RETRY_S)

    async def start(self, directory: str, shepherd_cmd: str | None = None, owner: str = "") -> None:
        """Have the task in `directory` run; does nothing when it runs or ran. Raises LauncherLostError, ValueError.

        `owner`: of the task, which may get a shepherd that has run other tasks of this owner; "": the task gets a new shepherd.
        """
        answer = await self._request({"op": "start", "directory": directory, "shepherd_cmd": shepherd_cmd, "owner": owner})
        if answer.get("op") != "started":
            raise ValueError(str(answer.get("reason", "the launcher gave no reason")))

    async def signal(self, directory: str, command: str) -> bool:
        """Pass a command to the task's shepherd; False when none runs. Raises LauncherLostError, also when the disk is full and
        the command cannot be written.
        """
        answer = await self._request({"op": "signal", "directory": directory, "command": command})
        if answer.get("again"):
            raise LauncherLostError
        return answer.get("op") == "signalled"

    async def _request_list(self) -> None:
        try:
            answer = await self._request({"op": "list"})
        except LauncherLostError:
            return
        running = answer.get("running")
        self._on_connected([str(each) for each in running] if isinstance(running, list) else [])

    async def _request(self, request: Message) -> Message:
        if self._writer is None or self._writer.is_closing():
            raise LauncherLostError
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting.append(answer)
        self._writer.write(json.dumps(request).encode() + b"\n")
        return await answer

    async def _read(self, reader: asyncio.StreamReader) -> None:
        while True:
            try:
                line = await reader.readline()
            except (OSError, ValueError):
                return
            if not line.endswith(b"\n"):
                return
            message = json.loads(line)
            if message.get("op") == "exited":
                self._on_exited(str(message["directory"]))
            elif self._waiting:
                answer = self._waiting.popleft()
                if not answer.done():
                    answer.set_result(message)

    def _disconnect(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        while self._waiting:
            answer = self._waiting.popleft()
            if not answer.done():
                answer.set_exception(LauncherLostError())
