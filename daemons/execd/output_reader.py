"""Reading the end of what tasks write, for their owners: a process for each reading, which is the owner's.

Owns how many such processes there may be, and how long they may take. What they may read, and how they find it, is
`shepherd.output_tail`. Called by the execd actor; who may ask is the qmaster's to decide. Source: adr/0138.
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
from gridengine.delivery import OutputTail, OutputWanted, decode_tail, decode_wanted, encode
from gridengine.task_key import TaskKey

MOST, MOST_OF_ONE = 16, 4
"""Readings at a time, in all and of one owner. One that a file server holds up counts until it is really gone."""
LONGEST_S = 4.0
_KILL_S = 0.5
"""How long one that is killed is waited for before whoever asks is answered without it."""

ReadProcess = Callable[[list[str]], Awaitable[asyncio.subprocess.Process]]
"""Arguments of `shepherd.output_tail` -> its process, whose stdout can be read."""


async def start_reader(arguments: list[str]) -> asyncio.subprocess.Process:
    """The process, with nothing of the daemon's environment but what anybody may have. Raises OSError."""
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
    """`directories`: of the tasks on this host; `ended`: of tasks that were here, which are asked for as attempt 0."""

    def __init__(
        self,
        directories: Mapping[TaskKey, Path],
        ended: EndedOutputs,
        start: ReadProcess = start_reader,
        longest_s: float = LONGEST_S,
    ) -> None:
        self._directories, self._ended, self._start, self._longest_s = directories, ended, start, longest_s
        self._running: Counter[str] = Counter()
        self._readings: set[asyncio.Task[OutputTail]] = set()

    async def answer(self, data: bytes) -> bytes:
        """What is read for an encoded `OutputWanted`, as an encoded `OutputTail`; within `longest_s`."""
        wanted = decode_wanted(data)
        directory = self._directories.get(wanted.key)
        is_ended = not wanted.key.attempt and wanted.key in self._ended
        if directory is None and not is_ended:
            past = "where the task wrote is no longer known" if not wanted.key.attempt else "the task is not on its host any more"
            return encode(OutputTail(fault=past))
        if self._running.total() >= MOST or self._running[wanted.owner] >= MOST_OF_ONE:
            return encode(OutputTail(fault="the host reads too many files already: look again in a moment"))
        if directory is not None:
            return encode(await self._in_time(directory, wanted))
        with self._ended.directory(wanted.key) as copied:
            return encode(await self._in_time(copied, wanted))

    async def _in_time(self, directory: Path, wanted: OutputWanted) -> OutputTail:
        """Whoever waits is answered in time, also when the process cannot be ended yet."""
        self._running[wanted.owner] += 1
        reading = asyncio.get_running_loop().create_task(self._read(directory, wanted))
        self._readings.add(reading)
        reading.add_done_callback(lambda _: self._over(reading, wanted.owner))
        done, _ = await asyncio.wait({reading}, timeout=self._longest_s + _KILL_S)
        return reading.result() if done else self._too_slow()

    def _over(self, reading: asyncio.Task[OutputTail], owner: str) -> None:
        self._readings.discard(reading)
        self._running[owner] -= 1
        if not self._running[owner]:
            del self._running[owner]

    def _too_slow(self) -> OutputTail:
        return OutputTail(fault=f"the file could not be read within {self._longest_s:.0f} s: is its file server there?")

    async def _read(self, directory: Path, wanted: OutputWanted) -> OutputTail:
        try:
            process = await self._start([str(directory), wanted.owner, wanted.stream, str(wanted.most)])
        except OSError as error:
            return OutputTail(fault=f"the host cannot start a process: {error.strerror}")
        try:
            async with asyncio.timeout(self._longest_s):
                told, _ = await process.communicate()
        except TimeoutError:
            return self._too_slow()
        finally:
            await children.end(process, patience_s=None)
        try:
            return decode_tail(told)
        except msgspec.DecodeError:
            return OutputTail(fault=f"reading failed with status {process.returncode}")
