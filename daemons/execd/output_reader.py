"""Reading the end of tasks' output for their owners: a process for each reading, which runs as the owner.

Owns the number of such processes, and their time limit. `shepherd.output_tail` finds and reads the file. Called by the execd
actor; the qmaster checks the rights of its clients. Source: adr/0138.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import msgspec

from daemons.execd.ended_outputs import EndedOutputs
from daemons.runtime import children
from daemons.runtime.daemon import module_command, module_environment
from daemons.runtime.identity import inherited
from gridengine.protocols.delivery import OutputRequest, OutputTail, decode_output_request, decode_output_tail, encode
from gridengine.values.task_key import TaskKey

MAX_READINGS, MAX_READINGS_PER_OWNER = 16, 4
"""Readings at a time, in all and of one owner. A reading that a file server blocks counts until its process has ended."""
TIMEOUT_S = 4.0
_KILL_S = 0.5
"""Time to wait for a killed process before the request is answered without it."""

ReadProcess = Callable[[list[str]], Awaitable[asyncio.subprocess.Process]]
"""Arguments of `shepherd.output_tail` -> its process, with a readable stdout."""


async def start_reader(arguments: list[str]) -> asyncio.subprocess.Process:
    """Start the process, with the public part of the daemon's environment alone. Raises OSError."""
    return await children.begin(
        *module_command("shepherd.output_tail"),
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd="/",
        env=module_environment(inherited(os.environ)),
    )


class OutputReader:
    """`directories`: of the tasks on this host; `ended`: of tasks that have ended here, which are requested as attempt 0."""

    def __init__(
        self,
        directories: Mapping[TaskKey, Path],
        ended: EndedOutputs,
        start: ReadProcess = start_reader,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._directories, self._ended, self._start, self._timeout_s = directories, ended, start, timeout_s
        self._running: Counter[str] = Counter()
        self._readings: set[asyncio.Task[OutputTail]] = set()

    async def answer(self, data: bytes) -> bytes:
        """Answer an encoded `OutputRequest` with an encoded `OutputTail`, within `timeout_s`."""
        request = decode_output_request(data)
        directory = self._directories.get(request.key)
        is_ended = not request.key.attempt and request.key in self._ended
        if directory is None and not is_ended:
            past = "where the task wrote is no longer known" if not request.key.attempt else "the task is no longer on its host"
            return encode(OutputTail(fault=past))
        if self._running.total() >= MAX_READINGS or self._running[request.owner] >= MAX_READINGS_PER_OWNER:
            return encode(OutputTail(fault="the host reads too many files already: try again in a moment"))
        if directory is not None:
            return encode(await self._read_in_time(directory, request))
        with self._ended.directory(request.key) as copied:
            return encode(await self._read_in_time(copied, request))

    async def _read_in_time(self, directory: Path, request: OutputRequest) -> OutputTail:
        """Return in time, also when the process cannot be ended yet."""
        self._running[request.owner] += 1
        reading = asyncio.get_running_loop().create_task(self._read(directory, request))
        self._readings.add(reading)
        reading.add_done_callback(lambda _: self._reading_ended(reading, request.owner))
        done, _ = await asyncio.wait({reading}, timeout=self._timeout_s + _KILL_S)
        return reading.result() if done else self._too_slow()

    def _reading_ended(self, reading: asyncio.Task[OutputTail], owner: str) -> None:
        self._readings.discard(reading)
        self._running[owner] -= 1
        if not self._running[owner]:
            del self._running[owner]

    def _too_slow(self) -> OutputTail:
        return OutputTail(fault=f"the file could not be read within {self._timeout_s:.0f} s: is its file server there?")

    async def _read(self, directory: Path, request: OutputRequest) -> OutputTail:
        try:
            process = await self._start([str(directory), request.owner, request.stream, str(request.max_bytes)])
        except OSError as error:
            return OutputTail(fault=f"the host cannot start a process: {error.strerror}")
        try:
            async with asyncio.timeout(self._timeout_s):
                output, _ = await process.communicate()
        except TimeoutError:
            return self._too_slow()
        finally:
            await children.end(process, patience_s=None)
        try:
            return decode_output_tail(output)
        except msgspec.DecodeError:
            return OutputTail(fault=f"reading failed with status {process.returncode}")
