"""Clients that wait for jobs: no end is lost that arrives when they start to wait, and silence has heartbeats."""

import asyncio
from functools import partial

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from daemons.qmaster.serve.service import Service
from daemons.qmaster.serve.streams import task_end_streams
from gridengine.protocols.gdi.requests import Caller
from tests.harness import Cell
from tests.service_callbacks import IdleCallbacks, durable


@pytest.mark.statement("SO-34")
def test_decisions_made_during_a_commit_are_waited_for_too(cell: Cell) -> None:
    class Busy(Service):
        """Another decision is made between each commit and the return to its waiter."""

        left = 3

        async def durable(self) -> None:
            await super().durable()
            if self.left:
                self.left -= 1
                cell.undecided("submit", {"binary": True, "script_file": "/bin/true"})

    async def wait() -> None:
        service = Busy(cell.master, IdleCallbacks())
        cell.undecided("submit", {"binary": True, "script_file": "/bin/true"})
        await service.persisted()
        assert not service.left and not cell.master.pending

    asyncio.run(wait())


def test_a_program_that_waits_for_ends_gets_empty_lines_meanwhile(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_end_streams, "HEARTBEAT_S", 0.001)
    streams = task_end_streams.TaskEndStreams(cell.master, durable, durable)

    async def play() -> list[bytes]:
        app = web.Application()
        app.router.add_post("/", partial(streams.stream, body=b"{}", caller=Caller("alice", 1001, "users", 100, "h1")))
        async with TestClient(TestServer(app)) as client, client.post("/") as response:
            return [await response.content.readline() for _ in range(3)]

    assert asyncio.run(play()) == [b'{"live":[]}\n', b"{}\n", b"{}\n"]
