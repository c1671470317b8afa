"""Shadows in this process: real replicas behind their endpoints, which can be silenced, and voters that store what they get."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from daemons.qmaster.serve.replication.replicas_in_sync import Mode, Replication
from daemons.qmaster.shadow.replica import Replica
from daemons.qmaster.shadow.replica_endpoint import ReplicaEndpoint
from daemons.qmaster.spooling.spool_file import VOTERS
from tests.harness import MASTER
from tests.unit.shadow.replicated_cell import CELL_ID, ReplicatedCell

PATIENCE_S = 60.0


class Stream:
    """A body that arrives in parts, as over the network; cut off after `cut_at` bytes."""

    def __init__(self, body: bytes | AsyncIterable[bytes], cut_at: int | None = None) -> None:
        self._body, self._cut_at = body, cut_at

    async def iter_any(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._parts():
            size += len(part)
            if self._cut_at is not None and size > self._cut_at:
                yield part[: self._cut_at - size]
                raise ConnectionResetError("cut off")
            yield part

    async def _parts(self) -> AsyncIterator[bytes]:
        if isinstance(self._body, bytes):
            yield self._body[: len(self._body) // 2]
            yield self._body[len(self._body) // 2 :]
        else:
            async for part in self._body:
                yield part


class ReplicationHarness:
    """A master with shadows s1 … sN and voters. `log`: the events; `silent`: shadows or requests without an answer at present."""

    def __init__(self, cell: ReplicatedCell, directory: Path, shadows: int = 1, mode: Mode = "one", old: bool = True) -> None:
        """old: the voters are chosen already, with h1 as a witness if one is needed."""
        self.cell, self.now = cell, 100.0
        self.names = [f"s{number}" for number in range(1, shadows + 1)]
        if old:
            voters = sorted([MASTER, *self.names, *(["h1"] if shadows % 2 else [])])
            cell.master.spool.remember(VOTERS, json.dumps([voters]))
        self.replicas = {name: Replica(directory / name / "shadow", CELL_ID) for name in self.names}
        self.granted_to = dict.fromkeys(self.names, (MASTER, 3))
        self.endpoints = {name: self._endpoint(name, directory / name) for name in self.names}
        self.silent: set[str] = set()
        self.listed = [MASTER, *self.names]
        self.requests: list[tuple[str, str]] = []
        self.cut: dict[tuple[str, str], int] = {}
        self.voters: list[str] | None = None
        self.sets: list[list[str]] = []
        self.refuse = False
        self.leads = True
        self.log: list[str] = []
        self.authority = directory / "master" / "authority"
        self.replication = Replication(
            cell.master, cell.patches, MASTER, lambda: self.listed, mode, self._post, self._agree,
            is_leader=lambda: self.leads,
            authority=self.authority,
            clock=lambda: self.now,
        )

    def _endpoint(self, name: str, home: Path) -> ReplicaEndpoint:
        return ReplicaEndpoint(self.replicas[name], home, lambda: self.granted_to[name])

    async def _post(
        self, host: str, name: str, body: bytes | AsyncIterable[bytes], headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        self.requests.append((host, name))
        while host in self.silent or name in self.silent:
            await asyncio.sleep(0)
        return await self.endpoints[host].handlers[name](MASTER, headers, Stream(body, self.cut.pop((host, name), None)))

    async def _agree(self, in_sync: Sequence[str], sets: Sequence[Sequence[str]]) -> None:
        if self.refuse:
            raise ConnectionError("no majority")
        self.voters, self.sets = list(in_sync), [list(each) for each in sets]
        self.log.append(f"voters know {' '.join(in_sync)}")

    def run(self, play: Callable[[], Awaitable[None]]) -> None:
        """Run `play` while the senders update the shadows."""

        async def played() -> None:
            tasks = self.replication._tasks
            # no periodic update: tests call `update_membership` themselves
            tasks[""] = asyncio.ensure_future(asyncio.Event().wait())  # type: ignore[assignment]
            self.replication._start_senders()
            try:
                await play()
            finally:
                for task in tasks.values():
                    task.cancel()
                await asyncio.gather(*tasks.values(), return_exceptions=True)

        try:
            asyncio.run(played())
        finally:
            for replica in self.replicas.values():
                replica._disconnect()

    async def until(self, condition: Callable[[], Any]) -> None:
        """Wait for a condition, for `PATIENCE_S` at most."""
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                await asyncio.sleep(0.001)

    def has(self, name: str) -> bool:
        """Whether a shadow has acknowledged everything."""
        return self.replication.senders[name].acked == self.cell.patches.last.commit

    async def begin(self) -> None:
        """Wait until all shadows have everything and the voters have the list."""
        await self.until(lambda: all(map(self.has, self.names)))
        await self.replication.update_membership()
        assert self.voters == [MASTER, *self.names]

    async def pass_time(self, seconds: float) -> None:
        for _ in range(round(seconds * 4)):
            self.now += 0.25
            await self.replication.update_membership()
