"""A master and two shadows in one process, over HTTP: both have the acknowledged changes, despite any fault of the connection."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from aiohttp import web

from daemons.qmaster.serve.replication.replicas_in_sync import Replication
from daemons.qmaster.serve.service import Service
from daemons.qmaster.shadow.replica import Replica
from daemons.qmaster.shadow.replica_endpoint import ReplicaEndpoint
from daemons.qmaster.spooling.spool import Spool
from daemons.runtime.connection_limiter import Connection, ConnectionLimiter
from daemons.runtime.http_listener import HttpListeners
from gridengine.files.unix_sockets import unix_listener
from tests.harness import MASTER
from tests.integration.cells import PATIENCE_S
from tests.service_callbacks import IdleCallbacks
from tests.unit.shadow.replicated_cell import CELL_ID, ReplicatedCell, tables

JOBS = 300
JOB = msgspec.json.encode({"binary": True, "script_file": "/bin/true"})
SHADOWS = ("s1", "s2")


class Shadows:
    """Both shadows, each at its own socket, with `open` and `close` for each."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.replicas = {name: Replica(directory / name / "shadow", CELL_ID) for name in SHADOWS}
        self._listeners: dict[str, HttpListeners] = {}
        self._sessions: dict[str, aiohttp.ClientSession] = {}

    def open(self, name: str) -> None:
        handlers = ReplicaEndpoint(self.replicas[name], self._directory / name, lambda: (MASTER, 1)).handlers

        async def answer(asked: str, request: web.BaseRequest, _connection: Connection) -> web.StreamResponse:
            status, body = await handlers[asked](MASTER, request.headers, request.content)
            return web.Response(status=status, body=body)

        self._listeners[name] = HttpListeners(ConnectionLimiter(), answer)
        self._listeners[name].open(unix_listener(self._directory / name / "sock", 0o666))

    async def close(self, name: str) -> None:
        await self._listeners.pop(name).close()

    async def post(
        self, host: str, name: str, body: bytes | AsyncIterable[bytes], headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        if host not in self._sessions:
            connector = aiohttp.UnixConnector(str(self._directory / host / "sock"))
            self._sessions[host] = aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=PATIENCE_S))
        async with self._sessions[host].post(f"http://shadow/v1/{name}", data=body, headers=headers) as answer:
            return answer.status, await answer.read()

    async def end(self) -> None:
        for name in list(self._listeners):
            await self.close(name)
        for session in self._sessions.values():
            await session.close()


async def until(condition: Any) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "the condition is not met"
        await asyncio.sleep(0.02)


@pytest.mark.statement("SH-2")
def test_acknowledged_changes_are_on_the_shadows(tmp_path: Path) -> None:
    (tmp_path / "master").mkdir()
    cell = ReplicatedCell(tmp_path / "master")
    (tmp_path / "master" / "authority").mkdir()
    (tmp_path / "master" / "authority" / "key").write_text("secret")
    acknowledged: list[int] = []

    async def play() -> None:
        shadows, voters = Shadows(tmp_path), list[list[str]]()

        async def agree(in_sync: Sequence[str], _sets: Sequence[Sequence[str]]) -> None:
            voters.append(list(in_sync))

        replication = Replication(
            cell.master, cell.patches, MASTER, lambda: [MASTER, *SHADOWS], "one", shadows.post, agree,
            lambda: True, tmp_path / "master" / "authority",
        )
        service = Service(cell.master, IdleCallbacks(), replication)
        for name in SHADOWS:
            (tmp_path / name).mkdir(exist_ok=True)
            shadows.open(name)
        await service.start(tmp_path / "gdi.sock", MASTER, lambda _: "")
        await until(lambda: voters[-1:] == [[MASTER, *SHADOWS]])
        connector = aiohttp.UnixConnector(str(tmp_path / "gdi.sock"), limit=20)
        async with aiohttp.ClientSession(connector=connector) as session:
            submit = partial(submitted, session, acknowledged)
            await asyncio.gather(*(submit() for _ in range(JOBS)))
            await shadows.close("s1")
            await asyncio.gather(*(submit() for _ in range(JOBS)))
            await until(lambda: voters[-1] == [MASTER, "s2"])
            shadows.open("s1")
            await until(lambda: voters[-1] == [MASTER, *SHADOWS])
            await submit()
        await until(lambda: all(replica.position() == cell.master.spool.position for replica in shadows.replicas.values()))
        await service.stop()
        await shadows.end()

    asyncio.run(play())
    assert len(acknowledged) == 2 * JOBS + 1
    for name in SHADOWS:
        replica = Replica(tmp_path / name / "shadow", CELL_ID)
        replica.close()
        assert tables(replica.path) == tables(tmp_path / "master" / "spool.db"), name
        assert {*Spool(replica.path, CELL_ID).load().jobs} >= {*acknowledged}
        assert (tmp_path / name / "authority" / "key").read_text() == "secret"


async def nothing(*_arguments: Any) -> bytes:
    return b""


async def submitted(session: aiohttp.ClientSession, acknowledged: list[int]) -> None:
    async with session.post("http://gdi/v1/submit", data=JOB) as response:
        answer = msgspec.json.decode(await response.read())
    assert answer["status"] == 0, answer
    acknowledged.append(answer["data"]["job_id"])


@pytest.mark.statement("SH-3")
def test_a_host_that_is_not_the_leader_refuses_all_clients(tmp_path: Path) -> None:
    """Nothing was done, so clients may repeat the request, also at another host."""
    (tmp_path / "master").mkdir()
    cell = ReplicatedCell(tmp_path / "master")

    async def play() -> None:
        async def agree(_in_sync: Sequence[str], _sets: Sequence[Sequence[str]]) -> None:
            pass

        replication = Replication(cell.master, cell.patches, MASTER, lambda: [MASTER], "one", nothing, agree, lambda: False)  # type: ignore[arg-type]
        service = Service(cell.master, IdleCallbacks(), replication)
        await service.start(tmp_path / "gdi.sock", MASTER, lambda _: "")
        connector = aiohttp.UnixConnector(str(tmp_path / "gdi.sock"))
        async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=PATIENCE_S)) as session:
            for name, body in (("submit", JOB), ("status", b"{}"), ("events", b"{}")):
                async with session.post(f"http://gdi/v1/{name}", data=body) as response:
                    assert response.status == 503
                    assert "not the master" in (await response.text())
        await service.stop()

    asyncio.run(play())
    assert not cell.state.jobs
